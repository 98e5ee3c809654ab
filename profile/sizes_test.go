package profile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPowers(t *testing.T) {
	var p, twice Powers
	for _, moved := range []int64{0, 1, 9, 10, 999, 1000, 1000, 9999, math.MaxInt64} {
		p.count(moved)
	}
	want := []Frequent{{1000, 3}, {1, 2}, {0, 1}, {10, 1}, {100, 1}, {1e18, 1}}
	require.Equal(t, want, p.list())
	twice.add(&p)
	twice.add(&p)
	for i := range want {
		want[i].Calls *= 2
	}
	require.Equal(t, want, twice.list())
	require.Nil(t, new(Powers).list())
}
