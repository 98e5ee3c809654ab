package profile

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"pianola/format"
	"pianola/table"
)

// The overview shows so many rows of its tables, so that it fits a screen.
const (
	topFiles      = 20
	topOperations = 8
	topSteps      = 8
	topThreads    = 5
	barsWidth     = 60 // characters of the bars over time
)

// WriteText writes an overview: how long the run was, how much was read and
// written, which operations, files and threads took the time, and what the rest
// of it was. With all set every table is shown whole.
func (p *Profile) WriteText(w io.Writer, all bool) error {
	var b bytes.Buffer
	o := overview{Profile: p, b: &b, all: all}
	for _, part := range []func(){o.head, o.categories, o.time, o.critical, o.course, o.access, o.operations, o.files, o.owners} {
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
	u := table.UnitOf(format.Seconds(o.IO().Nanos))
	rows := [][]string{{"", u.Name, "of I/O", "calls", "errors", "bytes", "bytes/s", "p50 µs", "p99 µs", "max µs"}}
	io := o.IO()
	for k := range o.Categories {
		t := &o.Categories[k]
		seconds := t.seconds()
		row := []string{Category(k).String(), duration.show(&seconds, u), table.Share(t.Nanos, io.Nanos), table.Count(t.Calls), table.Count(t.Errors), table.Missing, table.Missing, table.Missing, table.Missing, table.Missing}
		if Category(k) <= Writes {
			row[5], row[6] = table.Bytes(float64(t.Bytes)), rate(t.Bytes, o.RunTime)
		}
		if l := o.Latency[k]; l != nil && o.Categories[k].Calls > 0 {
			for i, n := range []int64{l.P50, l.P99, l.Max} {
				row[7+i] = table.Micros(n)
			}
		}
		rows = append(rows, row)
	}
	o.table(rows)
}

func (o *overview) time() {
	t := &o.Times
	o.b.WriteByte('\n')
	o.line("time of threads: %s: I/O %s, compute %s, waiting %s, other calls %s", took(t.Sum()),
		table.Share(t.IO, t.Sum()), table.Share(t.Compute, t.Sum()), table.Share(t.Waiting, t.Sum()), table.Share(t.Other, t.Sum()))
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

// course shows how much was read and written over time, as bars.
func (o *overview) course() {
	for k, name := range []string{"read", "written"} {
		if o.Categories[k].Bytes == 0 {
			continue
		}
		bars, most, nanos := o.bars(Category(k))
		o.line("%-8s%s  at most %s/s, each %s", name, bars, table.Bytes(float64(most)*1e9/float64(nanos)), took(nanos))
	}
}

// bars draws the bytes of the intervals, several in a bar if there are too many
// of them, and returns the bytes and the length of the highest bar.
func (o *overview) bars(k Category) (bars string, most, nanos int64) {
	list := o.Intervals.List
	each := (len(list) + barsWidth - 1) / barsWidth
	sums := make([]int64, (len(list)+each-1)/each)
	for i := range list {
		sums[i/each] += list[i].Categories[k].Bytes
		most = max(most, sums[i/each])
	}
	const levels = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for _, n := range sums {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		at := int(float64(n) / float64(most) * 7.999)
		b.WriteString(levels[at*len("█"):][:len("█")])
	}
	return b.String(), most, o.Intervals.Nanos * int64(each)
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
			o.line("%-8s%s", name, strings.Join(facts, "; "))
		}
	}
}

// sizes says which size class most calls of a category are in. Those of a source
// that doesn't tell sizes ask for nothing.
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
	rows := [][]string{{"operation", u.Name, "calls", "errors", "bytes", "p50 µs", "p99 µs", "max µs"}}
	list := o.Profile.operations()
	for _, op := range list[:o.top(len(list), topOperations)] {
		seconds := op.Total.seconds()
		row := []string{op.op.String(), duration.show(&seconds, u), table.Count(op.Calls), table.Count(op.Errors), table.Bytes(float64(op.Bytes)), table.Missing, table.Missing, table.Missing}
		if op.latency != nil {
			for i, n := range []int64{op.latency.P50, op.latency.P99, op.latency.Max} {
				row[5+i] = table.Micros(n)
			}
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

func (o *overview) files() {
	list := o.Profile.files()
	if len(list) == 0 {
		return
	}
	var longest, last int64
	for i := range list {
		io := list[i].IO()
		longest, last = max(longest, io.Nanos), max(last, list[i].Last)
	}
	u, since := table.UnitOf(format.Seconds(longest)), table.UnitOf(format.Seconds(last))
	rows := [][]string{{"file", u.Name, "reads", "writes", "read", "written", "seq.", "read size", "write size", "first " + since.Name, "last"}}
	for i := range list[:o.top(len(list), topFiles)] {
		f := &list[i]
		io := f.IO()
		total := io.seconds()
		rows = append(rows, []string{
			o.name(f.Name), duration.show(&total, u), table.Count(f.Categories[Reads].Calls), table.Count(f.Categories[Writes].Calls),
			table.Bytes(float64(f.Categories[Reads].Bytes)), table.Bytes(float64(f.Categories[Writes].Bytes)), f.sequential(),
			mostFrequent(f.Access[Reads].Sizes), mostFrequent(f.Access[Writes].Sizes), since.Format(format.Seconds(f.First)), since.Format(format.Seconds(f.Last)),
		})
	}
	o.table(rows)
	o.more(len(list), len(rows)-1, "files", "file")
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
	for i := range list {
		_, _, times := of(&list[i])
		longest = max(longest, times.Sum())
	}
	u := table.UnitOf(format.Seconds(longest))
	rows := [][]string{{what, "I/O " + u.Name, "compute", "waiting", "other", "calls", "read", "written", "first", "last"}}
	for i := range list {
		name, usage, times := of(&list[i])
		row := []string{name}
		for _, nanos := range []int64{times.IO, times.Compute, times.Waiting, times.Other} {
			row = append(row, u.Format(format.Seconds(nanos)))
		}
		all := usage.All()
		rows = append(rows, append(row, table.Count(all.Calls), table.Bytes(float64(usage.Categories[Reads].Bytes)),
			table.Bytes(float64(usage.Categories[Writes].Bytes)), u.Format(format.Seconds(usage.First)), u.Format(format.Seconds(usage.Last))))
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
