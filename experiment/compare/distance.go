package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pianola/internal/stats"
	"pianola/profile"
)

// Distance is the distance of two cumulative profiles, of one category or of
// all I/O. For Max and Mean, both curves are scaled to run from (0, 0) to (1, 1): the elapsed
// time by the run time, and the time spent by its total. So the distance only
// shows whether the time was spent in the same parts of the run. A replay that
// is evenly slower has the distance 0, and the ratio shows the rest. These
// numbers are between 0 and 1 and rounded to six decimals, which is finer than
// the curves are.
type Distance struct {
	Max  float64 `json:"max"`  // largest vertical distance
	Mean float64 `json:"mean"` // area between the curves
	Lead
}

// Lead is how much more time than the application a replay has spent so far, as a share of
// the application's total: the unscaled difference of two curves. It is negative if the replay
// has spent less.
type Lead struct {
	Largest   float64 `json:"lead"`     // of the largest size
	At        float64 `json:"lead_at"`  // where that is, as a share of the run
	End       float64 `json:"lead_end"` // at the end
	CatchesUp bool    `json:"catches_up"`
}

// leastLead is the smallest lead that can be caught up: a smaller one is hardly seen in a
// picture of the curves.
const leastLead = 0.05

// text returns a sentence about a replay that catches up in a class, by the names of both sides.
func (l *Lead) text(class string, names [2]string) string {
	part := func(v float64) string {
		word := "more"
		if v < 0 {
			word = "less"
		}
		return fmt.Sprintf("%.1f %% %s", math.Abs(v)*100, word)
	}
	return fmt.Sprintf("%s: %s catches up: %s time than %s at %.0f %% of the run, %s at the end", class, names[1], part(l.Largest), names[0], l.At*100, part(l.End))
}

// medianDistance returns the medians of the distances of one curve from those
// of several profiles, with the median lead, nil if a side has no points.
func medianDistance(from profile.Curve, profiles []*profile.Profile, of func(*profile.Profile) profile.Curve) *Distance {
	var all []Distance
	for _, p := range profiles {
		if to := of(p); len(from) > 0 && len(to) > 0 {
			all = append(all, distance(from, to))
		}
	}
	if len(all) == 0 {
		return nil
	}
	median := func(of func(d *Distance) float64) float64 {
		var values []float64
		for i := range all {
			values = append(values, of(&all[i]))
		}
		return stats.Median(values)
	}
	d := &Distance{Max: median(func(d *Distance) float64 { return d.Max }), Mean: median(func(d *Distance) float64 { return d.Mean })}
	slices.SortStableFunc(all, func(a, b Distance) int { return cmp.Compare(a.Largest, b.Largest) })
	d.Lead = all[(len(all)-1)/2].Lead
	return d
}

// distance compares two curves that have points.
func distance(a, b profile.Curve) Distance {
	var (
		d        Distance
		x0, gap0 float64 // end of the last segment
		total    = float64(b[len(b)-1].Spent) / float64(a[len(a)-1].Spent)
	)
	for i, j := 1, 1; i < len(a) && j < len(b); {
		xa, xb := scaledTime(a, i), scaledTime(b, j)
		x := min(xa, xb)
		ya, yb := scaledSpent(a, i, x), scaledSpent(b, j, x)
		gap := ya - yb
		if d.End = yb*total - ya; math.Abs(d.End) > math.Abs(d.Largest) {
			d.Largest, d.At = d.End, x
		}
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
	for _, v := range []*float64{&d.Max, &d.Mean, &d.Largest, &d.At, &d.End} {
		*v = math.Round(*v*1e6) / 1e6
	}
	d.CatchesUp = math.Abs(d.Largest) >= leastLead && math.Abs(d.End) <= math.Abs(d.Largest)/2
	return d
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
