package compile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"unsafe"

	"pianola/format"
)

// locks are the locks on a file: those of flock, and those on its bytes, which
// the kernel keeps apart.
//
// Calls on conflicting locks keep their recorded order. Rejected: keep the order only
// if the bytes or sizes that they protect require it. That would need the whole
// recording, because the protected data show only in later calls of this and other
// threads. The order costs little if it is not required, because only one thread at a
// time has the lock.
type locks struct {
	serial        int64 // counts locked files
	whole, ranges lockSet
}

// lockSet is the locks of one kind on a file.
type lockSet struct {
	held []lock

	// The newest calls on exclusive locks, and those on shared locks that none
	// on an exclusive lock has followed.
	exclusive written
	shared    []span

	freed []free // in the last pass: locks that were given up, the newest last
}

// lock is a lock on the bytes from off to end.
type lock struct {
	owner     any // a *proc, or the *openFile of flock and F_OFD_SETLK
	off, end  int64
	exclusive bool
	late      bool    // another owner has the lock, but the call that released it has not returned yet
	place     place   // the call that took it
	refusals  []place // calls that failed because of it, the newest of each thread
}

// The most locks of a kind that are followed in a file, and the most calls on
// shared ones that are kept apart.
const (
	locksKept  = 256
	sharedKept = 64
)

const (
	locksBytes = int(unsafe.Sizeof(locks{}))
	lockBytes  = int(unsafe.Sizeof(lock{}))
	freesBytes = freesKept * int(unsafe.Sizeof(free{}))
)

func (l *locks) bytes() int { return locksBytes + l.whole.bytes() + l.ranges.bytes() }

func (l *lockSet) bytes() int {
	sum := freesBytes + lockBytes*cap(l.held) + spanBytes*(cap(l.exclusive.spans)+cap(l.exclusive.older)+cap(l.shared))
	for i := range l.held {
		sum += placeBytes * cap(l.held[i].refusals)
	}
	return sum
}

// lockCall is a call on a lock.
type lockCall struct {
	lock
	whole bool // of flock
	gives bool // it gives the lock up
	set   *lockSet
	file  int64 // locks.serial
}

// locking is the concern of locks.
type locking struct {
	*pass
	files int64    // that have had locks
	call  lockCall // the one that facts are about
}

func (lk *locking) enlist() {
	lk.on(lk.locked, format.Locks)
	lk.when(factDropped, lk.dropped)
	lk.when(factClosed, lk.closed)
	lk.when(factEnds, lk.ended)
}

// lockCallOf returns what a call on a descriptor does to locks, and false if it
// does nothing. Locks of F_SETLK belong to the process, others to the open file
// description.
func lockCallOf(s *simEvent) (c lockCall, ok bool) {
	if s.d == nil {
		return c, false
	}
	args, ok := lockArgsOf(s.out)
	if !ok {
		return c, false
	}
	c.owner, c.exclusive, c.whole, c.gives = s.d, args.exclusive, args.whole, args.gives
	if args.ofProcess {
		c.owner = s.t.proc
	}
	base := int64(0)
	switch args.whence {
	case format.SeekCur:
		base = s.d.Offset
	case format.SeekEnd:
		base = s.d.node.now
	}
	return c, c.covers(base, &args)
}

// lockArgs is what the arguments of a call say of a lock.
type lockArgs struct {
	whole, exclusive, gives bool  // of flock; for writing; it gives the lock up
	ofProcess               bool  // the process owns it, not the description
	whence, start, size     int64 // of fcntl
}

// lockArgsOf returns them, and false if a call does nothing to locks.
func lockArgsOf(e *format.Event) (l lockArgs, ok bool) {
	switch acts := e.Op.Info().Acts; {
	case !acts.Any(format.Locks):
	case !acts.Any(format.Duplicates): // flock
		how := e.Args[1]
		return lockArgs{whole: true, exclusive: how&format.FlockExclusive != 0, gives: how&format.FlockNone != 0}, how&format.FlockMandatory == 0
	default:
		switch e.Args[1] {
		case format.FSetlk, format.FSetlkw:
			l.ofProcess = true
		case format.FOfdSetlk, format.FOfdSetlkw:
		default:
			return l, false
		}
		l.exclusive, l.gives = e.Args[3] == format.LockWrite, e.Args[3] == format.LockNone
		l.whence, l.start, l.size = lockWhence(e), e.Args[4], e.Args[5]
		return l, true
	}
	return l, false
}

// covers sets the bytes of a lock, whose start counts from base. It returns false if there
// are none.
func (l *lock) covers(base int64, args *lockArgs) bool {
	off := end(args.start, base)
	switch l.off, l.end = off, end(off, args.size); {
	case args.size < 0:
		l.off, l.end = off+args.size, off
	case args.size == 0:
		l.end = math.MaxInt64
	}
	return l.off >= 0 && l.off < l.end
}

