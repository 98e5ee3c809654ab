package compare

import (
	"math"

	"pianola/internal/stats"
	"pianola/profile"
)

// Distance is the distance of two cumulative profiles, of one category or of
// all I/O. Both curves are scaled to run from (0, 0) to (1, 1): the elapsed
// time by the run time, and the time spent by its total. So the distance only
// shows whether the time was spent in the same parts of the run. A replay that
// is evenly slower has the distance 0, and the ratio shows the rest. Both
// numbers are between 0 and 1 and rounded to six decimals, which is finer than
// the curves are.
type Distance struct {
	Max  float64 `json:"max"`  // largest vertical distance
	Mean float64 `json:"mean"` // area between the curves
}

// medianDistance returns the medians of the distances of one curve from those
// of several profiles, nil if a side has no points.
func medianDistance(from profile.Curve, profiles []*profile.Profile, of func(*profile.Profile) profile.Curve) *Distance {
	var largest, mean []float64
	for _, p := range profiles {
		if to := of(p); len(from) > 0 && len(to) > 0 {
			d := distance(from, to)
			largest, mean = append(largest, d.Max), append(mean, d.Mean)
		}
	}
	if len(largest) == 0 {
		return nil
	}
	return &Distance{Max: stats.Median(largest), Mean: stats.Median(mean)}
}

// distance compares two curves that have points.
func distance(a, b profile.Curve) Distance {
	var (
		d        Distance
		x0, gap0 float64 // end of the last segment
	)
	for i, j := 1, 1; i < len(a) && j < len(b); {
		xa, xb := scaledTime(a, i), scaledTime(b, j)
		x := min(xa, xb)
		gap := scaledSpent(a, i, x) - scaledSpent(b, j, x)
		d.Max = max(d.Max, gap, -gap)
		d.Mean += (x - x0) * meanAbs(gap0, gap)
		x0, gap0 = x, gap
		if xa == x {
			i++
		}
		if xb == x {
			j++
		}
	}
	return Distance{Max: math.Round(d.Max*1e6) / 1e6, Mean: math.Round(d.Mean*1e6) / 1e6}
}

// scaledTime returns the scaled elapsed time of point i.
func scaledTime(c profile.Curve, i int) float64 {
	return float64(c[i].Elapsed) / float64(c[len(c)-1].Elapsed)
}

// scaledSpent returns the scaled time spent at the scaled time x, which is
// between the points i-1 and i.
func scaledSpent(c profile.Curve, i int, x float64) float64 {
	x0, x1 := scaledTime(c, i-1), scaledTime(c, i)
	y0, y1 := float64(c[i-1].Spent), float64(c[i].Spent)
	return (y0 + (y1-y0)*(x-x0)/(x1-x0)) / float64(c[len(c)-1].Spent)
}

// meanAbs returns the mean of |v| while v goes linearly from p to q.
func meanAbs(p, q float64) float64 {
	if p*q >= 0 {
		return (max(p, -p) + max(q, -q)) / 2
	}
	return (p*p + q*q) / (2 * (max(p, -p) + max(q, -q)))
}
