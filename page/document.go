package page

import (
	"cmp"
	"slices"

	"pianola/format"
	"pianola/profile"
	"pianola/provenance"
)

// document is the data of a page. Times are in nanoseconds, except in tables
// and the comparison, which have seconds as in the JSON output.
type document struct {
	Command    string `json:"command"`
	Runs       []run  `json:"runs"`
	Curves     curves `json:"curves"`
	Rates      rates  `json:"rates"`
	Comparison any    `json:"comparison,omitempty"` // compare.Comparison.Document
}

type run struct {
	Name        string           `json:"name"`
	Coverage    string           `json:"coverage"`
	Withheld    bool             `json:"withheld"` // the coverage allows no verdict
	Diagnosis   []finding        `json:"diagnosis"`
	Facts       []fact           `json:"facts"`
	RunTime     int64            `json:"run_time"`
	All         total            `json:"all"`
	Categories  []total          `json:"categories"`
	Times       profile.Times    `json:"times"`
	Threads     int              `json:"threads"`
	Processes   int              `json:"processes"`
	Files       int              `json:"files"`
	Critical    []step           `json:"critical"`
	Timeline    timeline         `json:"timeline"`
	Latency     []latency        `json:"latency"`
	Sizes       [2][]size        `json:"sizes"` // of reads and writes
	Concurrency []int64          `json:"concurrency"`
	Heat        []heat           `json:"heat"`
	Ranks       *rankMap         `json:"rank_map,omitempty"`
	Parts       parts            `json:"parts"`
	Calls       *calls           `json:"calls,omitempty"`
	Spans       *spanCalls       `json:"spans,omitempty"`
	Tails       []tail           `json:"tails"`
	Maps        []latencyMap     `json:"latency_maps"`
	Tables      map[string]table `json:"tables"`
}

// finding is what to look at first.
type finding = profile.Finding

// fact is a line about a recording.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// step is a part of the critical path.
type step struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Nanos int64  `json:"nanos"`
}

type total struct {
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
	Bytes  int64 `json:"bytes"`
	Nanos  int64 `json:"nanos"`
	Known  bool  `json:"known"` // some call has a duration, or there are no calls
}

type latency struct {
	Op    string     `json:"op"`
	Calls int64      `json:"calls"`
	Nanos int64      `json:"nanos"`
	Bars  [][3]int64 `json:"bars"` // first and last nanosecond, calls
}

// tail is the distribution of the durations of a category's calls: for each of
// TailParts, the duration that only that part of them exceeds.
type tail struct {
	Category  string   `json:"category"`
	Calls     int64    `json:"calls"`
	Nanos     []int64  `json:"nanos"`
	Quantiles [5]int64 `json:"quantiles"` // as stats.QuantileNames, nanoseconds
}

// latencyMap is how long calls of a category took over time.
type latencyMap struct {
	Category    string     `json:"category"`
	ColumnNanos int64      `json:"column_nanos"`
	Columns     int        `json:"columns"`
	Rows        [][2]int64 `json:"rows"`  // shortest and longest duration of each
	Cells       []int64    `json:"cells"` // calls, by column, then row
}

type size struct {
	From  int64 `json:"from"`
	Calls int64 `json:"calls"`
	Bytes int64 `json:"bytes"`
}

// maxSteps is how many steps of the critical path the page shows.
const maxSteps = 12

// maxOps is how many operations have a distribution in the page.
const maxOps = 12

// facts are the remarks of a recording that the page shows, below those of its
// provenance.
var facts = []struct{ key, name string }{
	{format.MetaReplay, "replay"},
	{format.MetaFileSystems, "file systems"},
	{format.MetaCwd, "working directory"},
	{format.MetaTool, "recorder"},
	{format.MetaCost, "recorder's cost per event, ns"},
	{format.MetaLost, "events lost"},
	{format.MetaLeftOut, "left out by compile"},
	{format.MetaExit, "exit status"},
}

