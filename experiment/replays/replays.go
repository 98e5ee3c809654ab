// Package replays reports the results of replays: of one trace or of several side by side,
// of copies, and of several runs.
//
//	NewReport → Add for each run → WriteText, Document
//
// It compares each trace with its replays, and adds up what ran side by side. A Report is for
// one goroutine. Errors of traces and logs are returned unchanged.
package replays

import (
	"cmp"
	"sync"

	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/coverage"
	"pianola/profile"
	"pianola/replay"
)

// Trace is a trace that is replayed. The caller closes it, after the last output of a report.
type Trace struct {
	File string // its name for readers
	*bin.Trace

	leftOut format.Counts    // by compile
	app     *profile.Profile // at the pace of the replay; nil before the first complete run
	paced   *compare.Paced   // how that differs from the recording
}

// Report holds the runs of traces that are replayed side by side.
type Report struct {
	traces []*Trace
	list   []*played          // the copies of each trace follow one another
	sums   []*profile.Profile // what all did together in each run; nil if there is only one
}

// played is a trace, or one of several copies of it, and its runs.
type played struct {
	*Trace
	copy   int // from 1; 0 if there is only one
	runs   []*run
	beside []*played      // by the other backends
	output *replay.Output // of one of those; else nil
}

// run is a replay.
type run struct {
	*replay.Result
	trace   *Trace
	profile *profile.Profile
	about   []format.Meta // how and where it ran
}

// NewReport returns a report, without runs, of traces of which each is replayed so often side
// by side.
func NewReport(copies int, traces ...*Trace) *Report {
	r := &Report{traces: traces}
	for _, t := range traces {
		text, _ := t.Header().Value(format.MetaLeftOut)
		t.leftOut = format.ParseCounts(text)
		for i := range copies {
			p := &played{Trace: t}
			if copies > 1 {
				p.copy = i + 1
			}
			r.list = append(r.list, p)
		}
	}
	return r
}

// Runs returns how many runs were added.
func (r *Report) Runs() int { return len(r.list[0].runs) }

// Add adds a run: the results of the traces and their copies, in order, with remarks on how
// and where it ran. It adds nothing after an error.
func (r *Report) Add(results []*replay.Result, about []format.Meta) error {
	var sum profile.Sum
	var runs [][]*run // of each result: its own, then those beside it
	for i, result := range results {
		t := r.list[i].Trace
		var own []*run
		for k, result := range append([]*replay.Result{result}, result.Beside...) {
			c, err := t.collect(result)
			if err != nil {
				return err
			}
			if len(r.list) > 1 && k == 0 {
				sum.Add(c)
			}
			own = append(own, &run{result, t, c.Profile(), about})
		}
		runs = append(runs, own)
	}
	for i, own := range runs {
		r.list[i].add(own)
	}
	if len(r.list) > 1 {
		r.sums = append(r.sums, sum.Profile())
	}
	return nil
}

// add adds a run, and those beside it.
func (p *played) add(own []*run) {
	p.runs = append(p.runs, own[0])
	for i, one := range own[1:] {
		if i == len(p.beside) {
			p.beside = append(p.beside, &played{Trace: p.Trace, copy: p.copy, output: &own[0].Options.Beside[i]})
		}
		p.beside[i].runs = append(p.beside[i].runs, one)
	}
}

// collect reads the log of a replay and, beside it, the recording if that wasn't read before.
func (t *Trace) collect(r *replay.Result) (*profile.Collector, error) {
	var (
		beside sync.WaitGroup
		appErr error
	)
	if t.app == nil && !r.Interrupted { // a partial run can't be compared, and the user waits for the end
		beside.Go(func() { t.app, t.paced, appErr = Recording(t.Trace, r.Options.Pace(), true, r.Options.Limits.Memory) })
	}
	c, err := profile.Collect(r.Events(), r.Options.Limits.Memory)
	beside.Wait()
	return c, cmp.Or(err, appErr)
}

// Recording returns the profile of a trace as it would be at a pace, within so many bytes of
// memory, and how that differs from the recording, nil if it does not. Files have the names of
// the application, or else those below the root.
func Recording(t *bin.Trace, pace format.Pace, names bool, memory int64) (*profile.Profile, *compare.Paced, error) {
	events, err := t.EventsAt(pace)
	if err != nil {
		return nil, nil, err
	}
	if !names {
		events = format.WithoutNames(events)
	}
	p, err := profile.ReadWithin(events, memory)
	if err != nil || pace.Recorded() {
		return p, nil, err
	}
	recorded, err := profile.RunTime(t.Events())
	return p, &compare.Paced{Speed: pace.Speed, Recorded: recorded}, err
}

// RunOf returns the results of a trace and its copies, which were replayed side by side, as a
// run of an experiment, with remarks on how and where it ran.
func RunOf(results []*replay.Result, about []format.Meta) (run experiment.Run, err error) {
	run.Meta = replay.LogHeader(results[0].Events().Header(), about).Meta
	var sum profile.Sum
	for _, r := range results {
		run.Failed, run.Differed = max(run.Failed, r.Failed), max(run.Differed, r.Differed)
		if len(r.Differences) > 0 && run.Example == "" {
			run.Example = r.Differences[0].String()
		}
		c, err := profile.Collect(r.Events(), r.Options.Limits.Memory)
		if err != nil {
			return run, err
		}
		if len(results) == 1 {
			run.Profile = c.Profile()
			return run, nil
		}
		sum.Add(c)
	}
	run.Profile = sum.Profile()
	return run, nil
}

// Withheld returns why no verdict follows from the replay of some trace, "" if one does.
func (r *Report) Withheld() string {
	for _, t := range r.traces {
		account := coverage.Of(t.Header())
		if why := account.Withheld(); why != "" {
			return why
		}
	}
	return ""
}

// compare compares the complete runs with the application. It returns nil if there are none,
// or if a backend got some events only.
func (p *played) compare() *compare.Comparison {
	if p.output != nil && p.output.Only != "" {
		return nil
	}
	var whole []*profile.Profile
	var about [][]format.Meta
	for _, r := range p.complete() {
		whole = append(whole, r.profile)
		about = append(about, r.about)
	}
	if whole == nil {
		return nil
	}
	c := compare.Profiles([]*profile.Profile{p.app}, whole)
	c.Paced = p.paced
	c.SetProvenance([][]format.Meta{p.Header().Meta}, about)
	return c
}

// complete returns the runs that were not interrupted.
func (p *played) complete() (runs []*run) {
	for _, r := range p.runs {
		if !r.Interrupted {
			runs = append(runs, r)
		}
	}
	return runs
}

// counts are events of a replay.
type counts struct {
	Executed  int64 `json:"executed"`
	LeftOut   int64 `json:"left_out"`  // by compile
	Regrouped int64 `json:"regrouped"` // of the recording: other groups of commits took their place
	Failed    int64 `json:"failed"`
	Differed  int64 `json:"differed"`
}

// counts returns those of all operations.
func (r *run) counts() counts {
	return counts{r.Executed, r.trace.leftOut.Total(), r.Regrouped, r.Failed, r.Differed}
}

// operation is the result of the events of an operation.
type operation struct {
	name string
	counts
}

// operations returns those that were executed or left out, in their order.
func (r *run) operations() (list []operation) {
	for i := range r.ByOp {
		op, n := format.Op(i), &r.ByOp[i]
		if left := r.trace.leftOut[op]; n.Executed > 0 || n.Regrouped > 0 || left > 0 {
			list = append(list, operation{op.String(), counts{n.Executed, left, n.Regrouped, n.Failed, n.Differed}})
		}
	}
	return list
}
