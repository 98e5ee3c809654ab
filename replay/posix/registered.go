package posix

import (
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/rings"
)

// registered has the files and buffers that a ring has registered. It belongs to the submitter
// of the ring. Lists keep their memory, because the garbage collector is off.
type registered struct {
	files    []int64       // recorded descriptors, -1 for an empty place or one whose file is not known
	fds      []int32       // of a registration: the descriptors of the replay
	buffers  []unix.Iovec  // and after them the memory that writes take their data from
	fixed    int           // buffers without that memory
	pinned   int64         // bytes of them
	deferred int64         // when this many requests have ended, the kernel has found the registered files of all
	failures [2]unix.Errno // of the newest note about files, and about buffers
}

// listOf returns the list of the current event, with at most format.MaxRegistered items. It
// has none if the trace can't be read, which ends the run. The worker is pinned.
func (w *worker) listOf(r *format.Record) *format.List {
	w.Unpin()
	defer w.Pin()
	if w.lists == nil {
		w.lists = w.e.Trace.Lists(w.Number)
	}
	l, err := w.lists.Read(w.Event, r)
	if err != nil {
		w.e.Fail(fmt.Errorf("event %d of thread %d: %w", w.Event, w.Number, err))
	}
	if l == nil || err != nil {
		return &noList
	}
	return l
}

var noList format.List

