package format

import (
	"encoding/binary"
	"errors"
)

var (
	errSeconds      = errors.New("malformed time")
	errSecondsRange = errors.New("time out of range")
)

// Seconds returns nanoseconds as seconds.
func Seconds(nanos int64) float64 { return float64(nanos) / 1e9 }

// AppendSeconds appends nanoseconds as seconds with nine decimals.
func AppendSeconds(dst []byte, nanos int64) []byte {
	u := uint64(nanos)
	if u < 1e9 { // nearly all times
		dst = append(dst, '0')
	} else {
		if nanos < 0 {
			dst = append(dst, '-')
			u = -u
		}
		dst = AppendInt(dst, int64(u/1e9))
		u %= 1e9
	}
	n := uint32(u)
	a, b, c, d := pairs[n/1e7], pairs[n/1e5%100], pairs[n/1e3%100], pairs[n/10%100]
	return append(dst, '.', a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1], byte('0'+n%10))
}

// maxSeconds keeps sums of a few parsed times within an int64 of nanoseconds;
// it is about 73 years.
const maxSeconds = 1<<61/1_000_000_000 - 1

var powers = [10]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1}

// ParseSeconds parses decimal seconds to nanoseconds. It drops digits after the
// ninth decimal.
func ParseSeconds(text []byte) (int64, error) {
	nanos, n, err := ScanSeconds(text)
	if err == nil && n < len(text) {
		err = errSeconds
	}
	if err != nil {
		return 0, err
	}
	return nanos, nil
}

// ScanSeconds is ParseSeconds of the time at the front of text. It also returns
// the length of the time.
func ScanSeconds(text []byte) (nanos int64, n int, err error) {
	i := 0
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		i++
	}
	start := i
	var whole, part int64
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		if whole = whole*10 + int64(text[i]-'0'); whole > maxSeconds {
			return 0, 0, errSecondsRange
		}
	}
	ok := i > start
	if i < len(text) && text[i] == '.' {
		i++
		first := i
		if len(text)-i >= 8 {
			if v, ok := eightDigits(binary.LittleEndian.Uint64(text[i:])); ok {
				part = int64(v)
				i += 8
			}
		}
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			if i < first+9 {
				part = part*10 + int64(text[i]-'0')
			}
		}
		ok = ok && i > first
		part *= powers[min(i-first, 9)]
	}
	if !ok {
		return 0, 0, errSeconds
	}
	if negative {
		return -(whole*1e9 + part), i, nil
	}
	return whole*1e9 + part, i, nil
}

// eightDigits parses eight digits, the first in the lowest byte, and returns
// false if not all are digits. It combines all pairs at once, then pairs of
// pairs, and so on.
func eightDigits(v uint64) (n uint64, ok bool) {
	const high, zeros = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	if v&high != zeros || (v+0x0606060606060606)&high != zeros {
		return 0, false
	}
	v -= zeros
	v = v*10 + v>>8
	const pair = 0x000000ff000000ff
	return (v&pair*(100+1_000_000<<32) + v>>16&pair*(1+10_000<<32)) >> 32, true
}
