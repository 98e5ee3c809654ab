package profile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
)

// The overview shows so many rows of its tables, so that it fits a screen.
const (
	topFiles      = 20
	topOperations = 8
	topSteps      = 8
	topThreads    = 5
	topChannels   = 8
)

// TextOptions select how much a text has.
type TextOptions struct {
	All  bool // all rows of a table
	Wide bool // all columns, and whole names; otherwise a line has at most table.Width characters
}

// WriteText writes an overview: what takes the time, how long the run was, what to look at,
// how much was read and written, which operations, files and threads took the time, and
// what the rest of it was.
func (p *Profile) WriteText(w io.Writer, options TextOptions) error {
	var b bytes.Buffer
	o := overview{Profile: p, b: &b, show: options}
	for _, part := range []func(){o.answer, o.head, o.requests, o.diagnosis, o.categories, o.time, o.critical, o.access, o.errors, o.operations, o.layers, o.files, o.owners, o.ranks} {
		part()
	}
	_, err := w.Write(b.Bytes())
	return err
}

// overview writes the parts of an overview.
type overview struct {
	*Profile
	show TextOptions
	b    *bytes.Buffer
}

func (o *overview) line(form string, args ...any) { fmt.Fprintf(o.b, form+"\n", args...) }

// wrapped writes a line, or several where it is long.
func (o *overview) wrapped(form string, args ...any) {
	o.line("%s", wrap(fmt.Sprintf(form, args...), table.Width, "  "))
}

// table writes a table below an empty line. Its last columns are left out where it is too
// wide.
func (o *overview) table(rows [][]string) {
	o.b.WriteByte('\n')
	text, leftOut := o.show.narrow(rows, table.FirstLeft, table.FirstLeft)
	o.b.WriteString(text)
	if leftOut > 0 {
		o.line("… %s; --wide shows them", moreColumns(leftOut))
	}
}

// narrow returns a table of at most table.Width characters a line, and how many columns it
// leaves out; with Wide it returns the whole one.
func (o TextOptions) narrow(rows [][]string, left, keep func(column int) bool) (text string, leftOut int) {
	if o.Wide {
		return table.Format(rows, left), 0
	}
	return table.Narrow(rows, left, keep)
}

func moreColumns(n int) string { return table.Plural(n, "more column") }

// top returns how many rows of n are shown.
func (o *overview) top(n, limit int) int {
	if o.show.All {
		return n
	}
	return min(n, limit)
}

// answer says in one sentence what takes the time: the finding with the most of it, or the
// largest parts where no finding is about more than the first of them.
func (o *overview) answer() {
	type share struct {
		name  string
		nanos int64
	}
	var shares []share
	whole, of := o.RunTime, "run time"
	for _, s := range o.Critical {
		i := slices.IndexFunc(shares, func(h share) bool { return h.name == s.Name })
		if i < 0 {
			i = len(shares)
			shares = append(shares, share{name: s.Name})
		}
		shares[i].nanos += s.Nanos
	}
	if len(shares) == 0 {
		whole, of = o.Times.Sum(), "time of threads"
		for _, p := range parts {
			shares = append(shares, share{p.name, p.nanos(&o.Times)})
		}
	}
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(b.nanos, a.nanos) })
	first := shares[0]
	if len(o.Diagnosis) > 0 {
		most := slices.MaxFunc(o.Diagnosis, func(a, b Finding) int { return cmp.Compare(a.Seconds, b.Seconds) })
		if most.Seconds == 0 || most.Seconds >= format.Seconds(first.nanos) { // a finding without time says that the recording lacks something
			o.line("%s.", most.Claim)
			return
		}
	}
	if first.nanos == 0 || whole <= 0 {
		o.line("The recording does not tell what takes the time.")
		return
	}
	text := fmt.Sprintf("%s took %s of the %s", first.name, table.Share(first.nanos, whole), of)
	for _, s := range shares[1:min(3, len(shares))] {
		if s.nanos*100 >= whole {
			text += ", " + s.name + " " + table.Share(s.nanos, whole)
		}
	}
	o.line("%s.", text)
}

func (o *overview) head() {
	o.line("%s, %s of %s, %s, %d with an error", took(o.RunTime), table.Plural(len(o.Threads), "thread"),
		table.Plural(len(o.Processes), "process"), table.Plural(int(o.All.Calls), "call"), o.All.Errors)
	o.line("%v", &o.Coverage)
	// No exit returns, so it has none.
	if n := o.All.Unknown - o.Ops[format.OpExit].Unknown - o.Ops[format.OpExitGroup].Unknown; n > 0 {
		o.line("calls without a duration, which are not in the times: %d", n)
	}
}