// lockWhence returns where the offset of a lock counts from; SeekSet for other calls.
func lockWhence(e *format.Event) int64 {
	if !e.Op.Info().Acts.All(format.Duplicates | format.Locks) { // fcntl
		return format.SeekSet
	}
	switch e.Args[1] {
	case format.FGetlk, format.FOfdGetlk, format.FSetlk, format.FSetlkw, format.FOfdSetlk, format.FOfdSetlkw:
		return format.LockWhence(e.Args[2])
	}
	return format.SeekSet
}

func refused(ret int64) bool { return ret == eagain || ret == eacces || ret == edeadlk }

// set returns the locks of a kind.
func (l *locks) set(whole bool) *lockSet {
	if whole {
		return &l.whole
	}
	return &l.ranges
}

// locked handles a call that takes or releases a lock.
func (lk *locking) locked(s *simEvent) {
	switch lockWhence(s.out) {
	case format.SeekCur:
		lk.order.turn(&s.d.moved, format.EdgeOffset)
	case format.SeekEnd:
		lk.order.atEnd(s.d.node)
	}
	c, ok := lockCallOf(s)
	all := s.d.node.locks
	if !ok || all == nil && (s.e.Ret != 0 || c.gives) {
		return
	}
	if all == nil {
		lk.files++
		all = &locks{serial: lk.files}
		s.d.node.locks = all
		lk.budget.take(forOrder, locksBytes)
	}
	before, set := all.bytes(), all.set(c.whole)
	c.set, c.file = set, all.serial
	lk.call = c
	switch {
	case refused(s.e.Ret):
		if c.whole {
			set.give(&lk.order, c.owner, c.off, c.end) // flock(2): a failed conversion loses the lock
		}
		set.refuse(&lk.order, &c.lock)
		lk.tellMore(factTried, s, more{lock: &lk.call})
	case s.e.Ret != 0:
	case c.gives:
		lk.give(set, c.owner, c.off, c.end)
	default:
		lk.tellMore(factTried, s, more{lock: &lk.call})
		lk.disordered = set.take(&lk.order, c.lock) || lk.disordered
		switch owner := c.owner.(type) {
		case *openFile:
			owner.locks = true
		case *proc:
			lk.lockedBy(owner, all)
		}
	}
	lk.budget.take(forOrder, all.bytes()-before)
}

// refusedFreeLock reports whether a call was refused a lock that is free in the simulation: an
// unrecorded program held it, or a call that took or released it overlaps with this
// one. A replay would get the lock, and other calls would not.
func refusedFreeLock(s *simEvent) bool {
	if !refused(s.e.Ret) {
		return false
	}
	c, ok := lockCallOf(s)
	if !ok {
		return false
	}
	if s.d.node.locks == nil {
		return true
	}
	return !slices.ContainsFunc(s.d.node.locks.set(c.whole).held, func(h lock) bool {
		return c.conflicts(&h) || c.whole && h.owner == c.owner
	})
}

// lockedBy records that a process has locks on a file.
func (lk *locking) lockedBy(p *proc, l *locks) {
	if p.locked == nil {
		p.locked = map[*locks]bool{}
		lk.budget.take(forOrder, newMap)
	}
	if !p.locked[l] {
		p.locked[l] = true
		lk.budget.take(forOrder, inMap)
	}
}

// conflicts reports whether two locks can't be held at the same time.
func (l *lock) conflicts(with *lock) bool {
	return l.owner != with.owner && !with.late && (l.exclusive || with.exclusive) && l.off < with.end && with.off < l.end
}

// take records that the event took a lock. It comes after the newest calls on
// conflicting locks.
//
// The call that released the lock can still follow, where no order of calls that overlap was
// found. The event cannot wait for that call, but a replay waits until it has released the
// lock. take reports whether it is so.
func (l *lockSet) take(o *order, k lock) (early bool) {
	k.place = o.here
	l.after(o, k.off, k.end, k.exclusive)
	exclusive := k.exclusive
	for _, h := range l.split(k.off, k.end, func(h *lock) bool { return h.owner == k.owner || k.conflicts(h) }) {
		switch {
		case h.owner != k.owner:
			h.late, early = true, true
			l.hold(h)
		case h.exclusive && !k.exclusive: // others could not hold it until now
			exclusive = true
			fallthrough
		case h.late:
			o.afterAll(h.refusals, format.EdgeLock)
		default:
			k.refusals = append(k.refusals, h.refusals...)
		}
	}
	l.hold(k)
	l.note(o, k.off, k.end, exclusive)
	return early
}

