package cli

import (
	"fmt"
	"io"
	"time"

	"pianola/compare"
	"pianola/format"
	"pianola/profile"
	"pianola/replay"
	"pianola/table"
)

// summary is what replay prints about one run.
type summary struct {
	result   *replay.Result
	leftOut  format.Counts
	replayed *profile.Profile
	header   *format.Header // of the trace
}

// toleranceOfReplay is the tolerance of the verdict that replay prints. compare
// has an option for it.
const toleranceOfReplay = 0.1

func (p *played) summarise(r *replay.Result) (*summary, error) {
	rep, err := profile.Read(r.Events())
	if err != nil {
		return nil, err
	}
	s := &summary{result: r, replayed: rep, header: p.trace.Header()}
	if p.app == nil && !r.Interrupted { // a partial run can't be compared, and the user waits for the end
		if p.app, err = profile.Read(p.trace.Events()); err != nil {
			return nil, err
		}
	}
	text, _ := p.trace.Header().Value(format.MetaLeftOut)
	s.leftOut = format.ParseCounts(text)
	return s, nil
}

// floorOf returns the floor of a trace; ok is false if the trace does not tell, or
// if a replay with such options does not keep to it.
func floorOf(h *format.Header, o *replay.Options) (f format.Floor, ok bool) {
	if o.Timing != replay.Compute || o.Order == replay.Thread || o.Speed != 1 {
		return f, false
	}
	return h.Floor()
}

// compare compares the complete runs with the application. It returns nil if
// there are none.
func (p *played) compare() *compare.Comparison {
	var whole []*profile.Profile
	for _, s := range p.runs {
		if !s.result.Interrupted {
			whole = append(whole, s.replayed)
		}
	}
	if whole == nil {
		return nil
	}
	return compare.Profiles([]*profile.Profile{p.app}, whole)
}

// print prints the results by operation of a single run, or a line for each of
// several runs, and the comparison of all.
func (set playedSet) print(w io.Writer) error {
	for i, p := range set {
		if len(set) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", format.Visible(p.file))
		}
		if err := p.print(w); err != nil {
			return err
		}
	}
	return nil
}

func (p *played) print(w io.Writer) error {
	if len(p.runs) == 1 {
		if err := p.runs[0].print(w); err != nil {
			return err
		}
	} else if err := p.printRuns(w); err != nil {
		return err
	}
	if c := p.compare(); c != nil {
		fmt.Fprintln(w)
		return c.WriteText(w, toleranceOfReplay)
	}
	return nil
}

func (p *played) printRuns(w io.Writer) error {
	rows := [][]string{{"run", "elapsed s", "executed", "failed", "differed", "lateness p50", "p99", "max", "waited for others"}}
	for i, s := range p.runs {
		r := s.result
		rows = append(rows, []string{table.Count(int64(i + 1)), table.Fixed(r.Elapsed.Seconds(), 6), table.Count(r.Executed), table.Count(r.Failed), table.Count(r.Differed),
			tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.Max), r.OrderWait.Round(time.Microsecond).String()})
	}
	if err := printIndented(w, rows); err != nil {
		return err
	}
	for i, s := range p.runs {
		if len(s.result.Differences) > 0 || s.result.Interrupted {
			fmt.Fprintf(w, "run %d:\n", i+1)
			s.printDifferences(w)
		}
	}
	return nil
}

// tens prints nanoseconds, rounded to tens.
func tens(nanos int64) string { return time.Duration(nanos).Round(10 * time.Nanosecond).String() }

// printIndented prints a table whose columns are all aligned to the right.
func printIndented(w io.Writer, rows [][]string) error {
	for i := range rows {
		rows[i] = append([]string{""}, rows[i]...)
	}
	_, err := io.WriteString(w, table.Format(rows, table.AllRight))
	return err
}

func (s *summary) print(w io.Writer) error {
	r := s.result
	rows := [][]string{{"operation", "executed", "filtered out", "failed", "differed"}}
	row := func(name string, executed, left, failed, differed int64) {
		rows = append(rows, []string{name, table.Count(executed), table.Count(left), table.Count(failed), table.Count(differed)})
	}
	for i := range r.ByOp {
		op := format.Op(i)
		if n := &r.ByOp[i]; n.Executed > 0 || s.leftOut[op] > 0 {
			row(op.String(), n.Executed, s.leftOut[op], n.Failed, n.Differed)
		}
	}
	row("all", r.Executed, s.leftOut.Total(), r.Failed, r.Differed)
	if err := printIndented(w, rows); err != nil {
		return err
	}
	s.printDifferences(w)
	for _, note := range r.Notes {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintf(w, "lateness: p50 %v, p99 %v, max %v; waited for other threads: %v\n",
		tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.Max), r.OrderWait.Round(time.Microsecond))
	if floor, ok := floorOf(s.header, &s.result.Options); ok {
		fmt.Fprintln(w, floor.Text())
		if g, ok := s.header.Grouping(); ok {
			fmt.Fprintf(w, "%s%s\n", g.Text(), s.leastGrouped(g))
		}
	}
	if r.Options.Memory {
		fmt.Fprintf(w, "memory: at most %d bytes of the application's touched at a time\n", r.MemoryBytes)
	}
	return nil
}

