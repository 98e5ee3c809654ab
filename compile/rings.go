package compile

import (
	"math/bits"
	"unsafe"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/process"
)

// ring is a ring of io_uring or a context of libaio. It is a thread of the trace
// once it has a request there: its events are the requests, in the order of
// submission. format.Submissions has moved them before the calls that submit them.
type ring struct {
	via    format.Via
	setup  [4]int64 // entries, flags, completions and idle time
	num    int32    // of its thread, 0 for none yet
	events int64    // requests in the trace
	last   int64    // submission of the newest, on the trace's clock
	newest []flight // the newest requests, indexed by number modulo flightKept

	files    []registered
	buffers  [][2]int64 // address and size
	prepared place      // the newest event that prepares it
	listed   [2]int     // files and buffers that the trace has registered

	// Completions, by their numbers in the recording.
	done   []completion // those after the first reaped ones
	reaped int64        // those before
	owing  int64        // that the application has reaped besides
	played int64        // completions of requests in the trace
	counts reaping
	begun  int64 // the newest submission, on the recording's clock

	batch int64 // requests of the trace since the last call that submits
	link  link
}

// link is the newest request of a ring in the batch that the next one is linked to.
type link struct {
	event int // one more than its index, 0 for none
	batch int // number of the batch
	chain int32
}

// flightKept is the number of newest requests whose end and submitter are known.
// Earlier ones count as ended.
const flightKept = 4096

// flight is when a request ended, on the recording's clock, and the event that submitted
// it.
type flight struct {
	end  int64
	call place
}

// completion is one that the application has not reaped.
type completion struct {
	end   int64 // on the recording's clock, 0 if it is not known
	plays int64 // requests in the trace with this completion: a transform can make several of one
}

// reaping is how far the application has reaped, as far as the recording shows.
type reaping struct {
	known bool
	whole bool  // since the ring was made
	head  int64 // as last seen: of io_uring a counter of 32 bits, of libaio an index
	high  int64 // the highest index
	since int64 // completions that calls have returned since head was seen
}

// ringKey identifies a ring: copies of an application, which a transform makes, have
// the same numbers.
type ringKey struct {
	process *process.Process
	ring    int32
}

// rings is the concern of rings.
type rings struct {
	*pass
	all    map[ringKey]*ring
	hides  int64   // numbers from firstHidden on that were used
	hidden []int32 // those of them that are free again
}

func (rs *rings) enlist() {
	rs.holdings = append(rs.holdings, rs.holds)
	rs.always(rs.keep, format.Closes)
	rs.when(factComes, rs.closes)
	rs.when(factAsks, rs.asks)
}

// asks simulates the requests that an event of a thread submits.
func (rs *rings) asks(f fact) {
	t := f.s.t
	for i := range t.requests {
		rs.request(t, &t.requests[i])
	}
	t.requests = t.requests[:0]
}

// closes closes files that are no longer registered.
func (rs *rings) closes(f fact) {
	t, tid := f.s.t, f.s.e.TID
	for len(t.closes) > 0 {
		fd := t.closes[len(t.closes)-1]
		t.closes = t.closes[:len(t.closes)-1]
		rs.applyMade(t, &format.Event{Op: format.OpClose, TID: tid, Start: t.last, Args: [format.MaxArgs]int64{int64(fd)}})
	}
}

func (rs *rings) holds(add func(purpose, int)) {
	for _, r := range rs.all {
		add(forOrder, ringBytes+inMap+2*flightBytes*len(r.newest)+completionBytes*cap(r.done)+registeredBytes*cap(r.files)+bufferBytes*cap(r.buffers))
	}
}

// ringOf returns the ring of a call or a request.
func (rs *rings) ringOf(t *thread, e *format.Event, via format.Via) *ring {
	key := ringKey{t.Process, e.Notes.Request.Ring}
	if r := rs.all[key]; r != nil {
		return r
	}
	r := &ring{via: via, setup: [4]int64{defaultEntries}}
	rs.all[key] = r
	rs.budget.take(forOrder, ringBytes+inMap)
	return r
}

// defaultEntries is the size of a ring whose set-up is not recorded.
const defaultEntries = 256

