package ptrace

import (
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
)

// Requests of io_uring stand in two queues in the memory of the application. They are read when a
// thread calls io_uring_enter, and what has completed also when it returns, and when the process
// ends. So a request ends when it is seen to be complete, which can be later than it was.

// uring is a ring of io_uring.
type uring struct {
	number int32
	params uringParams
	memory [3]uint64 // of the two queues and of the entries; 0 before it is mapped

	reaped uint32              // completions that have been read
	keys   map[uint64][]uint64 // of requests in flight, by the program's name, in their order
	flying int                 // the number of these
}

// The places in uring.memory, and the offsets at which they are mapped (io_uring_setup(2)).
const (
	submitQueue = iota
	completeQueue
	submitEntries
)

var uringOffsets = [...]uint64{submitQueue: 0, completeQueue: 0x8000000, submitEntries: 0x10000000}

// uringParams is struct io_uring_params.
type uringParams struct {
	submits, completes, flags uint32
	_                         [2]uint32 // processor and idle time of a polling thread
	features                  uint32
	_                         [4]uint32
	submit                    struct{ head, tail, mask, entries, flags, dropped, array, _ uint32 }
	_                         uint64
	complete                  struct{ head, tail, mask, entries, overflow, cqes, flags, _ uint32 }
	_                         uint64
}

// The flags of rings whose queues are read, and of those that need something else.
const (
	setupSQPoll    = 1 << 1
	setupSQE128    = 1 << 10
	setupCQE32     = 1 << 11
	setupNoMmap    = 1 << 14
	setupNoArray   = 1 << 16
	setupKnown     = 1<<14 - 1 | setupNoArray
	singleMmap     = 1 << 0 // of features
	enterIndex     = 1 << 4 // io_uring_enter is given an index, not a descriptor
	fixedFile      = 1 << 0 // of an entry: its descriptor is a place in a list
	moreComes      = 1 << 1 // of a completion: the request has others
	maxUringFlying = 1 << 16
)

// sqe is struct io_uring_sqe.
type sqe struct {
	opcode, flags uint8
	_             uint16
	fd            int32
	off, addr     uint64
	len, opFlags  uint32
	user          uint64
	buf, _        uint16
	fd2           int32
	addr3, _      uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	user  uint64
	res   int32
	flags uint32
}

// madeRing gives a ring a number, and notes where its queues will be.
func madeRing(tr *tracer, t *thread) {
	tr.lastRing++
	t.inBatch(tr.lastRing, 0)
	r := &uring{number: tr.lastRing, keys: make(map[uint64][]uint64)}
	if !readStruct(t, t.object, &r.params) || r.params.flags&^setupKnown != 0 || r.params.flags&setupSQPoll != 0 {
		tr.lose(coverage.Uring)
		return
	}
	if t.process.urings == nil {
		t.process.urings = make(map[int32]*uring)
	}
	t.process.urings[int32(t.Ret)] = r
}

// mapsUring notes where a queue is mapped. It reports whether the descriptor is a ring.
func (t *thread) mapsUring() bool {
	r := t.process.urings[int32(t.Args[mmapFD])]
	for i, offset := range uringOffsets {
		if r != nil && t.Args[5] == offset {
			r.memory[i] = uint64(t.Ret)
		}
	}
	if r != nil && r.params.features&singleMmap != 0 {
		r.memory[completeQueue] = r.memory[submitQueue]
	}
	return r != nil
}

// uringOf returns the ring of a call, nil where its queues can't be read.
func (tr *tracer) uringOf(t *thread) *uring {
	r := t.process.urings[int32(t.Args[0])]
	if r == nil || t.Args[3]&enterIndex != 0 || r.memory[submitQueue] == 0 || r.memory[completeQueue] == 0 || r.memory[submitEntries] == 0 {
		return nil
	}
	return r
}

// enterUring reads the requests that io_uring_enter submits.
func enterUring(tr *tracer, t *thread) {
	r := tr.uringOf(t)
	if r == nil {
		if t.Args[1] > 0 {
			tr.lose(coverage.Uring)
		}
		return
	}
	tr.lastBatch++
	t.inBatch(r.number, tr.lastBatch)
	tr.reapUring(t, r)
	var head, tail, mask, seen uint32
	queue := r.memory[submitQueue]
	ok := readStruct(t, queue+uint64(r.params.submit.head), &head) && readStruct(t, queue+uint64(r.params.submit.tail), &tail) &&
		readStruct(t, queue+uint64(r.params.submit.mask), &mask) && readStruct(t, r.memory[completeQueue]+uint64(r.params.complete.head), &seen)
	n := min(uint32(t.Args[1]), tail-head)
	if !ok || n > maxRequests {
		tr.lose(coverage.Uring)
		return
	}
	for i := head; i != head+n; i++ {
		tr.submitUring(t, r, i&mask, seen)
	}
}

