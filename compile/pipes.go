package compile

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
)

const (
	// pipeKept is how many unread writes of a pipe are kept apart, and how many
	// reads whose writes have not come yet. A pipe of the default size holds
	// fewer pages than that.
	pipeKept = 256

	// maxPipeWaits bounds the memory of waits, to about 20 MiB. Later waits
	// stay compute.
	maxPipeWaits = 1 << 18

	// wakeUp is the longest time that a thread is assumed to stay off the
	// processor after the end of its wait, in nanoseconds.
	wakeUp = 1_000_000
)

// pipe is a pipe of the recording, or a FIFO. A byte is identified by how many
// were written before it.
//
// Lines are in order of completion. If a write is larger than the pipe, its
// first bytes are read before its line comes. So one pass finds which call
// waited for which, and the last pass emits the write where it is first waited
// for, with the time at which it began.
type pipe struct {
	num      int32
	put, got int64    // bytes written and read so far
	writes   []put    // unread, oldest first
	ahead    []got    // reads whose writes have not come yet, oldest first
	late     []got    // reads that ended before the write of the next line began; oldest first
	read     pipeCall // the newest
	closed   pipeCall // the newest call that closed a write end
}

// pipeCall is a call on a pipe. Threads count from 1, so the zero call means
// none.
type pipeCall struct {
	line, start int64
	tid, thread int32 // the kernel's id, and the number in the trace
}

// put is a write of the bytes up to end. If there are too many to keep, the
// newest also covers those after it.
type put struct {
	call pipeCall
	end  int64
}

// got is a read of the bytes from first to last, with the times that show
// whether it waited.
type got struct {
	call        pipeCall
	end         int64 // of the call
	idle, off   int64 // when the thread's last call ended, and how long it was off the processor since
	first, last int64
}

// pipeWait says that the call on a line waited for another thread's.
type pipeWait struct {
	line int64
	on   pipeCall
	pipe int32
}

// pipePoint is a line that another one waits for, and its event in the trace.
type pipePoint struct {
	line int64
	pipe int32
	at   place
	now  int64 // when the call began, on the trace's clock; set with at
}

// pipePlan holds the waits that a pass found and the last one emits.
type pipePlan struct {
	waits  []pipeWait  // by line, at most one for each
	points []pipePoint // by line

	unwaited int64 // waits that were too many to be kept
}

// pipes is the concern of pipes: which call waited for which.
type pipes struct {
	*pass
	number int32         // of pipes so far
	named  map[any]*pipe // by an *entry, or the name that /proc has for a descriptor
	found  []pipeWait

	// In the last pass, where there are waits.
	waits  lines[pipeWait]
	points lines[pipePoint]
	wait   *pipeWait  // of the current line, nil for none
	on     *pipePoint // what it waits for
}

func (ps *pipes) enlist() {
	ps.holdings = append(ps.holdings, ps.holds)
	ps.when(factOpened, ps.opened)
	ps.when(factClosed, func(f fact) { ps.unfed(f.s, f.file) })
	ps.when(factEnds, ps.ended)
	if ps.out == nil || ps.told {
		ps.when(factActs, ps.moved)
	}
	if ps.out == nil {
		ps.when(factOver, ps.over)
		return
	}
	ps.waits, ps.points, ps.report.Unwaited = ps.learned.pipes.waits, ps.learned.pipes.points, ps.learned.pipes.unwaited
	if len(ps.points) > 0 {
		ps.ahead(ps.awaited, func(*format.Info) bool { return true })
		ps.when(factWritten, ps.wrote)
		ps.when(factLeft, ps.leave)
	}
}

func (ps *pipes) ended(f fact) {
	if f.s.acts().Any(format.EndsAll) || f.s.t.proc.Alive() == 1 {
		for _, d := range f.s.t.Table.All {
			ps.unfed(f.s, fileOf(d))
		}
	}
}

func (ps *pipes) holds(add func(purpose, int)) { add(forDescriptors, len(ps.named)*(inMap+pipeBytes)) }

