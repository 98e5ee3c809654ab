package replay

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/rings"
)

// registered has the files and buffers that a ring has registered. It belongs to the worker that has the lock
// of the queue. Lists keep their memory, because the garbage collector is off.
type registered struct {
	files    []int64       // recorded descriptors, -1 for an empty place or one whose file is not known
	fds      []int32       // of a registration: the descriptors of the replay
	buffers  []unix.Iovec  // and after them the memory that writes take their data from
	fixed    int           // buffers without that memory
	pinned   int64         // bytes of them
	deferred int64         // when this many requests have ended, the kernel has found the registered files of all
	failures [2]unix.Errno // of the newest note about files, and about buffers
}

// maxRegistered bounds registered files and buffers (IORING_MAX_FIXED_FILES).
const maxRegistered = 1 << 15

// unchanged is an item of an update of registered files that stays as it is.
const unchanged = -2

// A list of what is registered is a string of the trace: "8,-1,9" are all files, and
// "2=8,9" is an update of places 2 and 3. A buffer is its place in memory and its
// size, as in "4096+512".
type list string

// from cuts off and returns the first place of an update.
func (l *list) from() (first int, update bool) {
	n, rest, ok := cutNumber(string(*l))
	if !ok || !strings.HasPrefix(rest, "=") || n < 0 {
		return 0, false
	}
	*l = list(rest[1:])
	return int(min(n, maxRegistered)), true
}

// next cuts off and returns the next item. It returns false at the end, and at
// something that is no item.
func (l *list) next() (n, size int64, ok bool) {
	n, rest, ok := cutNumber(string(*l))
	if !ok {
		return 0, 0, false
	}
	if more, sized := strings.CutPrefix(rest, "+"); sized {
		if size, rest, ok = cutNumber(more); !ok {
			return 0, 0, false
		}
	}
	if rest != "" && rest[0] != ',' {
		return 0, 0, false
	}
	*l = list(strings.TrimPrefix(rest, ","))
	return n, size, true
}

// count returns an upper limit of the number of items.
func (l list) count() int { return min(strings.Count(string(l), ",")+1, maxRegistered) }

