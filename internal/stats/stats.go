// Package stats has the median and the histogram of durations, which recorder, replay
// and comparison share.
package stats

import "slices"

// Median sorts v and returns its median, 0 if v is empty. For an even number of values
// it is the mean of the two in the middle.
func Median[T int64 | float64](v []T) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	low, high := v[(len(v)-1)/2], v[len(v)/2]
	return low + (high-low)/2
}
