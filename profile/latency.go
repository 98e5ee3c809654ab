package profile

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is the distribution of the durations of calls, in nanoseconds. Its
// quantiles are those of an HDR histogram of two significant digits, so they
// are too high by less than 1 %; the smallest and the largest are exact.
type Latency struct {
	Calls                    int64 // that have a duration
	Min, P50, P90, P99, P999 int64
	Max                      int64
	Bars                     []Bar // those that are not empty, in order
}

// Bar counts the calls that took From to To nanoseconds, both included. There
// are eight bars to a power of two.
type Bar struct {
	From, To int64
	Calls    int64
}

// A histogram tells durations apart up to maxLatency, in nanoseconds (73
// minutes); what is longer counts as that long. It is about 36 KiB large.
const (
	maxLatency    = 1 << 42
	latencyDigits = 2
)

// latency counts durations.
type latency struct {
	hist     *hdrhistogram.Histogram // nil before the first
	min, max int64
}

func (l *latency) count(nanos int64) {
	if l.hist == nil {
		l.hist, l.min = hdrhistogram.New(1, maxLatency, latencyDigits), nanos
	}
	l.min, l.max = min(l.min, nanos), max(l.max, nanos)
	// It fails for what is out of range only.
	_ = l.hist.RecordValue(min(nanos, maxLatency))
}

// merge adds what another counted.
func (l *latency) merge(o *latency) {
	if o.hist == nil {
		return
	}
	if l.hist == nil {
		l.hist, l.min = hdrhistogram.New(1, maxLatency, latencyDigits), o.min
	}
	l.min, l.max = min(l.min, o.min), max(l.max, o.max)
	l.hist.Merge(o.hist)
}

// distribution returns nil where there are no durations.
func (l *latency) distribution() *Latency {
	if l.hist == nil {
		return nil
	}
	q := l.hist.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	for i := range q {
		q[i] = min(max(q[i], l.min), l.max)
	}
	d := &Latency{Calls: l.hist.TotalCount(), Min: l.min, P50: q[0], P90: q[1], P99: q[2], P999: q[3], Max: l.max}
	for _, b := range l.hist.Distribution() {
		if b.Count == 0 {
			continue
		}
		from, to := barOf(b.From)
		if n := len(d.Bars); n > 0 && d.Bars[n-1].From == from {
			d.Bars[n-1].Calls += b.Count
		} else {
			d.Bars = append(d.Bars, Bar{from, to, b.Count})
		}
	}
	return d
}

// barOf returns the first and the last value of the bar that holds v.
func barOf(v int64) (from, to int64) {
	shift := max(bits.Len64(uint64(v))-4, 0)
	from = v >> shift << shift
	return from, from + 1<<shift - 1
}