// request simulates a request, with the tables of the thread that submitted it, and
// writes it to the ring.
func (rs *rings) request(t *thread, e *format.Event) {
	rs.order.now = e.Start
	if !e.Notes.Known(format.NotedRing | format.NotedBatch) {
		rs.leaveRequestOut(e, reasonUnknown)
		return
	}
	r, req := rs.ringOf(t, e, e.Via), &e.Notes.Request
	r.head(int64(req.Reaped), e.Notes.Known(format.NotedReaped))
	r.begun = e.Start
	fixed := r.fixed(t, e)
	if e.Notes.Known(format.NotedSlot) && !rs.slotted(t, r, e) {
		r.complete(rs.budget, e, false)
		rs.leaveRequestOut(e, reasonTable)
		return
	}
	if why := rs.unplayable(t, e, fixed); why != reasonNone {
		rs.release(t, e, why)
		r.complete(rs.budget, e, false)
		rs.leaveRequestOut(e, why)
		return
	}
	if r.num == 0 {
		rs.openRing(t, r, max(e.Start-req.Submitted, t.last))
	}
	used := len(rs.arena)
	s := rs.begin(t, e)
	rs.order.submit(t, r)
	rs.loop.about(s)
	rs.loop.change(s)
	if e.Notes.Known(format.NotedSlot) {
		rs.fill(t, r, e)
	}
	t.seen = rs.order.seen
	r.complete(rs.budget, e, s.why == reasonNone)
	if s.why != reasonNone {
		rs.arena = rs.arena[:used]
		rs.leaveRequestOut(e, s.why)
		return
	}
	out := s.out
	out.How = format.How{Flags: req.Flags &^ (format.ReqSelect | format.ReqSkip), RW: req.RW}
	if req.Flags&format.ReqFixed != 0 {
		out.How.Slot = int64(fixed)
	}
	if e.Notes.Known(format.NotedBuf) && req.Flags&format.ReqSelect == 0 {
		out.How.Buf = int64(req.Buf) + 1
	}
	rs.emitRequest(t, r, e, out)
}

// unplayable returns why a request cannot be in the trace, as far as that is known
// before the simulation.
func (rs *rings) unplayable(t *thread, e *format.Event, fixed int64) reason {
	info := e.Op.Info()
	switch {
	case info.Dropped, !e.Via.Asks(e.Op):
		return reasonNoFile
	case e.Ret == canceled, e.Ret == eagain, unrepeatable(e):
		return reasonResult
	case fixed > 0xffff:
		return reasonUnknown
	case info.At.FD < 0:
		return reasonNone
	}
	switch f := fileOf(t.Table.Find(e.FD())); {
	case f == nil:
		return reasonUnknown
	case f.node != nil && f.node.pseudo:
		return reasonPseudo
	case !f.isFile():
		return reasonNoFile
	}
	return reasonNone
}

// release applies the effect of a request that is left out to descriptors.
func (rs *rings) release(t *thread, e *format.Event, why reason) {
	if e.Notes.Known(format.NotedSlot) || !e.Op.Info().Acts.Any(format.ChangesTables) {
		return
	}
	s := rs.begin(t, e)
	s.why = why
	rs.loop.change(s)
	t.seen, t.owed = rs.order.seen, append(t.owed[:0], rs.order.edges...)
}

// leaveRequestOut counts a request that is not in the trace.
func (rs *rings) leaveRequestOut(e *format.Event, why reason) {
	if e.Via < format.NumVias {
		held, _ := coverage.Held(e)
		left := &rs.left[e.Via]
		left.Calls++
		left.Bytes += held.Bytes
		switch e.Op.Info().Class {
		case format.ClassRead:
			left.Reads++
		case format.ClassWrite:
			left.Writes++
		}
	}
	rs.report.LeftOut[e.Op]++
	rs.report.Reasons[why]++
}

// emitRequest appends a request to the trace.
func (rs *rings) emitRequest(t *thread, r *ring, e, out *format.Event) {
	at := max(t.onTrace(e.Start), r.last)
	out.Compute, r.last = at-r.last, at
	out.Off, out.Held, out.Expired = format.Off{}, 0, 0
	if rs.options.Bare {
		out.Dur = format.Unknown
	}
	rs.relink(r, e.Notes.Request.Chain)
	if out.How.Flags&format.ReqLinks != 0 && rs.out != nil {
		r.link = link{len(rs.events) + 1, rs.written, e.Notes.Request.Chain}
	}
	if len(r.newest) < flightKept {
		r.newest = append(r.newest, flight{})
		rs.budget.take(forOrder, 2*flightBytes)
	}
	r.newest[r.events%flightKept] = flight{e.End(), place{t.num, t.events}}
	r.events++
	r.batch++
	rs.put(&rs.event, r.num, r.events)
}

