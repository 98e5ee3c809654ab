package profile

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

func (b *bin) add(o *bin) {
	b.calls += o.calls
	b.moment += o.moment
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
		halve(tl.bins[k][:], (*bin).add)
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
		sum.add(&b)
		t := int64(i+1) << tl.shift
		if t >= runTime {
			break
		}
		c = append(c, Point{t, sum.calls*t + sum.moment})
	}
	return append(c, Point{runTime, total})
}

// IOCurve returns the cumulative time in all categories that are I/O together,
// with no points if there is none.
func (p *Profile) IOCurve() (sum Curve) {
	for _, c := range p.Curves[:NumIO] {
		// Curves of one profile have their points at the same times.
		for i, point := range c {
			if i == len(sum) {
				sum = append(sum, Point{Elapsed: point.Elapsed})
			}
			sum[i].Spent += point.Spent
		}
	}
	return sum
}
