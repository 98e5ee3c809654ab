package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"pianola/compare"
	"pianola/experiment"
	"pianola/experiment/sides"
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
	about    []format.Meta // how and where it ran
}

// summarise summarises one run, and adds its events to a sum, unless that is nil.
func (p *played) summarise(r *replay.Result, about []format.Meta, sum *profile.Sum) (*summary, error) {
	var (
		beside sync.WaitGroup // reads the recording while the replay is read
		appErr error
	)
	if p.app == nil && !r.Interrupted { // a partial run can't be compared, and the user waits for the end
		beside.Go(func() {
			var run experiment.Run
			run, p.paced, appErr = sides.At(p.trace, r.Options.Pace(), r.Options.Limits.Memory)
			p.app = run.Profile
		})
	}
	c, err := collectWithin(r.Events(), r.Options.Limits.Memory)
	beside.Wait()
	if err := cmp.Or(err, appErr); err != nil {
		return nil, err
	}
	rep := c.Profile()
	if sum != nil {
		sum.Add(c)
	}
	s := &summary{result: r, replayed: rep, about: about}
	text, _ := p.trace.Header().Value(format.MetaLeftOut)
	s.leftOut = format.ParseCounts(text)
	return s, nil
}

func collectWithin(r format.Reader, memory int64) (*profile.Collector, error) {
	c := &profile.Collector{Rows: profile.RowsWithin(memory)}
	if err := c.Read(r); err != nil {
		return nil, err
	}
	return c, nil
}

// compare compares the complete runs with the application. It returns nil if
// there are none.
func (p *played) compare() *compare.Comparison {
	var whole []*profile.Profile
	var about [][]format.Meta
	for _, s := range p.runs {
		if !s.result.Interrupted {
			whole = append(whole, s.replayed)
			about = append(about, s.about)
		}
	}
	if whole == nil {
		return nil
	}
	c := compare.Profiles([]*profile.Profile{p.app}, whole)
	c.Paced = p.paced
	c.SetProvenance([][]format.Meta{p.trace.Header().Meta}, about)
	return c
}

// print prints the totals of several traces, and of each trace the results by operation
// of a single run, or a line for each of several runs, and the comparison of all. Copies
// have a row in the totals.
func (set *playedSet) print(w io.Writer) error {
	if len(set.list) > 1 {
		if err := set.printTotals(w); err != nil {
			return err
		}
	}
	if len(set.list) > len(set.traces) {
		for _, t := range set.traces {
			set.printCopies(w, t)
		}
		return nil
	}
	for _, p := range set.list {
		if len(set.list) > 1 {
			fmt.Fprintf(w, "\n%s:\n", p.label())
		}
		if err := p.print(w); err != nil {
			return err
		}
	}
	return nil
}

