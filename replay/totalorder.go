package replay

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"pianola/format"
)

// moment is the position of a thread in the recording, while orderAll goes
// through it: between two events, or within one. The clock of a thread is the
// sum of its durations and computes, without the recorder's cost, so clocks
// drift apart. Where compile found that an event waits for another one, the
// clock of the thread that waits is put forward to the end of that one.
type moment struct {
	w     *worker
	event int64 // the current one
	from  int64 // its start, in nanoseconds of the recording
	to    int64 // its end
	in    bool  // it has begun
	forks bool  // it creates a thread, which does not wait for its end
	wait  int   // index of the next wait found by compile

	ended  int64 // events that have ended
	lastTo int64 // end of the last one
	newer  *moment
	older  *moment

	// Threads whose current event waits for one of this thread.
	sleepers []*moment
	soonest  int64 // the first event that one of them waits for
	until    int64 // the event that this thread sleeps for
	asleep   bool

	records   format.RecordReader
	durations format.DurationReader
	batch     []format.Record
	nanos     []int64
	at, n     int
}

// maxWaits is the fraction of Limits.Memory for the waits of a total order.
const maxWaits = 4

// ordering is the state of orderAll.
type ordering struct {
	threads []*moment // by number, from 0
	next    moments   // those that do not sleep
	found   [][]format.Wait
	room    int64 // waits that may still be found

	newest *moment // of those with an ended event, by its end
	begun  int64   // the latest beginning of an ended event
}

// orderAll makes each event wait for all events that had ended in the recording
// when it began. It keeps the waits found by compile: an event begins after
// what it waits for.
//
// Let L be the latest start among the events that ended before an event began.
// Only the events that ended after L matter, because the event that started at
// L waited for the others. They overlap, so there are at most as many as
// threads. All edges lead to an event that began earlier, so there is no cycle,
// unless there is one among the waits found by compile.
func (e *engine) orderAll() error {
	o := &ordering{
		found: make([][]format.Wait, len(e.workers)), begun: -1,
		room: e.Limits.Memory / maxWaits / int64(unsafe.Sizeof(format.Wait{})),
	}
	for _, w := range e.workers {
		m := &moment{
			w: w, event: -1, to: w.recorded, records: e.trace.Records(w.number), durations: e.trace.Durations(w.number),
			batch: make([]format.Record, min(w.length, 256)), nanos: make([]int64, min(w.length, 256)),
		}
		if w.queue != nil { // requests come in the order of their submissions
			o.threads = append(o.threads, m)
			o.found[w.number-1] = w.waits
			continue
		}
		ok, err := m.advance()
		if err != nil {
			return fmt.Errorf("order all events: %w", err)
		}
		o.threads = append(o.threads, m)
		if ok {
			o.next = append(o.next, m)
		}
	}
	heap.Init(&o.next)
	for o.awake() {
		m := o.next[0]
		switch on, event := o.waitsFor(m); {
		case on != nil:
			heap.Pop(&o.next)
			on.sleep(m, event)
		case !m.in:
			o.begin(m)
			heap.Fix(&o.next, 0)
			if m.forks {
				o.wake(m, m.event, m.from)
			}
		default:
			ok, err := o.end(m)
			if err != nil {
				return fmt.Errorf("order all events: %w", err)
			}
			if ok {
				heap.Fix(&o.next, 0)
			} else {
				heap.Pop(&o.next)
			}
			o.wake(m, m.ended-1, m.lastTo)
		}
		if o.room < 0 {
			return fmt.Errorf("a total order of the events takes more than a quarter of %d bytes: %w", e.Limits.Memory, limitOf("memory"))
		}
	}
	for i, w := range e.workers {
		w.waits = o.found[i]
	}
	return nil
}

// awake reports whether events are left. If all threads that have some sleep,
// compile's waits form a cycle, and the first of the threads goes on, so that
// the replay reports the cycle.
func (o *ordering) awake() bool {
	if len(o.next) > 0 {
		return true
	}
	for _, m := range o.threads {
		if m.asleep {
			m.asleep = false
			o.begin(m)
			heap.Push(&o.next, m)
			return true
		}
	}
	return false
}