// leastGrouped says how long the run would have taken at the least with fewer syncs.
func (s *summary) leastGrouped(g format.Grouping) string {
	syncs := s.replayed.Categories[profile.Syncs]
	if syncs.Calls == 0 || s.replayed.RunTime == 0 || s.result.Interrupted {
		return ""
	}
	saved := (g.Syncs - g.Least()) * (syncs.Nanos / syncs.Calls)
	return fmt.Sprintf(": this run would take between %.3f and %.3f s", format.Seconds(max(s.replayed.RunTime-saved, 0)), format.Seconds(s.replayed.RunTime))
}

// printDifferences prints how a run differed from the recording.
func (s *summary) printDifferences(w io.Writer) {
	for _, d := range s.result.Differences {
		fmt.Fprintln(w, "differed:", differenceText(&d))
	}
	printLacks(w, &s.result.Prepared)
	if s.result.Interrupted {
		fmt.Fprintln(w, "interrupted: not all events were replayed")
	}
}

func differenceText(d *replay.Difference) string {
	text := fmt.Sprintf("%d × %s: recorded %s, got %s; first %q, event %d of thread %d",
		d.Count, d.Op, resultText(d.Recorded), resultText(d.Got), d.Path, d.Event, d.Thread)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

func resultText(ret int64) string {
	switch {
	case ret == format.NoResult:
		return "?"
	case ret < 0:
		return format.ErrnoName(int(-ret))
	}
	return fmt.Sprint(ret)
}

// document is the output of replay --json. For one run of one trace it is the
// document of the run. Otherwise it is a list of traces with their runs and a
// comparison.
func (set playedSet) document() any {
	type trace struct {
		Trace      string            `json:"trace"`
		Runs       []*replayDocument `json:"runs"`
		Comparison any               `json:"comparison,omitempty"`
	}
	var traces []trace
	for _, p := range set {
		t := trace{Trace: p.file}
		for _, s := range p.runs {
			t.Runs = append(t.Runs, s.document())
		}
		if c := p.compare(); c != nil {
			t.Comparison = c.Document(toleranceOfReplay)
		}
		traces = append(traces, t)
	}
	if len(traces) == 1 && len(traces[0].Runs) == 1 {
		d := traces[0].Runs[0]
		d.Comparison = traces[0].Comparison
		return d
	}
	return map[string]any{"traces": traces}
}

// The document of one run.
type replayDocument struct {
	ElapsedSeconds   float64                 `json:"elapsed_seconds"`
	Interrupted      bool                    `json:"interrupted"`
	Events           eventCounts             `json:"events"`
	ByOperation      map[string]*eventCounts `json:"by_operation"`
	LatenessSeconds  map[string]float64      `json:"lateness_seconds"`
	OrderWaitSeconds float64                 `json:"order_wait_seconds"`
	FloorSeconds     *float64                `json:"floor_seconds"` // null where the trace does not tell
	LateDecodes      int64                   `json:"late_decodes"`
	MemoryBytes      int64                   `json:"memory_bytes"` // 0 without --memory
	Prepared         preparedDocument        `json:"prepared"`
	Differences      []differenceDocument    `json:"differences"`
	Notes            []string                `json:"notes,omitempty"` // how rings differed from the recorded ones
	Profile          any                     `json:"profile"`
	Comparison       any                     `json:"comparison,omitempty"` // of a single complete run
}

type eventCounts struct {
	Executed int64 `json:"executed"`
	Filtered int64 `json:"filtered"`
	Failed   int64 `json:"failed"`
	Differed int64 `json:"differed"`
}

type differenceDocument struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Recorded  int64  `json:"recorded"`
	Got       int64  `json:"got"`
	Count     int64  `json:"count"`
	Thread    int32  `json:"thread"`
	Event     int64  `json:"event"`
	Reason    string `json:"reason,omitempty"`
}

func (s *summary) document() *replayDocument {
	r := s.result
	d := &replayDocument{
		ElapsedSeconds: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
		Events:           eventCounts{Executed: r.Executed, Filtered: s.leftOut.Total(), Failed: r.Failed, Differed: r.Differed},
		ByOperation:      map[string]*eventCounts{},
		LatenessSeconds:  map[string]float64{"p50": format.Seconds(r.Lateness.P50), "p99": format.Seconds(r.Lateness.P99), "max": format.Seconds(r.Lateness.Max)},
		OrderWaitSeconds: r.OrderWait.Seconds(),
		LateDecodes:      r.LateReads,
		MemoryBytes:      r.MemoryBytes,
		Prepared:         documentPrepared(&r.Prepared),
		Differences:      []differenceDocument{},
		Notes:            r.Notes,
		Profile:          s.replayed.Document(),
	}
	if floor, ok := floorOf(s.header, &s.result.Options); ok {
		d.FloorSeconds = new(format.Seconds(floor.Total))
	}
	for i := range r.ByOp {
		op, n := format.Op(i), &r.ByOp[i]
		if n.Executed > 0 || s.leftOut[op] > 0 {
			d.ByOperation[op.String()] = &eventCounts{n.Executed, s.leftOut[op], n.Failed, n.Differed}
		}
	}
	for _, f := range r.Differences {
		d.Differences = append(d.Differences, differenceDocument{f.Op.String(), f.Path, f.Recorded, f.Got, f.Count, f.Thread, f.Event, f.Reason})
	}
	return d
}
