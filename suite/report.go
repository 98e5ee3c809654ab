// Package suite compares what workloads took on storage systems, the sides, with the
// machine that they were recorded on and with one another.
//
//	Report ─┬→ WriteText
//	        └→ Document
//
// There is no score: each measure of each workload has a row, and the geometric mean
// stands below the ratios that it is made of.
package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/profile"
	"pianola/stats"
	"pianola/table"
)

// Confidence is that of each interval.
const Confidence = 0.95

// Report is the result of a suite.
type Report struct {
	Sides       []string // names; the others are compared with the first
	Saved       bool     // the first side is a baseline, whose runs were not in turn with the others
	Workloads   []*Workload
	Interrupted bool // some runs are missing
}

// Workload is one workload, on each side.
type Workload struct {
	Name     string
	Recorded *profile.Profile
	Sides    []Runs // as Report.Sides
}

// Runs are those of a workload on a side.
type Runs struct {
	Profiles         []*profile.Profile
	Refused          string // why there are none, or no more
	Failed, Differed int64  // events of a run, at most
	Example          string // of a result that differed
}

// measure is a figure of a run.
type measure struct {
	title string
	of    func(p *profile.Profile) (seconds float64, ok bool) // ok is false where a run has none
}

// measures lists them, the most telling first.
var measures = []measure{
	{"run time", func(p *profile.Profile) (float64, bool) { return format.Seconds(p.RunTime), p.RunTime > 0 }},
	{"I/O time", func(p *profile.Profile) (float64, bool) {
		nanos := p.IO().Nanos + p.Categories[profile.Submitting].Nanos
		return format.Seconds(nanos), nanos > 0
	}},
	{"p99 of reads", p99(profile.Reads)},
	{"p99 of syncs", p99(profile.Syncs)},
}

// fewCalls is the number of calls from which on a 99th percentile is not the maximum.
const fewCalls = 100

// p99 returns the measure of the 99th percentile of the durations of a category.
func p99(k profile.Category) func(*profile.Profile) (float64, bool) {
	return func(p *profile.Profile) (float64, bool) {
		l := p.Latency[k]
		if l == nil || l.Calls < fewCalls || l.Quantiles.P99 == 0 {
			return 0, false
		}
		return format.Seconds(l.Quantiles.P99), true
	}
}