// relink removes the link flag of the newest request of a ring, unless the next one is
// in its chain: the request that ended the chain may have been left out.
func (rs *rings) relink(r *ring, chain int32) {
	if l := r.link; l.event > 0 && l.batch == rs.written && (l.chain != chain || chain == 0) {
		rs.events[l.event-1].How.Flags &^= format.ReqLinks
	}
	r.link = link{}
}

// isInFlight reports whether a request had not ended at a time of the recording. A ring
// that is nil has none.
func (r *ring) isInFlight(event, at int64) bool {
	return r != nil && event >= r.events-flightKept && r.newest[event%flightKept].end > at
}

// submitter returns the event that submitted a request, or a later one.
func (r *ring) submitter(event int64) place {
	return r.newest[max(event, r.events-flightKept)%flightKept].call
}

// openRing makes a ring a thread of the trace. The thread that submits its first
// request sets it up when that call begins, with its registered files and buffers: these events
// have the time since the thread's last one, and its waits.
func (rs *rings) openRing(t *thread, r *ring, at int64) {
	r.num = int32(len(rs.table) + 1)
	r.last = t.onTrace(at)
	rs.table = append(rs.table, format.Thread{Process: t.proc.num, Parent: t.num, Start: r.last, Ring: r.via})
	rs.order.rings[r.num] = r
	rs.budget.take(forThreads, threadRowBytes)
	rs.emitQueue(t, r, format.OpRingOpen, at)
	if len(r.files) > 0 {
		rs.emitQueue(t, r, format.OpRingFiles, at)
	}
	if len(r.buffers) > 0 {
		rs.emitQueue(t, r, format.OpRingBuffers, at)
	}
}

// emitQueue appends an event that prepares a ring, at a time of the recording.
func (rs *rings) emitQueue(t *thread, r *ring, op format.Op, at int64) {
	e := format.Event{Op: op, Start: at}
	out := rs.beginMade(t, &e)
	rs.prepares(t, r, op, out, change{whole: true})
	rs.emitMade(t, &e, out)
}

// change is the part of the registered files or buffers of a ring that a call changes.
type change struct {
	whole bool // all of them
	list  *format.List
}

// extent returns the part of a list of a length that an event registers, from one place to
// another, and whether that is an update of what the trace has registered before. An
// update beyond its end registers all again, rounded up to a power of two, so that the
// lists of all updates together grow no faster than the list.
func (c *change) extent(length int, listed *int) (from, to int, updates bool) {
	from = c.list.First()
	to = min(from+c.list.Len(), length)
	if !c.whole && to <= *listed {
		return from, to, true
	}
	if c.whole {
		to = length
	} else {
		to = min(1<<bits.Len(uint(to-1)), format.MaxRegistered)
	}
	*listed = to
	return 0, to, false
}

// prepares fills in an event that prepares a ring.
func (rs *rings) prepares(t *thread, r *ring, op format.Op, out *format.Event, c change) {
	out.Op, out.Ret = op, 0
	out.Args, out.Str = [format.MaxArgs]int64{int64(r.num)}, [format.MaxStrings][]byte{}
	rs.order.turn(&r.prepared, format.EdgeOrder)
	if op == format.OpRingOpen {
		copy(out.Args[1:], r.setup[:])
		return
	}
	of, length, listed, item := format.ListNumbers, len(r.files), &r.listed[0], rs.listFile
	if op == format.OpRingBuffers {
		of, length, listed, item = format.ListPlaces, len(r.buffers), &r.listed[1], rs.listBuffer
	}
	from, to, updates := c.extent(length, listed)
	list, start := format.List{Of: of, Update: updates}, len(rs.spans.Numbers)
	if updates {
		list.From = int64(from)
	}
	for i := from; i < to; i++ {
		if updates && c.list.At(i - from)[0] == format.Unchanged && op == format.OpRingFiles {
			rs.spans.Numbers = append(rs.spans.Numbers, format.Unchanged)
		} else {
			item(t, r, i)
		}
	}
	list.Items = rs.spans.NumbersFrom(start)
	out.List = rs.spans.AddList(list)
}

