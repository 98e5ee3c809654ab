package bin

import (
	"io"
	"unsafe"

	"pianola/format"
)

// Events returns a reader of the events of all threads, merged by their
// recorded start: the start of the thread, plus the compute and the durations
// before the event. If events start at the same time, the thread with the lower
// number comes first. TID is the thread's number.
//
// It holds buffers for threads that have begun and not ended. They count
// against the limit of the trace.
func (t *Trace) Events() format.Reader {
	m := t.merge()
	for i := range t.threads {
		if t.reads == nil || t.reads(int32(i+1)) {
			m.add(int32(i + 1))
		}
	}
	return m
}

// EventsOf returns a reader of the events of a thread.
func (t *Trace) EventsOf(thread int32) format.Reader {
	m := t.merge()
	m.add(thread)
	return m
}

func (t *Trace) merge() *merged {
	return &merged{trace: t, text: make([]byte, 0, 1<<10), heap: format.NewHeap(func(a, b *turn) bool {
		return a.start < b.start || a.start == b.start && a.thread < b.thread
	}, nil)}
}

// add adds the events of a thread, which is opened, and its first event gets a start, at its
// first turn.
func (m *merged) add(thread int32) {
	if own := m.trace.thread(thread); own.events > 0 || len(own.of(kindSpans)) > 0 {
		m.heap.Push(turn{start: m.trace.header.Threads[thread-1].Start, thread: thread})
	}
}

// merged implements format.Reader.
type merged struct {
	trace *Trace
	heap  format.Heap[turn] // by the start of the next event
	text  []byte            // memory of the strings of a batch
	edges []format.Edge     // memory of the edges of a batch
	spans format.SpanMemory
	err   error // sticky
}

// turn is a thread that has events left.
type turn struct {
	start  int64 // of the next event, ns
	thread int32
	line   *line // nil before the first event
}

// line reads the events of a thread.
type line struct {
	via       format.Via
	records   records
	durations durations
	recs      [32]format.Record
	durs      [32]int64
	nrec, rec int // records in recs, and how many of them are used
	ndur, dur int
	event     int64        // position of the next
	attached  []attachment // parts of other kinds
	bytes     int64        // taken from the budget
	ended     bool         // there are no more records
	spans     *spanLine    // nil if there are none
	lists     *lists       // nil before the first one
}

func (m *merged) Header() *format.Header { return m.trace.header }

// Read implements format.Reader. The strings and edges of the events are valid
// until the next call.
func (m *merged) Read(events []format.Event) (int, error) { return m.read(events, m.next) }

// read fills events by next, which can also fill none.
func (m *merged) read(events []format.Event, next func(e *format.Event) (filled bool, err error)) (n int, err error) {
	m.text, m.edges = m.text[:0], m.edges[:0]
	m.spans.Reset()
	for n < len(events) && m.err == nil && len(m.spans.Numbers) < batchNumbers {
		var some bool
		if some, m.err = next(&events[n]); some {
			n++
		}
	}
	if n == 0 {
		return 0, m.err
	}
	return n, nil
}

// batchNumbers is how many numbers of spans and lists end a batch.
const batchNumbers = 1 << 16

// next fills e with the next event, unless it only opens a thread.
func (m *merged) next(e *format.Event) (filled bool, err error) {
	if len(m.heap.Items) == 0 {
		return false, io.EOF
	}
	top := &m.heap.Items[0]
	if top.line == nil {
		top.line, err = m.trace.line(top.thread)
		if err == nil {
			err = top.line.openSpans(m.trace, top.thread)
		}
	} else {
		if spanned, err := m.span(e, top); spanned || err != nil {
			return spanned, err
		}
		if top.line.ended {
			m.close(top)
			return false, nil
		}
		filled = true
		if err = m.event(e, top); err != nil {
			return false, err
		}
		if top.start = e.Start; e.Via == format.ViaCall { // requests overlap
			top.start = e.End()
		}
	}
	if err == nil {
		err = top.line.ready()
	}
	switch err {
	case nil:
		top.start += top.line.recs[top.line.rec].Compute
		m.heap.Fix(0)
	case io.EOF:
		if top.line.ended, err = true, nil; top.line.spans == nil {
			m.close(top)
		}
	}
	return filled, err
}

