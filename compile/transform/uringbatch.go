package transform

import (
	"maps"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

var uringBatchTransform = Transform{
	Name: "uring-batch", Arg: Arg{Form: "N"},
	Doc:   "submits up to N independent reads, writes and syncs of a thread as one io_uring batch, and waits for all of them",
	Keeps: "everything except the order of the requests within a batch",
	New: func(arg string) (Func, error) {
		n, err := parseCount(arg, maxUring)
		if err != nil {
			return nil, err
		}
		return newStaged(lookAhead, func() stage { return &uringBatch{most: int64(n), of: map[int32]*uring{}} }), nil
	},
}

// maxUring is the number of entries that compile gives a ring which nothing sets up.
const maxUring = 256

// firstUring is above the numbers of rings that recorders give.
const firstUring = 1 << 24

// uringBatch makes requests of runs of calls that do not depend on one another. They
// move to the place of the last one, where a call submits them and waits for all. A run
// ends before any other event of its thread, and before one of another thread that can
// tell the difference. A run of one stays a call.
type uringBatch struct {
	names
	most  int64
	of    map[int32]*uring // by thread
	runs  []*uring         // that have calls
	rings int32            // so far
	lost  bool             // the lengths of files are unknown
}

// uring is the ring of a thread, and the run of calls that become requests.
type uring struct {
	tid    int32
	by     *process.Process
	number int32 // 0 before the first request
	rounds int64
	done   int64 // requests so far

	calls []one
	count int64      // of those that become requests
	files []*run     // which files the calls read or write
	seeks []position // of descriptors whose offset the calls have moved
}

// one is a call of a run, or a seek among the calls.
type one struct {
	*entry
	op     format.Op // of the request, 0 for a seek
	at     identity
	offset int64

	// The bytes of the file that a transfer reads, or asks for, or changes. A write
	// behind the end of the file makes those in between as well.
	from, to int64
}

func (c *one) syncs() bool  { return c.op.Info().Class == format.ClassSync }
func (c *one) writes() bool { return c.op.Info().Class == format.ClassWrite }

// position is where a descriptor stands.
type position struct{ serial, fd, at int64 }

// event implements stage.
func (u *uringBatch) event(s *staged, f *process.Fact) error {
	t, e, d := f.Thread, f.Event, f.Description
	for _, r := range slices.Clone(u.runs) {
		if r.tid != e.TID && u.disturbs(f, r) {
			u.submit(s, r)
		}
	}
	c := one{op: u.requests(e, d)}
	length := int64(0)
	if c.op != 0 {
		if c.at = u.identity(d); !u.lost {
			length = d.File.Length // or less
		}
	}
	from, to, ok := bytesOf(f)
	c.offset, c.from, c.to = from, from, sum(from, e.Size())
	if c.writes() {
		c.from = min(from, length)
	}
	r := u.of[e.TID]
	switch {
	case c.op != 0 && (ok || c.syncs()):
		if r == nil {
			r = &uring{tid: e.TID, by: t.Process}
			u.of[e.TID] = r
		}
		if r.decides(u, e, &c) {
			u.submit(s, r)
		}
		if ok && e.Offset() < 0 {
			r.seek(d.Serial, e.FD(), to)
		}
		c.entry = s.push(e)
		u.add(r, c)
		if r.count == u.most || c.syncs() && !r.calls[0].syncs() {
			u.submit(s, r)
		}
	case r != nil && len(r.calls) > 0 && e.Via == format.ViaCall && f.Did.Any(format.Seeks) && d != nil && isFile(d):
		r.seek(d.Serial, e.FD(), e.Ret)
		c.entry = s.push(e)
		c.held = true
		r.calls = append(r.calls, c)
	default:
		if r != nil {
			u.submit(s, r)
		}
		s.push(e)
	}
	s.Apply(f)
	u.learn(f)
	u.lost = u.lost || unfollowed(f)
	if f.Did.Any(format.Ends) {
		maps.DeleteFunc(u.of, func(tid int32, r *uring) bool { return tid == e.TID || f.Did.Any(format.EndsAll) && r.by == t.Process })
	}
	return nil
}

// requests returns the operation of the request that a call can become, 0 for none.
func (u *uringBatch) requests(e *format.Event, d *process.Description) format.Op {
	info := e.Op.Info()
	switch {
	case e.Via != format.ViaCall || d == nil || !isFile(d) || u.isMapped(d):
		return 0
	case info.Acts&format.Syncs != 0 && e.FD() >= 0 && !info.Acts.Any(format.SyncsAll) && e.Ret == 0 && format.ViaUring.Asks(e.Op):
		return e.Op
	case plainOf(e) == 0 || e.Ret <= 0 || info.Class == format.ClassWrite && (e.Ret != e.Size() || d.Append()):
		return 0
	}
	return format.Transfer(info.Class, true, info.At.Vector >= 0)
}

// decides reports whether a call needs the result of one of the run: of a sync, of a
// transfer of the same bytes, or what was read into the memory that it writes.
func (r *uring) decides(u *uringBatch, e *format.Event, c *one) bool {
	for i := range r.calls {
		k := &r.calls[i]
		switch {
		case k.op == 0:
		case k.syncs() != c.syncs():
			if k.syncs() {
				return true
			}
		case c.syncs():
		case (c.writes() || k.writes()) && c.from < k.to && k.from < c.to && u.same(c.at, k.at),
			c.writes() && !k.writes() && e.Args[1] == 0, // it is not known what it writes
			c.writes() && !k.writes() && e.Args[1] < sum(k.Args[1], k.Size()) && k.Args[1] < sum(e.Args[1], e.Size()):
			return true
		}
	}
	return false
}

// disturbs reports whether a run must end before an event of another thread.
func (u *uringBatch) disturbs(f *process.Fact, r *uring) bool {
	e, d := f.Event, f.Description
	if e.Notes.Known(format.NotedWaker) && e.Notes.Waker == r.tid {
		return true // it may be what that waited for
	}
	if d != nil {
		for _, p := range r.seeks {
			if p.serial == d.Serial {
				return true
			}
		}
	}
	acts := e.Acts()
	looks := acts.All(format.ReadsBytes|format.Buffers) || acts.Any(format.Syncs|format.Stats) && !acts.Any(format.InMemory)
	for _, of := range r.files {
		if (of.writes() || !looks) && u.touches(f, of) {
			return true
		}
	}
	return false
}

// seek records the offset of a descriptor after the calls of the run.
func (r *uring) seek(serial, fd, at int64) {
	for i := range r.seeks {
		if r.seeks[i].serial == serial {
			r.seeks[i].at = at
			return
		}
	}
	r.seeks = append(r.seeks, position{serial, fd, at})
}

// add adds a call to a run.
func (u *uringBatch) add(r *uring, c one) {
	if len(r.calls) == 0 {
		u.runs = append(u.runs, r)
	}
	c.held = true
	r.calls, r.count = append(r.calls, c), r.count+1
	if !slices.ContainsFunc(r.files, func(of *run) bool { return of.op == c.op && u.same(of.at, c.at) }) {
		r.files = append(r.files, &run{at: c.at, op: c.op, by: r.by})
	}
}

// submit ends a run.
func (u *uringBatch) submit(s *staged, r *uring) {
	u.runs = slices.DeleteFunc(u.runs, func(k *uring) bool { return k == r })
	for i := range r.calls {
		r.calls[i].held = false
	}
	if r.count > 1 {
		if r.number == 0 {
			u.rings++
			r.number = firstUring + u.rings
		}
		r.rounds++
		r.replace(s)
	}
	r.calls, r.files, r.seeks, r.count = r.calls[:0], r.files[:0], r.seeks[:0], 0
}

// replace takes the calls of the run out, and puts the requests and the call that
// submits them behind the last one. That lasts as long as they did, and ends when the
// last one ended.
func (r *uring) replace(s *staged) {
	after := r.calls[len(r.calls)-1].entry
	enter := format.Event{Op: format.OpUringEnter, TID: r.tid, Start: after.End(), Ret: r.count}
	known := true
	for i := range r.calls {
		c := &r.calls[i]
		if enter.Line == 0 {
			enter.Line = c.Line
		}
		s.lineage().joins(r.tid, c.Line, enter.Line, true)
		if c.op != 0 {
			known, enter.Dur = known && c.Dur >= 0, sum(enter.Dur, max(c.Dur, 0))
		}
	}
	if !known {
		enter.Dur = format.Unknown
	} else {
		enter.Start, enter.Cut = enter.Start-enter.Dur, -enter.Dur
	}
	enter.Args = [format.MaxArgs]int64{-1, r.count, r.count, waitsForAll}
	notes := format.Notes{Has: format.NotedRing | format.NotedBatch | format.NotedPlaced, Request: format.Request{Ring: r.number, Batch: r.rounds}}
	enter.Notes = &notes
	transfers, reaped := false, uint32(r.done)
	for i := range r.calls {
		c := &r.calls[i]
		if c.verdict = Spare; c.op == 0 {
			continue
		}
		r.done++
		how := notes
		how.Has |= format.NotedReaped | format.NotedSubmitted
		how.Request.Reaped, how.Request.Order = reaped, r.done
		if c.syncs() && transfers {
			how.Has, how.Request.Flags = how.Has|format.NotedFlags, format.ReqDrain
		}
		transfers = transfers || !c.syncs()
		q := format.Event{Op: c.op, Via: format.ViaUring, TID: r.tid, Start: enter.Start, Dur: c.Dur, Ret: c.Ret, Notes: &how}
		if c.syncs() {
			q.Args = c.Args
		} else {
			place(&q, c.FD(), c.Args[1], c.Count(), c.Size(), c.offset)
		}
		after = s.insert(after, &q)
	}
	after = s.insert(after, &enter)
	after.made = true
	for _, p := range r.seeks {
		seek := format.Event{Op: format.OpLseek, TID: r.tid, Start: enter.End(), Dur: format.Unknown, Ret: p.at, Args: [format.MaxArgs]int64{p.fd, p.at, format.SeekSet}}
		after = s.insert(after, &seek)
		after.made = true
	}
}

// waitsForAll is IORING_ENTER_GETEVENTS.
const waitsForAll = 1

// decide implements holding.
func (u *uringBatch) decide(s *staged, first *entry) { u.submit(s, u.of[first.TID]) }

// end implements ending.
func (u *uringBatch) end(s *staged) {
	for len(u.runs) > 0 {
		u.submit(s, u.runs[0])
	}
}
