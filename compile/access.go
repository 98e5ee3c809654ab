package compile

import (
	"encoding/binary"
	"math"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

// An access is what the result of a call says about the bytes, the size or the locks of an
// open file.
//
// Names lead to files, and descriptors are handles of them: titles without a name of their
// own, so that what is known of a file and of the offset of a descriptor can be undone as what
// is known of a name. Which file a handle is of is known once the call that opened it has its
// place in the order.
type access struct {
	from, to    *title // handles that it read from and wrote to, or the one that it is about; nil for none
	off, outOff int64  // in these; below 0 for the offset of the handle
	size        int64  // bytes that it moved, the size that it set (below 0 for an unknown one), or the offset that it returned
	short       bool   // it read less than it asked for
	appends     bool   // it wrote to the end

	lock  lockArgs
	owner any // of the lock: a handle, or a *process.Process
	frees []givenUp
}

// heldLocks are the locks on a file. They are never changed, so that a change can be undone.
type heldLocks struct{ whole, ranges []lock }

// givenUp is the locks of an owner on the file of a handle.
type givenUp struct {
	of    *title
	owner any
}

// body returns the file that a name leads to, nil if none is known.
func (t *title) body() *title {
	if t.now() < kindPresent {
		return nil
	}
	return t.file
}

// accessOf returns what an event says about open files.
func (ts *titles) accessOf(t *process.Thread, e *format.Event) claim {
	a := &access{size: e.Ret}
	c := claim{on: a}
	acts := e.Op.Info().Acts
	h := fileAt(t, e.FD())
	switch {
	case acts.Any(format.Locks):
		if h == nil || e.Ret != 0 && !refused(e.Ret) {
			return claim{}
		}
		lock, ok := lockArgsOf(e)
		if !ok {
			return claim{}
		}
		a.from, a.lock, a.owner = h, lock, any(h)
		if lock.ofProcess {
			a.owner = t.Process
		}
		switch {
		case e.Ret != 0:
			c.verb = saysRefused
		case lock.gives:
			c.verb = saysUnlocked
		default:
			c.verb = saysLocked
			ts.locked(h, a.owner)
		}
		return c
	case e.Ret < 0:
		return claim{}
	}
	switch {
	case acts.All(format.ReadsBytes | format.Buffers):
		a.from, a.off = h, e.Offset()
		a.short = e.Ret < min(e.Size(), mostMoved) && e.Word(format.ReadWriteFlags) == 0
	case acts.All(format.WritesBytes | format.Buffers):
		a.to, a.outOff = h, e.Offset()
		if d := t.Table.At(e.FD()); d != nil {
			a.appends = d.Append() || e.Word(format.ReadWriteFlags)&format.RwfAppend != 0
		}
	case acts.All(format.ReadsBytes | format.WritesBytes):
		a.from, a.off, a.to, a.outOff = h, e.Offset(), fileAt(t, e.OutFD()), e.OutOffset()
		if d := t.Table.At(e.OutFD()); d != nil {
			a.appends = d.Append()
		}
	case acts.Any(format.Allocates):
		switch mode := e.Word(format.FallocateMode); {
		case mode&(format.FallocCollapse|format.FallocInsert) != 0:
			a.to, a.size = h, format.Unknown
			c.verb = saysSized
		case mode&format.FallocKeepSize == 0:
			a.to, a.outOff, a.size = h, max(e.Offset(), 0), e.Size()
		}
	case acts.Any(format.Cuts):
		a.to, a.size = h, e.Size()
		c.verb = saysSized
	case acts.Any(format.Shares):
		if e.Args[1] == format.Ficlone || e.Args[1] == format.Ficlonerange {
			a.to, a.size = h, format.Unknown
			c.verb = saysSized
		}
	case acts.Any(format.Seeks):
		a.from, a.off = h, e.Offset()
		if c.verb = saysSought; e.Word(format.Whence) == format.SeekEnd {
			c.verb = saysEnd
		}
	}
	if a.from == nil && a.to == nil {
		return claim{}
	}
	if c.verb == saysNothing {
		c.verb = saysMoves
	}
	return c
}

// requested returns what a request of a ring says: if it can change a size, that is unknown
// from then on.
func requested(t *process.Thread, e *format.Event) claim {
	fd := e.FD()
	switch acts := e.Op.Info().Acts; {
	case acts.All(format.ReadsBytes | format.WritesBytes):
		fd = e.OutFD()
	case acts.All(format.WritesBytes | format.Buffers), acts.Any(format.Cuts | format.Allocates):
	default:
		return claim{}
	}
	h := fileAt(t, fd)
	if h == nil || e.OnRegistered() {
		return claim{}
	}
	return claim{verb: saysSized, on: &access{to: h, size: format.Unknown}}
}

// fileAt returns the handle of a descriptor of a regular file, nil if there is none.
func fileAt(t *process.Thread, fd int64) *title {
	if fd < 0 {
		return nil
	}
	if h := handleAt(t, fd); h != nil && h.id > 0 {
		return h
	}
	return nil
}

// maxLockFiles bounds the handles by which a process is known to have taken locks.
const maxLockFiles = 256

// locked notes that an owner may have locks.
func (ts *titles) locked(h *title, owner any) {
	p, ok := owner.(*process.Process)
	if !ok {
		h.locker = true
		return
	}
	of := ts.lockers[p]
	if ts.lockers == nil {
		ts.lockers = map[*process.Process][]*title{}
	}
	if len(of) < maxLockFiles && !slices.Contains(of, h) {
		ts.lockers[p] = append(of, h)
		ts.bytes += inMap
	}
}

// closed notes which locks a close of a descriptor gives up: those of the process on the
// file (fcntl_locking(2)).
func (ts *titles) closed(t *process.Thread, _ int32, d process.Descriptor) {
	if len(ts.lockers[t.Process]) > 0 {
		if o, ok := d.Description.Data.(opened); ok && o.serial == d.Serial && o.handle.id > 0 {
			ts.frees = append(ts.frees, givenUp{o.handle, t.Process})
		}
	}
}

// dropped does the same for the last descriptor of a description.
func (ts *titles) dropped(d *process.Description) {
	if o, ok := d.Data.(opened); ok && o.serial == d.Serial && o.handle.locker {
		ts.frees = append(ts.frees, givenUp{o.handle, o.handle})
	}
}

// freed adds to a claim which locks the call gave up, after the follower has applied it.
func (ts *titles) freed(c *claim, p *process.Process) {
	if of := ts.lockers[p]; len(of) > 0 && p.Alive() == 0 {
		for _, h := range of {
			ts.frees = append(ts.frees, givenUp{h, p})
		}
		ts.bytes -= inMap * int64(len(of))
		delete(ts.lockers, p)
	}
	if len(ts.frees) > 0 && c.verb == saysNothing {
		*c = claim{verb: saysFreed, on: &access{frees: slices.Clone(ts.frees)}}
	}
	ts.frees = ts.frees[:0]
}

// opensFile says which file a handle is of: that of its name, or one of its own where
// the name is unknown.
func (ts *titles) opensFile(h *title, c *claim) {
	if c.body == nil {
		return
	}
	if h.file = h.up.body(); h.file == nil || c.beyond() {
		ts.save(c.body)
		h.file = c.body
		c.body.sized, c.body.size, c.body.locks = c.sizes || c.verb == saysMade, c.size, nil
	}
	h.size, h.sized, h.since = 0, true, uint32(ts.at)
}

// contains says which file the first name of a claim leads to, and its size. fresh says
// that the call made it.
func (ts *titles) contains(c *claim, fresh bool) {
	t := c.names[0]
	if c.body == nil || t.body() == nil && t.now() < kindPresent {
		return
	}
	if fresh || t.file == nil {
		ts.save(t)
		t.file = c.body
		ts.save(c.body)
		c.body.sized, c.body.size, c.body.locks = fresh, 0, nil
	}
	c.body.file = t.file
	if c.sizes {
		ts.resize(t.file, c.size)
	}
}

// resize sets the size of a file, or the offset of a handle, below 0 if it is unknown.
func (ts *titles) resize(b *title, size int64) {
	if sized := size >= 0; b.sized != sized || b.size != size {
		ts.save(b)
		b.sized, b.size = sized, size
	}
}

// offset returns an offset in a file: a given one, or that of the handle, below 0 if that is
// unknown.
func (h *title) offset(given int64) int64 {
	switch {
	case given >= 0:
		return given
	case h.sized:
		return h.size
	}
	return format.Unknown
}

// locks returns the lock that an access is about, and its file, which is nil if it or the bytes
// of the lock are unknown.
func (a *access) locks() (k lock, b *title) {
	h := a.from
	if b = h.file; b == nil {
		return k, nil
	}
	k = lock{owner: a.owner, exclusive: a.lock.exclusive}
	base := int64(0)
	switch a.lock.whence {
	case format.SeekCur:
		base = h.offset(own)
	case format.SeekEnd:
		if base = format.Unknown; b.sized {
			base = b.size
		}
	}
	if base < 0 || !k.covers(base, &a.lock) {
		return k, nil
	}
	return k, b
}

// own is the offset of a call that uses that of the description.
const own = -1

// of returns the locks of a kind.
func (l *heldLocks) of(whole bool) []lock {
	switch {
	case l == nil:
		return nil
	case whole:
		return l.whole
	}
	return l.ranges
}

// hold sets the locks of a kind on a file.
func (ts *titles) hold(b *title, whole bool, held []lock) {
	l := heldLocks{b.locks.of(true), b.locks.of(false)}
	if whole {
		l.whole = held
	} else {
		l.ranges = held
	}
	ts.save(b)
	b.locks = &l
}

// unlock gives up the locks that are chosen, on some bytes of a file.
func (ts *titles) unlock(b *title, whole bool, off, end int64, chosen func(*lock) bool) {
	l := lockSet{held: b.locks.of(whole)}
	if len(l.split(off, end, chosen)) > 0 {
		ts.hold(b, whole, l.held)
	}
}

// conflicted reports whether another owner has a lock that conflicts with one.
func (b *title) conflicted(k *lock, whole bool) bool {
	for _, h := range b.locks.of(whole) {
		if k.conflicts(&h) {
			return true
		}
	}
	return false
}

// fits reports whether what is known allows an access.
func (a *access) fits(says verb) bool {
	switch says {
	case saysMoves:
		if a.from == nil || a.to != nil || a.from.file == nil || !a.from.file.sized {
			return true
		}
		off, size := a.from.offset(a.off), a.from.file.size
		if off < 0 {
			return true
		}
		to := end(off, a.size)
		return (a.size == 0 || to <= size) && (!a.short || to >= size)
	case saysEnd:
		return a.from.file == nil || !a.from.file.sized || a.from.file.size == a.size-a.off
	case saysLocked:
		k, b := a.locks()
		return b == nil || !b.conflicted(&k, a.lock.whole)
	case saysRefused:
		k, b := a.locks()
		return b == nil || b.conflicted(&k, a.lock.whole)
	}
	return true
}

// knows reports whether what is known shows that an access is right.
func (a *access) knows(says verb) bool {
	b := a.from.file
	switch says {
	case saysMoves, saysEnd:
		return b != nil && b.sized && a.fits(says)
	}
	return b != nil && a.fits(says)
}

// takes applies an access.
func (ts *titles) takes(a *access, says verb) {
	switch says {
	case saysMoves:
		if h := a.from; h != nil && a.off < 0 && a.size > 0 {
			ts.resize(h, after(h.offset(own), a.size))
		}
		if a.to != nil && a.size > 0 {
			ts.writes(a)
		}
	case saysSized:
		if b := a.to.file; b != nil {
			ts.resize(b, a.size)
		}
	case saysEnd, saysSought:
		ts.resize(a.from, a.size)
	case saysLocked, saysUnlocked, saysRefused:
		k, b := a.locks()
		if b == nil {
			break
		}
		whole := a.lock.whole
		if says != saysRefused || whole { // flock(2): a failed conversion loses the lock
			ts.unlock(b, whole, k.off, k.end, func(h *lock) bool {
				return h.owner == k.owner || says == saysLocked && k.conflicts(h) // that is given up later
			})
		}
		if says == saysLocked {
			l := lockSet{held: slices.Clone(b.locks.of(whole))}
			l.hold(k)
			ts.hold(b, whole, l.held)
		}
	case saysFreed:
		for _, f := range a.frees {
			if b := f.of.file; b != nil {
				for _, whole := range [...]bool{true, false} {
					ts.unlock(b, whole, 0, math.MaxInt64, func(h *lock) bool { return h.owner == f.owner })
				}
			}
		}
	}
}

// writes applies a write.
func (ts *titles) writes(a *access) {
	h, b := a.to, a.to.file
	off := h.offset(a.outOff)
	if a.appends {
		if off = format.Unknown; b != nil && b.sized {
			off = b.size
		}
	}
	to := after(off, a.size)
	switch {
	case b == nil:
	case to < 0 && !a.appends:
		ts.resize(b, format.Unknown)
	case b.sized && to > b.size:
		ts.resize(b, to)
	}
	if a.outOff < 0 {
		ts.resize(h, to)
	}
}

// after returns the end of some bytes at an offset, below 0 if that is unknown.
func after(off, size int64) int64 {
	if off < 0 {
		return format.Unknown
	}
	return end(off, size)
}

// use is a file, or a name that leads to one, and what a claim does to it.
type use struct {
	of      *title
	changes bool // the order of the claim and of others that use it can matter, if one of them changes it
	locks   bool // it is about locks
}

// uses calls each for what the claim of a thread uses. from is the position from which on
// calls may change places: a handle that is made there may be of another file.
func (c *claim) uses(from int64, each func(use)) {
	file := func(t *title, changes, locks bool) {
		if t == nil {
			return
		}
		if t.unsettled(from) {
			each(use{t.up, changes, locks})
			if b := t.up.body(); b != nil && b != t.file {
				each(use{b, changes, locks})
			}
		}
		if t.file != nil {
			each(use{t.file, changes, locks})
		}
	}
	if c.sizes || c.verb == saysMade && c.body != nil {
		each(use{c.names[0], true, false})
		for _, b := range [...]*title{c.names[0].body(), c.body.file} { // now, and when it was followed last
			if b != nil {
				each(use{b, true, false})
			}
		}
	}
	a := c.on
	if a == nil {
		return
	}
	for _, f := range a.frees {
		file(f.of, true, true)
	}
	locks := c.verb == saysLocked || c.verb == saysUnlocked || c.verb == saysRefused
	file(a.from, locks && (c.verb != saysRefused || a.lock.whole), locks)
	file(a.to, true, false)
}

// unsettled reports whether the file of a handle depends on its name, because the handle was
// made at a position or later, or its file is unknown.
func (h *title) unsettled(from int64) bool { return h.file == nil || int32(h.since-uint32(from)) >= 0 }

// handles calls each for the handles of a claim. path says that it is that of the directory
// in which a path begins.
func (c *claim) handles(each func(h *title, path bool)) {
	for _, h := range c.via {
		if h != nil {
			each(h, true)
		}
	}
	if a := c.on; a != nil {
		for _, h := range [...]*title{a.from, a.to} {
			if h != nil {
				each(h, false)
			}
		}
		for _, f := range a.frees {
			each(f.of, false)
		}
	}
}

// moved returns the handle whose offset a claim moves, nil for none.
func (c *claim) moved() *title {
	switch a := c.on; {
	case a == nil:
	case c.verb == saysEnd, c.verb == saysSought, c.verb == saysMoves && a.from != nil && a.off < 0:
		return a.from
	case c.verb == saysMoves && a.to != nil && a.outOff < 0:
		return a.to
	}
	return nil
}

// appendState appends what tells the states of a file apart.
func (b *title) appendState(key []byte) []byte {
	size := int64(-1)
	if b.sized {
		size = b.size
	}
	key = binary.AppendVarint(key, size)
	for _, held := range [...][]lock{b.locks.of(true), b.locks.of(false)} {
		key = binary.AppendUvarint(key, uint64(len(held)))
		for _, h := range held {
			owner := int64(0)
			switch of := h.owner.(type) {
			case *title:
				owner = int64(of.id)
			case *process.Process:
				owner = -int64(of.ID)
			}
			if key = binary.AppendVarint(key, owner); h.exclusive {
				key = append(key, 1)
			} else {
				key = append(key, 0)
			}
			key = binary.AppendVarint(binary.AppendVarint(key, h.off), h.end)
		}
	}
	return key
}
