package format

import (
	"errors"
	"strconv"
)

var errSeconds = errors.New("malformed time")

// AppendSeconds appends nanoseconds as seconds with nine decimals.
func AppendSeconds(dst []byte, nanos int64) []byte {
	u := uint64(nanos)
	if nanos < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	dst = append(dst, '.')
	var digits [9]byte
	frac := u % 1e9
	for i := 8; i >= 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	return append(dst, digits[:]...)
}

// maxSeconds keeps sums of a few parsed times within an int64 of nanoseconds;
// it is about 73 years.
const maxSeconds = 1<<61/1_000_000_000 - 1

// ParseSeconds returns the nanoseconds that decimal seconds stand for. Digits
// after the ninth decimal are dropped.
func ParseSeconds(text []byte) (int64, error) {
	negative := false
	if len(text) > 0 && text[0] == '-' {
		negative, text = true, text[1:]
	}
	var nanos int64
	i := 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		if nanos = nanos*10 + int64(text[i]-'0'); nanos > maxSeconds {
			return 0, errSeconds
		}
	}
	if i == 0 {
		return 0, errSeconds
	}
	nanos *= 1e9
	if i < len(text) {
		if text[i] != '.' || i+1 == len(text) {
			return 0, errSeconds
		}
		i++
		for unit := int64(1e8); i < len(text); i++ {
			if text[i] < '0' || text[i] > '9' {
				return 0, errSeconds
			}
			nanos += int64(text[i]-'0') * unit
			unit /= 10
		}
	}
	if negative {
		nanos = -nanos
	}
	return nanos, nil
}
