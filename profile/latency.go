package profile

import (
	"math"
	"math/bits"
	"slices"

	"pianola/internal/stats"
)

// Latency is the distribution of the durations of calls, in nanoseconds. Its
// quantiles are those of an HDR histogram of two significant digits, so they
// are too high by less than 1 %; the smallest and the largest are exact.
type Latency struct {
	Calls int64 // that have a duration
	Min   int64
	stats.Quantiles
	Tail []int64 // for each of TailParts, what the rest of the calls do not exceed; Max is where it ends
	Bars []Bar   // those that are not empty, in order

	Counts stats.Counts // of the histogram
}

// TailParts are the parts of the calls that take longer than the durations of
// Latency.Tail: twelve to a power of ten, down to a millionth.
var TailParts = func() (parts [12*6 + 1]float64) {
	for i := range parts {
		parts[i] = math.Pow(10, -float64(i)/12)
	}
	return parts
}()

// Bar counts the calls that took From to To nanoseconds, both included. There are eight
// bars to a power of two; the first begins with the shortest duration, and the last ends
// with the longest.
type Bar struct {
	From, To int64
	Calls    int64
}

// NewLatency returns the distribution of durations that were counted, nil for none.
func NewLatency(c stats.Counts) (*Latency, error) {
	h, err := c.Histogram()
	if err != nil {
		return nil, err
	}
	return distribution(h), nil
}

// distribution returns nil if there are no durations.
func distribution(h *stats.Histogram) *Latency {
	if h.Count() == 0 {
		return nil
	}
	var percentiles []float64
	for _, part := range TailParts {
		percentiles = append(percentiles, 100*(1-part))
	}
	d := &Latency{Calls: h.Count(), Min: h.Min(), Quantiles: h.Quantiles(), Tail: h.Below(percentiles...), Counts: h.Counts()}
	last := slices.Index(d.Tail, d.Tail[len(d.Tail)-1])
	d.Tail = append(d.Tail[:last], d.Max)
	h.Each(func(nanos, count int64) {
		from, to := barOf(nanos)
		if n := len(d.Bars); n > 0 && d.Bars[n-1].To == to {
			d.Bars[n-1].Calls += count
		} else {
			d.Bars = append(d.Bars, Bar{from, to, count})
		}
	})
	within(d.Bars, d.Min, d.Max)
	return d
}

// within cuts bars to the durations that there were, from the shortest to the longest.
func within(bars []Bar, shortest, longest int64) {
	if n := len(bars); n > 0 {
		bars[0].From = max(bars[0].From, shortest)
		bars[n-1].To = min(bars[n-1].To, longest)
	}
}

// barOf returns the first and the last value of the bar that holds v.
func barOf(v int64) (from, to int64) {
	shift := max(bits.Len64(uint64(v))-4, 0)
	from = v >> shift << shift
	return from, from + 1<<shift - 1
}
