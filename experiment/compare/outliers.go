package compare

import (
	"fmt"
	"math"

	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// A run is an outlier if the distance of its time from the median exceeds both
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

// outliers returns a line for each side that has outliers and enough runs.
func (c *Comparison) outliers() (lines []string) {
	for side, runs := range [2][]*profile.Profile{c.applications, c.replays} {
		var times []float64
		for _, p := range runs {
			times = append(times, float64(p.RunTime)/1e9)
		}
		if len(times) < MinRuns {
			continue
		}
		median := stats.Median(times)
		var far []float64
		for _, t := range times {
			far = append(far, math.Abs(t-median))
		}
		limit := max(outlierDeviations*deviation*stats.Median(far), outlierShare*median)
		n, worst := 0, median
		for _, t := range times {
			if d := math.Abs(t - median); d > limit {
				if n++; d > math.Abs(worst-median) {
					worst = t
				}
			}
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d runs are outliers: %s, the median is %s",
				c.Names[side], n, len(times), table.Duration(worst), table.Duration(median)))
		}
	}
	return lines
}
