package profile

import (
	"pianola/format"
	"pianola/internal/stats"
)

// totals are the figures that depend neither on the order of events nor on their program.
type totals struct {
	runTime   int64
	ops       [NumCategories + 1][format.NumOps]Total // the last of noCategory
	latencies [NumCategories + 1][format.NumOps]stats.Histogram
}

// profile returns a profile that holds the totals only.
func (t *totals) profile() *Profile {
	p := &Profile{RunTime: t.runTime, OpComm: t.ops[Communication]}
	var byOp [format.NumOps]stats.Histogram
	for k := range t.ops {
		var sum Total
		var all stats.Histogram
		for op := range byOp {
			sum.add(&t.ops[k][op])
			p.All.add(&t.ops[k][op])
			p.Ops[op].add(&t.ops[k][op])
			byOp[op].Merge(&t.latencies[k][op])
			all.Merge(&t.latencies[k][op])
		}
		if Category(k) != noCategory {
			p.Categories[k], p.Latency[k] = sum, distribution(&all)
		}
	}
	for op := range byOp {
		p.OpLatency[op] = distribution(&byOp[op])
	}
	return p
}

// Sum adds up programs that ran side by side from one moment on. The zero value is
// ready; a Sum is large and must not be copied once used.
type Sum struct {
	totals
	floor *format.Floor // the longest
}

// Add adds what a collector has counted.
func (s *Sum) Add(c *Collector) {
	s.runTime = max(s.runTime, c.runTime)
	if f := c.told.Floor; f != nil && (s.floor == nil || f.Total > s.floor.Total) {
		s.floor = f
	}
	for k := range s.ops {
		for op := range s.ops[k] {
			s.ops[k][op].add(&c.ops[k][op])
			s.latencies[k][op].Merge(&c.latencies[k][op])
		}
	}
}

// Profile returns the totals: the run time and the floor of the longest program, and for
// each category and operation the sums and the durations of all calls. The rest of the
// profile is empty.
func (s *Sum) Profile() *Profile {
	p := s.profile()
	p.Floor = s.floor
	return p
}
