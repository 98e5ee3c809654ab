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
