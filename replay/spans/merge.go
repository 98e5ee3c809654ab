package spans

import (
	"slices"

	"pianola/internal/stats"
)

// Add adds the result of another rank of the same replay. The lateness is that of the latest.
func (r *Result) Add(o *Result) {
	for _, f := range o.Functions {
		i := slices.IndexFunc(r.Functions, func(g Function) bool { return g.Name == f.Name })
		if i < 0 {
			r.Functions = append(r.Functions, f)
			continue
		}
		g := &r.Functions[i]
		g.Calls, g.Refused, g.Failed, g.Differed = g.Calls+f.Calls, g.Refused+f.Refused, g.Failed+f.Failed, g.Differed+f.Differed
		g.Nanos, g.Recorded, g.Bytes, g.Moving = g.Nanos+f.Nanos, g.Recorded+f.Recorded, g.Bytes+f.Bytes, g.Moving+f.Moving
		if g.First == nil {
			g.First = f.First
		}
	}
	r.Reasons, r.Remarks = merged(r.Reasons, o.Reasons), merged(r.Remarks, o.Remarks)
	r.Lateness = stats.Quantiles{P50: max(r.Lateness.P50, o.Lateness.P50), P99: max(r.Lateness.P99, o.Lateness.P99), Max: max(r.Lateness.Max, o.Lateness.Max)}
	r.Elapsed, r.Recorded = max(r.Elapsed, o.Elapsed), max(r.Recorded, o.Recorded)
	r.Nested, r.Inside, r.Outside, r.OutNanos = r.Nested+o.Nested, r.Inside+o.Inside, r.Outside+o.Outside, r.OutNanos+o.OutNanos
}

func merged(a, b []Reason) []Reason {
	counts := map[string]int64{}
	for _, x := range slices.Concat(a, b) {
		counts[x.Text] += x.Count
	}
	return sorted(counts)
}
