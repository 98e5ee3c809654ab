package format

import (
	"math/bits"
	"slices"
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