// submitUring hands on a request in a place of the queue.
func (tr *tracer) submitUring(t *thread, r *uring, place, seen uint32) {
	var e sqe
	index, size := place, uint64(64)
	if r.params.flags&setupNoArray == 0 && !readStruct(t, r.memory[submitQueue]+uint64(r.params.submit.array)+4*uint64(place), &index) {
		index = r.params.submits // none has it
	}
	if r.params.flags&setupSQE128 != 0 {
		size = 128
	}
	if index >= r.params.submits || !readStruct(t, r.memory[submitEntries]+size*uint64(index), &e) || r.flying >= maxUringFlying {
		tr.lose(coverage.Uring)
		return
	}
	tr.lastKey++
	r.keys[e.user] = append(r.keys[e.user], tr.lastKey)
	r.flying++
	s := &tr.submission
	now := uint64(tr.now())
	*s = record.Submission{CSubmission: bpf.CSubmission{Start: now, Begun: now, Key: tr.lastKey, Batch: uint64(tr.lastBatch), Tid: uint32(t.TID), Ring: uint32(r.number), Reaped: seen,
		Entry: bpf.CEntry{Opcode: min(e.opcode, format.NumOpcodes-1), Flags: e.flags, Buf: e.buf, Fd: e.fd, Off: e.off, Addr: e.addr, Len: uint64(e.len), OpFlags: e.opFlags,
			Fd2: e.fd2, Addr3: e.addr3}}}
	if e.flags&fixedFile == 0 {
		s.Flags = bpf.CFlag(tr.typeOf(t, uint32(e.fd)) << bpf.CBitsTYPE_SHIFT)
	}
	if o := format.OpcodeOf(format.ViaUring, s.Entry.Opcode); o != nil {
		asked := o.For(e.off, e.opFlags)
		if asked.Op.Info().At.Vector >= 0 {
			sum, ok := tr.sumVector(t, e.addr, uint64(e.len))
			if s.Entry.Sum = sum; !ok {
				s.Flags |= bpf.CFlagFLAG_UNREADABLE
			}
		}
		for i, place := range asked.Strings() {
			if place != format.PlaceNone {
				tr.strings.TID = t.TID
				tr.strings.Text = tr.strings.Text[:0]
				tr.strings.readString(i, record.EntryAt(&s.Entry, place))
				s.Text = append(s.Text, tr.strings.Text...)
				s.Len[i], s.State[i] = tr.strings.details.Len[i], tr.strings.details.State[i]
			}
		}
	}
	if tr.running && !tr.quiet {
		tr.quiet = !tr.records.submit(s)
	}
}

// leaveUring reads what has completed when io_uring_enter returns.
func leaveUring(tr *tracer, t *thread) {
	if r := tr.uringOf(t); r != nil {
		tr.reapUring(t, r)
	}
}

// reapUring hands on the completions that have come since it looked last.
func (tr *tracer) reapUring(t *thread, r *uring) {
	var tail, mask uint32
	queue := r.memory[completeQueue]
	if !readStruct(t, queue+uint64(r.params.complete.tail), &tail) || !readStruct(t, queue+uint64(r.params.complete.mask), &mask) {
		return
	}
	if missed := tail - r.reaped; missed > r.params.completes { // they have been written over
		tr.lose(coverage.Uring)
		r.reaped = tail - r.params.completes
	}
	size := uint64(16)
	if r.params.flags&setupCQE32 != 0 {
		size = 32
	}
	for ; r.reaped != tail; r.reaped++ {
		var e cqe
		if !readStruct(t, queue+uint64(r.params.complete.cqes)+size*uint64(r.reaped&mask), &e) {
			return
		}
		keys := r.keys[e.user]
		if len(keys) == 0 {
			continue // of a request that was not seen
		}
		c := &tr.completion
		*c = record.Completion{CCompletion: bpf.CCompletion{Key: keys[0], End: uint64(tr.now()), Ret: int64(e.res)}}
		switch {
		case e.flags&moreComes != 0:
			continue
		case len(keys) == 1:
			delete(r.keys, e.user)
		default:
			r.keys[e.user] = keys[1:]
		}
		r.flying--
		if tr.running && !tr.quiet {
			tr.quiet = !tr.records.complete(c)
		}
	}
}

// registered are the lists of io_uring_register that are read, and the bytes of an item.
var registered = map[uint64]uint64{format.RegisterBuffers: 16, format.RegisterFiles: 4, format.RegisterFilesUpdate: 4}

// readRegistered reads what io_uring_register is given: the number of the first entry, and the
// list.
func readRegistered(tr *tracer, t *thread) {
	if r := t.process.urings[int32(t.Args[0])]; r != nil {
		t.inBatch(r.number, 0)
	}
	what, list, n := t.Args[1], t.Args[2], t.Args[3]
	size := registered[what]
	t.Args[4] = 0
	if size == 0 || n*size > unix.PathMax-4 {
		return
	}
	from := uint32(0)
	if what == format.RegisterFilesUpdate {
		var update struct {
			offset, _ uint32
			list      uint64
		}
		if !readStruct(t, list, &update) {
			return
		}
		from, list = update.offset, update.list
	}
	t.Text = append(append(t.Text, asMemory(&from)...), zeroes[:n*size]...)
	if t.peek(list, t.Text[4:]) != int(n*size) {
		t.Text = t.Text[:0]
		return
	}
	t.Args[4], t.details.Len[0], t.details.State[0] = size, uint16(len(t.Text)), bpf.CStringStateSTRING_WHOLE
}
