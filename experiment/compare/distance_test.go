package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/profile"
)

// curve returns the curve of points that are given as elapsed and spent time.
func curve(times ...int64) (c profile.Curve) {
	for i := 0; i < len(times); i += 2 {
		c = append(c, profile.Point{Elapsed: times[i], Spent: times[i+1]})
	}
	return c
}

func TestDistance(t *testing.T) {
	straight := curve(0, 0, 100, 10)
	for _, test := range []struct {
		name      string
		a, b      profile.Curve
		max, mean float64
	}{
		{"same", straight, straight, 0, 0},
		{"same but slower", straight, curve(0, 0, 70, 35, 300, 150), 0, 0},
		{"all at the start", straight, curve(0, 0, 1e-9*1e12, 5, 1e12, 5), 0.999, 0.4995},
		{"all at half time", straight, curve(0, 0, 500, 0, 501, 7, 1000, 7), 0.5, 0.25},
		{"first half against second", curve(0, 0, 50, 1, 100, 1), curve(0, 0, 50, 0, 100, 1), 1, 0.5},
		{"crossing", straight, curve(0, 0, 25, 5, 75, 5, 100, 10), 0.25, 0.125},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, d := range []Distance{distance(test.a, test.b), distance(test.b, test.a)} {
				require.InDelta(t, test.max, d.Max, 0.0011)
				require.InDelta(t, test.mean, d.Mean, 0.0011)
			}
		})
	}
}

func TestCatchesUp(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b profile.Curve
		want Lead
	}{
		{"in time", curve(0, 0, 100, 10), curve(0, 0, 200, 10), Lead{}},
		{"slower throughout", curve(0, 0, 100, 10), curve(0, 0, 100, 20), Lead{1, 1, 1, false}},
		{"less at first", curve(0, 0, 50, 50, 100, 100), curve(0, 0, 50, 20, 100, 98), Lead{-0.3, 0.5, -0.02, true}},
		{"more at first", curve(0, 0, 50, 50, 100, 100), curve(0, 0, 50, 80, 100, 110), Lead{0.3, 0.5, 0.1, true}},
		{"more at first, and hardly less at the end", curve(0, 0, 50, 50, 100, 100), curve(0, 0, 50, 80, 100, 116), Lead{0.3, 0.5, 0.16, false}},
		{"too little to be seen", curve(0, 0, 50, 50, 100, 100), curve(0, 0, 50, 46, 100, 100), Lead{-0.04, 0.5, 0, false}},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, distance(test.a, test.b).Lead) })
	}
	require.Equal(t, "read: replay catches up: 30.0 % less time than application at 50 % of the run, 2.0 % less at the end",
		(&Lead{-0.3, 0.5, -0.02, true}).text("read", DefaultNames))
}
