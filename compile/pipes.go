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

// newPipe returns the next pipe.
func (m *model) newPipe() *pipe {
	m.pipes++
	m.budget.take(forDescriptors, inMap+pipeBytes)
	return &pipe{num: m.pipes}
}

// namedPipe returns the pipe of a name: an *entry, or the name that /proc has
// for an inherited descriptor.
func (m *model) namedPipe(name any) *pipe {
	p := m.pipeNames[name]
	if p == nil {
		p = m.newPipe()
		m.pipeNames[name] = p
	}
	return p
}

// inheritPipe records which pipe a descriptor leads to that was open at the start.
func (m *model) inheritPipe(f *openFile, d *format.Descriptor) {
	if strings.HasPrefix(d.Path, "pipe:[") {
		f.pipe, f.feeds = m.namedPipe(d.Path), d.Flags&format.WRONLY != 0
	}
}

// piped follows the bytes that the current event moves through pipes.
func (m *model) piped(s *simEvent) {
	if !m.told && m.pipe.plan != nil || m.pipes == 0 || s.e.Ret < 0 {
		return
	}
	if s.d != nil && s.e.Op.Info().At.OutFD < 0 {
		return // most calls are on files
	}
	switch info := s.e.Op.Info(); {
	case info.Class == format.ClassRead:
		m.took(s, s.t.pipe(s.e.FD()))
		m.fed(s, s.t.pipe(s.e.OutFD()))
	case info.Effect == format.EffectWrite:
		if f := fileOf(s.t.Table.Find(s.e.FD())); f != nil && f.pipe != nil && !f.feeds {
			m.took(s, f.pipe) // vmsplice to memory
			return
		}
		m.fed(s, s.t.pipe(s.e.FD()))
	case info.Effect == format.EffectCopy: // tee, which leaves what it reads
		m.fed(s, s.t.pipe(s.e.OutFD()))
	}
}

// pipe returns the pipe that a number leads to, nil for none.
func (t *thread) pipe(fd int64) *pipe {
	if f := fileOf(t.Table.Find(fd)); f != nil {
		return f.pipe
	}
	return nil
}

func (m *model) pipeCall(s *simEvent) pipeCall {
	return pipeCall{m.line, s.e.Start, s.e.TID, s.t.num}
}

// fed records a write to a pipe.
func (m *model) fed(s *simEvent, p *pipe) {
	if p == nil || s.e.Ret == 0 || s.e.Ret > maxPipeCall {
		return
	}
	c := m.pipeCall(s)
	n := s.e.Ret - m.fedLate(p, c, s.e.Ret)
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
		m.feeds(p, &r, c)
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
		m.waits(p, &got{call: c, end: s.e.End(), idle: c.start}, p.read)
	}
}

// fedLate returns how many of n bytes of a write were read by calls that ended after
// the write began and before its line. They count as already written.
func (m *model) fedLate(p *pipe, c pipeCall, n int64) (bytes int64) {
	for len(p.late) > 0 && bytes < n {
		r := p.late[0]
		if r.end >= c.start {
			m.feeds(p, &r, c)
			bytes += min(r.last-r.first, n-bytes)
		}
		p.late = p.late[1:]
	}
	return bytes
}

// feeds records that a read received bytes of a write whose line comes later. The last
// pass needs that at the line of the read.
func (m *model) feeds(p *pipe, r *got, c pipeCall) {
	if !m.told {
		m.waits(p, r, c)
		return
	}
	if _, known := m.learned.fed[r.call.line]; !known && m.ties == nil && c.thread != r.call.thread && len(m.learned.fed) < maxPipeWaits {
		m.learned.fed[r.call.line] = c
		m.learned.bytes += inMap
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
func (m *model) took(s *simEvent, p *pipe) {
	if p == nil || s.e.Ret > maxPipeCall {
		return
	}
	r := got{call: m.pipeCall(s), end: s.e.End(), idle: s.t.idle, off: s.e.Off.Total(), first: p.got, last: p.got + s.e.Ret}
	p.read, p.got = r.call, r.last
	switch {
	case s.e.Ret == 0 && m.told:
		m.sentBy(p.closed)
		return
	case s.e.Ret == 0:
		m.waits(p, &r, p.closed)
		return
	}
	if r.first >= p.put {
		if c, ok := m.learned.fed[m.line]; ok {
			m.sentBy(c)
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
	if drop(r.first); m.told {
		m.sent(p, r.last)
	} else if len(p.writes) > 0 {
		m.waits(p, &r, p.writes[0].call)
	}
	drop(r.last)
}

// maxPipeCall exceeds the size of any call: MAX_RW_COUNT of Linux is smaller.
const maxPipeCall = 1 << 31

// sent records that the current event received the bytes of a pipe up to a position.
func (m *model) sent(p *pipe, last int64) {
	i := slices.IndexFunc(p.writes, func(w put) bool { return w.end >= last })
	if i < 0 {
		return
	}
	m.sentBy(p.writes[i].call)
}

// sentBy records that the current event received the data of a call.
func (m *model) sentBy(c pipeCall) {
	if m.ties == nil {
		return
	}
	if on := m.waker(c.tid); on != nil && on.num == c.thread {
		m.ties.sent = message{on, c.start}
	}
}

// waits records that r waited for a call of another thread, if it did: the call began
// during r, or before r while r's thread was off the processor, as in poll(2) before
// its read.
func (m *model) waits(p *pipe, r *got, on pipeCall) {
	switch {
	case m.told: // by notes
		return
	case on.thread == 0 || on.thread == r.call.thread || on.start > r.end:
		return
	case on.start > r.call.start:
	case r.off < format.Waited || on.start <= r.idle || r.off > on.start-r.idle+wakeUp:
		return
	}
	if len(m.pipeWaits) == maxPipeWaits {
		m.report.Unwaited++
		return
	}
	m.pipeWaits = append(m.pipeWaits, pipeWait{r.call.line, on, p.num})
}

// unfed records that the current event closed a descriptor of a write end. A read at
// the end of the pipe waited for the last such close.
func (m *model) unfed(s *simEvent, f *openFile) {
	if f != nil && f.feeds {
		f.pipe.closed = m.pipeCall(s)
	}
}

// planPipes returns which lines wait, and which lines they wait for.
func (m *model) planPipes() *pipePlan {
	p := &pipePlan{waits: m.pipeWaits, unwaited: m.report.Unwaited}
	slices.SortStableFunc(p.waits, func(a, b pipeWait) int { return cmp.Compare(a.line, b.line) })
	p.waits = slices.CompactFunc(p.waits, func(a, b pipeWait) bool { return a.line == b.line })
	for i := range p.waits {
		p.points = append(p.points, pipePoint{line: p.waits[i].on.line, pipe: p.waits[i].pipe})
	}
	slices.SortStableFunc(p.points, func(a, b pipePoint) int { return cmp.Compare(a.line, b.line) })
	p.points = slices.CompactFunc(p.points, func(a, b pipePoint) bool { return a.line == b.line })
	return p
}