// print prints how true the complete runs are, and then what was replayed.
func (p *played) print(w io.Writer) error {
	if c := p.compare(); c != nil {
		if err := c.WriteText(w, compare.TextOptions{Tolerance: compare.NoTolerance}); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(p.runs) == 1 {
		return p.runs[0].print(w)
	}
	return p.printRuns(w)
}

func (p *played) printRuns(w io.Writer) error {
	rows := [][]string{{"run", "elapsed ms", "executed", "failed", "differed", "late p50", "p99", "p99.9", "max", "waited for others"}}
	for i, s := range p.runs {
		r := s.result
		row := []string{table.Count(int64(i + 1)), millis(r.Elapsed.Nanoseconds()), table.Count(r.Executed), table.Count(r.Failed), table.Count(r.Differed)}
		for _, nanos := range r.Lateness.List() {
			row = append(row, millis(nanos))
		}
		rows = append(rows, append(slices.Delete(row, 6, 7), millis(r.OrderWait.Nanoseconds()))) // without p90
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
	var united []*replay.Result // by ranks, and not ended early
	for _, s := range p.runs {
		if len(s.result.Ranks) > 0 {
			united = append(united, s.result)
		}
	}
	if len(united) == 0 {
		return nil
	}
	return printRanks(w, united)
}

// tens prints nanoseconds, rounded to tens.
func tens(nanos int64) string { return time.Duration(nanos).Round(10 * time.Nanosecond).String() }

// millis prints nanoseconds in milliseconds.
func millis(nanos int64) string { return milliseconds.Format(format.Seconds(nanos)) }

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
	as := "all results are as recorded"
	if r.Differed > 0 {
		as = fmt.Sprintf("%s other than recorded", table.Plural(int(r.Differed), "result"))
	}
	fmt.Fprintf(w, "%s replayed: %s\n", table.Plural(int(r.Executed), "event"), as)
	rows := [][]string{{"operation", "executed", "left out", "failed", "differed"}}
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
	fmt.Fprintf(w, "lateness: p50 %v, p99 %v, p99.9 %v, max %v; waited for other threads: %v\n",
		tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.P999), tens(r.Lateness.Max), r.OrderWait.Round(time.Microsecond))
	if len(r.Ranks) > 0 {
		if err := printRanks(w, []*replay.Result{r}); err != nil {
			return err
		}
	}
	if floor := s.replayed.Floor; floor != nil {
		fmt.Fprintln(w, floor.Text())
	}
	if r.Options.Memory {
		fmt.Fprintf(w, "memory: at most %d bytes of the application's touched at a time\n", r.MemoryBytes)
	}
	return nil
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
	text := fmt.Sprintf("%d × %s: recorded %s, got %s; first %s, event %d of thread %d",
		d.Count, d.Op, resultText(d.Recorded), resultText(d.Got), format.BothNames(d.Path, d.Name), d.Event, d.Thread)
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
// comparison, and the totals if there are several.
func (set *playedSet) document() any {
	type trace struct {
		Trace      string            `json:"trace"`
		Copy       int               `json:"copy,omitempty"` // of several, from 1
		Runs       []*replayDocument `json:"runs"`
		Comparison any               `json:"comparison,omitempty"`
	}
	var traces []trace
	for _, p := range set.list {
		t := trace{Trace: p.file, Copy: p.copy}
		for _, s := range p.runs {
			t.Runs = append(t.Runs, s.document())
		}
		if c := p.compare(); c != nil {
			t.Comparison = c.Document(compare.NoTolerance)
		}
		traces = append(traces, t)
	}
	if len(traces) == 1 && len(traces[0].Runs) == 1 {
		d := traces[0].Runs[0]
		d.Comparison = traces[0].Comparison
		return d
	}
	d := map[string]any{"traces": traces}
	if len(set.list) > 1 {
		d["totals"] = set.totalsDocument()
	}
	return d
}

// The document of one run.
type replayDocument struct {
	ElapsedSeconds   float64                 `json:"elapsed_seconds"`
	Interrupted      bool                    `json:"interrupted"`
	Events           eventCounts             `json:"events"`
	ByOperation      map[string]*eventCounts `json:"by_operation"`
	Lateness         *profile.Tails          `json:"lateness"`
	OrderWaitSeconds float64                 `json:"order_wait_seconds"`
	FloorSeconds     *float64                `json:"floor_seconds"` // null where the trace does not tell
	LateDecodes      int64                   `json:"late_decodes"`
	MemoryBytes      int64                   `json:"memory_bytes"` // 0 without --memory
	Prepared         preparedDocument        `json:"prepared"`
	Differences      []differenceDocument    `json:"differences"`
	Notes            []string                `json:"remarks,omitempty"` // how rings differed from the recorded ones
	Ranks            []rankDocument          `json:"ranks,omitempty"`   // with --ranks
	BetweenRanks     *edgesDocument          `json:"between_ranks,omitempty"`
	Profile          any                     `json:"profile"`
	Comparison       any                     `json:"comparison,omitempty"` // of a single complete run
}

type eventCounts struct {
	Executed int64 `json:"executed"`
	LeftOut  int64 `json:"left_out"` // by compile
	Failed   int64 `json:"failed"`
	Differed int64 `json:"differed"`
}

type differenceDocument struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`                // the application's, where the trace has it
	RootPath  string `json:"root_path,omitempty"` // then that below the root
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
		Events:           eventCounts{Executed: r.Executed, LeftOut: s.leftOut.Total(), Failed: r.Failed, Differed: r.Differed},
		ByOperation:      map[string]*eventCounts{},
		Lateness:         profile.TailsOf(r.Lateness),
		OrderWaitSeconds: r.OrderWait.Seconds(),
		LateDecodes:      r.LateReads,
		MemoryBytes:      r.MemoryBytes,
		Prepared:         documentPrepared(&r.Prepared),
		Differences:      []differenceDocument{},
		Notes:            r.Notes,
		Profile:          s.replayed.Document(),
	}
	d.Ranks, d.BetweenRanks = documentRanks(r)
	if floor := s.replayed.Floor; floor != nil {
		d.FloorSeconds = new(format.Seconds(floor.Total))
	}
	for i := range r.ByOp {
		op, n := format.Op(i), &r.ByOp[i]
		if n.Executed > 0 || s.leftOut[op] > 0 {
			d.ByOperation[op.String()] = &eventCounts{n.Executed, s.leftOut[op], n.Failed, n.Differed}
		}
	}
	for _, f := range r.Differences {
		path, root := f.Path, ""
		if f.Name != "" {
			path, root = f.Name, f.Path
		}
		d.Differences = append(d.Differences, differenceDocument{f.Op.String(), path, root, f.Recorded, f.Got, f.Count, f.Thread, f.Event, f.Reason})
	}
	return d
}
