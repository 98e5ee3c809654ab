package ptrace

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format/coverage"
	"pianola/internal/futex"
	"pianola/internal/ticks"
	"pianola/record"
)

// ring is the tracer's side of the records of a thread. The program can write anything there. If
// that is not a record, it ends the ring.
type ring struct {
	calls  thread // as which the recorded calls are handled
	owner  *thread
	space  *space
	number int // of the slot
	shared *slot
	data   []byte
	tail   uint64
	begun  uint64      // of the futex call that futex.Pairs knows to be under way
	place  futex.Place // of that
	end    int64       // of the last call
	broken bool
}

func newRing(t *thread, s *space, number int) *ring {
	at := slotPlace(number) + slotHead
	r := &ring{owner: t, space: s, number: number, shared: s.slot(number), data: s.shared[at : at+ringBytes]}
	r.calls.TID, r.calls.process = t.TID, t.process
	r.calls.Details = &r.calls.details
	r.calls.written = new(written)
	return r
}

// written is what the record of a call has besides: memory of the program, and what describes
// the file that it opened.
type written struct {
	record inlineRecord
	pieces [inlinePieces]pieceOf
	n      int
	file   bool // opened counts
	statx  int64
	cache  int64
	opened unix.Statx_t
	cached uint64
}

type pieceOf struct {
	addr  uint64
	state uint32
	bytes []byte
}

// peek fills into from the pieces, and returns how much there is.
func (w *written) peek(address uint64, into []byte) int {
	for i := range w.pieces[:w.n] {
		p := &w.pieces[i]
		if from := address - p.addr; from < uint64(len(p.bytes)) {
			return copy(into, p.bytes[from:])
		}
	}
	return 0
}

// step is what happened in a program at a time: a call ended, or a futex call began.
type step struct {
	at    uint64 // ticks
	ring  *ring
	from  int // of the record, in tracer.copied; -1 for a begin
	to    int
	place futex.Place // of a begin
	op    uint32
}

// drain takes the calls that were recorded in the process, in the order of their ends.
func (tr *tracer) drain() {
	if len(tr.rings) == 0 {
		return
	}
	tr.adjust()
	tr.copied, tr.steps = tr.copied[:0], tr.steps[:0]
	for _, r := range tr.rings {
		tr.collect(r)
	}
	order := func(a, b step) int { return cmp.Compare(a.at, b.at) }
	if !slices.IsSortedFunc(tr.steps, order) {
		slices.SortStableFunc(tr.steps, order)
	}
	for i := range tr.steps {
		s := &tr.steps[i]
		if s.from < 0 {
			tr.futexes.Begin(s.ring.calls.TID, s.place, futex.KindOf(s.op))
			continue
		}
		tr.take(s.ring, tr.copied[s.from:s.to])
	}
}

// collect copies the records of a ring.
func (tr *tracer) collect(r *ring) {
	if r.broken {
		return
	}
	head := atomic.LoadUint64(&r.shared.head)
	if head-r.tail > ringBytes {
		tr.breaks(r)
		return
	}
	tr.filled = max(tr.filled, int(head-r.tail))
	for r.tail != head {
		at := r.tail % ringBytes
		if at > ringBytes-maxRecord { // left out
			r.tail += ringBytes - at
			continue
		}
		var rec inlineRecord
		copy(asMemory(&rec), r.data[at:])
		size := uint64(rec.size)
		if size < uint64(unsafe.Sizeof(rec)) || size > maxRecord || size%8 != 0 || head-r.tail < size || rec.nr >= maxNr || tr.inline[rec.nr].bits == 0 {
			tr.breaks(r)
			return
		}
		from := len(tr.copied)
		tr.copied = append(tr.copied, r.data[at:at+size]...)
		if rec.nr == unix.SYS_FUTEX && rec.begun != r.begun {
			tr.steps = append(tr.steps, step{at: rec.begun, ring: r, from: -1, place: r.placeAt(rec.args[0]), op: uint32(rec.args[1])})
		}
		r.begun = 0
		tr.steps = append(tr.steps, step{at: rec.ended, ring: r, from: from, to: from + int(size)})
		r.tail += size
	}
	atomic.StoreUint64(&r.shared.tail, r.tail)
	// A thread that waits now may be woken by a call that is in another ring already.
	begun := atomic.LoadUint64(&r.shared.begun)
	if begun == 0 || begun == r.begun || r.shared.nr != unix.SYS_FUTEX {
		return
	}
	s := step{at: begun, ring: r, from: -1, place: r.placeAt(r.shared.first), op: uint32(r.shared.second)}
	if atomic.LoadUint64(&r.shared.begun) == begun {
		r.begun, r.place = begun, s.place
		tr.steps = append(tr.steps, s)
	}
}

// placeAt is where the thread waits at a futex.
func (r *ring) placeAt(address uint64) futex.Place {
	return futex.Place{Process: r.calls.process.id, Address: int64(address)}
}

// breaks ends a ring that the program has damaged.
func (tr *tracer) breaks(r *ring) {
	r.broken = true
	tr.lose(coverage.Elsewhere)
}

