package profile

import "pianola/format"

// Extent says how much of a profile its document has.
type Extent uint8

const (
	Sums   Extent = iota // totals, distributions and tables
	Charts               // also what charts are drawn from
	Page                 // the same in bounded size: long tables have the rows with the most time
)

// document is the whole JSON document of a profile. Times are in seconds.
type document struct {
	Diagnosis []Finding `json:"diagnosis"`
	summary
	Ops         []operationDocument `json:"operations"`
	Times       timesDocument       `json:"thread_time"`
	Concurrency []float64           `json:"io_concurrency_seconds"`               // for 0 threads in I/O at once, for 1, and so on
	Depth       []float64           `json:"requests_in_flight_seconds,omitempty"` // for 0 requests in flight, for 1, and so on
	Latency     []latencyDocument   `json:"latency_by_class"`
	OpLatency   []latencyDocument   `json:"latency_by_operation"`
	OverTime    []mapDocument       `json:"latency_over_time"`
	Activity    activityDocument    `json:"thread_time_over_time"`
	Access      []accessDocument    `json:"access"`
	Critical    []stepDocument      `json:"critical_path"` // empty if it is not known
	Segments    []segmentDocument   `json:"critical_path_segments"`
	Blocked     *blockedDocument    `json:"blocked,omitempty"`
	Requests    *requestsDocument   `json:"requests,omitempty"` // of clients that were not recorded
	Interval    float64             `json:"interval_seconds"`
	Files       *Table              `json:"files"`
	Directories *Table              `json:"directories"`
	Processes   *Table              `json:"processes"`
	Threads     *Table              `json:"threads"`
	Ranks       *Table              `json:"ranks,omitempty"`
	Nodes       *Table              `json:"nodes,omitempty"`
	Shared      *Table              `json:"shared,omitempty"`
	Sizes       *Table              `json:"sizes"`
	Errors      *Table              `json:"errors"`
	Intervals   *Table              `json:"intervals"`
	Layers      *Table              `json:"layers"`
	Spans       *Table              `json:"spans"`
	Charts      *chartsDocument     `json:"charts,omitempty"` // unless the extent is Sums
}

// operationDocument is an operation on whatever, with the part that is communication.
type operationDocument struct {
	named
	Class       string   `json:"class"`
	Min         *float64 `json:"min_seconds,omitempty"`
	CommCalls   int64    `json:"communication_calls"`
	CommSeconds float64  `json:"communication_seconds"`
}

func (p *Profile) operationDocuments() []operationDocument {
	list := []operationDocument{}
	for _, op := range p.byTime() {
		d := operationDocument{named: named{op.String(), p.OpMeasure(op)}, Class: op.Info().Class.String(), CommCalls: p.OpComm[op].Calls, CommSeconds: format.Seconds(p.OpComm[op].Nanos)}
		if l := p.OpLatency[op]; l != nil {
			d.Min = new(format.Seconds(l.Min))
		}
		list = append(list, d)
	}
	return list
}

type timesDocument struct {
	IO            float64            `json:"io_seconds"`
	Communication float64            `json:"communication_seconds"`
	Submit        float64            `json:"submit_and_wait_seconds"`
	Compute       float64            `json:"compute_seconds"`
	Ready         float64            `json:"ready_seconds"`
	Own           float64            `json:"own_seconds"` // of ready_seconds
	Waiting       float64            `json:"waiting_seconds"`
	WaitingFor    map[string]float64 `json:"waiting_for"` // waiting_seconds by kind
	Timer         float64            `json:"timer_seconds"`
	Storage       float64            `json:"storage_seconds"`
	Other         float64            `json:"other_seconds"`
}

// secondsBy returns times by their names.
func secondsBy(names []string, nanos []int64) map[string]float64 {
	by := make(map[string]float64)
	for k, name := range names {
		by[name+"_seconds"] = format.Seconds(nanos[k])
	}
	return by
}

// blockedDocument is a Blocked.
type blockedDocument struct {
	Explained   float64            `json:"explained_seconds"`
	Unexplained float64            `json:"unexplained_seconds"`
	By          map[string]float64 `json:"woken_in"` // by another recorded thread
	Timer       float64            `json:"timer_seconds"`
	Storage     float64            `json:"storage_seconds"`
}