// cutNumber cuts a decimal number off a text. Unlike package strconv it allocates nothing
// for one that is wrong.
func cutNumber(text string) (n int64, rest string, ok bool) {
	digits, negative := strings.CutPrefix(text, "-")
	i := 0
	for ; i < len(digits) && i < 18 && '0' <= digits[i] && digits[i] <= '9'; i++ {
		n = 10*n + int64(digits[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, digits[i:], i > 0
}

// withRoom makes room in a list for n elements, and reports whether that is possible.
// Lists count against Limits.Memory until the end, because their memory is not freed
// before. The worker is not pinned.
func withRoom[T any](e *engine, l *[]T, n int) bool {
	if n <= cap(*l) {
		return true
	}
	n = 1 << bits.Len(uint(n-1))
	if !e.mayPin(2 * int64(n) * int64(unsafe.Sizeof((*l)[0]))) { // package rings has a copy
		return false
	}
	*l = append(make([]T, 0, n), *l...)
	return true
}

// mayPin adds bytes of registered buffers or of lists, if all queues together then have
// no more than Limits.Memory.
func (e *engine) mayPin(size int64) bool {
	if e.pinned.Add(size) > e.Limits.Memory {
		e.pinned.Add(-size)
		return false
	}
	return true
}

// The subjects of notes.
const (
	ofFiles = iota
	ofBuffers
)

var registeredNames = [...]string{ofFiles: "files", ofBuffers: "buffers"}

// failed notes that something can't be registered, unless the newest note says so. The
// worker is not pinned.
func (q *queue) failed(what int, err error) {
	errno, e := errnoOf(err), q.g.e
	if q.failures[what] == errno {
		return
	}
	q.failures[what] = errno
	if name := registeredNames[what]; errno == overLimit {
		e.noteOnce(fmt.Sprintf("registered %s beyond %d bytes are replayed as normal %s", name, e.Limits.Memory, name))
	} else {
		e.noteOnce(fmt.Sprintf("registered %s are replayed as normal %s: %v", name, name, errno))
	}
}

// overLimit is the error if lists or buffers would take more than Limits.Memory.
const overLimit = unix.ENOBUFS

// claimOpen takes the lock of a queue in which something can be registered, and returns
// the queue, nil if there is none.
func (q *queue) claimOpen(w *worker) *openQueue {
	if q.via == format.ViaAIO || !q.claim(w) {
		return nil
	}
	o := q.reach(w)
	if o == nil {
		q.give(w)
	}
	return o
}

// callRingFiles registers files.
func callRingFiles(w *worker, r *format.Record) int64 {
	q := w.queueOf(r)
	if q == nil {
		return errInvalid
	}
	o := q.claimOpen(w)
	if o == nil {
		return r.Ret
	}
	defer q.give(w)
	l := list(w.text(r.Args[1]))
	if first, update := l.from(); update {
		q.updateFiles(w, o, first, l)
	} else {
		q.registerFiles(w, o, l)
	}
	return r.Ret
}

// registerFiles registers a whole table.
func (q *queue) registerFiles(w *worker, o *openQueue, l list) {
	q.drain(w)
	n := l.count()
	if !w.holdRing(&q.holds.files, int64(n)*holdDescriptor) {
		return
	}
	unpin()
	defer pin()
	q.files, q.fds = q.files[:0], q.fds[:0]
	if !withRoom(w.e, &q.files, n) || !withRoom(w.e, &q.fds, n) {
		q.failed(ofFiles, overLimit)
		return
	}
	for fd, _, ok := l.next(); ok && len(q.files) < n; fd, _, ok = l.next() {
		fd, real := w.registrable(fd)
		q.files, q.fds = append(q.files, fd), append(q.fds, real)
	}
	w.callBegins()
	err := o.RegisterFiles(q.fds)
	w.callEnds()
	if err != nil {
		q.files = q.files[:0]
		q.failed(ofFiles, err)
	}
}

// registrable returns a recorded descriptor and that of the replay, -1 for both if it is
// not open.
func (w *worker) registrable(fd int64) (recorded int64, real int32) {
	if s := w.lookup(fd); s != 0 {
		return fd, int32(s.real())
	}
	return -1, -1
}

// updateFiles replaces files from a place on. Requests in flight keep those that they
// have, so it waits only for requests whose files the kernel may still have to find.
func (q *queue) updateFiles(w *worker, o *openQueue, at int, l list) {
	if q.g.done.Load() < q.deferred {
		q.drain(w)
	}
	q.fds = q.fds[:0]
	for {
		fd, _, ok := l.next()
		if i := at + len(q.fds); ok && fd != unchanged && i < len(q.files) {
			recorded, real := w.registrable(fd)
			q.files[i], q.fds = recorded, append(q.fds, real)
			continue
		}
		if len(q.fds) > 0 {
			q.replaceFiles(w, o, at)
		}
		if !ok || fd != unchanged {
			return
		}
		at += len(q.fds) + 1
		q.fds = q.fds[:0]
	}
}

// replaceFiles updates files from a place on by q.fds.
func (q *queue) replaceFiles(w *worker, o *openQueue, at int) {
	replace := func() error {
		unpin()
		defer pin()
		w.callBegins()
		defer w.callEnds()
		return o.UpdateFiles(at, q.fds)
	}
	err := replace()
	if errors.Is(err, rings.ErrBusy) {
		q.drain(w)
		err = replace()
	}
	if err == nil {
		return
	}
	for i := range q.fds {
		q.files[at+i] = -1
	}
	unpin()
	q.failed(ofFiles, err)
	pin()
}

// callRingBuffers registers buffers, and after them the memory that writes take their
// data from. The kernel can update buffers only since Linux 5.13, so an update registers
// all of them again.
func callRingBuffers(w *worker, r *format.Record) int64 {
	q := w.queueOf(r)
	if q == nil {
		return errInvalid
	}
	o := q.claimOpen(w)
	if o == nil {
		return r.Ret
	}
	defer q.give(w)
	q.drain(w)
	unpin()
	defer pin()
	l := list(w.text(r.Args[1]))
	at, update := l.from()
	if q.buffers = q.buffers[:q.fixed]; !update {
		q.dropBuffers()
	}
	if err := q.setBuffers(w.process.arena, at, l); err != nil {
		q.failed(ofBuffers, err)
	}
	if q.fixed = len(q.buffers); q.fixed > 0 {
		q.buffers = append(q.buffers, unix.Iovec{})
		setIovec(&q.buffers[q.fixed], w.e.pool.at(0, poolSize), poolSize)
	}
	q.holdBuffers()
	w.callBegins()
	err := o.RegisterBuffers(q.buffers)
	w.callEnds()
	if err != nil {
		q.buffers = q.buffers[:0]
		q.dropBuffers()
		q.failed(ofBuffers, err)
	}
	return r.Ret
}

// dropBuffers forgets the buffers.
func (q *queue) dropBuffers() {
	q.g.e.pinned.Add(-q.pinned)
	q.buffers, q.fixed, q.pinned = q.buffers[:0], 0, 0
}

// setBuffers sets buffers from a number on. Those between the last one and the first of
// them get a byte each.
func (q *queue) setBuffers(arena region, at int, l list) error {
	if !withRoom(q.g.e, &q.buffers, min(at+l.count(), maxRegistered/2)+1) {
		return overLimit
	}
	for ; at < maxRegistered/2; at++ {
		place, size, ok := l.next()
		if !ok {
			return nil
		}
		for len(q.buffers) <= at {
			if !q.setBuffer(len(q.buffers), arena, 0, 1) {
				return overLimit
			}
		}
		if !q.setBuffer(at, arena, place, size) {
			return overLimit
		}
	}
	return nil
}

// setBuffer sets a buffer of the list, or the one after the last, and reports whether the
// limit allows that.
func (q *queue) setBuffer(i int, arena region, place, size int64) bool {
	length := min(uint64(max(size, 1)), uint64(len(arena)))
	more := int64(length)
	if i < len(q.buffers) {
		more -= int64(q.buffers[i].Len)
	}
	if !q.g.e.mayPin(more) {
		return false
	}
	if q.pinned += more; i == len(q.buffers) {
		q.buffers = append(q.buffers, unix.Iovec{})
	}
	setIovec(&q.buffers[i], arena.at(uint64(place), length), length)
	return true
}

// holdBuffers counts what the kernel holds for registered buffers. The worker is
// not pinned, so the next call finds out whether that is too much.
func (q *queue) holdBuffers() {
	var n int64
	for _, v := range q.buffers {
		n += heldPage * int64(v.Len/pageSize+2)
	}
	q.g.e.kernel.exchange(&q.holds.buffers, n)
}