func (o *overview) categories() {
	io := o.IO()
	u := table.UnitOf(format.Seconds(max(io.Nanos, o.Categories[Communication].Nanos, o.Categories[Submitting].Nanos)))
	rows := [][]string{{"", u.Name, "of I/O", "calls", "errors", "bytes", "bytes/s"}}
	latencies := [][]string{append([]string{"latency, µs"}, stats.QuantileNames[:]...)}
	for k := range NumCategories {
		t := &o.Categories[k]
		if t.Calls == 0 {
			continue
		}
		seconds := t.seconds()
		row := []string{k.String(), duration.show(&seconds, u), table.Missing, table.Count(t.Calls), table.Count(t.Errors), table.Missing, table.Missing}
		if k < NumIO {
			row[2] = table.Share(t.Nanos, io.Nanos)
		}
		if k <= Writes || k >= MappedReads && k <= Communication {
			row[5], row[6] = table.Bytes(float64(t.Bytes)), rate(t.Bytes, o.RunTime)
		}
		if o.All.Flight > 0 {
			row = append(row, inFlightText(t, u))
		}
		rows = append(rows, row)
		if o.Latency[k] != nil {
			latencies = append(latencies, append([]string{k.String()}, o.Latency[k].cells()...))
		}
	}
	if o.All.Flight > 0 {
		rows[0] = append(rows[0], "in flight "+u.Name)
	}
	if len(rows) > 1 {
		o.table(rows)
	}
	if len(latencies) > 1 {
		o.table(latencies)
	}
}

// cells prints the quantiles in microseconds.
func (l *Latency) cells() []string {
	if l == nil {
		return slices.Repeat([]string{table.Missing}, len(stats.QuantileNames))
	}
	var cells []string
	for _, n := range l.List() {
		cells = append(cells, table.Micros(n))
	}
	return cells
}

// inFlightText prints the time in flight of requests.
func inFlightText(t *Total, u table.Unit) string {
	if t.Flight == 0 {
		return table.Missing
	}
	return u.Format(format.Seconds(t.Flight))
}

// part is a part of a thread's time.
type part struct {
	name  string
	nanos func(*Times) int64
	parts []part // what it consists of
}

// parts are the parts of a thread's time. The overview leaves out those that did not
// occur, except for the first two.
var parts = []part{
	{name: "I/O", nanos: func(t *Times) int64 { return t.IO }},
	{name: "compute", nanos: func(t *Times) int64 { return t.Compute }},
	{name: "communication", nanos: func(t *Times) int64 { return t.Communication }},
	{name: "submit and wait", nanos: func(t *Times) int64 { return t.Submit }},
	{name: "ready", nanos: func(t *Times) int64 { return t.Ready }, parts: []part{
		{name: "while own threads ran", nanos: func(t *Times) int64 { return t.Own }},
	}},
	{name: "waiting", nanos: (*Times).Waiting, parts: waitParts()},
	{name: "timer", nanos: func(t *Times) int64 { return t.Timer }},
	{name: "storage", nanos: func(t *Times) int64 { return t.Storage }},
	{name: "other calls", nanos: func(t *Times) int64 { return t.Other }},
}

func waitParts() (list []part) {
	for k, name := range waitNames[:WaitRest] {
		list = append(list, part{name: name, nanos: func(t *Times) int64 { return t.Waits[k] }})
	}
	return list
}

// occurring returns the parts of which there is something in one of the times,
// and the first two.
func occurring(times []*Times) (list []part) {
	for i, p := range parts {
		if i < 2 || slices.ContainsFunc(times, func(t *Times) bool { return p.nanos(t) > 0 }) {
			list = append(list, p)
		}
	}
	return list
}