// listFile appends the descriptor of a registered file, -1 for none, to a list.
func (rs *rings) listFile(t *thread, r *ring, i int) {
	fd := int64(-1)
	f, _ := r.fileAt(int64(i))
	if d := t.Table.Find(r.descriptorOf(t, int64(i))); d != nil && f.of.isFile() {
		fd = int64(numberOf(f.fd, d))
		rs.order.after(usesOf(d).opened, format.EdgeDescriptor)
		of := rs.fds.used(t.Table, int64(f.fd))
		of.newest = rs.order.use(of.newest)
	}
	rs.spans.Numbers = append(rs.spans.Numbers, fd)
}

// listBuffer appends the place and the size of a registered buffer to a list.
func (rs *rings) listBuffer(t *thread, r *ring, i int) {
	var b [2]int64
	if i < len(r.buffers) {
		b = r.buffers[i]
	}
	place := int64(0)
	if !rs.options.Bare && rs.out != nil {
		place = t.proc.buffers.placeOf(b[0], b[1])
	}
	rs.spans.Numbers = append(rs.spans.Numbers, place, b[1])
}

// usesOf returns the uses of a descriptor, which must not be changed.
func usesOf(d *process.Descriptor) *uses {
	if of, ok := d.Data.(*uses); ok {
		return of
	}
	return &uses{}
}

// queued simulates a call for requests, and turns the event into its form in the trace.
// It returns why the event is left out.
func (rs *rings) queued(s *simEvent) reason {
	e, t := s.e, s.t
	if !e.Notes.Known(format.NotedRing) || e.Ret < 0 {
		return reasonTable
	}
	via, reads := format.ViaAIO, e.Op.Info().Reads
	if reads == format.ReadRing || reads == format.ReadRegistered || e.Op == format.OpUringEnter {
		via = format.ViaUring
	}
	r := rs.ringOf(t, e, via)
	switch collects := e.Op == format.OpIOGetevents || e.Op == format.OpIOPgetevents; {
	case reads == format.ReadRing, reads == format.ReadContext:
		r.setup, r.counts = [4]int64{e.Args[0]}, reaping{known: true, whole: true}
		if via == format.ViaUring {
			copy(r.setup[:], e.Args[:])
		}
	case reads == format.ReadRegistered:
		return rs.register(s, r)
	case collects:
		return rs.submitted(s, r, min(max(e.Args[1], 0), e.Ret), collects)
	case via == format.ViaUring && e.Args[3]&enterGetEvents != 0:
		return rs.submitted(s, r, max(e.Args[2], 0), collects)
	case via == format.ViaUring, e.Op == format.OpIOSubmit:
		return rs.submitted(s, r, 0, collects)
	}
	return reasonTable
}

// submitted turns a call that submits requests, or waits for at least so many, into the event
// of the trace. Its requests are there already. collects says that it returns completions.
func (rs *rings) submitted(s *simEvent, r *ring, least int64, collects bool) reason {
	e, out := s.e, s.out
	if back := s.t.last - e.Start; back > 0 { // the event was made for a late request
		e.Start, e.Dur = s.t.last, max(e.Dur-back, 0)
	}
	rs.relink(r, 0)
	number := r.batch
	if number == 0 {
		r.begun = e.Start
	}
	newest, since := r.reap(), int64(0)
	if number > 0 {
		since = rs.polled(s.t, newest, e.Start)
	}
	waits := r.awaited(e, least)
	reaped := min(r.played, r.events-number)
	waits = min(waits, r.events-reaped)
	if collects {
		r.collect(e.Ret)
	}
	if r.batch = 0; r.num == 0 || number == 0 && waits == 0 {
		return reasonTable
	}
	if reaped+waits > 0 {
		rs.order.after(r.submitter(reaped+waits-1), format.EdgeMessage)
	}
	if before := r.events - number; number > 0 && before > 0 {
		rs.order.after(r.submitter(before-1), format.EdgeOrder)
	}
	*out = format.Event{Op: format.OpRingSubmit, Start: e.Start, Dur: e.Dur, Args: [format.MaxArgs]int64{int64(r.num), number, waits, reaped, since}}
	return reasonNone
}

