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
