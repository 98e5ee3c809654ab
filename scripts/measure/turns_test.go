package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

const elapsed = "run time, s"

func series(values ...float64) (all []sample) {
	for _, v := range values {
		all = append(all, sample{elapsed: v})
	}
	return all
}

func TestTurns(t *testing.T) {
	var order []string
	n := 0.0
	all, err := turns(3, []string{"a", "b"}, func(side string) (sample, error) {
		order = append(order, side)
		n++
		return sample{elapsed: n}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "b", "a", "a", "b"}, order, "neither is always the second")
	require.Equal(t, map[string][]sample{"a": series(1, 4, 5), "b": series(2, 3, 6)}, all)
}

func TestChange(t *testing.T) {
	tests := []struct {
		name      string
		base, now []sample
		least     float64
		worse     bool
	}{
		{"equal", series(1, 1.2, 0.9, 1, 1.1, 1, 0.8, 1, 1), series(1, 1.2, 0.9, 1, 1.1, 1, 0.8, 1, 1), leasts[elapsed], false},
		// The machine slows down, and both sides with it.
		{"drift", series(1, 2, 3, 4, 5, 6, 7, 8, 9), series(1.01, 2.01, 3, 4.01, 5.1, 6, 6.9, 8, 9.1), leasts[elapsed], false},
		{"slower", series(1, 2, 3, 4, 5, 6, 7, 8, 9), series(1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7, 8.8, 9.9), leasts[elapsed], true},
		{"less than five per cent", series(1, 2, 3, 4, 5, 6, 7, 8, 9), series(1.04, 2.08, 3.12, 4.16, 5.2, 6.24, 7.28, 8.32, 9.36), leasts[elapsed], false},
		// Two rounds of nine are faster: the interval ends with the second lowest ratio.
		{"unsure", series(1, 1, 1, 1, 1, 1, 1, 1, 1), series(1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 0.9, 0.9), leasts[elapsed], false},
		{"one round was faster", series(1, 1, 1, 1, 1, 1, 1, 1, 1), series(1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 0.9), leasts[elapsed], true},
		{"too little to matter", series(.001, .001, .001, .001, .001, .001, .001, .001, .001), series(.002, .002, .002, .002, .002, .002, .002, .002, .002), leasts[elapsed], false},
		{"faster", series(2, 2, 2, 2, 2, 2, 2, 2, 2), series(1, 1, 1, 1, 1, 1, 1, 1, 1), leasts[elapsed], false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := changeOf(elapsed, tt.base, tt.now)
			require.Equal(t, tt.worse, c.worse(tt.least), c.String())
		})
	}
}

// A slower build is measured again and named. The same build is not, and a base without
// results is told.
func TestMeasureNames(t *testing.T) {
	base, tree := &bench{build: &build{name: "base"}}, &bench{build: &build{name: "tree"}}
	runs := map[*bench]int{}
	measureOf := func(factor float64, baseErr error) *measure {
		clear(runs)
		return &measure{name: "m", run: func(_ context.Context, b *bench) (sample, error) {
			runs[b]++
			if b == base {
				return sample{elapsed: 1 + 0.01*float64(runs[b]%3)}, baseErr
			}
			return sample{elapsed: factor * (1 + 0.01*float64(runs[b]%3))}, nil
		}}
	}
	found, err := measureOf(1.1, nil).compare(t.Context(), base, tree, 9)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found[0], "m: run time, s: 1.11 instead of 1.01, 1.10 times")

	for range 10 {
		found, err = measureOf(1, nil).compare(t.Context(), base, tree, 9)
		require.NoError(t, err)
		require.Empty(t, found)
	}

	_, err = measureOf(1, errors.New("unknown option")).compare(t.Context(), base, tree, 9)
	var cannot *errCannot
	require.ErrorAs(t, err, &cannot)
	require.EqualError(t, err, "base can't: unknown option")
}

// Figures of 0 have no ratio.
func TestChangeOfNothing(t *testing.T) {
	c := changeOf(elapsed, series(0, 0), series(0, 0))
	require.Equal(t, 1.0, c.ratio)
}