func newDocument(runs []Run, c *Comparison) (*document, error) {
	d := &document{}
	var profiles []*profile.Profile
	for i := range runs {
		one, err := newRun(&runs[i])
		if err != nil {
			return nil, err
		}
		d.Runs = append(d.Runs, one)
		profiles = append(profiles, runs[i].Profile)
		if command, ok := runs[i].value(format.MetaCommand); ok && d.Command == "" {
			d.Command = plain(command)
		}
	}
	d.Curves, d.Rates = newCurves(profiles), newRates(profiles)
	if c != nil {
		d.Comparison = c.Document(c.Tolerance)
	}
	return d, nil
}

func (r *Run) value(key string) (string, bool) {
	h := format.Header{Meta: r.Meta}
	return h.Value(key)
}

func (d *document) kind() string {
	if d.Comparison != nil {
		return "comparison"
	}
	return "profile"
}

func newRun(r *Run) (run, error) {
	p := r.Profile
	out := run{
		Name: plain(r.Name), Coverage: p.Coverage.String(), Withheld: p.Coverage.Withheld() != "", Diagnosis: append([]finding{}, p.Diagnosis...), Facts: []fact{}, RunTime: p.RunTime, All: newTotal(&p.All), Times: p.Times,
		Threads: len(p.Threads), Processes: len(p.Processes), Files: len(p.Files),
		Critical: []step{}, Timeline: newTimeline(p), Latency: []latency{}, Concurrency: p.Concurrency, Heat: newHeats(p), Ranks: newRankMap(p), Parts: newParts(p),
		Calls: newCalls(p), Spans: newSpanCalls(p), Tails: []tail{}, Maps: []latencyMap{},
	}
	for _, f := range provenance.Remarks {
		if v, ok := r.value(f.Key); ok {
			out.Facts = append(out.Facts, fact{f.Name, plain(v)})
		}
	}
	for _, f := range facts {
		if v, ok := r.value(f.key); ok {
			out.Facts = append(out.Facts, fact{f.name, plain(v)})
		}
	}
	for k := range p.Categories {
		out.Categories = append(out.Categories, newTotal(&p.Categories[k]))
	}
	for _, s := range p.Critical[:min(maxSteps, len(p.Critical))] {
		out.Critical = append(out.Critical, step{s.Name, plain(s.File), s.Nanos})
	}
	for k, l := range p.Latency {
		if l != nil {
			out.Tails = append(out.Tails, tail{profile.Category(k).String(), l.Calls, l.Tail, l.Quantiles.List()})
		}
		if m := p.LatencyMaps[k]; m != nil {
			one := latencyMap{Category: profile.Category(k).String(), ColumnNanos: m.ColumnNanos, Columns: m.Columns, Cells: slices.Concat(m.Cells...)}
			for _, r := range m.Rows {
				one.Rows = append(one.Rows, [2]int64{r.From, r.To})
			}
			out.Maps = append(out.Maps, one)
		}
	}
	for k := range p.Sizes {
		out.Sizes[k] = []size{}
		for _, c := range p.Sizes[k] {
			out.Sizes[k] = append(out.Sizes[k], size{c.From, c.Calls, c.Bytes})
		}
	}
	for op, l := range p.OpLatency {
		if l != nil {
			out.Latency = append(out.Latency, newLatency(format.Op(op).String(), p.Ops[op].Nanos, l))
		}
	}
	slices.SortStableFunc(out.Latency, func(a, b latency) int { return cmp.Compare(b.Nanos, a.Nanos) })
	out.Latency = out.Latency[:min(maxOps, len(out.Latency))]
	var err error
	out.Tables, err = newTables(p)
	return out, err
}

func newTotal(t *profile.Total) total {
	return total{t.Calls, t.Errors, t.Bytes, t.Nanos, t.Calls == 0 || t.Unknown < t.Calls}
}

func newLatency(name string, nanos int64, l *profile.Latency) latency {
	out := latency{Op: name, Calls: l.Calls, Nanos: nanos}
	for _, b := range l.Bars {
		out.Bars = append(out.Bars, [3]int64{b.From, b.To, b.Calls})
	}
	return out
}

// maxText bounds what the page shows of a remark, in bytes.
const maxText = 1 << 12

// plain returns untrusted text as valid UTF-8 of bounded length.
func plain(s string) string {
	cut := len(s) > maxText
	if cut {
		s = s[:maxText]
	}
	b := format.AppendName(nil, []byte(s))
	if cut {
		b = append(b, "…"...)
	}
	return string(b)
}
