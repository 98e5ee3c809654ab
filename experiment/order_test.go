package experiment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every round holds each trial once; the order is the same each time that it is
// asked for, and not that of another round.
func TestOrder(t *testing.T) {
	for _, n := range []int{1, 2, 5, 40} {
		all, orders := make([]int, n), map[string]bool{}
		for i := range all {
			all[i] = i
		}
		for round := range 10 {
			order := runOrder(n, round)
			require.Equal(t, order, runOrder(n, round))
			orders[fmt.Sprint(order)] = true
			slices.Sort(order)
			require.Equal(t, all, order)
		}
		require.Greater(t, len(orders), min(n, 8)-1, "of %d", n)
	}
}

// None of a few trials is always first, or always after the same other.
func TestOrderMixes(t *testing.T) {
	const n, rounds = 4, 40
	var first [n]int
	var after [n][n]int
	for round := range rounds {
		order := runOrder(n, round)
		first[order[0]]++
		for i := range order[1:] {
			after[order[i+1]][order[i]]++
		}
	}
	for i := range n {
		require.Positive(t, first[i])
		require.Less(t, slices.Max(after[i][:]), rounds/2)
	}
}
