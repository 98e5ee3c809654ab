package page

import (
	"slices"

	"pianola/profile"
)

// rates are the calls and bytes of all runs in intervals of the same length.
type rates struct {
	Nanos int64  `json:"nanos"` // length of an interval
	Runs  []rate `json:"runs"`
}

// rate has a value for each interval.
type rate struct {
	Read    []int64                        `json:"read"` // bytes, of calls that began in the interval
	Written []int64                        `json:"written"`
	Calls   [profile.NumCategories][]int64 `json:"calls"`  // those that began, by category; nil where there are none
	IO      []int64                        `json:"io"`     // nanoseconds that threads were in I/O
	Flight  []int64                        `json:"flight"` // nanoseconds that requests were in flight
}

// maxRates is how many intervals a page shows, at most.
const maxRates = 1000

func newRates(profiles []*profile.Profile) rates {
	var out rates
	for _, p := range profiles {
		out.Nanos = max(out.Nanos, p.Intervals.Nanos)
	}
	for _, p := range profiles {
		if n := max(out.Nanos, 1); p.RunTime/n >= maxRates {
			out.Nanos = (p.RunTime/n/maxRates + 1) * n
		}
	}
	for _, p := range profiles {
		out.Runs = append(out.Runs, newRate(&p.Intervals, out.Nanos))
	}
	return out
}

// newRate merges intervals into longer ones. An interval that overlaps two of
// these is divided in proportion.
func newRate(from *profile.Intervals, nanos int64) rate {
	n := 0
	if len(from.List) > 0 && nanos > 0 {
		n = int((from.List[len(from.List)-1].Start)/nanos) + 1
	}
	if n == 0 {
		from = &profile.Intervals{}
	}
	merge := func(of func(*profile.Span) int64) []int64 {
		to := make([]int64, n)
		for i := range from.List {
			v := &from.List[i]
			value, later := of(v), int64(0)
			at := int(v.Start / nanos)
			// The part in the next one.
			if over := v.Start + from.Nanos - int64(at+1)*nanos; over > 0 && at+1 < n {
				later = int64(float64(value) * float64(over) / float64(from.Nanos))
				to[at+1] += later
			}
			to[at] += value - later
		}
		return to
	}
	r := rate{
		Read:    merge(func(v *profile.Span) int64 { return v.Fetched() }),
		Written: merge(func(v *profile.Span) int64 { return v.Stored() }),
		IO:      merge(func(v *profile.Span) int64 { io := v.IO(); return io.Nanos }),
		Flight:  merge(func(v *profile.Span) int64 { io := v.IO(); return io.Flight }),
	}
	for k := range profile.NumIO {
		calls := merge(func(v *profile.Span) int64 { return v.Categories[k].Calls })
		if slices.ContainsFunc(calls, func(n int64) bool { return n > 0 }) {
			r.Calls[k] = calls
		}
	}
	return r
}
