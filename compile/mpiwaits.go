package compile

import (
	"fmt"
	"math"
	"slices"

	"pianola/format"
	"pianola/table"
)

// clockError is how much later than the end of a call something can begin that the call has waited
// for, in nanoseconds: the clocks of nodes are known with such an error.
const clockError = 100_000

// mpiWait ends the operations of requests that a call has waited for.
func (m *model) mpiWait(t *thread, p *mpiProcess, e *format.Event, which func(*mpiRequest) bool) {
	for i := range p.requests {
		if r := &p.requests[i]; which(r) {
			m.mpiEnd(t, e, r.op)
			r.op.kind, r.id = mpiNone, 0
		}
	}
	p.requests = slices.DeleteFunc(p.requests, func(r mpiRequest) bool { return r.op.kind == mpiNone })
}

// mpiWaitAll ends the operations of an array of requests. If the array was not read, these are
// the newest ones.
func (m *model) mpiWaitAll(t *thread, p *mpiProcess, e *format.Event) {
	if len(e.Span.Args) < 2 {
		return
	}
	if v := &e.Span.Args[1]; v.Kind == format.ValueNumbers {
		m.mpiWait(t, p, e, func(r *mpiRequest) bool { return slices.Contains(v.Numbers, r.id) })
		return
	}
	count, _ := mpiInt(e.Span, 0)
	left := len(p.requests) - int(min(max(count, 0), maxUnmatched))
	i := 0
	m.mpiWait(t, p, e, func(*mpiRequest) bool { i++; return i > left })
}

// mpiEnd makes a thread come after what an operation waited for, which a call has completed. Time
// in that call before the last of this began is no compute.
func (m *model) mpiEnd(t *thread, e *format.Event, op mpiOp) {
	if m.ties == nil || op.kind == mpiNone {
		return
	}
	k, stats := &m.learned.mpi, &m.report.MPI
	if op.kind <= mpiReceive {
		if op.index >= len(k.pairs) || k.pairs[op.index].thread == 0 {
			stats.Unpaired++
			return
		}
		with := k.pairs[op.index]
		if op.kind == mpiReceive {
			stats.Messages++
		} else if with.at <= e.Start || with.at > e.End() {
			return // the receiver was there before, or the message was kept for it: the send did not wait
		}
		m.mpiAfter(t, e, []mpiPair{with})
		return
	}
	entries := k.entries[mpiEntry{op.comm, op.index}]
	if len(entries) == 0 || op.kind != mpiAll && op.root < 0 {
		stats.Unpaired++
		return
	}
	stats.Collectives++
	if isRoot := op.root == t.proc.Rank; op.kind == mpiOfRoot && isRoot || op.kind == mpiToRoot && !isRoot {
		return
	}
	if op.kind == mpiOfRoot {
		entries = slices.DeleteFunc(slices.Clone(entries), func(p mpiPair) bool { return p.rank != op.root })
	}
	m.mpiAfter(t, e, entries)
}

// mpiAfter makes a thread come after the begins of operations of other threads, within a call.
// One that began after the call ended was not waited for.
func (m *model) mpiAfter(t *thread, e *format.Event, others []mpiPair) {
	last := int64(math.MinInt64)
	for i := range others {
		switch o := &others[i]; {
		case o.thread == t.num:
		case o.at-e.End() > clockError:
			m.report.MPI.Backwards++
		default:
			last = max(last, min(o.at, e.End()))
		}
	}
	if last == math.MinInt64 {
		return
	}
	from := t.notBefore(e.Start)
	if last > from {
		t.held += last - from
		m.report.Tied += last - from
		m.report.MPI.Waited += last - from
		t.mark(mark{at: last, own: t.clock(last)})
	}
	now := max(last, from)
	for _, o := range others {
		on := m.mpis.threads[o.thread]
		if o.thread == t.num || o.at-e.End() > clockError || on == nil {
			continue
		}
		m.ties.causes = on.comesAfter(m.ties.causes[:0], min(o.at, e.End()))
		t.follow(e.Start, now, m.ties.causes, format.EdgeMessage, format.Floor{})
	}
}

// MPI says what was found out of the messages of a parallel program.
type MPI struct {
	Messages    int64 // receives that are paired with their sends
	Collectives int64 // calls that are paired
	Waited      int64 // nanoseconds in calls before what they waited for began
	AnySource   int64 // receives from any rank, which are not paired
	Unpaired    int64 // messages and collectives without a partner in the recording
	Unknown     int64 // calls on unknown communicators, or that complete unknown requests
	Backwards   int64 // partners that began after the call ended, so the clocks are wrong, or the pairing
}

// Text returns what was found out as text.
func (s *MPI) Text() string {
	text := fmt.Sprintf("%s and %s follow other ranks, after %.6f s of waiting",
		table.Plural(int(s.Messages), "message"), table.Plural(int(s.Collectives), "collective call"), format.Seconds(s.Waited))
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.AnySource, "received from MPI_ANY_SOURCE"}, {s.Unpaired, "without a partner"}, {s.Unknown, "with an unknown communicator or request"},
		{s.Backwards, "whose partner began later"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; not paired: %d %s", part.n, part.what)
		}
	}
	return text
}
