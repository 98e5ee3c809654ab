package profile

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
)

// WriteWatch writes what a person wants to see of a recording that goes on, in at most
// so many lines: the newest interval that is over by class, the course of the last
// minute or so, and the files that calls took longest on. It wants intervals with
// latencies: Collector.Tails.
func (p *Profile) WriteWatch(w io.Writer, lines int) error {
	var b bytes.Buffer
	o := overview{Profile: p, b: &b}
	list := p.Intervals.List
	o.line("%s recorded, %s; Ctrl-C ends", short(p.RunTime), table.Plural(int(p.All.Calls), "call"))
	if len(list) > 0 {
		over := list[:max(len(list)-1, 1)] // the last one goes on
		o.newest(&over[len(over)-1])
		o.watched(over[max(len(over)-barsWidth, 0):])
	}
	o.longest(lines - bytes.Count(b.Bytes(), []byte("\n")) - 2)
	_, err := w.Write(b.Bytes())
	return err
}

// newest shows the classes of an interval, and all of their calls until now.
func (o *overview) newest(v *Span) {
	seconds := format.Seconds(max(o.until(v)-v.Start, 1))
	rows := [][]string{{"last " + short(o.Intervals.Nanos), "calls/s", "bytes/s", "depth"}}
	for _, name := range stats.QuantileNames {
		rows[0] = append(rows[0], name)
	}
	rows[0] = append(rows[0], "all calls", "all bytes")
	for k := range NumIO {
		t, all := &v.Categories[k], &o.Categories[k]
		if all.Calls == 0 {
			continue
		}
		row := []string{k.String(), table.Count(int64(float64(t.Calls) / seconds)), table.Bytes(float64(t.Bytes) / seconds), table.Fixed(format.Seconds(busy(t))/seconds, 1)}
		for i := range stats.QuantileNames {
			if v.Latency[k] == nil {
				row = append(row, "-")
			} else {
				row = append(row, short(v.Latency[k].List()[i]))
			}
		}
		rows = append(rows, append(row, table.Count(all.Calls), table.Bytes(float64(all.Bytes))))
	}
	o.table(rows)
}

// barsWidth is how many characters the bars have, one an interval.
const barsWidth = 60

// watched shows intervals as bars above an axis of time: bytes, what was under way, and
// p99 of each class.
func (o *overview) watched(list []Span) {
	o.b.WriteByte('\n')
	show := func(name string, of func(*Span) int64, most func(n int64) string) {
		var values []int64
		for i := range list {
			values = append(values, of(&list[i]))
		}
		if n := slices.Max(values); n > 0 {
			o.line("%-17s%s%s  at most %s", name, strings.Repeat(" ", barsWidth-len(values)), bars(values), most(n))
		}
	}
	length := format.Seconds(o.Intervals.Nanos)
	perSecond := func(n int64) string { return table.Bytes(float64(n)/length) + "/s" }
	show("read", (*Span).Fetched, perSecond)
	show("written", (*Span).Stored, perSecond)
	show("in I/O", func(v *Span) int64 { io := v.IO(); return busy(&io) }, func(n int64) string {
		return table.Fixed(format.Seconds(n)/length, 1) + " on average"
	})
	for k := range NumIO {
		show("p99 "+k.String(), func(v *Span) int64 {
			if v.Latency[k] == nil {
				return 0
			}
			return v.Latency[k].P99
		}, short)
	}
	o.line("%-17s%-*s%s", "", barsWidth-len("now"), short(barsWidth*o.Intervals.Nanos)+" ago", "now")
}

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

// longest shows the files that calls took longest on, so many lines with the head.
func (o *overview) longest(lines int) {
	if lines < 2 || len(o.Files) == 0 {
		return
	}
	rows := [][]string{{"file", "calls", "bytes", "time"}}
	for i := range o.Files[:min(len(o.Files), lines-1)] {
		f := &o.Files[i]
		io := f.IO()
		rows = append(rows, []string{format.Visible(f.Name), table.Count(io.Calls), table.Bytes(float64(io.Bytes)), short(io.Nanos)})
	}
	o.table(rows)
}

func short(nanos int64) string { return table.ShortDuration(format.Seconds(nanos)) }
