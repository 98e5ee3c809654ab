package engine

import (
	"pianola/format"
	"pianola/internal/schedstat"
	"pianola/internal/spin"
)

// The threads of a server compete for its processors. How long they wait for one depends on the
// storage: while some wait for it, others compute. So in the trace of a server, waits for a
// processor that another of its threads had are no compute. The replay has as many processors as
// the server had, which exist by their clocks only: a thread takes one for as long as it computes,
// in the order in which threads ask for them.

// processors are those of a server. Threads take them at any time.
type processors struct {
	lock spin.Lock
	free []int64 // from when on each is free, by the clock
	busy int64   // for how many nanoseconds threads had them
	gaps [maxGaps]gap
	next int // the gap that is forgotten next
}

// gap is a time at which a processor was free before it was taken. The replay has fewer processors than
// threads too, so threads can ask late: they still get a processor that was free when they needed it.
type gap struct{ from, until int64 }

// maxGaps bounds the search: so many pass in a few milliseconds, and few threads are later.
const maxGaps = 32

func newProcessors(n int) *processors { return &processors{free: make([]int64, n)} }

// only reports whether the server has a single processor.
func (p *processors) only() bool { return p != nil && len(p.free) == 1 }

// take takes processors that are free first, for some nanoseconds from a time on or later, and returns
// when these end.
func (p *processors) take(from, nanos int64) (until int64) {
	p.lock.Take()
	defer p.lock.Give()
	p.busy += nanos
	for {
		free := p.first()
		begin, g := max(from, *free), (*gap)(nil)
		for i := range p.gaps {
			k := &p.gaps[i]
			if at := max(from, k.from); at < min(begin, k.until) {
				begin, g = at, k
			}
		}
		if g == nil {
			p.leave(*free, begin)
			*free = begin + nanos
			return *free
		}
		end := g.until
		from = min(begin+nanos, end)
		nanos -= from - begin
		g.until = begin
		p.leave(from, end)
		if nanos == 0 {
			return from
		}
	}
}

// pass returns when a processor is free, at a time or later. No thread takes it for an earlier time afterwards.
func (p *processors) pass(from int64) (at int64) {
	p.lock.Take()
	defer p.lock.Give()
	clear(p.gaps[:])
	free := p.first()
	*free = max(from, *free)
	return *free
}

// first returns the processor that is free first.
func (p *processors) first() *int64 {
	first := &p.free[0]
	for i := range p.free {
		if p.free[i] < *first {
			first = &p.free[i]
		}
	}
	return first
}

// leave remembers that a processor was free.
func (p *processors) leave(from, until int64) {
	if from < until {
		p.gaps[p.next] = gap{from, until}
		p.next = (p.next + 1) % maxGaps
	}
}

const (
	// slice is the longest time for which a thread takes a processor at once. The kernel
	// lets others have it after about as long (base_slice_ns of the scheduler).
	slice = 3_000_000

	// blocked is the least duration of a call in which the thread is taken to leave its
	// processor.
	blocked = 20_000
)

// afterCall takes a processor for a call that was due at a time and took some nanoseconds, and returns when it
// ends. A thread leaves its processor in a long call, in which it ran for Slot.ran. After a commit, the thread waits
// for a processor: only then can it wake others. Those compute after that, not in gaps before it, so that they
// all come before the next commit.
func (w *Worker) afterCall(due, nanos int64, commit bool) int64 {
	end := due + nanos
	switch p := w.e.processors; {
	case p == nil:
	case nanos < blocked:
		p.take(due, nanos)
	default:
		p.take(due, min(w.ran, nanos))
		if commit {
			end = p.pass(end)
			w.end = w.SleepUntil(end)
		}
	}
	return end
}

// playCall makes a call. In one of a server that reads, writes or syncs, a thread can wait for storage without its
// processor, so the time in which it ran must be known. Most syncs wait. Of these, the time in which the thread
// waited for a processor, which afterCall adds, is no part; for other calls it takes too long to ask.
func (w *Worker) playCall(r *format.Record) (got int64) {
	if w.runs == nil || !transfers[r.Op] {
		return w.player.Play(r)
	}
	ran, waited := schedstat.Ran(), int64(0)
	if syncs[r.Op] {
		waited = w.runs.Waited()
	}
	got = w.player.Play(r)
	w.ran = schedstat.Ran() - ran
	if syncs[r.Op] {
		w.Ran += w.runs.Waited() - waited
	}
	return got
}

// computeFirst computes what the thread computed before it waited for others, until the next event.
// The delays of the edges say how much followed.
func (w *Worker) computeFirst(r *format.Record) {
	w.work = w.e.scale(max(r.Compute-r.Off, 0)) - w.committed
	w.committed = 0
	after := int64(-1)
	for i := w.wait; w.waits[i].Event == w.Event; i++ {
		if v := &w.waits[i].For; !v.Kind.Outside() && v.Kind >= format.EdgeWake {
			after = max(after, w.e.scale(v.Delay))
		}
	}
	if first := w.work - after; after >= 0 && first > 0 {
		w.e.processors.take(w.due, first)
		w.work -= first
	}
}

// computeCommit computes what the thread computed before a commit, which comes before its next event.
// The delay is from the newest cause on, and can contain waits.
func (w *Worker) computeCommit(r *format.Record, delay int64) {
	w.work = min(w.e.scale(delay), w.e.scale(max(r.Compute-r.Off, 0))-w.committed)
	w.committed += w.work
}

// compute takes processors for what is left, so that it ends at a time, or later if there is none.
// It returns when that is.
func (w *Worker) compute(due int64) int64 {
	work := w.work
	if w.after == 0 {
		work = min(work, due-w.due)
	}
	w.work = 0
	if work <= 0 {
		return due
	}
	for from := due - work; work > 0 && !w.e.Stopped(); work -= slice {
		if from > w.e.Now() {
			w.SleepUntil(from) // others can come first
		}
		from = w.e.processors.take(from, min(work, slice))
		due = max(due, from)
	}
	return due
}
