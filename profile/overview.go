package profile

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/stats"
	"pianola/table"
)

// The overview shows so many rows of its tables, so that it fits a screen.
const (
	topFiles      = 20
	topOperations = 8
	topSteps      = 8
	topThreads    = 5
	topChannels   = 8
	barsWidth     = 60 // characters of the bars over time
)

// WriteText writes an overview: how long the run was, what to look at, how much was read and
// written, which operations, files and threads took the time, and what the rest
// of it was. With all set every table is shown whole.
func (p *Profile) WriteText(w io.Writer, all bool) error {
	var b bytes.Buffer
	o := overview{Profile: p, b: &b, all: all}
	for _, part := range []func(){o.head, o.diagnosis, o.categories, o.time, o.critical, o.course, o.access, o.operations, o.layers, o.files, o.owners, o.ranks} {
		part()
	}
	_, err := w.Write(b.Bytes())
	return err
}

// overview writes the parts of an overview.
type overview struct {
	*Profile
	b   *bytes.Buffer
	all bool
}

func (o *overview) line(form string, args ...any) { fmt.Fprintf(o.b, form+"\n", args...) }

// table writes a table below an empty line.
func (o *overview) table(rows [][]string) {
	o.b.WriteByte('\n')
	o.b.WriteString(table.Format(rows, table.FirstLeft))
}

// top returns how many rows of n are shown.
func (o *overview) top(n, limit int) int {
	if o.all {
		return n
	}
	return min(n, limit)
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
	rows := [][]string{append([]string{"", u.Name, "of I/O", "calls", "errors", "bytes", "bytes/s"}, quantileHeads...)}
	for k := range NumCategories {
		t := &o.Categories[k]
		if k >= NumCalls && t.Calls == 0 {
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
		row = append(row, o.Latency[k].cells()...)
		if o.All.Flight > 0 {
			row = append(row, inFlightText(t, u))
		}
		rows = append(rows, row)
	}
	if o.All.Flight > 0 {
		rows[0] = append(rows[0], "in flight "+u.Name)
	}
	o.table(rows)
}

// quantileHeads are the heads of the columns of Latency.cells.
var quantileHeads = func() (heads []string) {
	for i, name := range stats.QuantileNames {
		if i == 0 {
			name += " µs"
		}
		heads = append(heads, name)
	}
	return heads
}()

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
		{name: "behind own threads", nanos: func(t *Times) int64 { return t.Own }},
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
	o.line("time of threads: %s: %s", took(t.Sum()), t.list(occurring([]*Times{t})))
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
	if len(levels) > shown && !o.all {
		levels = append(levels[:shown], "…")
	}
	o.line("threads in I/O at once: %s", strings.Join(levels, ", "))
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
		rows = append(rows, []string{s.Name, u.Format(format.Seconds(s.Nanos)), table.Share(s.Nanos, o.RunTime), o.name(s.File)})
	}
	o.b.WriteByte('\n')
	o.b.WriteString(table.Format(rows, func(column int) bool { return column == 0 || column == 3 }))
	o.b.WriteByte('\n')
}

// course shows over time how much was read and written, how much was under way, and
// how long 99 % of the calls of a class took at most.
func (o *overview) course() {
	list := o.Intervals.List
	if len(list) == 0 {
		return
	}
	each := (len(list) + barsWidth - 1) / barsWidth
	nanos := o.Intervals.Nanos * int64(each)
	show := func(name string, of func(*Span) int64, most func(perSecond float64) string) {
		sums := make([]int64, (len(list)+each-1)/each)
		for i := range list {
			sums[i/each] += of(&list[i])
		}
		if n := slices.Max(sums); n > 0 {
			o.bars(name, sums, most(float64(n)*1e9/float64(nanos)), nanos)
		}
	}
	perSecond := func(v float64) string { return "at most " + table.Bytes(v) + "/s" }
	show("read", func(v *Span) int64 { return v.Fetched() }, perSecond)
	show("written", func(v *Span) int64 { return v.Stored() }, perSecond)
	show("in I/O", func(v *Span) int64 { io := v.IO(); return io.Nanos + io.Flight }, func(v float64) string {
		return "at most " + table.Fixed(v/1e9, 1) + " threads and requests on average"
	})
	for k := range NumIO {
		m := o.LatencyMaps[k]
		if m == nil || o.Categories[k].Nanos+o.Categories[k].Flight < o.RunTime/minTail {
			continue
		}
		var p99 []int64
		for at := int64(0); at <= list[len(list)-1].Start; at += nanos {
			p99 = append(p99, m.P99(at, at+nanos))
		}
		o.bars("p99 "+k.String(), p99, "at most "+took(slices.Max(p99)), nanos)
	}
}

// bars writes a line with values over time, so many nanoseconds each.
func (o *overview) bars(name string, values []int64, most string, nanos int64) {
	o.line("%-13s%s  %s, each %s", name, bars(values), most, took(nanos))
}

// minTail is the part of the run time that a class must take for its tail to be shown
// over time.
const minTail = 100

