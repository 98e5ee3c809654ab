package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/compare"
	"pianola/coverage"
	"pianola/format"
	"pianola/profile"
	"pianola/replay"
	"pianola/stats"
	"pianola/table"
)

// total adds up what was replayed side by side in one run.
type total struct {
	*profile.Profile
	interrupted bool

	executed, failed, differed int64
}

// add adds a replay.
func (t *total) add(r *replay.Result) {
	t.interrupted = t.interrupted || r.Interrupted
	t.executed += r.Executed
	t.failed += r.Failed
	t.differed += r.Differed
}

// label names what was played in one line: its file, and the number of a copy.
func (p *played) label() string {
	if p.copy > 0 {
		return fmt.Sprintf("%s, copy %d", format.Visible(p.file), p.copy)
	}
	return format.Visible(p.file)
}

// runTimes returns the run times of a trace's complete runs, in seconds.
func (p *played) runTimes() (seconds []float64) {
	for _, s := range p.runs {
		if !s.result.Interrupted {
			seconds = append(seconds, format.Seconds(s.replayed.RunTime))
		}
	}
	return seconds
}

// together returns the totals of all runs, as one side of a comparison: its figures are
// medians over the runs.
func (set *playedSet) together() *compare.Comparison {
	var runs []*profile.Profile
	for _, t := range set.totals {
		runs = append(runs, t.Profile)
	}
	return compare.Profiles(nil, runs)
}

// shownTotals are the categories that the totals show where they occur. The first
// profile.NumCalls are always shown.
const shownTotals = profile.NumIO

// printTotals prints a row for each trace or copy, and one for all, and then what all
// did together, by category.
func (set *playedSet) printTotals(w io.Writer) error {
	rows := [][]string{{"", "run time ms", "of the recording", "executed", "failed", "differed", "late p99", "verdict"}}
	var times []float64
	for _, p := range set.list {
		times = append(times, p.runTimes()...)
		rows = append(rows, p.totalRow())
	}
	all := set.together()
	most := func(of func(t *total) int64) (n int64) {
		for _, t := range set.totals {
			n = max(n, of(t))
		}
		return n
	}
	rows = append(rows, []string{
		"all", milliseconds.Optional(all.Rows[profile.NumCategories].Replay.Seconds), "",
		table.Count(most(func(t *total) int64 { return t.executed })),
		table.Count(most(func(t *total) int64 { return t.failed })),
		table.Count(most(func(t *total) int64 { return t.differed })),
	})
	verdict := len(rows[0]) - 1
	if _, err := io.WriteString(w, table.Fit(rows, func(column int) bool { return column == 0 || column == verdict })); err != nil {
		return err
	}
	if len(times) > 0 {
		spread := spreadOf(times)
		fmt.Fprintf(w, "run times: %s to %s ms, median %s ms\n", milliseconds.Format(spread.Least), milliseconds.Format(spread.Largest), milliseconds.Format(spread.Median))
	}
	return printCategories(w, all)
}

// milliseconds is the unit of all times of replays that are not those of single calls.
var milliseconds = table.Unit{Name: "ms", Seconds: 1e-3}

// totalRow returns the row of a trace or a copy: medians over its runs, and the most
// events of a run.
func (p *played) totalRow() []string {
	row := []string{p.label(), table.Missing, table.Missing}
	var executed, failed, differed int64
	var late []int64
	for _, s := range p.runs {
		r := s.result
		executed, failed, differed = max(executed, r.Executed), max(failed, r.Failed), max(differed, r.Differed)
		late = append(late, r.Lateness.P99)
	}
	verdict := "interrupted"
	if c := p.compare(); c != nil {
		v := &c.Rows[profile.NumCategories]
		row[1] = milliseconds.Optional(v.Replay.Seconds)
		if v.Ratio != nil {
			row[2] = table.Fixed(*v.Ratio, 3)
		}
		verdict = string(c.Judge(compare.NoTolerance).State)
	}
	return append(row, table.Count(executed), table.Count(failed), table.Count(differed), millis(stats.Median(late)), verdict)
}

