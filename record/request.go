package record

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
)

// EntryAt returns what an entry of a request has at a place.
func EntryAt(n *bpf.CEntry, p format.Place) uint64 {
	switch p {
	case format.PlaceFD:
		return uint64(uint32(n.Fd))
	case format.PlaceOff:
		return n.Off
	case format.PlaceAddr:
		return n.Addr
	case format.PlaceLen:
		return n.Len
	case format.PlaceFlags:
		return uint64(n.OpFlags)
	case format.PlaceFD2:
		return uint64(uint32(n.Fd2))
	case format.PlaceAddr3:
		return n.Addr3
	case format.PlaceSum:
		return n.Sum
	case format.PlaceOffOrLen:
		if n.Off != 0 {
			return n.Off
		}
		return n.Len
	case format.PlaceAddrOrLen:
		if n.Addr != 0 {
			return n.Addr
		}
		return n.Len
	}
	return 0
}

// RequestID tells the requests apart that are in flight.
type RequestID struct {
	Key     uint64
	Process int32 // where keys are addresses of the application, else 0
}

// Submission is a request that was submitted, with its strings, one behind the other. These
// may be borrowed.
type Submission struct {
	bpf.CSubmission
	Text []byte
}

func (s *Submission) id() RequestID { return RequestID{s.Key, int32(s.Process)} }

// Completion is the end of a request, with the file that it opened, nil for none.
type Completion struct {
	bpf.CCompletion
	Details *bpf.CDetails
}

// viaOf returns how a request was made.
func viaOf(flags bpf.CFlag) format.Via {
	if flags&bpf.CFlagFLAG_AIO != 0 {
		return format.ViaAIO
	}
	return format.ViaUring
}

// maxInFlight bounds the requests in flight that a Writer keeps. Further requests count
// as missing.
const maxInFlight = 1 << 16

// inFlight are the requests that have no completion yet.
type inFlight struct {
	places map[RequestID]int32 // in all
	all    []pending
	free   []int32         // places that are free
	last   map[int32]int32 // by thread, the place of the request of libaio that it submitted last
	count  uint64          // of requests so far
}

// pending is a request in flight, with its own text.
type pending struct {
	Submission
	number uint64 // in the order of submission
	before int32  // place of the request of libaio that the thread submitted before; one that has ended can have left it to another
}

// add copies a submission, and reports whether there was room. The caller has
// taken what had its ID.
func (f *inFlight) add(s *Submission) bool {
	if f.places == nil {
		f.places, f.last = make(map[RequestID]int32), make(map[int32]int32)
	}
	n := len(f.free)
	switch {
	case n > 0:
	case len(f.all) == maxInFlight:
		return false
	default:
		f.free, n = append(f.free, int32(len(f.all))), 1
		f.all = append(f.all, pending{})
	}
	place := f.free[n-1]
	f.free = f.free[:n-1]
	own := &f.all[place]
	text := append(own.Text[:0], s.Text...)
	*own = pending{Submission: *s, number: f.count, before: noPlace}
	own.Text = text
	f.count++
	f.places[s.id()] = place
	if tid := int32(s.Tid); viaOf(s.Flags) == format.ViaAIO {
		if before, ok := f.last[tid]; ok {
			own.before = before
		} else if len(f.last) == maxInFlight {
			clear(f.last)
		}
		f.last[tid] = place
	}
	return true
}

// take removes a request and returns it, valid until the next add; nil if there is
// none.
func (f *inFlight) take(id RequestID) *Submission {
	place, ok := f.places[id]
	if !ok {
		return nil
	}
	delete(f.places, id)
	f.free = append(f.free, place)
	return &f.all[place].Submission
}

// noPlace is before the first request of a thread.
const noPlace = -1

// cut drops the requests of a thread's last batch from an index on, which the kernel did not take.
// So they are in flight, the last one first.
func (f *inFlight) cut(tid int32, batch int64, from uint32) {
	place, ok := f.last[tid]
	if !ok {
		return
	}
	for index := int64(math.MaxInt64); place != noPlace; {
		s := &f.all[place]
		if int32(s.Tid) != tid || int64(s.Batch) != batch || s.Index < from || int64(s.Index) >= index {
			break
		}
		index, place = int64(s.Index), s.before
		if viaOf(s.Flags) == format.ViaAIO {
			f.take(s.id())
		}
	}
	f.last[tid] = place
}

// oldest returns the requests in the order of submission.
func (f *inFlight) oldest() []RequestID {
	return slices.SortedFunc(maps.Keys(f.places), func(a, b RequestID) int {
		return cmp.Compare(f.all[f.places[a]].number, f.all[f.places[b]].number)
	})
}

// Submit notes that a request was submitted. It reports whether the batch is full,
// as Add does: a request that has no completion where it succeeds ends at the latest
// when another one takes its place.
func (w *Writer) Submit(s *Submission) (full bool) {
	if before := w.requests.take(s.id()); before != nil {
		full = w.end(before, nil)
	}
	if !w.requests.add(s) {
		w.miss(viaOf(s.Flags), s.Entry.Opcode, coverage.Unknown)
	}
	return full
}

// Complete decodes a request that is complete into the batch, as Add does with a
// call. The batch borrows the details until Write.
func (w *Writer) Complete(c *Completion) (full bool) {
	s := w.requests.take(RequestID{c.Key, int32(c.Process)})
	if s == nil { // it was submitted before the recording began, or was not valid
		w.miss(viaOf(c.Flags), uint8(c.Flags&(1<<bpf.CBitsOPCODE_BITS-1)), max(c.Ret, 0))
		return false
	}
	return w.end(s, c)
}