func (l *lockSet) hold(k lock) {
	if len(l.held) >= locksKept {
		l.held = slices.Delete(l.held, 0, 1)
	}
	l.held = append(l.held, k)
}

// give records that the event released the locks of an owner in a range. It comes after
// the calls that took them, and those that failed because of them. It reports whether
// there were any.
func (l *lockSet) give(o *order, owner any, off, end int64) bool {
	given := l.split(off, end, func(h *lock) bool { return h.owner == owner })
	for _, h := range given {
		o.after(h.place, format.EdgeLock)
		o.afterAll(h.refusals, format.EdgeLock)
		if !h.late {
			l.note(o, h.off, h.end, h.exclusive)
		}
	}
	return len(given) > 0
}

// refuse records that the event failed because of locks of others. It comes after the
// calls that took them, and before those that release them.
func (l *lockSet) refuse(o *order, k *lock) {
	for i := range l.held {
		if h := &l.held[i]; k.conflicts(h) {
			o.after(h.place, format.EdgeLock)
			h.refusals = o.newest(h.refusals)
		}
	}
}

// after makes the event wait for the newest calls on locks in a range: all if
// it is for an exclusive lock, else those on exclusive ones.
func (l *lockSet) after(o *order, off, end int64, exclusive bool) {
	o.afterWrites(&l.exclusive, off, end, format.EdgeLock)
	for _, s := range l.shared {
		if exclusive && s.off < end && off < s.end {
			o.after(s.place, format.EdgeLock)
		}
	}
}

// note records the event as the newest call on a lock.
func (l *lockSet) note(o *order, off, end int64, exclusive bool) {
	if o.idle() {
		return
	}
	s := o.span(off, end)
	if exclusive {
		l.exclusive.put(s)
		l.shared = slices.DeleteFunc(l.shared, func(k span) bool { return off <= k.off && k.end <= end })
		return
	}
	for i := range l.shared {
		if k := &l.shared[i]; k.place.thread == s.place.thread && k.off == off && k.end == end {
			*k = s
			return
		}
	}
	if len(l.shared) < sharedKept {
		l.shared = append(l.shared, s)
		return
	}
	var sums []span
	for _, k := range append(l.shared, s) {
		sums = sum(sums, k)
	}
	l.shared = sums
}

// split cuts a range out of the locks for which chosen returns true, and
// returns what was cut out.
func (l *lockSet) split(off, end int64, chosen func(*lock) bool) []lock {
	var out, kept []lock
	for _, h := range l.held {
		if h.off >= end || off >= h.end || !chosen(&h) {
			kept = append(kept, h)
			continue
		}
		if h.off < off {
			before := h
			before.end, before.refusals = off, slices.Clone(h.refusals)
			kept = append(kept, before)
		}
		if end < h.end {
			after := h
			after.off, after.refusals = end, slices.Clone(h.refusals)
			kept = append(kept, after)
		}
		h.off, h.end = max(off, h.off), min(end, h.end)
		out = append(out, h)
	}
	if len(out) > 0 {
		l.held = kept
	}
	return out
}

// give records that the event released the locks of an owner in a range.
func (lk *locking) give(l *lockSet, owner any, off, end int64) {
	if l.give(&lk.order, owner, off, end) {
		lk.call = lockCall{lock: lock{off: off, end: end}, set: l}
		lk.tellMore(factFreed, &lk.event, more{lock: &lk.call})
	}
}

// unlock records that the event released all locks of an owner on a file.
func (lk *locking) unlock(l *locks, owner any) {
	before := l.bytes()
	lk.give(&l.whole, owner, 0, math.MaxInt64)
	lk.give(&l.ranges, owner, 0, math.MaxInt64)
	lk.budget.take(forOrder, l.bytes()-before)
}

// dropped gives up the locks of a description.
func (lk *locking) dropped(f fact) {
	if f.file.locks {
		lk.unlock(f.file.node.locks, f.file)
	}
}

// closed gives up the locks of a process on a file, of which it closed a
// descriptor (fcntl_locking(2)).
func (lk *locking) closed(f fact) {
	if p, of := f.t.proc, f.file; of.isFile() && p.locked[of.node.locks] {
		delete(p.locked, of.node.locks)
		lk.unlock(of.node.locks, p)
	}
}

// ended gives up the locks of a process that ends.
func (lk *locking) ended(f fact) {
	p := f.s.t.proc
	if p.Alive() > 1 {
		return
	}
	for _, l := range slices.SortedFunc(maps.Keys(p.locked), func(a, b *locks) int { return cmp.Compare(a.serial, b.serial) }) {
		lk.unlock(l, p)
	}
	p.locked = nil
}
