package stats

import (
	"math"
	"slices"
)

// MinRuns is the smallest number of runs per side for a statement about noise.
// Intervals of six runs keep an error rate of 1 % for any kind of noise. Those of five
// runs reach 1.5 %, and those of four 4 %.
const MinRuns = 6

// MaxRuns is the largest number of runs of one side. With more, the
// probabilities of medians may leave the range of floats.
const MaxRuns = 1000

// Interval is a confidence interval of a median, or of a ratio of medians.
type Interval struct{ Low, High float64 }

// RatioInterval returns the percentile bootstrap interval (Efron, Bootstrap
// Methods, 1979) of the ratio of the median of replay to that of app. Both are
// sorted and not empty. The values of app are above 0, those of replay are not
// negative. errorRate is the probability that the interval misses the ratio,
// half of it on either side: one end alone has half the error rate.
//
// Resampling can yield few medians, and their probabilities are known (Evans,
// Leemis and Drew, The Distribution of Order Statistics for Discrete Random
// Variables with Applications to Bootstrapping, 2006). So the probabilities are
// added up, without random samples: there is no seed and no sampling error.
//
// It compares medians, because machines have a few slow runs, and because the
// means of few runs yield intervals that are too narrow. It does not use BCa,
// whose correction needs a jackknife, which fails for medians.
func RatioInterval(app, replay []float64, errorRate float64) Interval {
	return interval(app, replay, errorRate, func(app, replay float64) float64 { return replay / app })
}

// DifferenceInterval is as RatioInterval, of the median of replay less that of app. Both
// may have any values.
func DifferenceInterval(app, replay []float64, errorRate float64) Interval {
	return interval(app, replay, errorRate, func(app, replay float64) float64 { return replay - app })
}

// interval is that of what of returns, which grows with the median of replay and falls
// with that of app.
func interval(app, replay []float64, errorRate float64, of func(app, replay float64) float64) Interval {
	a, r := resampledMedians(app), resampledMedians(replay)
	return Interval{quantile(a, r, errorRate/2, of), quantile(a, r, 1-errorRate/2, of)}
}

// outcome is a value of a random variable, with its probability.
type outcome struct{ value, probability float64 }

// negligible is the probability below which a median is left out. n runs have at most
// n(n+1)/2 medians. For MaxRuns, the total probability of those left out is below
// 5.1e-15, which is less than the rounding error of the sum of the others. The bounds
// of an interval are where the sum passes its error rate, a few thousandths. For an
// even number of runs, a median can be between any two values, and some thousands of
// half a million medians remain.
const negligible = 1e-20

// resampledMedians returns the possible medians of samples of len(v), drawn
// from v with replacement, in rising order, without negligible ones. v is
// sorted.
func resampledMedians(v []float64) (medians []outcome) {
	n := len(v)
	half := (n + 1) / 2
	// middle is the number of ways to deal an even sample into halves.
	middle := math.Exp(logFactorial(n) - 2*logFactorial(half))
	power := func(k int) float64 { return math.Pow(float64(k)/float64(n), float64(half)) }
	below := 0.0 // the probability that it is less than v[i]
	for i := range n {
		// P(median ≤ v[i]): the lower one of the two middle values, or the middle
		// value, is v[i].
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

// atLeast returns the probability that at least k of n values drawn from n with
// replacement are among the first m. k is at least n/2.
func atLeast(n, k, m int) (p float64) {
	switch {
	case m == 0:
		return 0
	case 2*m > n: // a result near 1 is exact as a difference to 1
		return 1 - atLeast(n, n-k+1, n-m)
	}
	in, out := math.Log(float64(m)/float64(n)), math.Log(float64(n-m)/float64(n))
	for i := k; i <= n; i++ { // terms decrease beyond the mean
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

// quantile returns the lowest value of an outcome of a and one of b for which the
// probability of a value at or below it is at least p.
func quantile(a, b []outcome, p float64, of func(a, b float64) float64) float64 {
	// A binary search over all floats ends exactly at a value.
	low := position(of(a[len(a)-1].value, b[0].value))
	high := position(of(a[0].value, b[len(b)-1].value))
	for low < high {
		mid := low + (high-low)/2
		if atMost(a, b, floatAt(mid), of) >= p {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return floatAt(low)
}

// position returns where a float stands among all floats, and floatAt which one stands
// there. The bits of floats that are not negative have the same order as the floats; those
// of negative ones have the opposite order.
func position(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func floatAt(position uint64) float64 {
	if position>>63 == 1 {
		return math.Float64frombits(position &^ (1 << 63))
	}
	return math.Float64frombits(^position)
}

// atMost returns the probability of a value of at most limit.
func atMost(a, b []outcome, limit float64, of func(a, b float64) float64) (p float64) {
	j, below := 0, 0.0 // the outcomes of b before j have a small enough value; below is their probability
	for _, x := range a {
		for ; j < len(b) && of(x.value, b[j].value) <= limit; j++ {
			below += b[j].probability
		}
		p += x.probability * below
	}
	return p
}

// UnseenChance returns the chance that app values are all equal and replay values are all
// above them, or all below them, although all are drawn from one distribution: of the
// distribution for which that is likeliest. It tells what equal values are worth.
//
// A distribution whose lowest value has the probability p yields app of these and replay
// others with p^app (1-p)^replay, and no value that is the lowest with (1-p)^(app+replay).
// The rest of the distribution has a lowest value of its own, for which the same holds.
// The likeliest distribution has the same p in all steps, so that the sum is a geometric
// series. That p is below app/(app+replay), which is best for the first step alone.
func UnseenChance(app, replay int) (most float64) {
	const steps = 200
	a, n := float64(app), float64(app+replay)
	for i := 1; i <= steps; i++ {
		p := a / n * float64(i) / steps
		most = max(most, math.Pow(p, a)*math.Pow(1-p, n-a)/(1-math.Pow(1-p, n)))
	}
	return most
}

// RankChance returns the chance that replay values are all above app values, which are
// drawn from the same distribution, or all below them. Each choice of replay values out of
// all is as likely as any other (Wilcoxon, Individual Comparisons by Ranking Methods, 1945).
func RankChance(app, replay int) float64 {
	return math.Exp(logFactorial(app) + logFactorial(replay) - logFactorial(app+replay))
}

// MedianInterval returns the order-statistics interval of the median of the
// distribution that v is drawn from, for any distribution. v is sorted and not empty.
// errorRate is as for RatioInterval, but at least 2/2^n for n values: see MedianRuns.
func MedianInterval(v []float64, errorRate float64) Interval {
	n, low, below := len(v), 0, 0.0
	for i := range (n + 1) / 2 {
		// The median is below v[i] if at most i values are, each with probability 1/2.
		below += math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) - float64(n)*math.Ln2)
		if below > errorRate/2 {
			break
		}
		low = i
	}
	return Interval{v[low], v[n-1-low]}
}

// MedianRuns returns the number of values that MedianInterval needs for an error rate.
func MedianRuns(errorRate float64) int { return int(math.Ceil(1 - math.Log2(errorRate))) }
