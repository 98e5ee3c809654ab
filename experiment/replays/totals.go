package replays

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
	"pianola/replay"
)

// label names what was played in one line: its file, and the number of a copy, or another
// backend.
func (p *played) label() string {
	switch {
	case p.output != nil && p.output.Root != "":
		return fmt.Sprintf("  %s, %s", format.Visible(p.output.Name), format.Visible(p.output.Root))
	case p.output != nil:
		return "  " + format.Visible(p.output.Name)
	case p.copy > 0:
		return fmt.Sprintf("%s, copy %d", format.Visible(p.File), p.copy)
	}
	return format.Visible(p.File)
}

// together returns the totals of all runs, as one side of a comparison: its figures are
// medians over the runs.
func (r *Report) together() *compare.Comparison { return compare.Profiles(nil, r.sums) }

// runCounts returns the counts of each run: those of all that was played side by side.
func (r *Report) runCounts() []counts {
	all := make([]counts, len(r.sums))
	for _, p := range r.list {
		for i, one := range p.runs {
			n := one.counts()
			all[i].Executed += n.Executed
			all[i].LeftOut += n.LeftOut
			all[i].Regrouped += n.Regrouped
			all[i].Failed += n.Failed
			all[i].Differed += n.Differed
		}
	}
	return all
}

// cells returns the most events that were executed, that failed and that differed.
func cells(runs []counts) []string {
	var most counts
	for _, n := range runs {
		most.Executed, most.Failed, most.Differed = max(most.Executed, n.Executed), max(most.Failed, n.Failed), max(most.Differed, n.Differed)
	}
	return []string{table.Count(most.Executed), table.Count(most.Failed), table.Count(most.Differed)}
}

// spread is that of the run times of all complete replays, in seconds.
type spread struct {
	Least   float64 `json:"least_seconds"`
	Median  float64 `json:"median_seconds"`
	Largest float64 `json:"largest_seconds"`
}

// spread returns that of all traces and copies in all runs, nil if none is complete.
func (r *Report) spread() *spread {
	var times []float64
	for _, p := range r.list {
		for _, one := range p.complete() {
			times = append(times, format.Seconds(one.profile.RunTime))
		}
	}
	if times == nil {
		return nil
	}
	return &spread{slices.Min(times), stats.Median(times), slices.Max(times)}
}

// shownTotals are the categories that the totals show where they occur. The first
// profile.NumCalls are always in the document.
const shownTotals = profile.NumIO

// writeTotals writes a row for each trace or copy, and one for all, and then what all did
// together, by category.
func (r *Report) writeTotals(b *bytes.Buffer) {
	all := r.together()
	writeRows(b, r.list, append([]string{"all", milliseconds.Optional(all.Rows[profile.NumCategories].Replay.Seconds), ""}, cells(r.runCounts())...))
	if s := r.spread(); s != nil {
		fmt.Fprintf(b, "run times: %s to %s ms, median %s ms\n", milliseconds.Format(s.Least), milliseconds.Format(s.Largest), milliseconds.Format(s.Median))
	}
	writeCategories(b, all)
}

// writeRows writes a row for each trace or copy, with those of the other backends below it, and
// then more.
func writeRows(b *bytes.Buffer, list []*played, more ...[]string) {
	rows := [][]string{{"", "run time ms", "of the recording", "executed", "failed", "differed", "late p99", "verdict"}}
	for _, p := range list {
		rows = append(rows, p.totalRow())
		for _, other := range p.beside {
			rows = append(rows, other.totalRow())
		}
	}
	verdict := len(rows[0]) - 1
	b.WriteString(table.Fit(append(rows, more...), func(column int) bool { return column == 0 || column == verdict }))
}

// totalRow returns the row of a trace or a copy: medians over its runs, and the most events
// of a run.
func (p *played) totalRow() []string {
	var events []counts
	var late, elapsed []int64
	for _, r := range p.runs {
		events = append(events, r.counts())
		late = append(late, r.Lateness.P99)
	}
	for _, r := range p.complete() {
		elapsed = append(elapsed, int64(r.Elapsed))
	}
	time, ratio, verdict := table.Missing, table.Missing, "interrupted"
	if c := p.compare(); c == nil && len(elapsed) > 0 {
		time, verdict = millis(stats.Median(elapsed)), table.Missing
	} else if c != nil {
		v := &c.Rows[profile.NumCategories]
		time = milliseconds.Optional(v.Replay.Seconds)
		if v.Ratio != nil {
			ratio = table.Fixed(*v.Ratio, 3)
		}
		verdict = string(c.Judge(compare.NoTolerance).State)
	}
	return slices.Concat([]string{p.label(), time, ratio}, cells(events), []string{millis(stats.Median(late)), verdict})
}

// writeCategories writes the sums and the quantiles of each category of a comparison's
// replays.
func writeCategories(b *bytes.Buffer, c *compare.Comparison) {
	rows := [][]string{{"all together", "ms", "calls", "bytes", "bytes/s"}}
	latencies := [][]string{append([]string{"latency, µs"}, stats.QuantileNames[:]...)}
	elapsed := c.Rows[profile.NumCategories].Replay.Seconds
	for k := range shownTotals {
		m := &c.Rows[k].Replay
		if m.Calls == 0 {
			continue
		}
		rate := table.Missing
		if elapsed != nil && *elapsed > 0 {
			rate = table.Bytes(float64(m.Bytes) / *elapsed)
		}
		rows = append(rows, []string{k.String(), milliseconds.Optional(m.Seconds), table.Count(m.Calls), table.Count(m.Bytes), rate})
		if m.Tails != nil {
			row := []string{k.String()}
			for _, seconds := range m.Tails.List() {
				row = append(row, table.Micros(int64(math.Round(seconds*1e9))))
			}
			latencies = append(latencies, row)
		}
	}
	for _, t := range [][][]string{rows, latencies} {
		if len(t) > 1 {
			fmt.Fprintf(b, "\n%s", table.Fit(t, table.FirstLeft))
		}
	}
}

// writeCopies writes how the copies of a trace differed from the recording: each kind of
// difference once, with the count of all copies and the first copy that had it.
func (r *Report) writeCopies(b *bytes.Buffer, of *Trace) {
	type kind struct {
		op            format.Op
		recorded, got int64
	}
	type found struct {
		replay.Difference
		copy int
	}
	var list []*found
	seen := map[kind]*found{}
	var notes []string
	var first *played
	var runs []*run
	for _, p := range r.list {
		if p.Trace != of {
			continue
		}
		first = cmp.Or(first, p)
		runs = append(runs, p.runs...)
		for i, one := range p.runs {
			if one.Interrupted {
				fmt.Fprintf(b, "%s, run %d: not all events were replayed\n", p.label(), i+1)
			}
			for _, d := range one.Differences {
				k := kind{d.Op, d.Recorded, d.Got}
				if have := seen[k]; have != nil {
					have.Count += d.Count
					have.At = min(have.At, d.At)
					continue
				}
				seen[k] = &found{d, p.copy}
				list = append(list, seen[k])
			}
			for _, note := range one.Notes {
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *found) int { return cmp.Compare(a.At, b.At) })
	for _, f := range list {
		fmt.Fprintf(b, "differed: %s (copy %d of %s)\n", &f.Difference, f.copy, format.Visible(of.File))
	}
	writeLeft(b, runs)
	for _, note := range notes {
		fmt.Fprintln(b, note)
	}
	first.runs[0].writeLacks(b) // the files of all are the same
	fmt.Fprintln(b, new(coverage.Of(of.Header())))
}