// close ends the first thread, which has no more events.
func (m *merged) close(top *turn) {
	top.line.close(m.trace)
	m.heap.Pop()
}

func (t *Trace) line(thread int32) (*line, error) {
	own, l := t.thread(thread), &line{bytes: lineBytes}
	var attached []kind
	for k := range kinds {
		if kinds[k].decode != nil && len(own.of(kind(k))) > 0 {
			attached = append(attached, kind(k))
			l.bytes += attachmentBytes + 8*attachedRows*int64(kinds[k].width)
		}
	}
	if err := t.loader.budget.take(l.bytes, 1); err != nil {
		return nil, err
	}
	l.via = t.header.Ring(thread)
	l.records.open(t, thread, kindRecords)
	l.durations.open(t, thread, kindDurations)
	l.attached = make([]attachment, len(attached))
	for i, k := range attached {
		l.attached[i].open(t, thread, k)
	}
	return l, nil
}

const (
	lineBytes       = int64(unsafe.Sizeof(line{}))
	attachmentBytes = int64(unsafe.Sizeof(attachment{}))
)

// close gives the memory back after the last record.
func (l *line) close(t *Trace) {
	l.durations.fail(io.EOF)
	if l.spans != nil {
		l.spans.rows.fail(io.EOF)
		l.spans.values.fail(io.EOF)
	}
	if l.lists != nil {
		l.lists.close()
	}
	for i := range l.attached {
		l.attached[i].fail(io.EOF)
	}
	t.loader.budget.give(l.bytes)
}

// ready makes sure that the next record and its duration are read.
func (l *line) ready() (err error) {
	if l.rec == l.nrec {
		l.rec = 0
		if l.nrec, err = l.records.Read(l.recs[:]); err != nil {
			return err
		}
	}
	if l.dur == l.ndur {
		l.dur = 0
		l.ndur, err = l.durations.Read(l.durs[:])
	}
	return err
}

// event fills e with the next event of a thread.
func (m *merged) event(e *format.Event, t *turn) error {
	l := t.line
	r := &l.recs[l.rec]
	*e = format.Event{
		Op: r.Op, Via: l.via, TID: t.thread, Start: t.start, Dur: l.durs[l.dur], Compute: r.Compute, Off: format.Off{Other: r.Off}, Ret: r.Ret, Args: r.Args,
	}
	for a, k, bits := 0, 0, stringArgs[r.Op]; bits != 0; a, bits = a+1, bits>>1 {
		if bits&1 == 0 {
			continue
		}
		if id := r.Args[a]; id >= 0 {
			e.Str[k] = m.string(id)
		}
		e.Args[a] = 0
		k++
	}
	if at := listArgs[r.Op]; at >= 0 {
		if err := m.list(e, l, r); err != nil {
			return err
		}
		e.Args[at] = 0
	}
	if len(l.attached) > 0 {
		if err := l.attach(m, e); err != nil {
			return err
		}
	}
	l.rec++
	l.dur++
	l.event++
	return nil
}

// list adds the list of the next event of a thread, whose record is r, to e.
func (m *merged) list(e *format.Event, l *line, r *format.Record) error {
	if l.lists == nil {
		if err := m.trace.loader.budget.take(listsBytes, 1); err != nil {
			return err
		}
		l.bytes += listsBytes
		l.lists = m.trace.lists(l.records.thread)
	}
	list, err := l.lists.Read(l.event, r)
	e.List = m.spans.Keep(list)
	return err
}

const listsBytes = int64(unsafe.Sizeof(lists{})) + 2*8*attachedRows

// attach adds the contents of other parts to e, the next event.
func (l *line) attach(m *merged, e *format.Event) error {
	for i := range l.attached {
		if err := l.attached[i].attach(m, e, l.event); err != nil {
			return err
		}
	}
	return nil
}

// string returns a string of the table, valid until the next Read.
func (m *merged) string(id int64) []byte {
	from := len(m.text)
	m.text = append(m.text, m.trace.strings[id]...)
	return m.text[from:len(m.text):len(m.text)]
}