// opened finds out which pipe a new description is of.
func (ps *pipes) opened(f fact) {
	switch {
	case f.from != nil:
		if strings.HasPrefix(f.from.Path, "pipe:[") {
			f.file.pipe, f.file.feeds = ps.of(f.from.Path), f.from.Flags&format.WRONLY != 0
		}
	case f.s.acts().Any(format.Channels):
		if f.file.feeds = f.of != nil; f.file.feeds {
			f.file.pipe = f.of.pipe
		} else {
			f.file.pipe = ps.another()
		}
	case f.of != nil && f.of.pipe != nil:
		f.file.pipe, f.file.feeds = f.of.pipe, writes(f.s.out.OpenFlags())
	case f.named && f.s.e.FileType() == format.TypeFifo && f.s.at[0] != nil:
		f.file.pipe, f.file.feeds = ps.of(f.s.at[0]), writes(f.s.out.OpenFlags())
	}
}

// another returns the next pipe.
func (ps *pipes) another() *pipe {
	ps.number++
	ps.budget.take(forDescriptors, inMap+pipeBytes)
	return &pipe{num: ps.number}
}

// of returns the pipe of a name.
func (ps *pipes) of(name any) *pipe {
	p := ps.named[name]
	if p == nil {
		p = ps.another()
		ps.named[name] = p
	}
	return p
}

// moved follows the bytes that the current event moves through pipes.
func (ps *pipes) moved(f fact) {
	s := f.s
	if ps.number == 0 || s.e.Ret < 0 {
		return
	}
	if s.d != nil && s.e.Op.Info().At.OutFD < 0 {
		return // most calls are on files
	}
	switch info := s.e.Op.Info(); {
	case info.Class == format.ClassRead:
		ps.took(s, s.t.pipe(s.e.FD()))
		ps.fed(s, s.t.pipe(s.e.OutFD()))
	case info.Acts.All(format.WritesBytes | format.Buffers):
		if end := fileOf(s.t.Table.Find(s.e.FD())); end != nil && end.pipe != nil && !end.feeds {
			ps.took(s, end.pipe) // vmsplice to memory
			return
		}
		ps.fed(s, s.t.pipe(s.e.FD()))
	case info.Acts.All(format.ReadsBytes | format.WritesBytes): // tee, which leaves what it reads
		ps.fed(s, s.t.pipe(s.e.OutFD()))
	}
}

// pipe returns the pipe that a number leads to, nil for none.
func (t *thread) pipe(fd int64) *pipe {
	if f := fileOf(t.Table.Find(fd)); f != nil {
		return f.pipe
	}
	return nil
}

func (ps *pipes) call(s *simEvent) pipeCall {
	return pipeCall{ps.line, s.e.Start, s.e.TID, s.t.num}
}

// fed records a write to a pipe.
func (ps *pipes) fed(s *simEvent, p *pipe) {
	if p == nil || s.e.Ret == 0 || s.e.Ret > maxPipeCall {
		return
	}
	c := ps.call(s)
	n := s.e.Ret - ps.fedLate(p, c, s.e.Ret)
	for len(p.ahead) > 0 && p.ahead[0].first < p.put+n {
		r := p.ahead[0]
		p.ahead = p.ahead[1:]
		if r.end < c.start {
			// The read ended before this write began. Its bytes came from a write
			// that has not ended yet, or from a process that was not recorded.
			p.put = max(p.put, r.last)
			p.late = keepNewest(p.late, r)
			continue
		}
		ps.feeds(p, &r, c)
	}
	if p.put += n; p.put > p.got {
		if n := len(p.writes); n < pipeKept {
			p.writes = append(p.writes, put{c, p.put})
		} else {
			p.writes[n-1].end = p.put
		}
	}
	// It is unknown whether the pipe was full. If the write took long and
	// another thread began a read during it, it is assumed to have waited for
	// that read.
	if s.e.Dur >= format.Waited {
		ps.waited(p, &got{call: c, end: s.e.End(), idle: c.start}, p.read)
	}
}