func (b *Blocked) document() *blockedDocument {
	if b == nil {
		return nil
	}
	return &blockedDocument{Explained: format.Seconds(b.Explained()), Unexplained: format.Seconds(b.Unknown),
		By: secondsBy(wayNames[:], b.By[:]), Timer: format.Seconds(b.Timer), Storage: format.Seconds(b.Storage)}
}

// requestsDocument is a Requests.
type requestsDocument struct {
	Clients int64   `json:"clients"`
	Count   int64   `json:"requests"`
	Rate    float64 `json:"per_second"`
	Bytes   int64   `json:"bytes"`
	Replied int64   `json:"reply_bytes"`
	Seconds float64 `json:"seconds"` // from request to reply, of all together
	*Tails
	Spent map[string]float64 `json:"spent"`
	Kinds *Table             `json:"kinds"`
}

func (p *Profile) requestsDocument() *requestsDocument {
	r := p.Requests
	if r == nil {
		return nil
	}
	d := &requestsDocument{r.Clients, r.Count, r.Rate, r.Bytes, r.Replied, format.Seconds(r.Nanos), r.Latency.tails(), map[string]float64{}, p.requestTable()}
	for a, nanos := range r.Spent {
		d.Spent[Activity(a).Key()+"_seconds"] = format.Seconds(nanos)
	}
	return d
}

func (t *Times) document() timesDocument {
	return timesDocument{
		IO: format.Seconds(t.IO), Communication: format.Seconds(t.Communication), Submit: format.Seconds(t.Submit), Compute: format.Seconds(t.Compute),
		Ready: format.Seconds(t.Ready), Own: format.Seconds(t.Own), Waiting: format.Seconds(t.Waiting()),
		WaitingFor: secondsBy(waitNames[:], t.Waits[:]),
		Timer:      format.Seconds(t.Timer), Storage: format.Seconds(t.Storage), Other: format.Seconds(t.Other),
	}
}

type stepDocument struct {
	Name    string  `json:"name"`
	File    string  `json:"file,omitempty"`
	Seconds float64 `json:"seconds"`
}

// segmentDocument is a part of the critical path on one thread.
type segmentDocument struct {
	Thread int32   `json:"thread"` // -1 for one that is not told apart
	From   float64 `json:"from_seconds"`
	To     float64 `json:"to_seconds"`
	Name   string  `json:"name"` // of what took the longest at a time
	File   string  `json:"file,omitempty"`
}

type latencyDocument struct {
	Name  string  `json:"name"`
	Calls int64   `json:"calls"`
	Min   float64 `json:"min_seconds"`
	*Tails
	Bars []barDocument `json:"bars"`
	Tail []float64     `json:"tail_seconds,omitempty"` // of categories, for charts
}

type barDocument struct {
	From  float64 `json:"from_seconds"`
	To    float64 `json:"to_seconds"`
	Calls int64   `json:"calls"`
}

// mapDocument is a LatencyMap.
type mapDocument struct {
	Name   string        `json:"name"`
	Column float64       `json:"column_seconds"`
	Rows   []barDocument `json:"rows"`
	Cells  [][]int64     `json:"calls"` // by column, then row
}

func (m *LatencyMap) document(name string) mapDocument {
	d := mapDocument{Name: name, Column: format.Seconds(m.ColumnNanos), Cells: m.Cells}
	for _, r := range m.Rows {
		d.Rows = append(d.Rows, barDocument{format.Seconds(r.From), format.Seconds(r.To), r.Calls})
	}
	return d
}

// activityDocument says what the threads together did over time.
type activityDocument struct {
	Column     float64     `json:"column_seconds"`
	Activities []string    `json:"activities"`
	Seconds    [][]float64 `json:"seconds"` // by column, then activity
}

func (t *Timeline) activity() activityDocument {
	d := activityDocument{Column: format.Seconds(t.ColumnNanos), Activities: []string{}, Seconds: [][]float64{}}
	for a := range NumActivities {
		d.Activities = append(d.Activities, a.String())
	}
	for i := range t.All {
		d.Seconds = append(d.Seconds, secondsOf(t.All[i][:]))
	}
	return d
}

type accessDocument struct {
	Name       string `json:"name"`
	Moves      int64  `json:"calls"`
	Sequential int64  `json:"sequential"`
	Strided    int64  `json:"strided"`
	Random     int64  `json:"random"`
}