// printCategories prints the sums and the quantiles of each category of a comparison's
// replays.
func printCategories(w io.Writer, c *compare.Comparison) error {
	rows := [][]string{{"all together", "ms", "calls", "bytes", "bytes/s"}}
	latencies := [][]string{append([]string{"latency, µs"}, stats.QuantileNames[:]...)}
	elapsed := c.Rows[profile.NumCategories].Replay.Seconds
	for k := range shownTotals {
		m := &c.Rows[k].Replay
		if m.Calls == 0 {
			continue
		}
		row := []string{k.String(), milliseconds.Optional(m.Seconds), table.Count(m.Calls), table.Count(m.Bytes), table.Missing}
		if elapsed != nil && *elapsed > 0 {
			row[4] = table.Bytes(float64(m.Bytes) / *elapsed)
		}
		rows = append(rows, row)
		if m.Tails != nil {
			row = []string{k.String()}
			for _, seconds := range m.Tails.List() {
				row = append(row, table.Micros(int64(math.Round(seconds*1e9))))
			}
			latencies = append(latencies, row)
		}
	}
	for _, t := range [][][]string{rows, latencies} {
		if len(t) > 1 {
			fmt.Fprintf(w, "\n%s", table.Fit(t, table.FirstLeft))
		}
	}
	return nil
}

// printCopies prints how the copies of a trace differed from the recording: each kind of
// difference once, with the count of all copies and the first copy that had it.
func (set *playedSet) printCopies(w io.Writer, of *playedTrace) {
	type kind struct {
		op            format.Op
		recorded, got int64
	}
	var list []*replay.Difference
	copyOf := map[*replay.Difference]int{}
	seen := map[kind]*replay.Difference{}
	var notes []string
	for _, p := range set.list {
		if p.playedTrace != of {
			continue
		}
		for i, s := range p.runs {
			if s.result.Interrupted {
				fmt.Fprintf(w, "%s, run %d: not all events were replayed\n", p.label(), i+1)
			}
			for _, d := range s.result.Differences {
				k := kind{d.Op, d.Recorded, d.Got}
				if have := seen[k]; have != nil {
					have.Count += d.Count
					have.At = min(have.At, d.At)
					continue
				}
				seen[k] = &d
				copyOf[&d] = p.copy
				list = append(list, &d)
			}
			for _, note := range s.result.Notes {
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *replay.Difference) int { return cmp.Compare(a.At, b.At) })
	for _, d := range list {
		fmt.Fprintf(w, "differed: %s (copy %d of %s)\n", differenceText(d), copyOf[d], format.Visible(of.file))
	}
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
	first := set.list[slices.IndexFunc(set.list, func(p *played) bool { return p.playedTrace == of })]
	printLacks(w, &first.runs[0].result.Prepared) // the files of all are the same
	fmt.Fprintln(w, new(coverage.Of(of.trace.Header())))
}

// spread is that of the run times of all complete replays, in seconds.
type spread struct {
	Least   float64 `json:"least_seconds"`
	Median  float64 `json:"median_seconds"`
	Largest float64 `json:"largest_seconds"`
}

func spreadOf(times []float64) *spread {
	if len(times) == 0 {
		return nil
	}
	return &spread{slices.Min(times), stats.Median(slices.Clone(times)), slices.Max(times)}
}

// totalsDocument is what all that was replayed side by side adds up to. Figures by
// category are medians over the runs.
type totalsDocument struct {
	Traces     int                        `json:"traces"`
	Copies     int                        `json:"copies"` // of each
	Runs       []totalDocument            `json:"runs"`
	RunTimes   *spread                    `json:"run_times,omitempty"` // of all traces and copies in all runs
	Elapsed    *float64                   `json:"elapsed_seconds,omitempty"`
	Categories map[string]profile.Measure `json:"categories"`
}

type totalDocument struct {
	Elapsed     float64     `json:"elapsed_seconds"` // until the last event of all
	Interrupted bool        `json:"interrupted"`
	Events      eventCounts `json:"events"`
}

func (set *playedSet) totalsDocument() *totalsDocument {
	all := set.together()
	d := &totalsDocument{
		Traces: len(set.traces), Copies: len(set.list) / len(set.traces), Runs: []totalDocument{},
		Elapsed: all.Rows[profile.NumCategories].Replay.Seconds, Categories: map[string]profile.Measure{},
	}
	leftOut := int64(0)
	var times []float64
	for _, p := range set.list {
		times = append(times, p.runTimes()...)
		if len(p.runs) > 0 {
			leftOut += p.runs[0].leftOut.Total()
		}
	}
	d.RunTimes = spreadOf(times)
	for _, t := range set.totals {
		one := totalDocument{Interrupted: t.interrupted, Events: eventCounts{Executed: t.executed, LeftOut: leftOut, Failed: t.failed, Differed: t.differed}}
		one.Elapsed = format.Seconds(t.RunTime)
		d.Runs = append(d.Runs, one)
	}
	for k := range shownTotals {
		if m := all.Rows[k].Replay; k < profile.NumCalls || m.Calls > 0 {
			d.Categories[k.String()] = m
		}
	}
	return d
}
