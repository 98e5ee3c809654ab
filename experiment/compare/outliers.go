package compare

import (
	"fmt"
	"math"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// A run is an outlier if the distance of its time, or of its rate of requests, from the median exceeds both
// outlierDeviations robust standard deviations and outlierShare of the median.
// hyperfine uses the same number of deviations. The share matters if all runs but one
// are equal to the microsecond.
const (
	outlierDeviations = 10
	outlierShare      = 0.05

	// deviation is the standard deviation of a normal distribution in units of its
	// median absolute deviation.
	deviation = 1.4826
)

// headlineOf returns what the headline compares of a run, and how to print it.
func (c *Comparison) headlineOf() (of func(*profile.Profile) float64, text func(float64) string) {
	if c.Headline().Name == RequestsRow {
		rate := func(p *profile.Profile) float64 {
			if p.Requests == nil {
				return 0
			}
			return p.Requests.Rate
		}
		return rate, func(v float64) string { return profile.ASecond(v) + " requests a second" }
	}
	return func(p *profile.Profile) float64 { return format.Seconds(p.RunTime) }, table.Duration
}

// outliers returns a line for each side that has outliers and enough runs.
func (c *Comparison) outliers() (lines []string) {
	of, text := c.headlineOf()
	for side, runs := range [2][]*profile.Profile{c.applications, c.replays} {
		var values []float64
		for _, p := range runs {
			values = append(values, of(p))
		}
		if len(values) < MinRuns {
			continue
		}
		median := stats.Median(values)
		var far []float64
		for _, t := range values {
			far = append(far, math.Abs(t-median))
		}
		limit := max(outlierDeviations*deviation*stats.Median(far), outlierShare*median)
		n, worst := 0, median
		for _, t := range values {
			if d := math.Abs(t - median); d > limit {
				if n++; d > math.Abs(worst-median) {
					worst = t
				}
			}
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d runs are outliers: %s, the median is %s",
				c.Names[side], n, len(values), text(worst), text(median)))
		}
	}
	return lines
}
