package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"pianola/format"
	"pianola/format/script"
	"pianola/replay/engine"
)

// Events returns the replay's log: the executed events in order of completion,
// with the thread's number as TID, canonical operations, and the times of the
// replay. Descriptors have their recorded numbers, so Ret of a successful
// opening call is the recorded number. All other results are the replay's own.
// The trace is read again, so it must still be open. Each call returns a new
// reader.
func (r *Result) Events() format.Reader {
	return &events{result: r, header: r.logHeader()}
}

// logHeader returns the header of a log. As in any script, the id of a process
// is that of its first thread.
func (r *Result) logHeader() *format.Header {
	from := r.trace.Header()
	h := &format.Header{Meta: append([]format.Meta(nil), from.Meta...), Names: from.Names}
	o := &r.Options
	h.Set(format.MetaReplay, fmt.Sprintf("timing=%s speed=%g wait=%s order=%s backend=%s compressibility=%d executed=%d failed=%d differed=%d interrupted=%t outside=%s commits=%s",
		o.Timing, o.Speed, o.Wait, o.Order, o.Backend, o.Compressibility, r.Executed, r.Failed, r.Differed, r.Interrupted, o.Outside, o.Commits))
	if g := r.grouping(from); g.Recorded > 0 {
		h.Set(format.MetaGrouped, g.String())
	}
	if f, _ := h.ReplayFloor(); r.floor.At(o.Speed).Total > f.Total {
		h.Set(format.MetaFloor, r.floor.String())
	}
	leader := make(map[int32]int32)
	for i, t := range from.Threads {
		if _, ok := leader[t.Process]; !ok {
			leader[t.Process] = int32(i + 1)
		}
	}
	for _, r := range from.Ranks {
		for i := range from.Threads {
			if t := &from.Threads[i]; t.Rank() == r.Rank && leader[t.Process] == int32(i+1) {
				r.Process = int32(i + 1)
				h.Ranks = append(h.Ranks, r)
			}
		}
	}
	if first := runningOf(from, leader); len(first) > 1 {
		for _, p := range first {
			h.Meta = append(h.Meta, format.Meta{Key: format.MetaProcess, Value: p.Remark()})
		}
	}
	for _, d := range from.Descriptors {
		if n, ok := leader[d.Process]; ok {
			d.Process = n
		}
		h.Descriptors = append(h.Descriptors, d)
	}
	return h
}

// runningOf returns the processes of the threads of a trace that no other thread makes. Those
// are more than one if the recorder was attached to them, or of several ranks.
func runningOf(from *format.Header, leader map[int32]int32) (list []*format.Running) {
	of := make(map[int32]*format.Running)
	for i, t := range from.Threads {
		if t.Parent != 0 || t.Ring != format.ViaCall {
			continue
		}
		p := of[t.Process]
		if p == nil {
			p = &format.Running{Process: leader[t.Process], Umask: -1}
			of[t.Process], list = p, append(list, p)
		}
		p.Threads = append(p.Threads, int32(i+1))
	}
	return list
}

// grouping returns how the threads of a trace with a header committed in the replay.
func (r *Result) grouping(from *format.Header) format.Grouping {
	g, _ := from.Grouping()
	g.Commits, g.Groups = 0, 0
	for _, log := range r.groups {
		g.Recorded += log.Recorded
		g.Groups += int64(len(log.Groups))
		for i := range log.Groups {
			g.Commits += log.Groups[i].Commits
		}
	}
	return g
}

// WriteLog writes Events as a script, with remarks about the replay.
func (r *Result) WriteLog(w io.Writer, about []format.Meta) error {
	p, events := script.NewWriter(w), r.Events()
	if err := p.WriteHeader(LogHeader(events.Header(), about)); err != nil {
		return err
	}
	if err := format.Copy(p, events); err != nil {
		return err
	}
	return p.Flush()
}

// LogHeader returns the header of a log's script: the parts of the header of the replayed trace
// or of Events that hold for the log, and remarks about the replay. It shares memory with both.
func LogHeader(of *format.Header, about []format.Meta) *format.Header {
	h := &format.Header{Ranks: of.Ranks, Descriptors: of.Descriptors, Names: of.Names}
	for _, key := range []string{format.MetaCommand, format.MetaPaths, format.MetaCoverage, format.MetaUnsupported, format.MetaEnded, format.MetaUncached, format.MetaCrowded, format.MetaFloor, format.MetaGrouped, format.MetaReplay, format.MetaElapsed} {
		if v, ok := of.Value(key); ok {
			h.Set(key, v)
		}
	}
	for _, m := range of.Meta {
		if m.Key == format.MetaProcess {
			h.Meta = append(h.Meta, m)
		}
	}
	h.Meta = append(h.Meta, about...)
	return h
}

type events struct {
	result  *Result
	header  *format.Header
	rings   []format.Thread
	strings []string
	memory  format.SpanMemory // of the lists of a batch
	opened  bool
	cursors format.Heap[*cursor] // of threads that have events left, by the time of completion, and by thread where it is equal
	err     error
}

// batchNumbers is how many numbers of lists end a batch.
const batchNumbers = 1 << 16

func (e *events) Header() *format.Header { return e.header }

func (e *events) Read(batch []format.Event) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	if !e.opened {
		if e.err = e.open(); e.err != nil {
			return 0, e.err
		}
	}
	n := 0
	e.memory.Reset()
	for ; n < len(batch) && len(e.cursors.Items) > 0 && len(e.memory.Numbers) < batchNumbers; n++ {
		c := e.cursors.Items[0]
		if e.err = c.load(); e.err != nil {
			break
		}
		if e.err = e.fill(&batch[n], c); e.err != nil {
			break
		}
		err := c.next()
		switch {
		case err == nil:
			e.cursors.Fix(0)
		case errors.Is(err, io.EOF):
			e.cursors.Pop()
		default:
			e.err = err
			return n + 1, nil
		}
	}
	if n == 0 && len(batch) > 0 {
		if e.err == nil {
			e.err = io.EOF
		}
		return 0, e.err
	}
	return n, nil
}

