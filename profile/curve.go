package profile

import "math"

// Curve is the cumulative time spent in one category against the elapsed time.
// Elapsed rises strictly, Spent never falls; the first point is the origin and
// the last the run time with the category's total. Between points the curve is
// straight. A category without time has no points.
//
// Every point is exact: a call counts for the part of it that has passed.
// Points are at most 1/2048 of the run time apart, or one nanosecond; detail
// between them is lost.
type Curve []Point

// Point says how much time had been spent, by all threads together, when so
// much had elapsed since the start of the recording; both in nanoseconds.
type Point struct {
	Elapsed int64
	Spent   int64
}

// numBins bounds the number of points of a curve; a power of two.
const numBins = 1 << 12

// timeline gathers the curves of all categories in fixed memory. Time is cut
// into bins of 1<<shift nanoseconds. When a call ends beyond the last bin,
// neighbours are added together and the bins get twice as wide.
//
// A bin doesn't hold the time spent in it, for a long call would touch many
// bins. It holds how the spending changes: a call that starts at s and ends at
// e has spent (t-s) - (t-e) at any t after e, and t-s between s and e. Summed
// over all calls and all bins before t that is calls×t + moment.
type timeline struct {
	shift uint
	bins  [NumCategories][numBins]bin
}

type bin struct {
	calls  int64 // calls that started less those that ended
	moment int64 // sum of the end times less that of the start times; may wrap around
}

func (tl *timeline) add(k Category, start, end int64) {
	for end>>tl.shift >= numBins {
		tl.widen()
	}
	// The mask spares the check of the bounds.
	const mask = numBins - 1
	bins := &tl.bins[k]
	from, to := &bins[start>>tl.shift&mask], &bins[end>>tl.shift&mask]
	from.calls++
	from.moment -= start
	to.calls--
	to.moment += end
}

func (tl *timeline) widen() {
	tl.shift++
	for k := range tl.bins {
		bins := &tl.bins[k]
		for i := range numBins / 2 {
			a, b := bins[2*i], bins[2*i+1]
			bins[i] = bin{a.calls + b.calls, a.moment + b.moment}
		}
		clear(bins[numBins/2:])
	}
}

// curve returns the curve of a category whose calls took total nanoseconds and
// ended no later than runTime.
func (tl *timeline) curve(k Category, runTime, total int64) Curve {
	if total == 0 {
		return nil
	}
	c := Curve{{}}
	var sum bin
	for i, b := range tl.bins[k] {
		sum.calls += b.calls
		sum.moment += b.moment
		t := int64(i+1) << tl.shift
		if t >= runTime {
			break
		}
		c = append(c, Point{t, sum.calls*t + sum.moment})
	}
	return append(c, Point{runTime, total})
}

// Distance tells how far two cumulative profiles of one category lie apart.
// Both curves are scaled to run from (0, 0) to (1, 1), the elapsed time by its
// run time and the time spent by its total, so that the distance tells whether
// the time was spent in the same parts of the run, and nothing else: a replay
// that is slower throughout has the distance 0, and the ratio says the rest.
// Both numbers lie between 0 and 1 and are rounded to six decimals, which is
// finer than the curves are.
type Distance struct {
	Max  float64 `json:"max"`  // largest vertical distance
	Mean float64 `json:"mean"` // area between the curves
}

// distance compares two curves that have points.
func distance(a, b Curve) Distance {
	var (
		d        Distance
		x0, gap0 float64 // where the last step ended
	)
	for i, j := 1, 1; i < len(a) && j < len(b); {
		xa, xb := a.x(i), b.x(j)
		x := min(xa, xb)
		gap := a.y(i, x) - b.y(j, x)
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

// x returns the scaled elapsed time of point i.
func (c Curve) x(i int) float64 {
	return float64(c[i].Elapsed) / float64(c[len(c)-1].Elapsed)
}

// y returns the scaled time spent at the scaled time x, which lies between the
// points i-1 and i.
func (c Curve) y(i int, x float64) float64 {
	x0, x1 := c.x(i-1), c.x(i)
	y0, y1 := float64(c[i-1].Spent), float64(c[i].Spent)
	return (y0 + (y1-y0)*(x-x0)/(x1-x0)) / float64(c[len(c)-1].Spent)
}

// meanAbs returns the mean of |v| while v goes straight from p to q.
func meanAbs(p, q float64) float64 {
	if p*q >= 0 {
		return (max(p, -p) + max(q, -q)) / 2
	}
	return (p*p + q*q) / (2 * (max(p, -p) + max(q, -q)))
}
