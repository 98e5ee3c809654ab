package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// pairs holds the numbers from 00 to 99.
var pairs = func() (t [100][2]byte) {
	for i := range t {
		t[i] = [2]byte{byte('0' + i/10), byte('0' + i%10)}
	}
	return t
}()

// tens holds the powers of ten.
var tens = func() (t [20]uint64) {
	for i, p := 0, uint64(1); i < len(t); i++ {
		t[i] = p
		p *= 10
	}
	return t
}()

// AppendInt appends a decimal number. It is strconv.AppendInt, but faster: the
// digits are written where they stay.
func AppendInt(dst []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	size := bits.Len64(u|1) * 1233 >> 12 // the digits, or one less
	if u|1 >= tens[size] {
		size++
	}
	i := len(dst) + size
	dst = slices.Grow(dst, size)[:i]
	for ; u >= 100; u /= 100 {
		i -= 2
		dst[i], dst[i+1] = pairs[u%100][0], pairs[u%100][1]
	}
	if u >= 10 {
		i--
		dst[i] = byte('0' + u%10)
		u /= 10
	}
	dst[i-1] = byte('0' + u)
	return dst
}

// AppendHex is AppendInt of a hexadecimal number without a prefix.
func AppendHex(dst []byte, u uint64) []byte {
	size := (bits.Len64(u|1) + 3) / 4
	first := len(dst)
	dst = slices.Grow(dst, size)[:first+size]
	for i := len(dst) - 1; i >= first; i-- {
		dst[i] = "0123456789abcdef"[u&15]
		u >>= 4
	}
	return dst
}

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

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
	{"B", 1}, {"", 1},
}

// ParseSize parses a number of bytes with an optional unit, as dd does: 64K and 64KiB are
// powers of 1024, 64kB and 64KB of 1000.
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v*u.bytes > -1<<62 && v*u.bytes < 1<<62) {
			break
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size (want for example 4096, 64KiB or 1.5MB)", s)
}

// SizeText returns a number of bytes as ParseSize takes it, in the largest binary unit that
// divides it.
func SizeText(bytes int64) string {
	unit := ""
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if bytes == 0 || bytes%1024 != 0 {
			break
		}
		bytes, unit = bytes/1024, next
	}
	return strconv.FormatInt(bytes, 10) + unit
}

// DirentSize returns how many bytes getdents64 returns for a name.
func DirentSize(name string) int64 {
	const header = 19 // of struct linux_dirent64
	return int64(header+len(name)+1+7) &^ 7
}
