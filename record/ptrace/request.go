package ptrace

import (
	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
)

// Requests of libaio stand in the memory of the application: those of io_submit when
// it begins, their results when io_getevents ends.

// maxRequests is how many requests are read of one call (MAX_REQUESTS of the eBPF
// program).
const maxRequests = 1024

// contextID identifies a context of libaio.
type contextID struct {
	process int32
	address uint64
}

// iocb is struct iocb.
type iocb struct {
	_       uint64
	_       uint32
	rwFlags uint32
	opcode  uint16
	_       int16
	fd      uint32
	buf     uint64
	bytes   uint64 // or segments
	offset  uint64
	_       [2]uint64
}

// ioEvent is struct io_event.
type ioEvent struct {
	_, request uint64
	result, _  int64
}

// readParams reads struct io_uring_params, which the kernel is given.
func readParams(tr *tracer, t *thread) {
	var params struct{ _, completions, flags, _, idle uint32 }
	t.object = t.Args[1] // for when it is made
	t.unreadable(readStruct(t, t.Args[1], &params))
	t.Args[1], t.Args[2], t.Args[3] = uint64(params.flags), uint64(params.completions), uint64(params.idle)
}

// madeContext reads the context that the kernel returned.
func madeContext(tr *tracer, t *thread) {
	var context uint64
	t.unreadable(readStruct(t, t.Args[1], &context))
	t.Args[1] = context
	tr.lastRing++
	tr.contexts[contextID{t.process.id, context}] = tr.lastRing
	t.inBatch(tr.lastRing, 0)
}

// inBatch notes the ring and the batch of a call.
func (t *thread) inBatch(ring int32, batch int64) {
	t.Pos, t.Channel = uint32(ring), uint64(batch)
	t.Flags |= bpf.CFlagFLAG_BATCH
}

// ofContext notes the number of the context of a call.
func ofContext(tr *tracer, t *thread) {
	if ring := tr.contexts[contextID{t.process.id, t.Args[0]}]; ring != 0 {
		t.inBatch(ring, 0)
	}
}

// readSubmitted reads the requests of io_submit.
func readSubmitted(tr *tracer, t *thread) {
	ofContext(tr, t)
	tr.lastBatch++
	t.Channel = uint64(tr.lastBatch)
	if tr.quiet || !tr.running {
		return
	}
	var ring struct{ _, _, head, _ uint32 } // struct aio_ring
	readStruct(t, t.Args[0], &ring)
	s := &tr.submission
	for i := range min(t.Args[1], maxRequests) {
		var at uint64
		var cb iocb
		now := tr.now()
		*s = record.Submission{CSubmission: bpf.CSubmission{Start: uint64(now), Begun: uint64(now), Batch: uint64(tr.lastBatch), Tid: uint32(t.TID), Ring: t.Pos, Reaped: ring.head,
			Index: uint32(i), Process: uint32(t.process.id), Flags: bpf.CFlagFLAG_AIO}}
		if !readStruct(t, t.Args[2]+8*i, &at) || !readStruct(t, at, &cb) {
			s.Flags |= bpf.CFlagFLAG_UNREADABLE
		}
		s.Key, s.Flags = at, s.Flags|bpf.CFlag(tr.typeOf(t, cb.fd)<<bpf.CBitsTYPE_SHIFT)
		s.Entry = bpf.CEntry{Opcode: uint8(min(cb.opcode, format.NumOpcodes-1)), Fd: int32(cb.fd), Off: cb.offset, Addr: cb.buf, Len: cb.bytes, OpFlags: cb.rwFlags}
		if o := format.OpcodeOf(format.ViaAIO, s.Entry.Opcode); o != nil && o.Op.Info().At.Vector >= 0 {
			sum, ok := tr.sumVector(t, cb.buf, cb.bytes)
			if s.Entry.Sum = sum; !ok {
				s.Flags |= bpf.CFlagFLAG_UNREADABLE
			}
		}
		tr.quiet = !tr.records.submit(s)
	}
	for range max(t.Args[1], maxRequests) - maxRequests {
		tr.missing.Add(coverage.Missing{Kind: coverage.AIO, Calls: 1, Amount: coverage.Amount{Bytes: coverage.Unknown, Nanos: coverage.Unknown}})
	}
}

// sumVector returns the bytes of the segments of a vector.
func (tr *tracer) sumVector(t *thread, address, n uint64) (sum uint64, ok bool) {
	if n > segments {
		return 0, false
	}
	v := tr.segments[:n]
	if n > 0 && !readSlice(t, address, v) {
		return 0, false
	}
	for _, s := range v {
		sum += s.len
	}
	return sum, true
}

// readEvents reads the results that io_getevents returned.
func readEvents(tr *tracer, t *thread) {
	if tr.quiet || !tr.running {
		return
	}
	c := &tr.completion
	for i := range min(t.Ret, maxRequests) {
		var e ioEvent
		if !readStruct(t, t.Args[3]+32*uint64(i), &e) {
			return
		}
		*c = record.Completion{CCompletion: bpf.CCompletion{Key: e.request, Process: uint32(t.process.id), Flags: bpf.CFlagFLAG_AIO, End: uint64(tr.now()), Ret: e.result}}
		tr.quiet = !tr.records.complete(c)
	}
}
