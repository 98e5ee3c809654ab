package record

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"pianola/coverage"
	"pianola/format"
)

// Entry is what a request asks for: struct io_uring_sqe, or struct iocb with its
// fields where that has them. Its layout is that of the eBPF program.
type Entry struct {
	Opcode  uint8
	Flags   uint8  // IOSQE_…
	Buf     uint16 // index of a buffer, or group of buffers
	FD      int32
	Off     uint64
	Addr    uint64
	Len     uint64
	Addr3   uint64
	Sum     uint64 // of the lengths of the vector
	OpFlags uint32
	FD2     int32 // or a slot for the file that it opens or closes, from 1; -1 for any
}

// at returns what an entry has at a place.
func (n *Entry) at(p format.Place) uint64 {
	switch p {
	case format.PlaceFD:
		return uint64(uint32(n.FD))
	case format.PlaceOff:
		return n.Off
	case format.PlaceAddr:
		return n.Addr
	case format.PlaceLen:
		return n.Len
	case format.PlaceFlags:
		return uint64(n.OpFlags)
	case format.PlaceFD2:
		return uint64(uint32(n.FD2))
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

// Submission is a request that was submitted, as a recorder saw it. Text may be
// borrowed.
type Submission struct {
	ID         RequestID
	Via        format.Via
	Unreadable bool // the entry, or the vector, could not be read
	Start      int64
	Begun      int64 // when the call or round began that submitted it; of the same clock
	Batch      int64 // its number
	TID        int32
	Ring       int32
	Reaped     uint32
	Index      uint32 // within the batch, of libaio
	Type       uint32 // of the file, as Call.Type; 0 if not known yet
	Entry      Entry
	Len        [format.MaxStrings]uint16
	State      [format.MaxStrings]StringState
	Text       []byte // the strings, one behind the other
}

// Completion is the end of a request.
type Completion struct {
	ID      RequestID
	Via     format.Via
	Opcode  uint8  // of io_uring
	Created bool   // it created the file
	Type    uint32 // of the file, where the submission does not tell
	End     int64  // nanoseconds of the recorder's clock
	Ret     int64
	Details *Details // of the file that it opened, nil for none
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
	f.places[s.ID] = place
	if s.Via == format.ViaAIO {
		if before, ok := f.last[s.TID]; ok {
			own.before = before
		} else if len(f.last) == maxInFlight {
			clear(f.last)
		}
		f.last[s.TID] = place
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
		if s.TID != tid || s.Batch != batch || s.Index < from || int64(s.Index) >= index {
			break
		}
		index, place = int64(s.Index), s.before
		if s.Via == format.ViaAIO {
			f.take(s.ID)
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
	if before := w.requests.take(s.ID); before != nil {
		full = w.end(before, nil)
	}
	if !w.requests.add(s) {
		w.miss(s.Via, s.Entry.Opcode, coverage.Unknown)
	}
	return full
}

// Complete decodes a request that is complete into the batch, as Add does with a
// call. The batch borrows the details until Write.
func (w *Writer) Complete(c *Completion) (full bool) {
	s := w.requests.take(c.ID)
	if s == nil { // it was submitted before the recording began, or was not valid
		w.miss(c.Via, c.Opcode, max(c.Ret, 0))
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
		w.miss(s.Via, s.Entry.Opcode, bytes)
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
	o := format.OpcodeOf(s.Via, s.Entry.Opcode)
	if o == nil || s.Unreadable {
		return false
	}
	asked := o.For(s.Entry.Off, s.Entry.OpFlags)
	info := asked.Op.Info()
	*e = format.Event{Op: asked.Op, Via: s.Via, TID: s.TID, Start: s.Start - d.start, Dur: format.Unknown, Ret: format.NoResult}
	if c != nil {
		e.Dur, e.Ret = max(c.End-s.Start, 0), c.Ret
	}
	for i := range info.Args {
		e.Args[i] = d.arg(e, info, i, s.Entry.at(asked.Args[i]))
	}
	n := format.Notes{Has: format.NotedBatch | format.NotedReaped | format.NotedSubmitted, Request: format.Request{
		Ring: s.Ring, Reaped: s.Reaped, Batch: s.Batch, Submitted: max(s.Start-s.Begun, 0)}}
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
	typ := s.Type
	if c != nil {
		d.noteCompletion(&n, c, s, asked)
		typ |= c.Type
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
	if s.Via != format.ViaUring {
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
	slot := s.Via == format.ViaUring && asked.TakesSlot() && s.Entry.FD2 != 0
	switch {
	case slot && s.Entry.FD2 != anySlot:
		n.Request.Slot, n.Has = uint32(s.Entry.FD2-1), n.Has|format.NotedSlot
	case slot && c.Ret >= 0:
		n.Request.Slot, n.Has = uint32(c.Ret), n.Has|format.NotedSlot
	case !slot && c.Details != nil:
		flags := FlagStat | FlagFile
		if c.Created {
			flags |= FlagCreated
		}
		d.noteFile(n, flags, c.Details)
	}
}

// requestKind is the kind of I/O of requests, for the coverage.
func requestKind(via format.Via) coverage.Kind {
	if via == format.ViaAIO {
		return coverage.AIO
	}
	return coverage.Uring
}