// list says which shares of a time its parts are.
func (t *Times) list(parts []part) string {
	var words []string
	for _, p := range parts {
		word := p.name + " " + table.Share(p.nanos(t), t.Sum())
		var inside []part
		for _, q := range p.parts {
			if q.nanos(t) > 0 {
				inside = append(inside, q)
			}
		}
		if len(inside) > 0 {
			word += " (" + t.list(inside) + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func (o *overview) time() {
	t := &o.Times
	o.b.WriteByte('\n')
	o.wrapped("time of threads: %s: %s", took(t.Sum()), t.list(occurring([]*Times{t})))
	o.depth()
	if len(o.Concurrency) == 0 {
		return
	}
	var levels []string
	for n, nanos := range o.Concurrency {
		if nanos > 0 {
			levels = append(levels, fmt.Sprintf("%d for %s (%s)", n, took(nanos), table.Share(nanos, o.RunTime)))
		}
	}
	const shown = 6
	if len(levels) > shown && !o.show.All {
		levels = append(levels[:shown], "…")
	}
	o.wrapped("threads in I/O at once: %s", strings.Join(levels, ", "))
}

// depth shows how many requests were in flight at once.
func (o *overview) depth() {
	if len(o.Depth) == 0 {
		return
	}
	sum := 0.0
	for n, nanos := range o.Depth {
		sum += float64(n) * float64(nanos)
	}
	o.line("requests in flight: %.2f on average while there were any, %d at most", sum/float64(max(o.RunTime-o.Depth[0], 1)), len(o.Depth)-1)
}

// critical shows what the run time hung on.
func (o *overview) critical() {
	if len(o.Critical) == 0 || o.RunTime == 0 {
		return
	}
	u := table.UnitOf(format.Seconds(o.Critical[0].Nanos))
	rows := [][]string{{"critical path", u.Name, "of run time", "file"}}
	list := o.Critical
	for _, s := range list[:o.top(len(list), topSteps)] {
		rows = append(rows, []string{s.Name, u.Format(format.Seconds(s.Nanos)), table.Share(s.Nanos, o.RunTime), table.Name(s.File)})
	}
	o.b.WriteByte('\n')
	text, _ := o.show.narrow(rows, func(column int) bool { return column == 0 || column == 3 }, table.AllLeft)
	o.b.WriteString(text)
	o.b.WriteByte('\n')
}

func (o *overview) access() {
	sum := o.Access()
	for k, name := range []string{"reads", "writes"} {
		a := &sum[k]
		n := a.Sequential + a.Strided + a.Random
		if a.Moves == 0 {
			continue
		}
		var facts []string
		var patterns []string
		for i, calls := range []int64{a.Sequential, a.Strided, a.Random} {
			if calls > 0 {
				patterns = append(patterns, table.Share(calls, n)+[]string{" sequential", " strided", " random"}[i])
			}
		}
		if patterns != nil {
			facts = append(facts, strings.Join(patterns, ", "))
		}
		if sizes := o.sizes(Category(k)); sizes != "" {
			facts = append(facts, sizes)
		}
		if len(facts) > 0 {
			o.wrapped("%-13s%s", name, strings.Join(facts, "; "))
		}
	}
}

// sizes says which size class most calls of a category are in.
func (o *overview) sizes(k Category) string {
	var best SizeClass
	for _, c := range o.Sizes[k] {
		if c.Calls > best.Calls {
			best = c
		}
	}
	if best.From == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the sizes are %d to %d bytes", table.Share(best.Calls, o.Categories[k].Calls), best.From, best.To-1)
}

func (o *overview) operations() {
	t, _ := o.Table("operation")
	u := t.unit()
	comm := o.Categories[Communication].Calls > 0
	rows := [][]string{{"operation", u.Name, "calls", "errors", "bytes"}}
	if comm {
		rows[0] = slices.Insert(rows[0], 2, "of it communication")
	}
	list := o.Profile.operations()
	for _, op := range list[:o.top(len(list), topOperations)] {
		seconds, inside := op.Total.seconds(), op.comm.seconds()
		row := []string{op.op.String(), duration.show(&seconds, u), table.Count(op.Calls), table.Count(op.Errors), table.Bytes(float64(op.Bytes))}
		if comm {
			row = slices.Insert(row, 2, duration.show(&inside, u))
		}
		rows = append(rows, row)
	}
	o.table(rows)
	o.more(len(list), len(rows)-1, "operations", "operation")
	if o.show.All {
		latencies := [][]string{append([]string{"latency of operations, µs"}, stats.QuantileNames[:]...)}
		for _, op := range list {
			latencies = append(latencies, append([]string{op.op.String()}, op.latency.cells()...))
		}
		o.table(latencies)
	}
}

// more says that rows are left out.
func (o *overview) more(all, shown int, what, view string) {
	if all > shown {
		o.line("… of %d %s; --by %s --all shows them", all, what, view)
	}
}

// files shows the files, and in a table of its own what is communicated with.
func (o *overview) files() {
	var files, channels []*File
	for _, f := range o.Profile.files() {
		if comm := &f.Categories[Communication]; comm.Calls > 0 {
			channels = append(channels, f)
			if all := f.All(); all.Calls == comm.Calls {
				continue
			}
		}
		files = append(files, f)
	}
	sortByTime(channels, func(f *File) int64 { return f.Categories[Communication].Nanos }, func(f *File) string { return f.Name })
	var longest int64
	for i := range files {
		io := files[i].IO()
		longest = max(longest, io.Nanos)
	}
	u := table.UnitOf(format.Seconds(longest))
	rows := [][]string{{"file", u.Name, "reads", "writes", "read", "written", "seq.", "sizes"}}
	faults := o.Categories[MappedReads].Calls+o.Categories[MappedWrites].Calls > 0
	if faults {
		rows[0] = slices.Insert(rows[0], 4, "faults")
	}
	for _, f := range files[:o.top(len(files), topFiles)] {
		io := f.IO()
		total := io.seconds()
		row := []string{
			table.Name(f.Name), duration.show(&total, u), table.Count(f.Categories[Reads].Calls), table.Count(f.Categories[Writes].Calls),
			table.Bytes(float64(f.Fetched())), table.Bytes(float64(f.Stored())), f.sequential(), f.sizes(),
		}
		if faults {
			row = slices.Insert(row, 4, table.Count(f.Categories[MappedReads].Calls+f.Categories[MappedWrites].Calls))
		}
		rows = append(rows, row)
	}
	if len(files) > 0 {
		o.table(rows)
		o.more(len(files), len(rows)-1, "files", "file")
	}
	if len(channels) > 0 {
		o.channels(channels)
	}
}

// channels shows with what there was communication.
func (o *overview) channels(list []*File) {
	u := table.UnitOf(format.Seconds(list[0].Categories[Communication].Nanos))
	rows := [][]string{{"communication", u.Name, "calls", "errors", "bytes"}}
	for _, f := range list[:o.top(len(list), topChannels)] {
		t := &f.Categories[Communication]
		seconds := t.seconds()
		rows = append(rows, []string{
			table.Name(f.Name), duration.show(&seconds, u), table.Count(t.Calls), table.Count(t.Errors), table.Bytes(float64(t.Bytes)),
		})
	}
	o.table(rows)
	o.more(len(list), len(rows)-1, "pipes, sockets and devices", "file")
}

// sequential returns the sequential share of reads and writes together.
func (f *File) sequential() string {
	sum := f.Access[Reads]
	sum.merge(&f.Access[Writes])
	v := sum.shares()
	return share.show(&v, table.Unit{})
}

// sizes returns the most frequent size of reads, and that of writes: "4096 / 20".
func (f *File) sizes() string {
	var words []string
	for k := range f.Access {
		if list := f.Access[k].Sizes; len(list) > 0 {
			words = append(words, table.Count(list[0].Value))
		} else {
			words = append(words, table.Missing)
		}
	}
	return strings.Join(words, " / ")
}

// owners shows processes where there are more than one, and threads where there
// are more than processes.
func (o *overview) owners() {
	if len(o.Processes) > 1 {
		rows := ownerRows("process", o.Processes[:o.top(len(o.Processes), topThreads)], func(p *Process) (string, *Usage, *Times) {
			return table.Name(fmt.Sprintf("%d %s", p.ID, p.Command)), &p.Usage, &p.Times
		})
		o.table(rows)
		o.more(len(o.Processes), len(rows)-1, "processes", "process")
	}
	if list := o.Profile.threads(); len(list) > max(len(o.Processes), 1) {
		rows := ownerRows("thread", list[:o.top(len(list), topThreads)], func(t *Thread) (string, *Usage, *Times) {
			return threadName(t), &t.Usage, &t.Times
		})
		o.table(rows)
		o.more(len(list), len(rows)-1, "threads", "thread")
	}
}

func ownerRows[T any](what string, list []T, of func(*T) (string, *Usage, *Times)) [][]string {
	var longest int64
	var all []*Times
	for i := range list {
		_, _, times := of(&list[i])
		all, longest = append(all, times), max(longest, times.Sum())
	}
	u, parts := table.UnitOf(format.Seconds(longest)), occurring(all)
	head := []string{what}
	for i, p := range parts {
		name := p.name
		if i == 0 {
			name += " " + u.Name
		}
		head = append(head, name)
	}
	rows := [][]string{append(head, "calls", "read", "written")}
	for i := range list {
		name, usage, times := of(&list[i])
		row := []string{name}
		for _, p := range parts {
			row = append(row, u.Format(format.Seconds(p.nanos(times))))
		}
		all := usage.All()
		rows = append(rows, append(row, table.Count(all.Calls), table.Bytes(float64(usage.Fetched())), table.Bytes(float64(usage.Stored()))))
	}
	return rows
}

// took prints a time in the unit that suits it.
func took(nanos int64) string { return table.Duration(format.Seconds(nanos)) }

func rate(bytes, nanos int64) string {
	if nanos <= 0 {
		return table.Missing
	}
	return table.Bytes(float64(bytes) * 1e9 / float64(nanos))
}