// fedLate returns how many of n bytes of a write were read by calls that ended after
// the write began and before its line. They count as already written.
func (ps *pipes) fedLate(p *pipe, c pipeCall, n int64) (bytes int64) {
	for len(p.late) > 0 && bytes < n {
		r := p.late[0]
		if r.end >= c.start {
			ps.feeds(p, &r, c)
			bytes += min(r.last-r.first, n-bytes)
		}
		p.late = p.late[1:]
	}
	return bytes
}

// feeds records that a read received bytes of a write whose line comes later. The last
// pass needs that at the line of the read.
func (ps *pipes) feeds(p *pipe, r *got, c pipeCall) {
	if !ps.told {
		ps.waited(p, r, c)
		return
	}
	if _, known := ps.learned.fed[r.call.line]; !known && ps.out == nil && c.thread != r.call.thread && len(ps.learned.fed) < maxPipeWaits {
		ps.learned.fed[r.call.line] = c
		ps.learned.bytes += inMap
	}
}

// keepNewest adds a read, and drops the oldest one if there are too many.
func keepNewest(reads []got, r got) []got {
	if len(reads) == pipeKept {
		reads = reads[1:]
	}
	return append(reads, r)
}

// took records a read of a pipe.
func (ps *pipes) took(s *simEvent, p *pipe) {
	if p == nil || s.e.Ret > maxPipeCall {
		return
	}
	r := got{call: ps.call(s), end: s.e.End(), idle: s.t.idle, off: s.e.Off.Total(), first: p.got, last: p.got + s.e.Ret}
	p.read, p.got = r.call, r.last
	switch {
	case s.e.Ret == 0 && ps.told:
		s.pipedBy = &p.closed
		return
	case s.e.Ret == 0:
		ps.waited(p, &r, p.closed)
		return
	}
	if r.first >= p.put {
		if c, ok := ps.learned.fed[ps.line]; ok {
			s.pipedBy = &c
		}
		if len(p.ahead) == pipeKept {
			p.put = max(p.put, p.ahead[0].last)
		}
		p.ahead = keepNewest(p.ahead, r)
		return
	}
	drop := func(end int64) {
		for len(p.writes) > 0 && p.writes[0].end <= end {
			p.writes = p.writes[1:]
		}
	}
	if drop(r.first); ps.told {
		if i := slices.IndexFunc(p.writes, func(w put) bool { return w.end >= r.last }); i >= 0 {
			s.pipedBy = &p.writes[i].call
		}
	} else if len(p.writes) > 0 {
		ps.waited(p, &r, p.writes[0].call)
	}
	drop(r.last)
}

// maxPipeCall exceeds the size of any call: MAX_RW_COUNT of Linux is smaller.
const maxPipeCall = 1 << 31

// waited records that r waited for a call of another thread, if it did: the call began
// during r, or before r while r's thread was off the processor, as in poll(2) before
// its read.
func (ps *pipes) waited(p *pipe, r *got, on pipeCall) {
	switch {
	case ps.told: // by notes
		return
	case on.thread == 0 || on.thread == r.call.thread || on.start > r.end:
		return
	case on.start > r.call.start:
	case r.off < format.Waited || on.start <= r.idle || r.off > on.start-r.idle+wakeUp:
		return
	}
	if len(ps.found) == maxPipeWaits {
		ps.report.Unwaited++
		return
	}
	ps.found = append(ps.found, pipeWait{r.call.line, on, p.num})
}

// unfed records that the current event closed a descriptor of a write end. A read at
// the end of the pipe waited for the last such close.
func (ps *pipes) unfed(s *simEvent, f *openFile) {
	if f != nil && f.feeds {
		f.pipe.closed = ps.call(s)
	}
}

// over decides which lines wait, and which lines they wait for.
func (ps *pipes) over(fact) {
	p := pipePlan{waits: inLines(ps.found), unwaited: ps.report.Unwaited}
	for i := range p.waits {
		p.points = append(p.points, pipePoint{line: p.waits[i].on.line, pipe: p.waits[i].pipe})
	}
	p.points = inLines(p.points)
	ps.learned.pipes = p
}

// inLines sorts elements by their lines, and keeps the first one of each line.
func inLines[T numbered](list []T) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(a.number(), b.number()) })
	return slices.CompactFunc(list, func(a, b T) bool { return a.number() == b.number() })
}