// The bounds of a document with the extent Page: rows of a table and the bytes that they
// take, intervals, and steps of the critical path.
const (
	maxRows      = 2000
	maxBytes     = 1 << 20
	maxIntervals = 1 << 9
	maxPageSteps = 12
)

// fit leaves so many rows of a table, those with the most time first, as a page may hold. It
// halves their number until they fit, because names can be long. It says how many there were.
func (t *Table) fit() (all int) {
	all = len(t.rows)
	for n := min(all, maxRows); ; n /= 2 {
		if n < all {
			t.Sort("time") // rows of tables without that column stay as they are
			t.Cut(n)
		}
		if rows, err := t.MarshalJSON(); err != nil || len(rows) <= maxBytes || n == 0 {
			return all
		}
	}
}

// FullDocument returns the profile, to be written as JSON.
func (p *Profile) FullDocument(extent Extent) any {
	d := &document{
		Diagnosis: append([]Finding{}, p.Diagnosis...),
		summary:   p.summary(), Ops: p.operationDocuments(), Latency: []latencyDocument{}, OpLatency: []latencyDocument{},
		Times:       p.Times.document(),
		OverTime:    []mapDocument{},
		Activity:    p.Timeline.activity(),
		Concurrency: secondsOf(p.Concurrency),
		Depth:       secondsOf(p.Depth),
		Critical:    []stepDocument{},
		Segments:    []segmentDocument{},
		Blocked:     p.Blocked.document(),
		Requests:    p.requestsDocument(),
	}
	intervals, steps := &p.Intervals, p.Critical
	if extent != Sums {
		d.Charts = p.charts()
	}
	if extent == Page {
		intervals, steps = intervals.merged(maxIntervals), steps[:min(maxPageSteps, len(steps))]
	}
	d.Interval, d.Intervals = format.Seconds(intervals.Nanos), p.intervalTable(intervals)
	tables := []struct {
		view, key string
		to        **Table
	}{
		{"file", "files", &d.Files}, {"directory", "directories", &d.Directories}, {"process", "processes", &d.Processes}, {"thread", "threads", &d.Threads},
		{"size", "sizes", &d.Sizes}, {"error", "errors", &d.Errors}, {"layer", "layers", &d.Layers}, {"span", "spans", &d.Spans},
		{"rank", "ranks", &d.Ranks}, {"node", "nodes", &d.Nodes}, {"shared", "shared", &d.Shared},
	}
	if len(p.Ranks) == 0 {
		tables = tables[:len(tables)-3]
	}
	for _, t := range tables {
		table, err := p.Table(t.view)
		if err != nil {
			panic("internal error: " + err.Error())
		}
		if extent == Page {
			if all := table.fit(); all > len(table.rows) {
				d.Charts.Rows[t.key] = all
			}
		}
		*t.to = table
	}
	for k, m := range p.LatencyMaps {
		if m != nil {
			d.OverTime = append(d.OverTime, m.document(Category(k).String()))
		}
	}
	for k, l := range p.Latency {
		d.Latency = appendLatency(d.Latency, Category(k).String(), l)
		if l != nil && extent != Sums {
			d.Latency[len(d.Latency)-1].Tail = secondsOf(l.Tail)
		}
	}
	for _, op := range p.byTime() {
		d.OpLatency = appendLatency(d.OpLatency, op.String(), p.OpLatency[op])
	}
	for _, s := range steps {
		d.Critical = append(d.Critical, stepDocument{s.Name, format.CutName(s.File), format.Seconds(s.Nanos)})
	}
	bytes := 0
	for _, s := range p.Timeline.Segments {
		if bytes += len(s.File); extent == Page && bytes > maxNames {
			s.File = ""
		}
		d.Segments = append(d.Segments, segmentDocument{s.TID, format.Seconds(s.From), format.Seconds(s.To), s.Name, format.CutName(s.File)})
	}
	for k, a := range p.Access() {
		d.Access = append(d.Access, accessDocument{Category(k).String(), a.Moves, a.Sequential, a.Strided, a.Random})
	}
	return d
}

func appendLatency(list []latencyDocument, name string, l *Latency) []latencyDocument {
	if l == nil {
		return list
	}
	doc := latencyDocument{name, l.Calls, format.Seconds(l.Min), l.tails(), nil, nil}
	for _, b := range l.Bars {
		doc.Bars = append(doc.Bars, barDocument{format.Seconds(b.From), format.Seconds(b.To), b.Calls})
	}
	return append(list, doc)
}
