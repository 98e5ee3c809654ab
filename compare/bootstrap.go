package compare

import (
	"math"
	"slices"

	"pianola/profile"
	"pianola/table"
)

// Confidence is the chance that the intervals of all rows of a comparison hold
// at once. Each is made for rowError, the part of what is left that falls to
// one of the rows (Bonferroni), so that a table of five finds a difference
// where there is none in no more than one of twenty comparisons, not in one of
// five.
const (
	Confidence = 0.95
	rowError   = (1 - Confidence) / (float64(profile.NumCategories) + 1)
)

// MinRuns is the number of runs of each side below which nothing is said about
// noise. Intervals of six runs keep rowError, whatever the noise is like; those
// of five miss in 1.5 % instead of 1 %, and of four in 4 % (docs/compare.md).
const MinRuns = 6

// MaxRuns is the number of runs of one side that a comparison is good for; the
// probabilities of the medians of more may leave the range of floats.
const MaxRuns = 1000

// Interval holds a ratio of medians.
type Interval struct{ Low, High float64 }

func (i Interval) String() string { return table.Fixed(i.Low, 3) + " to " + table.Fixed(i.High, 3) }

// ratioInterval returns the percentile bootstrap interval (Efron, Bootstrap
// Methods, 1979) of the ratio of the median of replay to that of app, which are
// sorted, not empty and above 0, but for replay, which may hold 0. errorRate is
// the chance that the interval may miss it, half of it on either side.
//
// The medians that resampling can yield are few, and their probabilities are
// known (Evans, Leemis and Drew, The Distribution of Order Statistics for
// Discrete Random Variables with Applications to Bootstrapping, 2006): they are
// added up instead of being drawn. So there is no seed and no error of drawing.
//
// Medians, since a few slow runs are what machines have, and since the means
// of few runs yield intervals that are too narrow; not BCa, whose correction
// takes a jackknife, which fails for medians.
func ratioInterval(app, replay []float64, errorRate float64) Interval {
	a, r := resampledMedians(app), resampledMedians(replay)
	return Interval{ratioQuantile(a, r, errorRate/2), ratioQuantile(a, r, 1-errorRate/2)}
}

// outcome is one value that a random one can have.
type outcome struct{ value, probability float64 }

// negligible is the probability below which a median is left out. Of n runs
// there are no more than n(n+1)/2 medians, so those left out have together less
// than 5.1e-15 of MaxRuns, which is less than adding up the others rounds; the
// bounds of an interval are where the sum passes rowError/2, 0.005. An even
// number of runs, whose medians may lie between any two of them, keeps some
// thousands of half a million.
const negligible = 1e-20

// resampledMedians returns the medians that samples of len(v), drawn from v
// with replacement, can have, in rising order, but for negligible ones. v is
// sorted.
func resampledMedians(v []float64) (medians []outcome) {
	n := len(v)
	half := (n + 1) / 2
	// middle is the number of ways to deal an even sample into halves.
	middle := math.Exp(logFactorial(n) - 2*logFactorial(half))
	power := func(k int) float64 { return math.Pow(float64(k)/float64(n), float64(half)) }
	below := 0.0 // the probability that it is before v[i]
	for i := range n {
		// The lower of the two in the middle, or the one in the middle, is v[i].
		upTo := atLeast(n, half, i+1)
		p := upTo - below
		below = upTo
		if n%2 == 0 {
			// The lower half ends with v[i], and the upper begins with v[j]: the
			// farther from v[i], the less likely.
			low := middle * (power(i+1) - power(i))
			for j := i + 1; j < n; j++ {
				between := low * (power(n-j) - power(n-j-1))
				if between < negligible {
					break
				}
				medians = append(medians, outcome{v[i] + (v[j]-v[i])/2, between})
			}
			p -= low * power(n-i-1)
		}
		if p >= negligible {
			medians = append(medians, outcome{v[i], p})
		}
	}
	slices.SortFunc(medians, func(a, b outcome) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	return medians
}

// atLeast returns the probability that of n drawn from n with replacement at
// least k, which are half of them or more, are among the first m.
func atLeast(n, k, m int) (p float64) {
	switch {
	case m == 0:
		return 0
	case 2*m > n: // what is near 1 is told by how much it falls short of it
		return 1 - atLeast(n, n-k+1, n-m)
	}
	in, out := math.Log(float64(m)/float64(n)), math.Log(float64(n-m)/float64(n))
	for i := k; i <= n; i++ { // the more than expected, the less likely
		exactly := math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) + float64(i)*in + float64(n-i)*out)
		if exactly < negligible {
			break
		}
		p += exactly
	}
	return p
}

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// ratioQuantile returns the lowest ratio of an outcome of b to one of a that
// has at least the probability p at or below it. Values are not negative, and
// those of a above 0.
func ratioQuantile(a, b []outcome, p float64) float64 {
	// The bits of floats that are not negative rise with them, so cutting
	// their range in halves ends at a ratio, and not merely near one.
	low := math.Float64bits(b[0].value / a[len(a)-1].value)
	high := math.Float64bits(b[len(b)-1].value / a[0].value)
	for low < high {
		mid := low + (high-low)/2
		if ratioAtMost(a, b, math.Float64frombits(mid)) >= p {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return math.Float64frombits(low)
}

// ratioAtMost returns the probability of a ratio of no more than limit.
func ratioAtMost(a, b []outcome, limit float64) (p float64) {
	j, below := 0, 0.0 // the outcomes of b before j, whose ratio is small enough, and their probability
	for _, x := range a {
		for ; j < len(b) && b[j].value/x.value <= limit; j++ {
			below += b[j].probability
		}
		p += x.probability * below
	}
	return p
}