// waitsFor returns the thread and the event that m has to sleep for before its
// current event begins, nil for none.
func (o *ordering) waitsFor(m *moment) (*moment, int64) {
	if m.in {
		return nil, 0
	}
	for i := m.wait; i < len(m.w.waits) && m.w.waits[i].Event == m.event; i++ {
		edge := m.w.waits[i].For
		if edge.Thread < 1 || edge.Thread == m.w.number {
			continue // no event, or an earlier one of this thread
		}
		on := o.threads[edge.Thread-1]
		if on.w.queue != nil {
			continue
		}
		begun := on.event == edge.Event && on.in
		if on.ended <= edge.Event && (!begun || !on.forks) {
			return on, edge.Event
		}
	}
	return nil, 0
}

// sleep puts a thread to sleep for an event of m.
func (m *moment) sleep(k *moment, event int64) {
	if len(m.sleepers) == 0 || event < m.soonest {
		m.soonest = event
	}
	k.until, k.asleep = event, true
	m.sleepers = append(m.sleepers, k)
}

// wake wakes the threads that sleep for the events of m up to one, at a time.
func (o *ordering) wake(m *moment, event, now int64) {
	if len(m.sleepers) == 0 || m.soonest > event {
		return
	}
	all := m.sleepers
	m.sleepers = all[:0]
	for _, k := range all {
		switch {
		case !k.asleep:
		case k.until > event:
			m.sleep(k, k.until)
		default:
			k.asleep, k.from = false, max(k.from, now)
			heap.Push(&o.next, k)
		}
	}
}

// begin begins the current event of m.
func (o *ordering) begin(m *moment) {
	to := &o.found[m.w.number-1]
	before := len(*to)
	m.in, m.to = true, max(m.to, m.from)
	for k := o.newest; k != nil && k.lastTo >= o.begun; k = k.older {
		if k != m {
			*to = append(*to, format.Wait{Event: m.event, For: format.Edge{Thread: k.w.number, Event: k.ended - 1}})
		}
	}
	for ; m.wait < len(m.w.waits) && m.w.waits[m.wait].Event == m.event; m.wait++ {
		v := m.w.waits[m.wait]
		implied := func(w format.Wait) bool { return w.For.Thread == v.For.Thread && w.For.Event >= v.For.Event }
		if v.Held > 0 || v.Expired > 0 || v.For.Delay > 0 || !slices.ContainsFunc((*to)[before:], implied) {
			*to = append(*to, v)
		}
	}
	o.room -= int64(len(*to) - before)
}

// end ends the current event of m, goes to the next one, and reports whether
// there is one.
func (o *ordering) end(m *moment) (bool, error) {
	o.begun = max(o.begun, m.from)
	o.newest = m.first(o.newest)
	m.in, m.ended, m.lastTo = false, m.event+1, m.to
	return m.advance()
}

// advance goes to the thread's next event and reports whether there is one.
func (m *moment) advance() (bool, error) {
	if m.event+1 == m.w.length {
		return false, nil // a thread without events has no batch
	}
	if m.at == m.n {
		n, err := m.records.Read(m.batch)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err == nil {
			err = readDurations(m.durations, m.nanos[:n])
		}
		if err != nil {
			return false, fmt.Errorf("event %d of thread %d: %w", m.event+1, m.w.number, err)
		}
		m.at, m.n = 0, n
	}
	m.event++
	op := m.batch[m.at].Op
	m.forks = op.Valid() && op.Info().Acts.Any(format.Starts) // another one ends the replay
	m.from = later(m.to, m.batch[m.at].Compute)
	m.to = later(m.from, m.nanos[m.at])
	m.at++
	return true, nil
}

// later returns a time plus a duration, which can be unknown. The result
// saturates, because a trace can be wrong.
func later(t, nanos int64) int64 {
	return t + min(max(nanos, 0), math.MaxInt64-t)
}

// first moves m to the front of a list and returns it.
func (m *moment) first(newest *moment) *moment {
	if newest == m {
		return m
	}
	if m.newer != nil {
		m.newer.older = m.older
	}
	if m.older != nil {
		m.older.newer = m.newer
	}
	m.newer, m.older = nil, newest
	if newest != nil {
		newest.newer = m
	}
	return m
}

// moments is a heap by the next start or end. At the same time, an end comes
// first.
type moments []*moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	a, b := m[i].time(), m[j].time()
	if a != b {
		return a < b
	}
	if m[i].in != m[j].in {
		return m[i].in
	}
	return m[i].w.number < m[j].w.number
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(*moment)) }
func (m *moments) Pop() any {
	old := *m
	last := old[len(old)-1]
	*m = old[:len(old)-1]
	return last
}

func (m *moment) time() int64 {
	if m.in {
		return m.to
	}
	return m.from
}
