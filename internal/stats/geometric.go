package stats

import (
	"math"
)

// Pair is the values of a figure on two sides, in runs of the same thing. All values are
// above 0.
type Pair struct{ Base, Other []float64 }

// GeometricRatio returns the geometric mean over pairs of the ratio of the other side to
// the base, where each side counts with the geometric mean of its runs, and its
// confidence interval. Each pair has the same weight, however long its runs are. ok is
// false if there are too few runs for an interval. A side of one value counts as known
// exactly, so that an interval says only how much the other side varies.
//
// The interval is that of a mean of logarithms by Student's t distribution. The runs of a
// pair vary by themselves, and the degrees of freedom are Welch's (The Generalization of
// Student's Problem, 1947). Many pairs of few runs give a narrow interval together, where
// medians (RatioInterval) need MinRuns of each: a dozen pairs of three runs have about
// twenty degrees of freedom. Unlike an interval of medians it assumes that the logarithms
// of run times are roughly normal.
func GeometricRatio(pairs []Pair, errorRate float64) (ratio float64, interval Interval, ok bool) {
	if len(pairs) == 0 {
		return math.NaN(), interval, false
	}
	var sum, variance, parts float64 // parts is the denominator of Welch's degrees of freedom
	for _, p := range pairs {
		for i, side := range [][]float64{p.Base, p.Other} {
			mean, squares := logMean(side)
			if i == 0 {
				mean = -mean
			}
			sum += mean
			if n := float64(len(side)); n > 1 {
				v := squares / (n - 1) / n
				variance += v
				parts += v * v / (n - 1)
			}
		}
	}
	n := float64(len(pairs))
	ratio = math.Exp(sum / n)
	if parts == 0 {
		return ratio, interval, false
	}
	freedom := variance * variance / parts
	if freedom < minFreedom {
		return ratio, interval, false
	}
	half := studentQuantile(1-errorRate/2, freedom) * math.Sqrt(variance) / n
	return ratio, Interval{math.Exp(sum/n - half), math.Exp(sum/n + half)}, true
}

// GeometricMean returns the geometric mean of values above 0, NaN for none.
func GeometricMean(v []float64) float64 {
	mean, _ := logMean(v)
	return math.Exp(mean)
}

// logMean returns the mean of the logarithms, and the sum of the squares of their
// distances from it.
func logMean(v []float64) (mean, squares float64) {
	for _, x := range v {
		mean += math.Log(x)
	}
	mean /= float64(len(v))
	for _, x := range v {
		d := math.Log(x) - mean
		squares += d * d
	}
	return mean, squares
}

// minFreedom is the smallest number of degrees of freedom for which studentQuantile is
// within 4 % at 0.975: 2, which three runs have at least, but for rounding.
const minFreedom = 2 - 1e-9

// studentQuantile returns the quantile of Student's t distribution, for p above 1/2, by
// the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5).
func studentQuantile(p, freedom float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	z2 := z * z
	return z * (1 + (z2+1)/(4*freedom) +
		((5*z2+16)*z2+3)/(96*freedom*freedom) +
		(((3*z2+19)*z2+17)*z2-15)/(384*freedom*freedom*freedom))
}
