package page

import "pianola/profile"

// rates are the calls and bytes of all runs in intervals of the same length.
type rates struct {
	Nanos int64  `json:"nanos"` // length of an interval
	Runs  []rate `json:"runs"`
}

type rate struct {
	Read    []int64 `json:"read"` // bytes, of calls that began in the interval
	Written []int64 `json:"written"`
	Calls   []int64 `json:"calls"`
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
func newRate(from *profile.Intervals, nanos int64) (r rate) {
	r = rate{[]int64{}, []int64{}, []int64{}}
	if nanos == 0 {
		return r
	}
	n := 0
	if len(from.List) > 0 {
		n = int((from.List[len(from.List)-1].Start)/nanos) + 1
	}
	r.Read, r.Written, r.Calls = make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range from.List {
		v := &from.List[i]
		io := v.IO()
		at := int(v.Start / nanos)
		over := v.Start + from.Nanos - int64(at+1)*nanos // the part in the next one
		for _, move := range []struct {
			to []int64
			n  int64
		}{{r.Read, v.Fetched()}, {r.Written, v.Stored()}, {r.Calls, io.Calls}} {
			later := int64(0)
			if over > 0 && at+1 < n {
				later = int64(float64(move.n) * float64(over) / float64(from.Nanos))
				move.to[at+1] += later
			}
			move.to[at] += move.n - later
		}
	}
	return r
}
