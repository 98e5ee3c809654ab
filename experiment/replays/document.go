package replays

import (
	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/table"
	"pianola/profile"
	"pianola/replay/ranks"
)

// Document returns the report, to be written as JSON. For one run of one trace it is the
// document of the run. Otherwise it is a list of traces with their runs and a comparison,
// and the totals if there are several. It needs a run.
func (r *Report) Document() any {
	type trace struct {
		Trace      string         `json:"trace"`
		Copy       int            `json:"copy,omitempty"` // of several, from 1
		Runs       []*runDocument `json:"runs"`
		Comparison any            `json:"comparison,omitempty"`
	}
	var traces []trace
	for _, p := range r.list {
		t := trace{Trace: p.File, Copy: p.copy}
		for i, one := range p.runs {
			d := one.document()
			for _, other := range p.beside {
				d.Beside = append(d.Beside, besideDocument{other.output.Name, other.output.Root, other.runs[i].document()})
			}
			t.Runs = append(t.Runs, d)
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
	if len(r.list) > 1 {
		d["totals"] = r.totals()
	}
	return d
}

// runDocument is the document of one run.
type runDocument struct {
	ElapsedSeconds   float64              `json:"elapsed_seconds"`
	Interrupted      bool                 `json:"interrupted"`
	Left             int64                `json:"left_events"` // not replayed, because the last reply to a client ended the replay
	Events           counts               `json:"events"`
	ByOperation      map[string]counts    `json:"by_operation"`
	Lateness         *profile.Tails       `json:"lateness"`
	OrderWaitSeconds float64              `json:"order_wait_seconds"`
	FloorSeconds     *float64             `json:"floor_seconds"` // null where the trace does not tell
	LateDecodes      int64                `json:"late_decodes"`
	Changes          *changesDocument     `json:"changes,omitempty"` // with --with
	MemoryBytes      int64                `json:"memory_bytes"`      // 0 without --memory
	Prepared         preparedDocument     `json:"prepared"`
	Differences      []differenceDocument `json:"differences"`
	Notes            []string             `json:"remarks,omitempty"` // how rings differed from the recorded ones
	Ranks            []rankDocument       `json:"ranks,omitempty"`   // with --ranks
	BetweenRanks     *edgesDocument       `json:"between_ranks,omitempty"`
	Beside           []besideDocument     `json:"beside,omitempty"` // by the other backends
	Profile          any                  `json:"profile"`
	Comparison       any                  `json:"comparison,omitempty"` // of a single complete run
}

// besideDocument is the run of another backend.
type besideDocument struct {
	Backend string       `json:"backend"`
	Root    string       `json:"root,omitempty"`
	Run     *runDocument `json:"run"`
}

type changesDocument struct {
	Inserted      int64   `json:"inserted"`
	Altered       int64   `json:"altered"`
	Removed       int64   `json:"removed"`
	Late          int64   `json:"late"`
	WaitedSeconds float64 `json:"waited_seconds"`
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
	Call      string `json:"call"` // with all arguments and its result
	Reason    string `json:"reason,omitempty"`
}

func (r *run) document() *runDocument {
	d := &runDocument{
		ElapsedSeconds: r.Elapsed.Seconds(), Interrupted: r.Interrupted, Left: r.Left,
		Events:           r.counts(),
		ByOperation:      map[string]counts{},
		Lateness:         profile.TailsOf(r.Lateness),
		OrderWaitSeconds: r.OrderWait.Seconds(),
		LateDecodes:      r.LateReads,
		MemoryBytes:      r.MemoryBytes,
		Prepared:         r.prepared(),
		Differences:      []differenceDocument{},
		Notes:            r.Notes,
		Profile:          r.profile.Document(),
	}
	if c := &r.Changes; r.Options.Change != nil {
		d.Changes = &changesDocument{c.Inserted, c.Altered, c.Removed, c.Late, c.Waited.Seconds()}
	}
	for i := range r.Ranks {
		one := &r.Ranks[i]
		d.Ranks = append(d.Ranks, rankDocument{
			Rank: one.Rank, Node: one.Node, Recorded: append([]int32{}, one.Recorded...), Events: one.Events, ElapsedSeconds: one.Elapsed.Seconds(),
			LateSeconds: one.Late.Seconds(), OffsetSeconds: one.Offset.Seconds(), ClockSeconds: one.Clock.Seconds(), MemoryBytes: one.Memory, CarrierBytes: one.Carrier,
		})
	}
	if len(r.Ranks) > 1 {
		d.BetweenRanks = &edgesDocument{r.Edges.Count, profile.TailsOf(r.Edges.Latency)}
	}
	if floor := r.profile.Floor; floor != nil {
		d.FloorSeconds = new(format.Seconds(floor.Total))
	}
	for _, o := range r.operations() {
		d.ByOperation[o.name] = o.counts
	}
	for _, f := range r.Differences {
		path, root := f.Path, ""
		if f.Name != "" {
			path, root = f.Name, f.Path
		}
		d.Differences = append(d.Differences, differenceDocument{f.Op.String(), path, root, f.Recorded, f.Got, f.Count, f.Thread, f.Event, f.Call, f.Reason})
	}
	return d
}

type rankDocument struct {
	Rank           int     `json:"rank"`
	Node           string  `json:"node"`
	Recorded       []int32 `json:"recorded"`
	Events         int64   `json:"events"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	LateSeconds    float64 `json:"late_seconds"`
	OffsetSeconds  float64 `json:"clock_offset_seconds"`
	ClockSeconds   float64 `json:"clock_error_seconds"`
	MemoryBytes    int64   `json:"memory_bytes"`
	CarrierBytes   int64   `json:"carrier_bytes"`
}

type edgesDocument struct {
	Edges   int64          `json:"edges"`
	Latency *profile.Tails `json:"latency"`
}

// rankList prints ranks in order, consecutive ones as a range.
func rankList(list []int32) string {
	if len(list) == 0 {
		return table.Missing
	}
	return ranks.List(list)
}

// totalsDocument is what all that was replayed side by side adds up to. Figures by category
// are medians over the runs.
type totalsDocument struct {
	Traces     int                        `json:"traces"`
	Copies     int                        `json:"copies"` // of each
	Runs       []totalDocument            `json:"runs"`
	RunTimes   *spread                    `json:"run_times,omitempty"` // of all traces and copies in all runs
	Elapsed    *float64                   `json:"elapsed_seconds,omitempty"`
	Categories map[string]profile.Measure `json:"categories"`
}

type totalDocument struct {
	Elapsed     float64 `json:"elapsed_seconds"` // until the last event of all
	Interrupted bool    `json:"interrupted"`
	Events      counts  `json:"events"`
}

func (r *Report) totals() *totalsDocument {
	all := r.together()
	d := &totalsDocument{
		Traces: len(r.traces), Copies: len(r.list) / len(r.traces), Runs: []totalDocument{}, RunTimes: r.spread(),
		Elapsed: all.Rows[profile.NumCategories].Replay.Seconds, Categories: map[string]profile.Measure{},
	}
	for i, events := range r.runCounts() {
		one := totalDocument{Elapsed: format.Seconds(r.sums[i].RunTime), Events: events}
		for _, p := range r.list {
			one.Interrupted = one.Interrupted || p.runs[i].Interrupted
		}
		d.Runs = append(d.Runs, one)
	}
	for k := range shownTotals {
		if m := all.Rows[k].Replay; k < profile.NumCalls || m.Calls > 0 {
			d.Categories[k.String()] = m
		}
	}
	return d
}

type preparedDocument struct {
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	Files          int64   `json:"files"`
	Fillers        int64   `json:"fillers"`
	Kept           int64   `json:"kept"`
	Removed        int64   `json:"removed"`
	Missing        int64   `json:"missing"`
	Substituted    int64   `json:"substituted"`
	BytesWritten   int64   `json:"bytes_written"`
}

func (r *run) prepared() preparedDocument {
	p := &r.Prepared
	return preparedDocument{p.Elapsed.Seconds(), p.Files, p.Fillers, p.Kept, p.Removed, p.Missing, p.Substituted, p.Bytes}
}

// PreparedDocument returns what was prepared if nothing is replayed, to be written as JSON.
// It needs a run.
func (r *Report) PreparedDocument() any {
	type document struct {
		Trace    string           `json:"trace,omitempty"` // empty if there is only one
		Copy     int              `json:"copy,omitempty"`
		Prepared preparedDocument `json:"prepared"`
	}
	var list []document
	for _, p := range r.list {
		list = append(list, document{p.File, p.copy, p.runs[0].prepared()})
	}
	if len(list) == 1 {
		list[0].Trace = ""
		return list[0]
	}
	return map[string]any{"traces": list}
}
