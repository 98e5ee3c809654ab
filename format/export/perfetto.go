package export

import (
	"io"
	"strconv"

	"pianola/format"
	"pianola/format/script"
)

// perfetto writes the JSON of the Trace Event Format, which Perfetto and
// chrome://tracing open: each thread is a track, each event a slice on it, and the
// bytes read and written per second are counters of a process of their own. An event
// without a duration is an instant. Flows are arrows: along the edges of a trace, and
// from the waker of a thread to the slice "woken" in the blocked call. Times are
// microseconds with three decimals.
type perfetto struct {
	jsonWriter
	flows    flows
	arrows   int64             // so far
	requests int64             // so far
	command  string            // that was recorded, empty if unknown
	labelled map[[2]int32]bool // processes, and threads with theirs
	counters int64             // number of the process that has them
	period   int64             // the period that bytes belongs to, from 0
	bytes    [2]int64
	shown    [2]int64 // the last values of the counters
}

// counterPeriod is how often a counter changes at most, in nanoseconds.
const counterPeriod = 10e6

// sliceColumns are the columns that a slice has as arguments.
var sliceColumns = [...]int{colPath, colPath2, colFD, colOffset, colSize, colFlags, colMode, colAfter, colResult, colError, colRing, colBatch, colReaped, colHow}

func newPerfetto(w io.Writer, h *format.Header) (Writer, error) {
	p := &perfetto{jsonWriter: jsonWriter{out: newText(w), row: newRow(h)}, labelled: make(map[[2]int32]bool), counters: scriptCounters}
	p.flows = newFlows(len(h.Threads), p.flow)
	p.command, _ = h.Value(format.MetaCommand)
	p.out.b = append(p.out.b, `{"traceEvents":[`...)
	for i, t := range h.Threads {
		if t.Ring != format.ViaCall {
			p.labelled[[2]int32{t.Process, int32(i + 1)}] = true
			p.label("thread_name", int64(t.Process), int64(i+1), t.Ring.String()+" ring "+strconv.Itoa(i+1))
		}
		p.introduce(t.Process, int32(i+1))
		if i == 0 {
			p.counters = 2
		}
		p.counters = max(p.counters, int64(t.Process)+1)
	}
	p.label("process_name", p.counters, 0, "all processes")
	return p, nil
}

// scriptCounters is the process of the counters where processes have the ids of
// the kernel, which are smaller.
const scriptCounters = 1 << 30

// introduce names a thread and its process, the first time. The first process has
// the name of the recorded command.
func (p *perfetto) introduce(process, thread int32) {
	if p.labelled[[2]int32{process, thread}] {
		return
	}
	if !p.labelled[[2]int32{process, 0}] {
		name := "process " + strconv.Itoa(int(process))
		if p.command != "" && len(p.labelled) == 0 {
			name = p.command
		}
		p.labelled[[2]int32{process, 0}] = true
		p.label("process_name", int64(process), 0, name)
	}
	p.labelled[[2]int32{process, thread}] = true
	p.label("thread_name", int64(process), int64(thread), "thread "+strconv.Itoa(int(thread)))
}

// label names a process or a thread.
func (p *perfetto) label(kind string, process, thread int64, name string) {
	p.begin(kind, "M", process, thread)
	p.key("args")
	p.open('{')
	p.text("name", name)
	p.out.b = append(p.out.b, '}', '}')
	_ = p.out.flushFull() // the error stays
}

// begin starts an object with the fields that all have.
func (p *perfetto) begin(name, phase string, process, thread int64) {
	p.comma()
	p.out.b = append(p.out.b, '\n')
	p.open('{')
	p.out.b = append(append(append(p.out.b, `"name":"`...), name...), `","ph":"`...)
	p.out.b = append(append(p.out.b, phase...), '"')
	p.int("pid", process)
	if thread > 0 {
		p.int("tid", thread)
	}
}

func (p *perfetto) micros(key string, nanos int64) {
	p.key(key)
	p.out.b = format.AppendInt(p.out.b, nanos/1e3)
	digits := format.AppendInt(p.name[:0], 1e3+nanos%1e3)
	digits[0] = '.' // the 1 kept leading zeros
	p.out.b, p.name = append(p.out.b, digits...), digits
}

func (p *perfetto) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		start := max(e.Start, 0)
		if p.row.enters(e) {
			continue
		}
		if e.Span != nil {
			p.span(e, start)
		} else {
			if err := p.row.set(e); err != nil {
				return err
			}
			p.count(e, start)
			p.slice(e, start)
		}
		if err := p.out.flushFull(); err != nil {
			return err
		}
	}
	return p.out.err
}

func (p *perfetto) slice(e *format.Event, start int64) {
	info := e.Op.Info()
	phase := "X"
	if e.Dur < 0 {
		phase = "i"
	}
	if p.row.script {
		p.introduce(p.row.process, e.TID)
	}
	if e.Via != format.ViaCall && e.Dur >= 0 {
		p.request(e, start)
		return
	}
	p.begin(e.Name(), phase, int64(p.row.process), int64(e.TID))
	p.key("cat")
	p.string(p.row.class[info.Class])
	p.micros("ts", start)
	if e.Dur >= 0 {
		p.micros("dur", e.Dur)
	} else {
		p.key("s")
		p.out.b = append(p.out.b, `"t"`...)
	}
	p.key("args")
	p.open('{')
	for _, k := range sliceColumns {
		if v := &p.row.columns[k]; v.kind != null {
			p.column(k, v)
		}
	}
	p.out.b = append(p.out.b, '}', '}')
	p.flows.add(e.TID, span{start, start + max(e.Dur, 0)}, e.Edges)
	if e.Notes.Known(format.NotedWaker) {
		p.wake(e, start)
	}
}

