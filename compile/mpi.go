package compile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"pianola/compile/mpi"
	"pianola/format"
	"pianola/internal/table"
)

// mpiLearned is what calls of MPI waited for. The first pass finds it out, because the line of
// a partner can come later. The last pass makes edges.
type mpiLearned struct {
	pairer *mpi.Pairer // in the first pass
	stats  mpi.Stats
	left   int64 // calls that were not kept
	sends  mpi.Sends
	waits  []mpiWait // in the order of calls
	begins []mpi.Begin

	awaited map[int32]bool // the threads of begins, by number
}

// mpiWait says that a call waited for begins.
type mpiWait struct {
	call     int64 // number
	from     int64 // when the waiting began, on the recording's clock
	message  mpi.Message
	first, n int32 // of the begins
	polls    int32 // calls from then on, before this one
	kind     mpi.Kind
	partly   bool // it may have waited for some of the begins only
}

const (
	mpiWaitBytes  = int(unsafe.Sizeof(mpiWait{}))
	mpiBeginBytes = int(unsafe.Sizeof(mpi.Begin{}))

	// maxMPI bounds the waits and their begins. Their share of the memory is bounded as well.
	maxMPI   = 1 << 22
	mpiShare = 4
)

// mpis is the concern of calls of MPI by ranks.
type mpis struct {
	*pass
	calls   int64             // so far
	at      int               // of the waits, in the last pass
	threads map[int32]*thread // those that others wait for, in the last pass, by number
	causes  []cause           // memory of follows
}

func (ms *mpis) enlist() {
	ms.holdings = append(ms.holdings, ms.holds)
	ms.when(factSpan, ms.called)
	ms.when(factOver, func(fact) { ms.learned.mpi.end() })
	if ms.out != nil {
		ms.when(factBegan, ms.began)
	}
}

// began notes a thread that calls can wait for: another call can wait for the first one of
// the thread, which has not ended then.
func (ms *mpis) began(f fact) {
	if ms.learned.mpi.awaited[f.t.num] {
		ms.threads[f.t.num] = f.t
	}
}

// called follows a call by a rank.
func (ms *mpis) called(f fact) {
	t, e, k := f.s.t, f.s.e, &ms.learned.mpi
	switch {
	case e.Span.Layer != mpi.Layer || t.proc.Rank < 0:
	case ms.out != nil:
		for ; ms.at < len(k.waits) && k.waits[ms.at].call == ms.calls; ms.at++ {
			ms.completes(t, e, &k.waits[ms.at])
		}
		ms.calls++
	case k.pairer != nil:
		k.pairer.Add(t.num, t.proc.Rank, e)
	}
}

func (ms *mpis) holds(add func(purpose, int)) { add(forOrder, ms.learned.mpi.bytes()) }

// waited keeps what calls have waited for.
func (ms *mpis) waited(w *mpi.Wait) {
	k := &ms.learned.mpi
	if w.Kind == mpi.Sent && w.On[0].At > w.Calls[0].End+mpi.ClockError {
		return // the message was kept for its receiver
	}
	if len(k.waits)+len(w.Calls) > maxMPI || len(k.begins)+len(w.On) > maxMPI || int64(k.bytes()) > ms.budget.limit/mpiShare {
		k.left += int64(len(w.Calls))
		return
	}
	first := len(k.begins)
	k.begins = append(k.begins, w.On...)
	for i := range w.Calls {
		c := &w.Calls[i]
		k.waits = append(k.waits, mpiWait{
			call: c.Number, from: c.From, polls: c.Polls, first: int32(first), n: int32(len(w.On)), kind: w.Kind,
			partly: w.Guessed && w.Kind == mpi.Collective, message: w.Message,
		})
	}
	ms.budget.take(forOrder, len(w.On)*mpiBeginBytes+len(w.Calls)*mpiWaitBytes)
}

// bytes returns how many the waits take.
func (k *mpiLearned) bytes() int { return len(k.waits)*mpiWaitBytes + len(k.begins)*mpiBeginBytes }

// end completes what the first pass has learned.
func (k *mpiLearned) end() {
	if k.pairer != nil {
		k.pairer.End()
		k.stats, k.sends, k.pairer = k.pairer.Stats, k.pairer.Sends, nil
		k.waits = slices.DeleteFunc(k.waits, func(w mpiWait) bool {
			return w.kind == mpi.Sent && k.begins[w.first].At <= w.from && !k.sends.Waits(&w.message) // it found its receiver there
		})
		k.awaited = map[int32]bool{}
		for i := range k.begins {
			k.awaited[k.begins[i].Thread] = true
		}
		slices.SortStableFunc(k.waits, func(a, b mpiWait) int { return cmp.Compare(a.call, b.call) })
	}
}

