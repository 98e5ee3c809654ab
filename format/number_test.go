package format

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAppendNumbers compares with strconv at each length of a number.
func TestAppendNumbers(t *testing.T) {
	check := func(n int64) {
		require.Equal(t, strconv.AppendInt([]byte("x"), n, 10), AppendInt([]byte("x"), n))
		require.Equal(t, strconv.AppendUint([]byte("x"), uint64(n), 16), AppendHex([]byte("x"), uint64(n)))
	}
	check(0)
	check(math.MaxInt64)
	check(math.MinInt64)
	for _, base := range []int64{2, 10} {
		for p := int64(1); p > 0 && p < math.MaxInt64/base; p *= base {
			for _, n := range []int64{p - 1, p, p + 1} {
				check(n)
				check(-n)
			}
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "4096": 4096, "64KiB": 65536, "1.5M": 3 << 19, "2M": 2 << 20, "2MiB": 2 << 20, "4k": 4096, "2TiB": 2 << 40, "2MB": 2_000_000, "64Ki": 65536, "1kB": 1000, "1KB": 1000, "512B": 512, "3G": 3 << 30, "3GB": 3_000_000_000, "-1": -1} {
		got, err := ParseSize(s)
		require.NoError(t, err)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "KiB", "1 KiB", "1kb", "B", "1BB", "1KBB", "1iB", "NaN", "Inf", "9999999TiB", "x"} {
		_, err := ParseSize(s)
		require.ErrorContains(t, err, "is not a size", s)
	}
}

func TestSizeText(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0", 1000: "1000", 64 << 10: "64KiB", 1536 << 10: "1536KiB", 256 << 20: "256MiB", 1 << 30: "1GiB", 1 << 52: "4096TiB"} {
		require.Equal(t, want, SizeText(bytes))
		back, err := ParseSize(want)
		require.NoError(t, err)
		require.Equal(t, bytes, back)
	}
}