// bars draws values as a row of characters.
func bars(values []int64) string {
	const levels = "▁▂▃▄▅▆▇█"
	most := slices.Max(values)
	var b strings.Builder
	for _, n := range values {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		at := int(float64(n) / float64(most) * 7.999)
		b.WriteString(levels[at*len("█"):][:len("█")])
	}
	return b.String()
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
		if n > 0 {
			facts = append(facts, fmt.Sprintf("%s sequential, %s strided, %s random", table.Share(a.Sequential, n), table.Share(a.Strided, n), table.Share(a.Random, n)))
		}
		if sizes := o.sizes(Category(k)); sizes != "" {
			facts = append(facts, sizes)
		}
		if len(facts) > 0 {
			o.line("%-13s%s", name, strings.Join(facts, "; "))
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
	rows := [][]string{append([]string{"operation", u.Name, "calls", "errors", "bytes"}, quantileHeads...)}
	if comm {
		rows[0] = slices.Insert(rows[0], 2, "of it communication")
	}
	list := o.Profile.operations()
	for _, op := range list[:o.top(len(list), topOperations)] {
		seconds, inside := op.Total.seconds(), op.comm.seconds()
		row := []string{op.op.String(), duration.show(&seconds, u), table.Count(op.Calls), table.Count(op.Errors), table.Bytes(float64(op.Bytes))}
		row = append(row, op.latency.cells()...)
		if comm {
			row = slices.Insert(row, 2, duration.show(&inside, u))
		}
		rows = append(rows, row)
	}
	o.table(rows)
	o.more(len(list), len(rows)-1, "operations", "operation")
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
	var longest, last int64
	for i := range files {
		io := files[i].IO()
		longest, last = max(longest, io.Nanos), max(last, files[i].Last)
	}
	u, since := table.UnitOf(format.Seconds(longest)), table.UnitOf(format.Seconds(last))
	rows := [][]string{{"file", u.Name, "reads", "writes", "read", "written", "seq.", "read size", "write size", "first " + since.Name, "last"}}
	faults := o.Categories[MappedReads].Calls+o.Categories[MappedWrites].Calls > 0
	if faults {
		rows[0] = slices.Insert(rows[0], 4, "faults")
	}
	for _, f := range files[:o.top(len(files), topFiles)] {
		io := f.IO()
		total := io.seconds()
		row := []string{
			o.name(f.Name), duration.show(&total, u), table.Count(f.Categories[Reads].Calls), table.Count(f.Categories[Writes].Calls),
			table.Bytes(float64(f.Fetched())), table.Bytes(float64(f.Stored())), f.sequential(),
			mostFrequent(f.Access[Reads].Sizes), mostFrequent(f.Access[Writes].Sizes), since.Format(format.Seconds(f.First)), since.Format(format.Seconds(f.Last)),
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
	var last int64
	for i := range list {
		last = max(last, list[i].Last)
	}
	u, since := table.UnitOf(format.Seconds(list[0].Categories[Communication].Nanos)), table.UnitOf(format.Seconds(last))
	rows := [][]string{{"communication", u.Name, "calls", "errors", "bytes", "first " + since.Name, "last"}}
	for _, f := range list[:o.top(len(list), topChannels)] {
		t := &f.Categories[Communication]
		seconds := t.seconds()
		rows = append(rows, []string{
			o.name(f.Name), duration.show(&seconds, u), table.Count(t.Calls), table.Count(t.Errors), table.Bytes(float64(t.Bytes)),
			since.Format(format.Seconds(f.First)), since.Format(format.Seconds(f.Last)),
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

// owners shows processes where there are more than one, and threads where there
// are more than processes.
func (o *overview) owners() {
	if len(o.Processes) > 1 {
		rows := ownerRows("process", o.Processes[:o.top(len(o.Processes), topThreads)], func(p *Process) (string, *Usage, *Times) {
			return o.name(fmt.Sprintf("%d %s", p.ID, p.Command)), &p.Usage, &p.Times
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
	rows := [][]string{append(head, "calls", "read", "written", "first", "last")}
	for i := range list {
		name, usage, times := of(&list[i])
		row := []string{name}
		for _, p := range parts {
			row = append(row, u.Format(format.Seconds(p.nanos(times))))
		}
		all := usage.All()
		rows = append(rows, append(row, table.Count(all.Calls), table.Bytes(float64(usage.Fetched())),
			table.Bytes(float64(usage.Stored())), u.Format(format.Seconds(usage.First)), u.Format(format.Seconds(usage.Last))))
	}
	return rows
}

// name returns a name for a cell, with its middle only where all is shown.
func (o *overview) name(name string) string {
	if o.all {
		return table.Name(name)
	}
	return table.ShortName(name)
}

// took prints a time in the unit that suits it.
func took(nanos int64) string { return table.Duration(format.Seconds(nanos)) }

func rate(bytes, nanos int64) string {
	if nanos <= 0 {
		return table.Missing
	}
	return table.Bytes(float64(bytes) * 1e9 / float64(nanos))
}