// span writes a call of a library, a slice around the slices of the calls that it made.
func (p *perfetto) span(e *format.Event, start int64) {
	process := p.row.standing(e.TID).process
	p.introduce(process, e.TID)
	phase := "X"
	if e.Dur < 0 {
		phase = "i"
	}
	p.begin(e.Span.Function, phase, int64(process), int64(e.TID))
	p.text("cat", e.Span.Layer)
	p.micros("ts", start)
	if e.Dur >= 0 {
		p.micros("dur", e.Dur)
	} else {
		p.text("s", "t")
	}
	p.key("args")
	p.open('{')
	p.text("args", string(script.AppendArgs(nil, e.Span.Args)))
	if e.Ret != format.NoResult {
		p.int("result", e.Ret)
	}
	if e.Span.Kind != "" {
		p.text("kind", e.Span.Kind)
	}
	if e.Span.Bytes >= 0 {
		p.int("bytes", e.Span.Bytes)
	}
	if e.Span.Failed {
		p.int("failed", 1)
	}
	p.out.b = append(p.out.b, '}', '}')
}

// request writes a request in flight as an asynchronous slice, for it overlaps with
// others, and with calls of its thread.
func (p *perfetto) request(e *format.Event, start int64) {
	p.requests++
	for _, end := range [...]struct {
		phase string
		at    int64
	}{{"b", start}, {"e", start + e.Dur}} {
		p.begin(e.Name(), end.phase, int64(p.row.process), int64(e.TID))
		p.key("cat")
		p.string(p.row.class[e.Op.Info().Class])
		p.int("id", p.requests)
		p.micros("ts", end.at)
		p.key("args")
		p.open('{')
		if end.phase == "b" {
			for _, k := range sliceColumns {
				if v := &p.row.columns[k]; v.kind != null {
					p.column(k, v)
				}
			}
		}
		p.out.b = append(p.out.b, '}', '}')
	}
}

// flow writes an arrow between two existing slices.
func (p *perfetto) flow(one *flow) {
	p.arrows++
	name := one.kind.String()
	p.arrow(name, "s", p.row.line(one.from).process, one.from, one.begins)
	p.arrow(name, "f", p.row.line(one.to).process, one.to, one.ends)
}

// arrow writes the beginning or the end of the latest arrow.
func (p *perfetto) arrow(name, phase string, process, thread int32, at int64) {
	p.begin(name, phase, int64(process), int64(thread))
	p.key("cat")
	p.out.b = append(p.out.b, `"edge","bp":"e"`...) // it belongs to the slice around it
	p.int("id", p.arrows)
	p.micros("ts", at)
	p.out.b = append(p.out.b, '}')
}

// wake shows that a thread was woken within a call: a slice "woken" up to the end of
// the call, and an arrow to it from an empty slice of the waker. The empty slice is
// needed because the waker may not have been in a recorded call, and an arrow can only
// begin in a slice.
func (p *perfetto) wake(e *format.Event, start int64) {
	waker := e.Notes.Waker
	var process int32
	if l := p.row.line(waker); l != nil {
		process = l.process
	} else if t := p.row.files.Living(waker); t != nil {
		process = t.Process.ID
	} else {
		return
	}
	end := start + max(e.Dur, 0)
	at := max(end-e.Notes.Woken, start)
	p.introduce(process, waker)
	p.arrows++
	p.mark("wakes", process, waker, at, at, "woken", e.TID)
	p.arrow("wake", "s", process, waker, at)
	p.mark("woken", p.row.process, e.TID, at, end, "waker", waker)
	p.arrow("wake", "f", p.row.process, e.TID, at)
}

// mark writes a slice that is not a call.
func (p *perfetto) mark(name string, process, thread int32, start, end int64, key string, other int32) {
	p.begin(name, "X", int64(process), int64(thread))
	p.key("cat")
	p.out.b = append(p.out.b, `"wake"`...)
	p.micros("ts", start)
	p.micros("dur", end-start)
	p.key("args")
	p.open('{')
	p.int(key, int64(other))
	p.out.b = append(p.out.b, '}', '}')
}

// count adds the bytes of an event to the counters, which are written at the
// end of each period.
func (p *perfetto) count(e *format.Event, start int64) {
	if period := start / counterPeriod; period > p.period {
		p.counter()
		if p.period++; period > p.period && p.shown != [2]int64{} {
			p.counter() // a period without bytes
		}
		p.period = period
	}
	switch e.Op.Info().Class {
	case format.ClassRead:
		p.bytes[0] += e.Bytes()
	case format.ClassWrite:
		p.bytes[1] += e.Bytes()
	}
}

// counter writes the bytes moved in the period, if they differ from the last
// values.
func (p *perfetto) counter() {
	if p.bytes != p.shown {
		p.begin("bytes/s", "C", p.counters, 0)
		p.micros("ts", p.period*counterPeriod)
		p.key("args")
		p.open('{')
		for k, name := range [2]string{"read", "written"} {
			p.int(name, int64(float64(p.bytes[k])*(1e9/counterPeriod)))
		}
		p.out.b = append(p.out.b, '}', '}')
	}
	p.shown, p.bytes = p.bytes, [2]int64{}
}

func (p *perfetto) Close() error {
	p.counter()
	p.period++
	p.counter()
	p.out.b = append(p.out.b, "\n]}\n"...)
	return p.out.flush()
}
