package export

import (
	"io"
	"strconv"

	"pianola/format"
)

// perfetto writes the JSON of the Trace Event Format, which Perfetto and
// chrome://tracing open: each thread is a track, each event a slice on it, and
// the bytes read and written per second are counters of a process of their own.
// An event without a duration is an instant. Times are microseconds with three
// decimals.
type perfetto struct {
	jsonWriter
	counters int64 // number of the process that has them
	period   int64 // the period that bytes belongs to, from 0
	bytes    [2]int64
	shown    [2]int64 // the last values of the counters
}

// counterPeriod is how often a counter changes at most, in nanoseconds.
const counterPeriod = 10e6

// sliceColumns are the columns that a slice has as arguments.
var sliceColumns = [...]int{colPath, colPath2, colFD, colOffset, colSize, colFlags, colMode, colResult, colError}

func newPerfetto(w io.Writer, h *format.Header) (Writer, error) {
	p := &perfetto{jsonWriter: jsonWriter{out: newText(w), row: newRow(h)}}
	p.out.b = append(p.out.b, `{"displayTimeUnit":"ns","traceEvents":[`...)
	named := make(map[int32]bool)
	for i, t := range h.Threads {
		if !named[t.Process] {
			named[t.Process] = true
			p.label("process_name", int64(t.Process), 0, processName(h, t.Process))
		}
		p.label("thread_name", int64(t.Process), int64(i+1), "thread "+strconv.Itoa(i+1))
		p.counters = max(p.counters, int64(t.Process))
	}
	p.counters = max(p.counters, 1) + 1
	p.label("process_name", p.counters, 0, "all processes")
	return p, nil
}

// processName returns the name of a process. The first one has the name of the
// recorded command.
func processName(h *format.Header, process int32) string {
	if command, ok := h.Value(format.MetaCommand); ok && process == h.Threads[0].Process {
		return command
	}
	return "process " + strconv.Itoa(int(process))
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
		if err := p.row.set(e); err != nil {
			return err
		}
		start := max(e.Start, 0)
		p.count(e, start)
		p.slice(e, start)
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
	p.begin(info.Name, phase, int64(p.row.files.process(e.TID)), int64(e.TID))
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