func (e *events) open() error {
	e.opened = true
	e.cursors = format.NewHeap(func(a, b **cursor) bool {
		return cmp.Or(cmp.Compare((*a).end(), (*b).end()), cmp.Compare((*a).thread, (*b).thread)) < 0
	}, nil)
	e.strings = e.result.trace.Strings()
	e.rings = e.result.trace.Header().Threads
	for i := range e.result.logs {
		c := &cursor{
			thread: int32(i + 1),
			trace:  e.result.trace,
			log:    &e.result.logs[i],
		}
		err := c.next()
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return err
		}
		e.cursors.Push(c)
	}
	for _, log := range e.result.groups {
		e.push(callsOf(log.Groups))
	}
	for i, made := range e.result.made {
		e.push(func() (thread int32, r format.Record, entry engine.Entry, ok bool) {
			if len(made) == 0 {
				return
			}
			r, entry = made[0].Record, made[0].Entry
			made = made[1:]
			return int32(i + 1), r, entry, true
		})
	}
	return nil
}

// calls returns the next call that the trace does not have. ok is false at the end.
type calls func() (thread int32, r format.Record, e engine.Entry, ok bool)

// callsOf returns those of groups.
func callsOf(groups []engine.Group) calls {
	call := 0
	return func() (thread int32, r format.Record, e engine.Entry, ok bool) {
		for ; len(groups) > 0; groups, call = groups[1:], 0 {
			if r, e, ok = groups[0].Call(call); ok {
				call++
				return groups[0].Thread, r, e, true
			}
		}
		return
	}
}

func (e *events) push(of calls) {
	if c := (&cursor{calls: of}); c.next() == nil {
		e.cursors.Push(c)
	}
}

func (e *events) fill(ev *format.Event, c *cursor) error {
	r, done := &c.records[c.record], &c.entries[c.entry]
	*ev = format.Event{Op: r.Op, TID: c.thread, Start: done.Start, Dur: done.Dur, Ret: done.Ret, Off: format.Off{Wait: done.Wait}, Args: r.Args, Str: ev.Str}
	if i := int(c.thread) - 1; i < len(e.rings) && e.rings[i].Ring != format.ViaCall { // a script has it of the thread that submitted it
		ev.Via, ev.TID = e.rings[i].Ring, e.rings[i].Parent
	}
	if at := r.Op.Info().At.List; at >= 0 {
		if c.lists == nil {
			c.lists = c.trace.Lists(c.thread)
		}
		list, err := c.lists.Read(c.at-1, r)
		if err != nil {
			return fmt.Errorf("event %d of thread %d: %w", c.at-1, c.thread, err)
		}
		ev.List, ev.Args[at] = e.memory.Keep(list), 0
	}
	r.FillStrings(ev, e.strings)
	if r.Ret != format.NoResult && !r.Same(done.Ret) {
		ev.Notes = &format.Notes{Has: format.NotedRecorded, Recorded: r.Ret}
	}
	return nil
}

// cursor is a place in one thread's records and entries. It has a reader and memory
// for records from the thread's first event on, because there can be very many threads.
type cursor struct {
	thread  int32
	trace   format.Trace
	log     *engine.Log
	reader  format.RecordReader
	lists   format.ListReader // nil before the first list
	at      int64             // position of the next event
	records []format.Record
	entries []engine.Entry
	record  int // the current ones, in their batches
	entry   int
	nrec    int
	nent    int

	calls calls // instead of the events of a thread
}

// next goes to the next event that was executed; the end is io.EOF.
func (c *cursor) next() error {
	if c.log == nil {
		return c.nextCall()
	}
	for {
		if err := c.step(); err != nil || c.entries[c.entry].Dur != engine.Omitted {
			return err
		}
		if err := c.load(); err != nil {
			return err
		}
	}
}

// nextCall goes to the next call that the trace does not have.
func (c *cursor) nextCall() error {
	thread, r, e, ok := c.calls()
	if !ok {
		return io.EOF
	}
	c.thread = thread
	c.records, c.entries, c.nrec = append(c.records[:0], r), append(c.entries[:0], e), 1
	return nil
}

// step goes to the next event of the trace.
func (c *cursor) step() error {
	if c.at == c.log.Len() {
		return io.EOF
	}
	c.record++
	if c.entries == nil {
		c.entries = make([]engine.Entry, min(c.log.Len(), 256))
	}
	if c.entry++; c.entry >= c.nent {
		n, err := c.log.Read(c.at, c.entries)
		if err != nil {
			return engine.NoEOF(err)
		}
		c.entry, c.nent = 0, n
	}
	c.at++
	return nil
}

// load reads the record of the current event.
func (c *cursor) load() error {
	if c.record < c.nrec {
		return nil
	}
	if c.reader == nil {
		c.reader, c.records = c.trace.Records(c.thread), make([]format.Record, len(c.entries))
	}
	n, err := c.reader.Read(c.records)
	if err != nil {
		return fmt.Errorf("event %d of thread %d: %w", c.at-1, c.thread, engine.NoEOF(err))
	}
	c.record, c.nrec = 0, n
	return nil
}

func (c *cursor) end() int64 { return c.entries[c.entry].Start + c.entries[c.entry].Dur }