// take handles a call that was recorded in the process, as enter and leave handle one that
// stopped.
func (tr *tracer) take(r *ring, text []byte) {
	t := &r.calls
	if tr.quiet || !t.written.parse(text, tr.inline) {
		return
	}
	rec := &t.written.record
	p := &plans[rec.nr]
	t.clear(uint32(rec.nr), &rec.args)
	owner := r.owner
	t.TID, t.Off, t.Taken = owner.TID, owner.Off, owner.Taken // which is also of calls that stop
	defer func() { owner.Off, owner.Taken = t.Off, t.Taken }()
	t.Ret = int64(rec.result)
	t.Type = uint32(rec.typ)
	t.absent = rec.bits&recordAbsent != 0
	if tr.inline[rec.nr].bits&planCreates != 0 && rec.args[2]&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		t.absent = true // or it fails
	}
	// A handler of a signal can have interrupted a call that was restarted.
	t.Start = max(tr.clock.nanos(rec.begun), r.end)
	end := max(tr.clock.nanos(rec.ended), t.Start)
	r.end = end
	tr.begin(t, p)
	if p.waits {
		tr.endWait(t, end)
		return
	}
	if !t.foreign {
		held := t.held
		tr.finish(t, p, end)
		owner.held += t.held - held
		owner.called = true
	}
}

// parse reads a record, and reports whether it is one.
func (w *written) parse(text []byte, plans *[maxNr]inlinePlan) bool {
	copy(asMemory(&w.record), text)
	text = text[unsafe.Sizeof(w.record):]
	w.n, w.file = 0, false
	for _, piece := range plans[w.record.nr].pieces {
		if piece == 0 {
			break
		}
		if len(text) < 8 {
			return false
		}
		size, state := int(binary.NativeEndian.Uint32(text)), binary.NativeEndian.Uint32(text[4:])
		padded := (size + 7) &^ 7
		if size > maxString || padded > len(text)-8 || state > stateUnreadable {
			return false
		}
		w.pieces[w.n] = pieceOf{w.record.args[piece>>8&7%6], state, text[8 : 8+size]}
		w.n++
		text = text[8+padded:]
	}
	if w.record.bits&recordOpened == 0 {
		return len(text) == 0
	}
	if len(text) != 16+statxBytes+cacheBytes {
		return false
	}
	w.statx, w.cache = int64(binary.NativeEndian.Uint64(text)), int64(binary.NativeEndian.Uint64(text[8:]))
	copy(asMemory(&w.opened), text[16:])
	w.cached = record.UnknownCached
	if w.cache == 0 {
		w.cached = binary.NativeEndian.Uint64(text[16+statxBytes:])
	}
	w.file = w.statx == 0
	return true
}

// retire takes the last records of a thread that is gone or has other memory now.
func (tr *tracer) retire(t *thread) {
	r := t.ring
	if r == nil {
		return
	}
	tr.drain()
	if r.begun != 0 {
		tr.futexes.Abandon(t.TID, r.place)
	}
	t.ring = nil
	r.space.used[r.number] = false
	tr.rings = slices.DeleteFunc(tr.rings, func(o *ring) bool { return o == r })
}

// The pause between two readings of the rings is such that they fill to an eighth: then what is
// written is in a cache yet, and a thread that begins to call faster has time until its ring is
// full, when its calls stop.
const (
	shortestPause = 50 * time.Microsecond
	longestPause  = 16 * time.Millisecond
	wantedBytes   = ringBytes / 8
)

// drains takes what rings have, until stop is closed.
func (tr *tracer) drains(stop <-chan struct{}) {
	pause := longestPause
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		tr.state.Lock()
		tr.drain()
		filled := tr.filled
		tr.filled = 0
		tr.state.Unlock()
		if filled > 0 {
			pause = time.Duration(float64(pause) * wantedBytes / float64(filled))
		} else {
			pause = longestPause
		}
		pause = min(max(pause, shortestPause), longestPause)
		timer.Reset(pause)
	}
}

// counter converts readings of the processor's counter to nanoseconds since the recording began.
// The result never goes back: the rate changes, so that the error of the last one is made good
// within a second.
type counter struct {
	rate   float64 // nanoseconds of a tick; 0 before the first reading
	tick   uint64
	at     int64
	tick0  uint64 // of the first reading
	mono0  int64
	latest uint64 // of the last change of the rate
}

// simultaneous reads the counter and the time.
func simultaneous(began time.Time) (tick uint64, at int64) {
	best := ^uint64(0)
	for range 8 {
		before := ticks.Now()
		now := time.Since(began).Nanoseconds()
		if took := ticks.Now() - before; took < best {
			best, tick, at = took, before+took/2, now
		}
	}
	return tick, at
}

// adjust corrects the rate, at most every tenth of a second.
func (tr *tracer) adjust() {
	c := &tr.clock
	if c.rate == 0 {
		c.start(tr.began, tr.firstTick, tr.made)
	}
	if float64(ticks.Now()-c.latest)*c.rate < 1e8 {
		return
	}
	tick, at := simultaneous(tr.began)
	c.latest = tick
	here := c.nanos(tick)
	rate := float64(at-c.mono0) / float64(tick-c.tick0)
	c.tick, c.at = tick, here
	c.rate = rate * (1 + float64(at-here)/1e9)
}

func (c *counter) nanos(tick uint64) int64 {
	return c.at + int64(float64(int64(tick-c.tick))*c.rate)
}

// start begins with a rate that was measured from an earlier reading on.
func (c *counter) start(began time.Time, tick uint64, at time.Time) {
	now, nanos := simultaneous(began)
	first := at.Sub(began).Nanoseconds()
	*c = counter{rate: float64(nanos-first) / float64(now-tick), tick: now, at: nanos, tick0: tick, mono0: first, latest: now}
}