// end puts a request into the batch; c is nil if its completion was not seen.
func (w *Writer) end(s *Submission, c *Completion) (full bool) {
	if !w.decoder.request(s, c, &w.batch[w.n]) {
		bytes := int64(coverage.Unknown)
		if c != nil {
			bytes = max(c.Ret, 0)
		}
		w.miss(viaOf(s.Flags), s.Entry.Opcode, bytes)
		return false
	}
	account(&w.account, &w.batch[w.n])
	w.n++
	return w.n == len(w.batch)
}

// miss counts a request that the recording does not hold.
func (w *Writer) miss(via format.Via, opcode uint8, bytes int64) {
	m := coverage.Missing{Kind: requestKind(via), Calls: 1}
	if o := format.OpcodeOf(via, opcode); o != nil {
		switch o.Op.Info().Class {
		case format.ClassRead:
			m.Reads, m.Bytes = 1, bytes
		case format.ClassWrite:
			m.Writes, m.Bytes = 1, bytes
		}
	}
	w.account.Add(m)
}

// Unfinished puts the requests into batches whose completion was not seen, in the order of
// submission, and hands them to the sink.
func (w *Writer) Unfinished() error {
	for _, id := range w.requests.oldest() {
		if w.end(w.requests.take(id), nil) {
			if err := w.Write(); err != nil {
				return err
			}
		}
	}
	return w.Write()
}

// request fills e from a request, and reports whether all of it is known. Strings of
// e borrow from the decoder, notes too.
func (d *decoder) request(s *Submission, c *Completion, e *format.Event) bool {
	via := viaOf(s.Flags)
	o := format.OpcodeOf(via, s.Entry.Opcode)
	if o == nil || s.Flags&bpf.CFlagFLAG_UNREADABLE != 0 {
		return false
	}
	asked := o.For(s.Entry.Off, s.Entry.OpFlags)
	info := asked.Op.Info()
	*e = format.Event{Op: asked.Op, Via: via, TID: int32(s.Tid), Start: int64(s.Start) - d.start, Dur: format.Unknown, Ret: format.NoResult}
	if c != nil {
		e.Dur, e.Ret = max(int64(c.End-s.Start), 0), c.Ret
	}
	for i := range info.Args {
		e.Args[i] = d.arg(e, info, i, EntryAt(&s.Entry, asked.Args[i]))
	}
	n := format.Notes{Has: format.NotedBatch | format.NotedReaped | format.NotedSubmitted, Request: format.Request{
		Ring: int32(s.Ring), Reaped: s.Reaped, Batch: int64(s.Batch), Submitted: max(int64(s.Start-s.Begun), 0)}}
	if s.Ring > 0 {
		n.Has |= format.NotedRing
	}
	at := len(d.text)
	d.text = append(d.text, s.Text...)
	text := d.text[at:len(d.text):len(d.text)]
	for i, state := range s.State {
		e.Str[i], text = str(text[:s.Len[i]], state), text[s.Len[i]:]
	}
	noteStates(&n, s.State)
	d.noteRequest(&n, s, asked)
	typ := s.Flags >> bpf.CBitsTYPE_SHIFT
	if c != nil {
		d.noteCompletion(&n, c, s, asked)
		typ |= c.Flags >> bpf.CBitsTYPE_SHIFT
	}
	if typ != 0 && !n.Known(format.NotedType) && fileTypes[typ&0xf] != format.TypeReg {
		n.Type, n.Has = fileTypes[typ&0xf], n.Has|format.NotedType
	}
	d.notes = append(d.notes, n)
	e.Notes = &d.notes[len(d.notes)-1]
	return true
}

// noteRequest notes the flags and the buffer of a request.
func (d *decoder) noteRequest(n *format.Notes, s *Submission, asked *format.Asked) {
	r, entry := &n.Request, &s.Entry
	if r.RW = format.ReadWriteFlags.FromNative(d.arch, uint64(entry.OpFlags)); asked.Op.Info().Acts.Any(format.Buffers) && entry.OpFlags != 0 {
		n.Has |= format.NotedRW
	} else {
		r.RW = 0
	}
	if viaOf(s.Flags) != format.ViaUring {
		return
	}
	if r.Flags = format.RequestFlags.FromNative(d.arch, uint64(entry.Flags)); r.Flags != 0 {
		n.Has |= format.NotedFlags
	}
	if format.FixedBuffer(entry.Opcode) || r.Flags&format.ReqSelect != 0 {
		r.Buf, n.Has = entry.Buf, n.Has|format.NotedBuf
	}
}

// anySlot is IORING_FILE_INDEX_ALLOC.
const anySlot = -1

// noteCompletion notes what is known when a request is complete.
func (d *decoder) noteCompletion(n *format.Notes, c *Completion, s *Submission, asked *format.Asked) {
	slot := viaOf(s.Flags) == format.ViaUring && asked.TakesSlot() && s.Entry.Fd2 != 0
	switch {
	case slot && s.Entry.Fd2 != anySlot:
		n.Request.Slot, n.Has = uint32(s.Entry.Fd2-1), n.Has|format.NotedSlot
	case slot && c.Ret >= 0:
		n.Request.Slot, n.Has = uint32(c.Ret), n.Has|format.NotedSlot
	case !slot && c.Details != nil:
		d.noteFile(n, bpf.CFlagFLAG_STAT|bpf.CFlagFLAG_FILE, c.Details)
	}
}

// requestKind is the kind of I/O of requests, for the coverage.
func requestKind(via format.Via) coverage.Kind {
	if via == format.ViaAIO {
		return coverage.AIO
	}
	return coverage.Uring
}