// withRoom makes room in a list for n elements, and reports whether that is possible.
// Lists count against Limits.Memory until the end, because their memory is not freed
// before. The worker is not pinned.
func withRoom[T any](e *Executor, l *[]T, n int) bool {
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
func (e *Executor) mayPin(size int64) bool {
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
func (q *ring) failed(what int, err error) {
	errno, e := errnoOf(err), q.e
	if q.failures[what] == errno {
		return
	}
	q.failures[what] = errno
	if name := registeredNames[what]; errno == overLimit {
		e.Note(fmt.Sprintf("registered %s beyond %d bytes are replayed as normal %s", name, e.Limits.Memory, name))
	} else {
		e.Note(fmt.Sprintf("registered %s are replayed as normal %s: %v", name, name, errno))
	}
}

// overLimit is the error if lists or buffers would take more than Limits.Memory.
const overLimit = unix.ENOBUFS

// onRing returns a call that registers a list in an open ring.
func onRing(register func(*ring, *worker, *format.List)) call {
	return func(w *worker, r *format.Record) int64 {
		q := w.ringOf(r)
		if q == nil {
			return errInvalid
		}
		if q.Via == format.ViaAIO || !q.Acquire(w.Worker) {
			return r.Ret
		}
		defer q.Release(w.Worker)
		if q.RequestsFor(w.Worker) != nil {
			register(q, w, w.listOf(r))
		}
		return r.Ret
	}
}

// setFiles registers files.
func (q *ring) setFiles(w *worker, l *format.List) {
	if l.Update {
		q.updateFiles(w, l)
	} else {
		q.registerFiles(w, l)
	}
}

// registerFiles registers a whole table.
func (q *ring) registerFiles(w *worker, l *format.List) {
	q.Quiesce(w.Worker)
	defer q.StopReaping()
	n := l.Len()
	if !w.chargeRing(&q.kernelBytes.files, int64(n)*costDescriptor) {
		return
	}
	w.Unpin()
	defer w.Pin()
	q.files, q.fds = q.files[:0], q.fds[:0]
	if !withRoom(w.e, &q.files, n) || !withRoom(w.e, &q.fds, n) {
		q.failed(ofFiles, overLimit)
		return
	}
	for i := range n {
		fd, real := w.registrable(l.At(i)[0])
		q.files, q.fds = append(q.files, fd), append(q.fds, real)
	}
	w.CallBegins()
	err := q.queue.RegisterFiles(q.fds)
	w.CallEnds()
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
func (q *ring) updateFiles(w *worker, l *format.List) {
	if q.Done() < q.deferred {
		q.Drain(w.Worker)
	}
	at, n := l.First(), l.Len()
	n = max(min(n, len(q.files)-at), 0)
	for i := 0; i < n; {
		q.fds = q.fds[:0]
		for ; i < n && l.At(i)[0] != format.Unchanged; i++ {
			recorded, real := w.registrable(l.At(i)[0])
			q.files[at+i], q.fds = recorded, append(q.fds, real)
		}
		if len(q.fds) > 0 {
			q.replaceFiles(w, at+i-len(q.fds))
		}
		i++
	}
}

// replaceFiles updates files from a place on by q.fds.
func (q *ring) replaceFiles(w *worker, at int) {
	replace := func() error {
		w.Unpin()
		defer w.Pin()
		w.CallBegins()
		defer w.CallEnds()
		return q.queue.UpdateFiles(at, q.fds)
	}
	err := replace()
	if errors.Is(err, rings.ErrBusy) {
		q.Drain(w.Worker)
		err = replace()
	}
	if err == nil {
		return
	}
	for i := range q.fds {
		q.files[at+i] = -1
	}
	w.Unpin()
	q.failed(ofFiles, err)
	w.Pin()
}

// registerBuffers registers buffers, and after them the memory that writes take their
// data from. The kernel can update buffers only since Linux 5.13, so an update registers
// all of them again.
func (q *ring) registerBuffers(w *worker, l *format.List) {
	q.Quiesce(w.Worker)
	defer q.StopReaping()
	w.Unpin()
	defer w.Pin()
	if q.buffers = q.buffers[:q.fixed]; !l.Update {
		q.dropBuffers()
	}
	if err := q.setBuffers(w.process.arena, l); err != nil {
		q.failed(ofBuffers, err)
	}
	if q.fixed = len(q.buffers); q.fixed > 0 {
		q.buffers = append(q.buffers, unix.Iovec{})
		setIovec(&q.buffers[q.fixed], w.e.pool.at(0, poolSize), poolSize)
	}
	q.chargeBuffers()
	w.CallBegins()
	err := q.queue.RegisterBuffers(q.buffers)
	w.CallEnds()
	if err != nil {
		q.buffers = q.buffers[:0]
		q.dropBuffers()
		q.failed(ofBuffers, err)
	}
}

// dropBuffers drops the buffers.
func (q *ring) dropBuffers() {
	q.e.pinned.Add(-q.pinned)
	q.buffers, q.fixed, q.pinned = q.buffers[:0], 0, 0
}

// setBuffers sets buffers from a number on. Those between the last one and the first of
// them get a byte each.
func (q *ring) setBuffers(arena region, l *format.List) error {
	at := l.First()
	end := min(at+l.Len(), format.MaxRegistered/2)
	if !withRoom(q.e, &q.buffers, end+1) {
		return overLimit
	}
	for i := range max(end-at, 0) {
		for len(q.buffers) <= at+i {
			if !q.setBuffer(len(q.buffers), arena, 0, 1) {
				return overLimit
			}
		}
		if item := l.At(i); !q.setBuffer(at+i, arena, item[0], item[1]) {
			return overLimit
		}
	}
	return nil
}

// setBuffer sets a buffer of the list, or the one after the last, and reports whether the
// limit allows that.
func (q *ring) setBuffer(i int, arena region, place, size int64) bool {
	length := min(uint64(max(size, 1)), uint64(len(arena)))
	more := int64(length)
	if i < len(q.buffers) {
		more -= int64(q.buffers[i].Len)
	}
	if !q.e.mayPin(more) {
		return false
	}
	if q.pinned += more; i == len(q.buffers) {
		q.buffers = append(q.buffers, unix.Iovec{})
	}
	setIovec(&q.buffers[i], arena.at(uint64(place), length), length)
	return true
}

// chargeBuffers counts what the kernel holds for registered buffers. The worker is
// not pinned, so the next call finds out whether that is too much.
func (q *ring) chargeBuffers() {
	var n int64
	for _, v := range q.buffers {
		n += sizePage * int64(v.Len/pageSize+2)
	}
	q.e.kernel.exchange(&q.kernelBytes.buffers, n)
}
