package replay

import "math/bits"

// Lateness is how long after their due time events were issued, in nanoseconds.
// The percentiles are exact to about 3 %.
type Lateness struct {
	P50 int64
	P99 int64
	Max int64
}

// histogram counts nanoseconds in buckets that are linear up to 32 and then
// grow with the value: 32 to each power of two.
type histogram struct {
	counts [(64 - 4) * 32]int64
	total  int64
	max    int64
}

func (h *histogram) add(nanos int64) {
	nanos = max(nanos, 0)
	h.counts[bucket(nanos)]++
	h.total++
	h.max = max(h.max, nanos)
}

func bucket(nanos int64) int {
	shift := max(bits.Len64(uint64(nanos))-6, 0)
	return shift*32 + int(nanos>>shift)
}

// low is the smallest value of a bucket.
func low(bucket int) int64 {
	shift := max(bucket/32-1, 0)
	return int64(bucket-shift*32) << shift
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.max = max(h.max, o.max)
}

// quantile returns a value that a fraction q of all values does not exceed.
func (h *histogram) quantile(q float64) int64 {
	rank := int64(q * float64(h.total))
	for i, n := range h.counts {
		if rank -= n; rank < 0 {
			return min(low(i), h.max)
		}
	}
	return h.max
}

func (h *histogram) summary() Lateness {
	return Lateness{P50: h.quantile(0.5), P99: h.quantile(0.99), Max: h.max}
}