// awaited returns how many completions in the trace, beyond those already reaped, a
// call has waited for. wanted is the number in the call. A call that only waits does
// not show how far the application had reaped. It counts as having reaped everything,
// because the application asks the kernel only then. With a time limit, the call may
// have waited for fewer.
func (r *ring) awaited(e *format.Event, least int64) (waits int64) {
	uring := e.Op == format.OpUringEnter
	alone, limited := uring && e.Ret == 0, uring && e.Args[3]&enterExtArg != 0
	for _, d := range r.done {
		switch {
		case least > 0 && alone && d.end <= e.Start:
		case least == 0, (alone || limited) && d.end > e.End():
			return waits
		default:
			least--
		}
		waits += d.plays
	}
	return waits
}

// Flags of io_uring_enter.
const (
	enterGetEvents = 1
	enterExtArg    = 8
)

// complete records the completion of a request.
func (r *ring) complete(b *budget, e *format.Event, play bool) {
	n := e.Notes.Request.Order - r.reaped - 1
	if e.Notes.Request.Order == 0 || n < 0 || n >= maxUnreaped {
		if play && n < 0 && e.Notes.Request.Order > 0 {
			r.played++ // it was reaped before its completion was recorded
		}
		return
	}
	for int64(len(r.done)) <= n {
		r.done = append(r.done, completion{})
		b.take(forOrder, completionBytes)
	}
	r.done[n].end = max(r.done[n].end, e.End())
	if play {
		r.done[n].plays++
	}
}

// maxUnreaped bounds the unreaped completions.
const maxUnreaped = 1 << 20

// head records how far the application had reaped when it submitted a request. For
// io_uring it is a counter of 32 bits, for libaio an index into a ring of as many
// entries as fit into pages (aio_setup_ring).
func (r *ring) head(head int64, known bool) {
	if !known {
		return
	}
	c := &r.counts
	if !c.known { // the ring existed before the recording
		c.known, c.head, c.since = true, head, 0
		return
	}
	if r.via == format.ViaUring {
		if n := int32(uint32(head) - uint32(c.head)); n > 0 {
			r.forget(int64(n))
			c.head = head
		}
		return
	}
	c.high = max(c.high, head)
	size := r.size()
	moved := ((head-c.head-c.since)%size + size) % size // besides what calls have returned
	if moved <= size/2 {                                // otherwise it is an earlier head of another thread
		r.forget(moved)
		c.head, c.since = head, 0
	}
}

// size returns how many entries the ring of a libaio context has, as far as the
// recording shows: it depends on the number of processors.
func (r *ring) size() int64 {
	const page = 128 // entries
	return (max(r.counts.high, 2*r.setup[0]+2)/page+1)*page - 1
}

// reap removes the completions that the application had reaped at a call from the open
// ones. It returns the time of the newest.
func (r *ring) reap() (newest int64) {
	for ; r.owing > 0 && len(r.done) > 0 && (r.counts.whole || r.done[0].end <= r.begun); r.owing-- {
		if n := r.done[0].plays; n > 0 {
			r.played += n
			newest = max(newest, r.done[0].end)
		}
		r.done = r.done[1:]
		r.reaped++
	}
	return newest
}

// polled returns the time from the newest reaped completion to the call that follows
// it, if the completion came after the thread's last event. The thread polled for
// completions until then, so the time is not compute.
func (rs *rings) polled(t *thread, newest, start int64) (since int64) {
	from := t.notBefore(t.last)
	if newest <= from || newest > start {
		return 0
	}
	if rs.out != nil {
		t.idles(newest)
	}
	return start - newest
}

// collect records that io_getevents returned so many completions.
func (r *ring) collect(n int64) {
	r.forget(n)
	r.counts.since += n
}

// forget records that the application has reaped so many more completions, at most all.
func (r *ring) forget(n int64) { r.owing += n }

const (
	ringBytes       = int(unsafe.Sizeof(ring{}))
	flightBytes     = int(unsafe.Sizeof(flight{}))
	completionBytes = int(unsafe.Sizeof(completion{}))
	registeredBytes = int(unsafe.Sizeof(registered{}))
	bufferBytes     = int(unsafe.Sizeof([2]int64{}))
)