type numbered interface{ number() int64 }

// lines is what is planned for the remaining lines, in order.
type lines[T numbered] []T

// of returns the element of a line, nil for none. Lines must be queried in order.
func (l *lines[T]) of(line int64) *T {
	for len(*l) > 0 && (*l)[0].number() < line {
		*l = (*l)[1:]
	}
	if len(*l) == 0 || (*l)[0].number() != line {
		return nil
	}
	return &(*l)[0]
}

func (w pipeWait) number() int64  { return w.line }
func (p pipePoint) number() int64 { return p.line }

// find returns the point of a line that is waited for.
func (p *pipePlan) find(line int64) *pipePoint {
	i, _ := slices.BinarySearchFunc(p.points, line, func(a pipePoint, line int64) int { return cmp.Compare(a.line, line) })
	return &p.points[i]
}

// awaited finds the point that the current line waits for. If the line of the awaited write
// is yet to come, its event is emitted first, at the time when it began: its thread has been
// in the call since its last line.
func (ps *pipes) awaited(*simEvent) {
	w := ps.waits.of(ps.line)
	ps.wait, ps.on = nil, nil
	if w == nil {
		return
	}
	on := ps.learned.pipes.find(w.on.line)
	if on.at.thread == 0 {
		at := ps.state.Living(w.on.tid)
		if at == nil || at.Data.(*thread).num != w.on.thread {
			return
		}
		t := at.Data.(*thread)
		on.at = ps.row(t, format.OpPipeWrite, w.pipe, w.on.start, 0, nil)
		on.now = t.now
	}
	ps.wait, ps.on = w, on
}

// wrote takes the event itself for the point of its line.
func (ps *pipes) wrote(f fact) {
	s := f.s
	if s != &ps.event {
		return
	}
	if ps.on != nil {
		ps.order.after(ps.on.at, format.EdgeMessage)
	}
	if p := ps.points.of(ps.line); p != nil {
		p.at, p.now = ps.order.here, s.t.now+s.out.Compute
	}
}

// leave emits the events of a call on a pipe that waited or was waited for.
// The rest of its duration is compute.
func (ps *pipes) leave(f fact) {
	t, e := f.s.t, f.s.e
	op, w, on := format.OpPipeWrite, ps.wait, ps.on
	if e.Op.Info().Class == format.ClassRead {
		op = format.OpPipeRead
	}
	p := ps.points.of(ps.line)
	if p != nil && p.at.thread == 0 && (w == nil || op == format.OpPipeWrite) {
		p.at = ps.row(t, op, p.pipe, e.Start, 0, nil)
		p.now = t.now
	}
	if w == nil {
		return
	}
	start, before := e.Start, w.on.start <= e.Start
	if before { // it waited before the call, in poll(2) or similar
		start = max(t.idle, w.on.start-e.Off.Total())
		t.off = t.off.Less(w.on.start - start)
	}
	begin := t.onTrace(e.Start) // of the call: after the wait
	at := ps.row(t, op, w.pipe, start, w.on.start-start, on)
	if before {
		begin = t.onTrace(e.Start)
	}
	if p != nil && p.at.thread == 0 {
		p.at, p.now = at, begin
	}
}

// row appends a pipe_read or pipe_write event, for which a replay makes no
// call. If on is not nil, the thread waits for that point of another thread,
// from start on, for so many nanoseconds. It returns the place of the event.
func (ps *pipes) row(t *thread, op format.Op, pipe int32, start, nanos int64, on *pipePoint) place {
	e := format.Event{Op: op, Start: start, Dur: nanos, Args: [format.MaxArgs]int64{int64(pipe)}}
	out := ps.beginMade(t, &e)
	if on != nil {
		ps.order.after(on.at, format.EdgeMessage)
		// The duration does not include what recording cost the threads that it
		// waited for.
		out.Dur = max(on.now-t.onTrace(e.Start), 0)
	}
	at := ps.order.here
	ps.emit(ps.rowOf(t, &e, out))
	return at
}
