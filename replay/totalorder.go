package replay

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"pianola/format"
)

// moment is the position of a thread in the recording, while orderAll goes
// through it: between two events, or within one.
type moment struct {
	w     *worker
	event int64 // the current one
	from  int64 // its start, in nanoseconds of the recording
	to    int64 // its end
	in    bool  // it has begun
	wait  int   // index of the next wait found by compile

	lastFrom, lastTo int64 // the same for the event before
	newer, older     *moment

	records   format.RecordReader
	durations format.DurationReader
	batch     []format.Record
	nanos     []int64
	at, n     int
}

// maxWaits is the fraction of Limits.Memory for the waits of a total order.
const maxWaits = 4

// orderAll makes each event wait for all events that had ended in the recording
// when it began. It keeps the waits found by compile, too: a read that began
// before the end of a write can still have seen it.
//
// Let L be the latest start among the events that ended before an event began.
// Only the events that ended after L matter, because the event that started at
// L waited for the others. They overlap, so there are at most as many as
// threads. All edges lead from an earlier end to a later one, so there is no
// cycle.
func (e *engine) orderAll() error {
	room := e.Limits.Memory / maxWaits / int64(unsafe.Sizeof(format.Wait{}))
	found := make([][]format.Wait, len(e.workers))
	var all moments
	for _, w := range e.workers {
		m := &moment{
			w: w, event: -1, to: w.recorded, records: e.trace.Records(w.number), durations: e.trace.Durations(w.number),
			batch: make([]format.Record, 256), nanos: make([]int64, 256),
		}
		ok, err := m.next()
		if err != nil {
			return fmt.Errorf("order all events: %w", err)
		}
		if ok {
			all = append(all, m)
		}
	}
	heap.Init(&all)

	ended := make([]int64, len(e.workers)) // events of each thread
	var newest *moment                     // of those with an ended event, by its end
	var begun int64 = -1                   // the latest beginning of an ended event
	for len(all) > 0 {
		m := all[0]
		to := &found[m.w.number-1]
		if !m.in {
			m.in = true
			for k := newest; k != nil && k.lastTo >= begun; k = k.older {
				if k != m {
					*to = append(*to, format.Wait{Event: m.event, For: format.Edge{Thread: k.w.number, Event: ended[k.w.number-1] - 1}})
					room--
				}
			}
			heap.Fix(&all, 0)
			continue
		}
		for ; m.wait < len(m.w.waits) && m.w.waits[m.wait].Event <= m.event; m.wait++ {
			v := m.w.waits[m.wait]
			if v.For.Thread > 0 && v.For.Event >= ended[v.For.Thread-1] {
				v.For = format.Edge{}
			}
			if v.For.Thread > 0 || v.Held > 0 {
				*to = append(*to, v)
				room--
			}
		}
		if room < 0 {
			return fmt.Errorf("a total order of the events takes more than a quarter of %d bytes: %w", e.Limits.Memory, ErrLimit)
		}
		ended[m.w.number-1] = m.event + 1
		m.lastFrom, m.lastTo, m.in = m.from, m.to, false
		begun = max(begun, m.from)
		newest = m.first(newest)
		ok, err := m.next()
		switch {
		case err != nil:
			return fmt.Errorf("order all events: %w", err)
		case ok:
			heap.Fix(&all, 0)
		default:
			heap.Pop(&all)
		}
	}
	for i, w := range e.workers {
		w.waits = found[i]
	}
	return nil
}

// next goes to the thread's next event and reports whether there is one.
func (m *moment) next() (bool, error) {
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