// values returns the measure of each run, nil if one has none.
func (m *measure) values(runs []*profile.Profile) (all []float64) {
	for _, p := range runs {
		v, ok := m.of(p)
		if !ok {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// Ratio is how much longer one side takes than another: the geometric mean of several
// workloads, or that of one. Low and High bound its interval, nil if it is not known.
type Ratio struct {
	Ratio     float64  `json:"ratio"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	Workloads int      `json:"workloads"` // that it is made of
}

// ratio returns that of pairs, nil if there are none. It has an interval if each side that
// varies has two runs of each workload: a base of a single value does not vary where it is
// the recording.
func ratio(pairs []stats.Pair, recorded bool) *Ratio {
	if len(pairs) == 0 {
		return nil
	}
	v, i, ok := stats.GeometricRatio(pairs, 1-Confidence)
	r := &Ratio{Ratio: v, Workloads: len(pairs)}
	for _, p := range pairs {
		ok = ok && len(p.Other) > 1 && (recorded || len(p.Base) > 1)
	}
	if ok {
		r.Low, r.High = &i.Low, &i.High
	}
	return r
}

// interval prints the interval of a ratio.
func (r *Ratio) interval() string {
	if r == nil || r.Low == nil {
		return none
	}
	return digits(*r.Low) + " to " + digits(*r.High)
}

func (r *Ratio) String() string {
	if r == nil {
		return none
	}
	return digits(r.Ratio)
}

// digits prints a ratio: with three decimals, or more where it is small, and none where it
// is large.
func digits(v float64) string {
	switch {
	case v < 0.01:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v >= 1000:
		return table.Fixed(v, 0)
	}
	return table.Fixed(v, 3)
}

// toRecorded compares a side with the recordings, in a measure of these workloads. The
// interval is that of the side, because a recording is one run.
func (m *measure) toRecorded(workloads []*Workload, side int) *Ratio {
	return ratio(m.pairs(workloads, side, func(w *Workload) []*profile.Profile { return []*profile.Profile{w.Recorded} }), true)
}

// toFirst compares a side with the first one.
func (m *measure) toFirst(workloads []*Workload, side int) *Ratio {
	return ratio(m.pairs(workloads, side, func(w *Workload) []*profile.Profile { return w.Sides[0].Profiles }), false)
}

// pairs returns the values of the workloads for which both a base and a side have the
// measure.
func (m *measure) pairs(workloads []*Workload, side int, of func(*Workload) []*profile.Profile) (pairs []stats.Pair) {
	for _, w := range workloads {
		base, other := m.values(of(w)), m.values(w.Sides[side].Profiles)
		if base != nil && other != nil {
			pairs = append(pairs, stats.Pair{Base: base, Other: other})
		}
	}
	return pairs
}

// shared returns the workloads that have the measure on all sides: geometric means of
// others could not be compared.
func (m *measure) shared(workloads []*Workload) []*Workload {
	return slices.DeleteFunc(slices.Clone(workloads), func(w *Workload) bool {
		return slices.ContainsFunc(w.Sides, func(s Runs) bool { return m.values(s.Profiles) == nil })
	})
}

// occurs reports whether a workload has the measure on a side.
func (m *measure) occurs(w *Workload) bool {
	return slices.ContainsFunc(w.Sides, func(s Runs) bool { return m.values(s.Profiles) != nil })
}

// Conclusion says, in a line for each side but the first, how many times as fast it is by
// the geometric mean, and what that hides: the workloads with the lowest and the highest
// ratio, and those whose run times do not show how fast the storage is. For a single side it says how that stands to the recorded machine.
func (r *Report) Conclusion() string {
	var b strings.Builder
	m := &measures[0]
	shared := m.shared(r.Workloads)
	line := func(one, other string, side int, of func([]*Workload, int) *Ratio, sides ...int) {
		all := of(shared, side)
		if all == nil {
			fmt.Fprintf(&b, "%s: nothing to compare with %s\n", one, other)
			return
		}
		switch {
		case all.Low == nil:
			fmt.Fprintf(&b, "%s takes %.2f times the run time of %s, too few runs for an interval", one, all.Ratio, other)
		case *all.Low <= 1 && *all.High >= 1:
			fmt.Fprintf(&b, "no difference found between %s and %s: the ratio of run times is from %.2f to %.2f", one, other, *all.Low, *all.High)
		case all.Ratio < 1:
			fmt.Fprintf(&b, "%s is %.2f times as fast as %s (%.2f to %.2f, %s)", one, 1/all.Ratio, other, 1 / *all.High, 1 / *all.Low, table.Percent(Confidence))
		default:
			fmt.Fprintf(&b, "%s takes %.2f times as long as %s (%.2f to %.2f, %s)", one, all.Ratio, other, *all.Low, *all.High, table.Percent(Confidence))
		}
		fmt.Fprintf(&b, "; geometric mean of %s", table.Plural(all.Workloads, "workload"))
		low, high, lowest, highest := 0.0, 0.0, "", ""
		for _, w := range shared {
			if one := of([]*Workload{w}, side); one != nil {
				if lowest == "" || one.Ratio < low {
					low, lowest = one.Ratio, w.Name
				}
				if highest == "" || one.Ratio > high {
					high, highest = one.Ratio, w.Name
				}
			}
		}
		if all.Workloads > 1 {
			fmt.Fprintf(&b, ", from %.2f times the run time (%s) to %.2f (%s)", low, lowest, high, highest)
		}
		if names := hidden(shared, sides...); len(names) > 0 {
			fmt.Fprintf(&b, "; storage does not show in %s", strings.Join(names, ", "))
		}
		b.WriteByte('\n')
	}
	if len(r.Sides) == 1 {
		line(r.Sides[0], "the recorded machine", 0, m.toRecorded, 0)
	}
	for side := 1; side < len(r.Sides); side++ {
		line(r.Sides[side], r.Sides[0], side, m.toFirst, 0, side)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
