package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []int64
		want   int64
	}{
		{nil, 0},
		{[]int64{7}, 7},
		{[]int64{9, 1, 5}, 5},
		{[]int64{9, 1, 5, 3}, 4},
		{[]int64{math.MaxInt64, math.MaxInt64 - 2}, math.MaxInt64 - 1}, // no sum that overflows
		{[]int64{3, -1, -4}, -1},
	} {
		require.Equal(t, test.want, Median(test.values))
	}
	require.Equal(t, 2.5, Median([]float64{4, 1}))
}