// completes makes a thread come after what a call has waited for. Time in that call before the last
// of this began is no compute.
func (ms *mpis) completes(t *thread, e *format.Event, w *mpiWait) {
	k, from := &ms.learned.mpi, w.from
	if t.last > from {
		from = e.Start // the thread did something else while it polled
	}
	if w.kind == mpi.Sent {
		switch at := k.begins[w.first].At; {
		case k.sends.Waits(&w.message):
			ms.report.MPI.Rendezvous++
		case at <= from, at > e.End(), w.message.Shared && k.sends.Early(&w.message):
			return // the send did not wait for it
		}
	}
	ms.follows(t, e, w, from)
}

// follows makes a thread come after the begins of operations of other threads, in a call.
// It has waited since a time. An operation that began after the call ended was not waited for.
func (ms *mpis) follows(t *thread, e *format.Event, w *mpiWait, since int64) {
	last := int64(math.MinInt64)
	ms.causes = ms.causes[:0]
	for _, o := range ms.learned.mpi.begins[w.first : w.first+w.n] {
		switch on := ms.threads[o.Thread]; {
		case on == t || on == nil:
		case o.At-e.End() > mpi.ClockError:
			if !w.partly {
				ms.report.MPI.Backwards++
			}
		default:
			at := min(o.At, e.End())
			last = max(last, at)
			ms.causes = on.comesAfter(ms.causes, at)
		}
	}
	if len(ms.causes) == 0 {
		return
	}
	from := t.notBefore(since)
	if last > from {
		held := last - from
		if since < e.Start { // the cost of the polls is subtracted already
			cost := float64(w.polls) * float64(t.rate.Span) * min(float64(held)/float64(e.Start-since), 1)
			held = max(held-int64(cost), 0)
			ms.report.MPI.Polled += min(last, e.Start) - from
		}
		t.held += held
		ms.report.Tied += held
		ms.report.MPI.Waited += held
		t.mark(mark{at: last, own: t.clock(last)})
	}
	t.follow(e.Start, max(last, from), ms.causes, format.EdgeMessage, format.Floor{})
}

// leavesOutMPI reports whether the recording of a parallel program had calls of MPI, of which
// none have come.
func leavesOutMPI(h *format.Header, s *mpis) bool {
	return len(h.Ranks) > 1 && s.calls == 0 && slices.ContainsFunc(h.Meta, func(m format.Meta) bool {
		return m.Key == format.MetaLayer && strings.HasPrefix(m.Value, mpi.Layer+" ")
	})
}

// MPI says what was found out of the messages of a parallel program.
type MPI struct {
	mpi.Stats
	Rendezvous int64 // sends that end after their receives have begun
	Waited     int64 // nanoseconds in calls before what they waited for began
	Polled     int64 // the part of that in which threads polled by calls that completed nothing
	Left       int64 // calls that are not looked at, because of the memory they need
	LeftOut    bool  // a filter or a transform left out the calls of MPI, so waits of ranks are compute
	Backwards  int64 // partners that began after the call ended, so the clocks are wrong, or the pairing
}

// Text returns what was found out as text.
func (s *MPI) Text() string {
	if s.LeftOut {
		return "calls were left out by a filter or a transform, so ranks don't wait for one another"
	}
	text := fmt.Sprintf("%s and %s follow other ranks, after %.6f s of waiting",
		table.Plural(int(s.Messages), "message"), table.Plural(int(s.Collectives), "collective call"), format.Seconds(s.Waited))
	if s.Polled > 0 {
		text += fmt.Sprintf(", %.6f s of that in loops of polling", format.Seconds(s.Polled))
	}
	if s.Rendezvous > 0 {
		text += fmt.Sprintf("; %s that wait for their receives", table.Plural(int(s.Rendezvous), "send"))
	}
	if s.Guessed > 0 {
		text += fmt.Sprintf("; %s paired by a guess", table.Plural(int(s.Guessed), "message"))
	}
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.Unpaired, "without a partner"}, {s.Unknown, "with an unknown communicator or request"}, {s.Backwards, "whose partner began later"},
		{s.Left, "for lack of memory"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; not paired: %d %s", part.n, part.what)
		}
	}
	return text
}
