package transform

import (
	"fmt"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

var coalesceTransform = Transform{
	Name: "coalesce", Arg: Arg{Form: "SIZE"},
	Doc:   "merges adjacent reads, and adjacent writes, through a buffer of SIZE for each descriptor",
	Keeps: "everything, but data stay in the buffer before they are written",
	New: func(arg string) (Func, error) {
		size, err := parseSize(arg)
		if err != nil {
			return nil, err
		}
		if size > maxTransfer {
			return nil, fmt.Errorf("%q is more than one call can move", arg)
		}
		return newMerger(size, 1<<40, false), nil
	},
}

var vectoredTransform = Transform{
	Name: "vectored", Arg: Arg{Form: "N", Optional: true},
	Doc:   "merges up to N adjacent reads, or writes, into one vectored call (default and maximum 1024)",
	Keeps: "everything, but data wait before they are written",
	New: func(arg string) (Func, error) {
		segments := maxSegments
		if arg != "" {
			var err error
			if segments, err = parseCount(arg, maxSegments); err != nil {
				return nil, err
			}
		}
		return newMerger(maxTransfer, int64(segments), true), nil
	},
}

// plainOf returns the operation with one buffer that does the same as a call
// that moves bytes between a file and memory; 0 for all others.
func plainOf(e *format.Event) format.Op {
	info := e.Op.Info()
	if !info.Acts.Any(format.Buffers) {
		return 0
	}
	if k := info.At.Flags; k >= 0 && e.Args[k] != 0 {
		return 0
	}
	return format.Transfer(info.Class, info.At.Offset >= 0 && e.Offset() != -1, false)
}

const (
	// maxRuns bounds the runs that are followed at a time.
	maxRuns = 256

	maxTransfer = 0x7ffff000 // bytes that the kernel moves in one call at most
	maxSegments = 1024       // that it takes in one call at most
)

// run is a run of reads, or of writes, that become one call.
type run struct {
	at    identity
	tid   int32
	by    *process.Process
	first format.Event // without notes
	fd    int64
	op    format.Op // plain
	from  int64     // offset of the first byte in the file
	next  int64     // and of that behind the last
	asked int64     // bytes
	moved int64     // bytes
	count int64     // of buffers
	calls int64
	dur   int64  // nanoseconds
	known bool   // dur is that of all
	head  *entry // of reads: the first, which is held for the others
}

func (r *run) writes() bool { return r.op.Info().Class == format.ClassWrite }

// merger merges adjacent reads and adjacent writes of a thread through a
// descriptor. A run of reads becomes a read in the place of its first: reading
// ahead. A run of writes becomes a write in the place where a buffer must be
// written out: when it is full, or before a call that can see the difference.
type merger struct {
	names
	size     int64 // bytes of a merged call at most
	segments int64 // buffers of a merged call at most
	vectored bool
	runs     []*run
	last     map[int32]int64 // when the newest call of a thread ended
	batches                  // of requests, of which adjacent ones become one
}

func newMerger(size, segments int64, vectored bool) Func {
	return newStaged(lookAhead, func() stage {
		return &merger{size: size, segments: segments, vectored: vectored, last: map[int32]int64{}, batches: batches{}}
	})
}

// event implements stage.
func (m *merger) event(s *staged, f *process.Fact) error {
	e, d := f.Event, f.Description
	op := m.merges(e, d)
	if e.Via == format.ViaCall {
		m.settle(m.take(e.TID))
	}
	switch {
	case op != 0 && e.Via == format.ViaCall:
		m.gather(s, f, op)
	case m.absorbs(s, e, d):
	default:
		for _, r := range slices.Clone(m.runs) {
			if m.touches(f, r) {
				m.close(s, r, e)
			}
		}
		en := s.push(e)
		if e.Via == format.ViaCall {
			m.last[e.TID] = en.End()
		} else if at := f.Moves(); at != nil && op != 0 {
			m.join(en, d, op, at.From, at.To)
		}
	}
	s.Apply(f)
	m.learn(f)
	if f.Did.Any(format.Ends) {
		delete(m.last, e.TID)
	}
	return nil
}

// merges returns the operation with one buffer of a call that may become part
// of a run, 0 for any other.
func (m *merger) merges(e *format.Event, d *process.Description) format.Op {
	op := plainOf(e)
	if op == 0 || d == nil || e.Ret <= 0 || !isFile(d) || m.isMapped(d) || m.vectored && d.Flags&format.DIRECT != 0 {
		return 0
	}
	if info := op.Info(); info.Class == format.ClassWrite {
		if e.Ret != e.Size() || d.Flags&(format.SYNC|format.DSYNC) != 0 || d.Append() && info.At.Offset >= 0 {
			return 0
		}
	}
	return op
}

// gather adds an event to the run of its descriptor, or begins a run with it.
func (m *merger) gather(s *staged, f *process.Fact, op format.Op) {
	e, d := f.Event, f.Description
	count, asked, at := e.Count(), e.Size(), m.identity(d)
	from, to, ok := bytesOf(f)
	writes := op.Info().Class == format.ClassWrite
	var r *run
	for _, o := range slices.Clone(m.runs) {
		switch {
		case !m.same(o.at, at) || !writes && !o.writes() && o.at.serial != d.Serial:
		case ok && o.at.serial == d.Serial && o.tid == e.TID && o.fd == e.FD() && o.op == op && o.next == from &&
			o.asked+asked <= m.size && o.count+count <= m.segments && count > 0:
			r = o
		default:
			m.close(s, o, e)
		}
	}
	if r == nil && (!ok || asked >= m.size || count >= m.segments || count < 1) {
		m.last[e.TID] = s.push(e).End()
		return
	}
	if r == nil {
		if len(m.runs) == maxRuns {
			m.close(s, m.runs[0], e)
		}
		r = &run{at: at, tid: e.TID, by: f.Thread.Process, first: *e, fd: e.FD(), op: op, from: from, known: true}
		r.first.Off, r.first.Cut, r.first.Calls, r.first.Faults, r.first.Behind, r.first.Notes = format.Off{}, 0, 0, 0, 0, nil
		if d.Flags&format.DIRECT != 0 {
			r.first.Args[1] &^= alignment - 1 // of a vector it is not that of a buffer
		}
		m.runs = append(m.runs, r)
	}
	s.lineage().joins(e.TID, e.Line, r.first.Line, writes)
	en := s.push(e)
	if writes || r.head != nil {
		en.verdict = Spare
	} else {
		r.head, en.held = en, true
	}
	r.next, r.asked, r.moved, r.count, r.calls = to, r.asked+asked, r.moved+e.Ret, r.count+count, r.calls+1
	r.dur, r.known = sum(r.dur, max(e.Dur, 0)), r.known && e.Dur >= 0
	if r.asked == m.size || r.count == m.segments || r.moved < r.asked {
		m.close(s, r, e)
	}
	m.last[e.TID] = e.End()
}

// absorbs takes out a seek to the current offset of the run of its descriptor,
// and reports whether it did.
func (m *merger) absorbs(s *staged, e *format.Event, d *process.Description) bool {
	whence := e.Word(format.Whence)
	if !e.Acts().Any(format.Seeks) || d == nil || whence != format.SeekSet && whence != format.SeekCur {
		return false
	}
	for _, r := range m.runs {
		if r.at.serial == d.Serial && r.tid == e.TID && r.next == e.Ret && r.op.Info().At.Offset < 0 && !(r.writes() && d.Append()) {
			s.push(e).verdict = Spare
			m.last[e.TID] = e.End()
			return true
		}
	}
	return false
}

// close ends a run. e is the event that makes it necessary, nil at the end.
func (m *merger) close(s *staged, r *run, e *format.Event) {
	i := slices.Index(m.runs, r)
	if i < 0 {
		return
	}
	m.runs = slices.Delete(m.runs, i, i+1)
	if r.head != nil {
		r.head.held = false
		if r.calls > 1 {
			was := max(r.head.Dur, 0)
			r.head.Args[1] = r.first.Args[1]
			m.shape(&r.head.Event, r)
			r.head.spent = was - max(r.head.Dur, 0)
		}
		return
	}
	merged := r.first
	merged.Start = m.last[r.tid]
	if e != nil && e.TID == r.tid {
		merged.Start = max(e.Start, merged.Start)
	}
	if r.calls > 1 {
		m.shape(&merged, r)
	}
	s.put(&merged).spent = -max(merged.Dur, 0)
}

// shape makes an event the call of a run.
func (m *merger) shape(e *format.Event, r *run) {
	buf := e.Args[1]
	e.Op, e.Args, e.Ret, e.Dur = r.op, [format.MaxArgs]int64{}, r.moved, r.dur
	if !r.known {
		e.Dur = format.Unknown
	}
	if m.vectored && r.count > 1 {
		e.Op = format.Transfer(r.op.Info().Class, r.op.Info().At.Offset >= 0, true)
	}
	place(e, r.fd, buf, r.count, r.asked, r.from)
}

// place fills in the arguments of a transfer, as far as its operation has them.
func place(e *format.Event, fd, buf, count, size, offset int64) {
	at := &e.Op.Info().At
	for _, arg := range [...]struct {
		at    int8
		value int64
	}{{at.FD, fd}, {max(at.Buf, at.Vector), buf}, {at.Count, count}, {at.Size, size}, {at.Offset, offset}} {
		if arg.at >= 0 {
			e.Args[arg.at] = arg.value
		}
	}
}

// join adds a request to the newest one of its batch on the description, if that moves
// the bytes before in the same way. Else it holds it for one that moves those behind.
func (m *merger) join(en *entry, d *process.Description, op format.Op, from, to int64) {
	how := &en.Notes.Request
	count, asked := en.Count(), en.Size()
	if !isPlaced(&en.Event) || how.Chain != 0 || how.Flags&(format.ReqDrain|format.ReqSelect|format.ReqSkip) != 0 ||
		op.Info().At.Offset < 0 || asked >= m.size || count >= m.segments || count < 1 {
		return
	}
	for _, q := range slices.Backward(m.batches[en.TID]) {
		if q.of != d || q.serial != d.Serial {
			continue
		}
		r, first := q.run, &q.Notes.Request
		if first.Ring != how.Ring || q.Via != en.Via || r.op != op || r.next != from || r.moved < r.asked || first.Flags != how.Flags || first.RW != how.RW ||
			r.asked+asked > m.size || r.count+count > m.segments {
			break
		}
		en.verdict = Spare
		r.next, r.asked, r.moved, r.count, r.calls = to, r.asked+asked, r.moved+en.Ret, r.count+count, r.calls+1
		r.known = r.known && en.Dur >= 0
		r.dur = max(r.dur, en.End()-q.Start)
		first.Order = min(first.Order, how.Order) // a call that waits for a part waits for the whole request
		return
	}
	m.add(&queued{entry: en, of: d, serial: d.Serial, run: &run{op: op, fd: en.FD(), from: from, next: to, asked: asked, moved: en.Ret, count: count, calls: 1, dur: max(en.Dur, 0), known: en.Dur >= 0}})
}

// settle lets the requests of a batch go.
func (m *merger) settle(batch []*queued) {
	for _, q := range batch {
		if q.held = false; q.run.calls > 1 {
			q.Notes.Has &^= format.NotedBuf // it has several, and the memory of the first is too small
			if q.of.Flags&format.DIRECT != 0 {
				q.Args[1] &^= alignment - 1
			}
			m.shape(&q.Event, q.run)
		}
	}
}

// decide implements holding.
func (m *merger) decide(s *staged, first *entry) {
	if first.Via != format.ViaCall {
		m.settle(m.take(first.TID))
		return
	}
	for _, r := range m.runs {
		if r.head == first {
			m.close(s, r, nil)
			return
		}
	}
}

// end implements ending.
func (m *merger) end(s *staged) {
	for len(m.runs) > 0 {
		m.close(s, m.runs[0], nil)
	}
	for _, tid := range m.threads() {
		m.settle(m.take(tid))
	}
}
