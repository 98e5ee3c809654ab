package stats

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts durations in nanoseconds, in bounded memory: 36 KiB with two
// significant digits, 5 KiB with one. Durations above 73 minutes count as 73 minutes.
// The zero value is ready. A Histogram must not be used concurrently.
type Histogram struct {
	Digits int // significant digits of quantiles, 2 for 0

	hist     *hdrhistogram.Histogram // nil before the first
	min, max int64
}

const maxNanos = 1 << 42

// Add counts a duration. A negative one counts as 0.
func (h *Histogram) Add(nanos int64) { h.AddCount(nanos, 1) }

// AddCount counts a duration several times. With a count of 0 it only raises the maximum.
func (h *Histogram) AddCount(nanos, count int64) {
	nanos = max(nanos, 0)
	if h.hist == nil {
		h.begin(nanos)
	}
	h.min, h.max = min(h.min, nanos), max(h.max, nanos)
	_ = h.hist.RecordValues(min(nanos, maxNanos), max(count, 0)) // fails only for values out of range
}

func (h *Histogram) begin(least int64) {
	digits := h.Digits
	if digits == 0 {
		digits = 2
	}
	h.hist, h.min = hdrhistogram.New(1, maxNanos, digits), least
}

// Merge adds the counts of another histogram with the same number of digits.
func (h *Histogram) Merge(o *Histogram) {
	if o.hist == nil {
		return
	}
	if h.hist == nil {
		h.begin(o.min)
	}
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.hist.Merge(o.hist)
}

// Count returns how many durations were counted.
func (h *Histogram) Count() int64 {
	if h.hist == nil {
		return 0
	}
	return h.hist.TotalCount()
}

// Min returns the smallest duration, 0 if there are none.
func (h *Histogram) Min() int64 { return h.min }

// Quantiles are upper limits of fractions of all durations, in nanoseconds.
type Quantiles struct{ P50, P90, P99, P999, Max int64 }

// QuantileNames are the names of Quantiles, in their order, and QuantileKeys the same as keys of
// documents and columns.
var (
	QuantileNames = [...]string{"p50", "p90", "p99", "p99.9", "max"}
	QuantileKeys  = [len(QuantileNames)]string{"p50", "p90", "p99", "p999", "max"}
)

// List returns the quantiles in the order of QuantileNames.
func (q Quantiles) List() [len(QuantileNames)]int64 {
	return [...]int64{q.P50, q.P90, q.P99, q.P999, q.Max}
}

// Quantiles returns the quantiles of the durations. Max is exact; for the others see
// Below.
func (h *Histogram) Quantiles() Quantiles {
	q := h.Below(50, 90, 99, 99.9)
	return Quantiles{q[0], q[1], q[2], q[3], h.max}
}

// Below returns the durations that the given percentages of all durations do not
// exceed. They are too high by less than 1 % with two digits, by less than 7 % with
// one. They are 0 if there are no durations.
func (h *Histogram) Below(percentiles ...float64) []int64 {
	if h.hist == nil {
		return make([]int64, len(percentiles))
	}
	q := h.hist.ValueAtPercentilesSlice(percentiles)
	for i := range q {
		q[i] = min(max(q[i], h.min), h.max)
	}
	return q
}

// Each calls f for each range of durations that the histogram distinguishes, with a
// representative duration and the count.
func (h *Histogram) Each(f func(nanos, count int64)) {
	if h.hist == nil {
		return
	}
	for _, b := range h.hist.Distribution() {
		if b.Count > 0 {
			f(b.From, b.Count)
		}
	}
}

// Counts is a histogram of two digits in compact form, usually a few hundred bytes. The
// zero value has no counts.
type Counts struct {
	Min     int64   `json:"min_nanos"`
	Max     int64   `json:"max_nanos"`
	Buckets Buckets `json:"buckets"`
}

// Buckets are the non-empty buckets of an HDR histogram from 1 to 2^42 with two
// significant digits, in rising order. Their text is "812:5 1:7 3": five durations in
// bucket 812, seven in the next one, and one in the third after that.
type Buckets []Bucket

// Bucket counts the durations in a bucket.
type Bucket struct {
	Gap   int // from the one before, or from the start
	Count int64
}

// maxCount is the maximum number of durations that Counts can hold, and maxBuckets the
// maximum number of buckets that are read.
const (
	maxCount   = 1 << 53
	maxBuckets = 1 << 13
)

// Counts returns the counts of the histogram, which must have two digits.
func (h *Histogram) Counts() (c Counts) {
	if h.hist == nil {
		return c
	}
	c.Min, c.Max = h.min, h.max
	last := 0
	for i, count := range h.hist.Export().Counts {
		if count > 0 {
			c.Buckets = append(c.Buckets, Bucket{i - last, count})
			last = i
		}
	}
	return c
}

// Histogram returns a histogram with these counts. It returns an error for counts that
// no histogram can have.
func (c *Counts) Histogram() (*Histogram, error) {
	h := &Histogram{min: c.Min, max: c.Max}
	if len(c.Buckets) == 0 {
		if c.Min != 0 || c.Max != 0 {
			return nil, errors.New("durations without buckets")
		}
		return h, nil
	}
	h.begin(c.Min)
	s := h.hist.Export()
	at, all := 0, int64(0)
	for i, b := range c.Buckets {
		switch {
		case b.Gap < 0 || b.Gap == 0 && i > 0 || b.Gap >= len(s.Counts)-at:
			return nil, fmt.Errorf("bucket %d out of range", i)
		case b.Count <= 0 || b.Count > maxCount-all:
			return nil, fmt.Errorf("count of bucket %d out of range", i)
		}
		at += b.Gap
		all += b.Count
		s.Counts[at] = b.Count
	}
	h.hist = hdrhistogram.Import(s)
	in := func(nanos, from int64) bool {
		return nanos >= 0 && h.hist.ValuesAreEquivalent(min(nanos, maxNanos), from)
	}
	if !in(c.Min, h.hist.ValueAtPercentile(0)) || !in(c.Max, h.hist.ValueAtPercentile(100)) || c.Min > c.Max {
		return nil, errors.New("the shortest or longest duration is in no bucket")
	}
	return h, nil
}

// MarshalText returns the text of the buckets.
func (b Buckets) MarshalText() (text []byte, err error) {
	for i, one := range b {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, int64(one.Gap), 10)
		if one.Count != 1 {
			text = strconv.AppendInt(append(text, ':'), one.Count, 10)
		}
	}
	return text, nil
}

// UnmarshalText reads the text of buckets. Their ranges are checked by
// Counts.Histogram.
func (b *Buckets) UnmarshalText(text []byte) error {
	*b = nil
	for word := range strings.FieldsSeq(string(text)) {
		if len(*b) == maxBuckets {
			return fmt.Errorf("more than %d buckets", maxBuckets)
		}
		gap, count, several := strings.Cut(word, ":")
		one := Bucket{Count: 1}
		var err error
		if one.Gap, err = strconv.Atoi(gap); err == nil && several {
			one.Count, err = strconv.ParseInt(count, 10, 64)
		}
		if err != nil {
			return fmt.Errorf("bucket %d: expected GAP:COUNT, not %q", len(*b), word)
		}
		*b = append(*b, one)
	}
	return nil
}
