// Package replaykit helps tests of replays: it has compiled traces in memory, and kernels
// whose calls fail.
package replaykit

import (
	"io"

	"pianola/format"
)

// Trace is a compiled trace in memory.
type Trace struct {
	Head    format.Header
	Texts   []string
	Threads []Thread
}

// Thread is the data of a thread in a trace.
type Thread struct {
	Records   []format.Record
	Durations []int64
	Waits     []format.Wait
	Ways      []format.Way
	Lists     map[int64]*format.List // by the event
}

func (t *Trace) Header() *format.Header                    { return &t.Head }
func (t *Trace) Strings() []string                         { return t.Texts }
func (t *Trace) Len(thread int32) int64                    { return int64(len(t.Threads[thread-1].Records)) }
func (t *Trace) Waits(thread int32) ([]format.Wait, error) { return t.Threads[thread-1].Waits, nil }
func (t *Trace) Records(thread int32) format.RecordReader {
	return &recordReader{t.Threads[thread-1].Records}
}
func (t *Trace) Durations(thread int32) format.DurationReader {
	return &durationReader{t.Threads[thread-1].Durations}
}

func (t *Trace) Ways(thread int32) format.WayReader { return &wayReader{t.Threads[thread-1].Ways} }

func (t *Trace) Lists(thread int32) format.ListReader { return listReader(t.Threads[thread-1].Lists) }

type listReader map[int64]*format.List

func (r listReader) Read(event int64, _ *format.Record) (*format.List, error) { return r[event], nil }

type wayReader struct{ left []format.Way }

func (r *wayReader) Read(batch []format.Way) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

type recordReader struct{ left []format.Record }

func (r *recordReader) Read(batch []format.Record) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

type durationReader struct{ left []int64 }

func (r *durationReader) Read(batch []int64) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

// New returns a trace of so many threads of one process, there from the
// start.
func New(threads int) *Trace {
	t := &Trace{Threads: make([]Thread, threads)}
	for range threads {
		t.Head.Threads = append(t.Head.Threads, format.Thread{Process: 1})
	}
	return t
}

// Child adds a thread that another creates.
func (t *Trace) Child(process, parent int32) int32 {
	t.Head.Threads = append(t.Head.Threads, format.Thread{Process: process, Parent: parent})
	t.Threads = append(t.Threads, Thread{})
	return int32(len(t.Threads))
}

// Str returns the number of a string.
func (t *Trace) Str(s string) int64 {
	for i, have := range t.Texts {
		if have == s {
			return int64(i)
		}
	}
	t.Texts = append(t.Texts, s)
	return int64(len(t.Texts) - 1)
}

// Add adds an event and returns its position. Arguments are numbers, or
// strings for those that are.
func (t *Trace) Add(thread int32, op format.Op, ret int64, args ...any) int64 {
	r := format.Record{Op: op, Ret: ret}
	p := &t.Threads[thread-1]
	for i, a := range args {
		switch v := a.(type) {
		case string:
			if i == int(op.Info().At.List) {
				p.List(v)
				continue
			}
			r.Args[i] = t.Str(v)
		case int:
			r.Args[i] = int64(v)
		default:
			panic("argument of another type")
		}
	}
	p.Records = append(p.Records, r)
	p.Durations = append(p.Durations, format.Unknown)
	return int64(len(p.Records) - 1)
}

// List gives the next event a list, as far as the text is one.
func (p *Thread) List(text string) {
	if p.Lists == nil {
		p.Lists = make(map[int64]*format.List)
	}
	l, _, _ := format.ParseList([]byte(text), nil)
	p.Lists[int64(len(p.Records))] = &l
}

// Last is the thread's youngest record.
func (t *Trace) Last(thread int32) *format.Record {
	p := &t.Threads[thread-1]
	return &p.Records[len(p.Records)-1]
}

// Wait makes the thread's next event wait for an event of another.
func (t *Trace) Wait(thread, other int32, event int64) {
	p := &t.Threads[thread-1]
	p.Waits = append(p.Waits, format.Wait{Event: int64(len(p.Records)), For: format.Edge{Thread: other, Event: event}})
}

func (t *Trace) File(f format.File) { t.Head.Files = append(t.Head.Files, f) }

// Ring adds a ring to the trace, and returns its number.
func (t *Trace) Ring(via format.Via, parent int32) int {
	n := t.Child(1, parent)
	t.Head.Threads[n-1].Ring = via
	return int(n)
}

// How says how the thread's next event is made.
func (t *Trace) How(thread int32, how format.How) {
	p := &t.Threads[thread-1]
	p.Ways = append(p.Ways, format.Way{Event: int64(len(p.Records)), How: how})
}

// Took sets the recorded duration of the thread's last event.
func (t *Trace) Took(thread int32, nanos int64) {
	p := &t.Threads[thread-1]
	p.Durations[len(p.Durations)-1] = nanos
}

// At adds an event that took from one nanosecond of the recording to another.
func (t *Trace) At(thread int32, from, to int64) {
	n := t.Add(thread, format.OpFsync, 0)
	p := &t.Threads[thread-1]
	p.Records[n].Compute, p.Durations[n] = from, to-from
	for i := range n {
		p.Records[n].Compute -= p.Records[i].Compute + p.Durations[i]
	}
}
