package profile

import (
	"cmp"
	"maps"
	"slices"

	"pianola/format"
)

// Step is a part of the critical path: the time that the run spent, on that path,
// in calls of one operation on one file, or in one kind of compute or wait.
type Step struct {
	Name  string // an operation, or of StepCompute to StepOther
	File  string // of a call on a file; empty for others, and for those beyond maxPathSteps
	Nanos int64

	// For a step of the critical path.
	Op       format.Op // OpNone for what is no call
	Category Category  // of a call that has one, else NumCategories
}

// The steps that are no calls.
const (
	StepCompute = "compute"
	StepReady   = "ready"   // could run, but had no processor
	StepTimer   = "timer"   // waited for a time
	StepStorage = "storage" // waited for storage outside of recorded calls
	StepWait    = "wait"    // waited for what is not recorded
)

// critical finds the critical path: the chain of calls, compute and waits that
// determines the end of the run. The path goes back from the end of the thread that
// ends last. If that thread waited until another one woke it, the path continues in the
// waker, from the wake-up.
//
// It is computed forwards. Each thread has the sums of the path up to its current
// point; a woken thread takes over those of its waker, and a new thread those of its
// creator. The waker's work in its gap between two calls is unknown until the second
// call: until then the woken thread has a debt to it.
//
// Memory is bounded by the number of living threads; see also maxLegs.
type critical struct {
	steps  []Step                                   // what the sums are of
	noFile [NumCategories + 1][format.NumOps]uint16 // of calls that are about no file, in steps; 0 for none yet
	paths  map[int32]*path                          // by thread id
	alone  *path                                    // the only thread so far, nil if there were more
	last   *path                                    // of those that have ended, the one that ended last
	ended  []*path                                  // of threads that have ended, and can still wake others
	legs   legs
	told   bool // the recording tells who woke whom, where it has several threads
	woken  bool // some wait has ended by a waking

	// Moments of threads that are more than one, by their ends: recordings have
	// them nearly in that order.
	queue []moment
	head  int
}

const (
	// maxPathSteps bounds the steps that are told apart. Calls beyond are added to
	// those on any file.
	maxPathSteps = 512

	// maxAhead is how many moments a later line of the recording can come before.
	maxAhead = 4096

	// maxEnded is how many threads that have ended can still wake others.
	maxEnded = 1024
)

// The first steps, in the order of format.Off after compute.
const (
	stepCompute = iota
	stepReady
	stepOwn
	stepWait
	stepTimer
	stepStorage
	stepOther
	firstCall
)

// path is the critical path that leads to where a thread is.
type path struct {
	tid   int32
	on    *walker
	leg   *leg    // where it is now, and was before
	most  most    // of what it did in that leg
	sums  []int64 // nanoseconds, by step
	until int64   // how far they go

	since []int64 // the part of sums after the thread last idled, or the path began from another one's
	fresh int64   // when that was
	late  bool    // what is added now was before

	ended bool  // the thread has
	base  *path // the waker or maker whose path, up to at, comes first; nil if that is in sums
	at    int64
	born  int64   // counts the beginnings of this path, to tell debts of old ones
	debts []*debt // of others to this one
}

// debt is that of a path to the one that it began from.
type debt struct {
	of   *path
	born int64
}

// moment is something that a thread did, from start to end, after a gap.
type moment struct {
	path       *path
	from       int32 // the thread that the path begins from at the end, 0 for none
	born       bool  // from has made the thread
	step       int32
	ends       bool // the thread has ended
	start, end int64
	off        format.Off
}

func newCritical(h *format.Header) critical {
	c := critical{paths: map[int32]*path{}, told: h.TellsWakers()}
	for _, name := range [firstCall]string{StepCompute, StepReady, StepReady, StepWait, StepTimer, StepStorage, StepWait} {
		c.steps = append(c.steps, Step{Name: name, Category: noCategory})
	}
	return c
}

// step returns the step of a call of a category.
func (c *critical) step(e *format.Event, f *file, k Category) int32 {
	if e.TimedOut() {
		return stepTimer
	}
	places, name := &c.noFile[k], ""
	if f != nil {
		if f.steps == nil {
			f.steps = new([format.NumOps]uint16)
		}
		places, name = f.steps, f.name
	}
	if place := places[e.Op]; place > 0 {
		return int32(place)
	}
	switch {
	case e.Acts().Any(format.Blocks):
		places[e.Op] = stepWait
	case len(c.steps) >= maxPathSteps && f != nil:
		places[e.Op] = uint16(c.step(e, nil, k))
	default:
		places[e.Op] = uint16(len(c.steps))
		c.steps = append(c.steps, Step{Name: e.Op.String(), Op: e.Op, Category: k, File: name})
	}
	return int32(places[e.Op])
}

// add adds an event of a thread, of a category, which is about a file or none. t was
// made at created, as far as that is known.
func (c *critical) add(e *format.Event, t *thread, f *file, k Category, created int64) {
	if !c.told && c.alone == nil && len(c.paths) > 0 {
		return
	}
	did := e.Did()
	child := did.Any(format.Starts)
	p := c.of(e, t, created)
	m := moment{path: p, step: c.step(e, f, k), start: max(e.Start, 0), end: max(e.End(), 0), off: e.Off,
		ends: did.Any(format.Ends)}
	if c.alone == p && !child {
		c.apply(&m)
		return
	}
	c.alone = nil
	if !e.Notes.Known(format.NotedWaker) {
		c.push(m)
	} else {
		// The path restarts when the thread is woken; the rest of the call comes after
		// that.
		c.woken = true
		rest := m
		m.end = max(m.end-e.Notes.Woken, m.start)
		m.from = e.Notes.Waker
		c.push(m)
		if rest.start, rest.off = m.end, (format.Off{}); rest.end > rest.start || m.ends {
			c.push(rest)
		}
	}
	if child {
		made := c.newPath(int32(e.Ret), m.start)
		c.paths[made.tid] = made
		c.push(moment{path: made, from: e.TID, born: true, step: stepCompute, start: m.start, end: m.start})
	}
}

// of returns the path of the thread of an event.
func (c *critical) of(e *format.Event, t *thread, created int64) *path {
	p := t.path
	if p == nil {
		p = c.paths[e.TID]
	}
	if p == nil {
		if len(c.paths) == 0 && c.last == nil {
			p = c.newPath(e.TID, created)
			c.alone = p
		} else {
			p = c.newPath(e.TID, max(e.Start, 0))
		}
		c.paths[e.TID] = p
	}
	if p.tid != e.TID { // by an exec it has taken over the id of its process
		delete(c.paths, p.tid)
		c.paths[e.TID], p.tid = p, e.TID
	}
	if t.path != p {
		t.path, p.on.lane = p, t.lane
	}
	return p
}

func (c *critical) newPath(tid int32, from int64) *path {
	on := new(walker)
	return &path{tid: tid, on: on, leg: c.legs.add(on, from, nil), until: from}
}

// push puts a moment into its place in the queue.
func (c *critical) push(m moment) {
	at := len(c.queue)
	for at > c.head && c.queue[at-1].end > m.end {
		at--
	}
	c.queue = slices.Insert(c.queue, at, m)
	if len(c.queue)-c.head > maxAhead {
		c.flush(maxAhead / 2)
	}
}

// flush applies all moments but the last so many.
func (c *critical) flush(keep int) {
	for ; len(c.queue)-c.head > keep; c.head++ {
		c.apply(&c.queue[c.head])
	}
	c.queue = append(c.queue[:0], c.queue[c.head:]...)
	c.head = 0
}

func (c *critical) apply(m *moment) {
	p := m.path
	if len(p.debts) > 0 {
		p.settle(func(d *path) { d.grow(m, p.until, d.at, &d.leg.prior) })
	}
	var base *path
	if m.from != 0 {
		base = c.paths[m.from]
	}
	if base != nil && base != p && !m.born && base.idledLonger(p, m) {
		p.grow(m, p.until, m.start, &p.most)
		p.share(base, m)
		base = nil
	} else {
		p.grow(m, p.until, m.end, &p.most)
	}
	p.until = max(p.until, m.end)
	if base != nil && base != p {
		p.begin(base, m.end)
		p.leg = c.legs.add(p.on, m.end, base.leg)
		p.leg.prior, p.most = base.most, most{}
		if c.legs.made > maxLegs {
			c.legs.shorten(c.all())
		}
	}
	if m.ends {
		c.end(p)
	}
}

// all returns all paths.
func (c *critical) all() []*path {
	return append(slices.Collect(maps.Values(c.paths)), c.ended...)
}

// idle returns how long a path has waited for a time, or for what is not recorded.
func (p *path) idle() (nanos int64) {
	for ; p != nil; p = p.base {
		for _, step := range [...]int{stepWait, stepTimer, stepOther} {
			if step < len(p.sums) {
				nanos += p.sums[step]
			}
		}
	}
	return nanos
}

// leastIdle is the minimum difference, in nanoseconds, by which one of two paths is
// less idle. Proportional shares are not exact.
const leastIdle = 1000

// idledLonger reports whether this path, of the thread that ended a wait, has idled
// for longer than that of the one that waited, and not during the wait.
func (p *path) idledLonger(waiter *path, m *moment) bool {
	return p.fresh <= m.start && p.idle() > waiter.idle()+leastIdle
}

// share adds what the thread of another path did during the wait in m, in
// proportion of what it did since it idled.
func (p *path) share(other *path, m *moment) {
	rest := m.end - max(m.start, p.until)
	part := float64(rest) / float64(max(m.end-other.fresh, 1))
	for step, nanos := range other.since {
		nanos = min(int64(float64(nanos)*part), rest)
		p.sum(int32(step), nanos, &p.most)
		rest -= max(nanos, 0)
	}
	p.sum(stepCompute, rest, &p.most)
}

// end notes that a thread has ended. It can still wake others, on its way out.
func (c *critical) end(p *path) {
	p.ended = true
	if c.last == nil || p.until >= c.last.until {
		c.last = p
	}
	if c.ended = append(c.ended, p); len(c.ended) > maxEnded {
		if old := c.ended[0]; c.paths[old.tid] == old {
			delete(c.paths, old.tid)
		}
		c.ended = c.ended[1:]
	}
}

// grow adds to a path, and to what it did most, what a thread did from one time to
// another, which are in m or in the gap before it.
func (p *path) grow(m *moment, from, to int64, most *most) {
	gap := m.start - from
	if part := min(to, m.start) - from; gap > 0 && part > 0 {
		off := m.off
		if part < gap { // in proportion
			off = off.Each(func(nanos int64) int64 { return int64(float64(nanos) * (float64(part) / float64(gap))) })
		}
		if !off.IsZero() {
			off = off.Within(part)
			for i, nanos := range off.Parts() {
				p.sum(int32(stepReady+i), *nanos, most)
			}
			if idle := off.Timer + off.Wait + off.Other; idle > 0 && !p.late {
				p.restart(from + idle)
			}
		}
		p.sum(stepCompute, part-off.Total(), most)
	}
	if to = min(to, m.end); to > m.start {
		p.sum(m.step, to-max(m.start, from), most)
	}
}

func (p *path) sum(step int32, nanos int64, most *most) {
	if nanos <= 0 {
		return
	}
	most.raise(step, nanos)
	p.add(step, nanos)
}

func (p *path) add(step int32, nanos int64) {
	if int(step) >= len(p.sums) {
		p.sums = append(p.sums, make([]int64, int(step)+1-len(p.sums))...)
	}
	p.sums[step] += nanos
	if p.late {
		return
	}
	if int(step) >= len(p.since) {
		p.since = append(p.since, make([]int64, len(p.sums)-len(p.since))...)
	}
	p.since[step] += nanos
}

// restart notes when the thread last idled, or when its path began.
func (p *path) restart(at int64) {
	clear(p.since)
	p.fresh = at
}

// begin lets the path begin from that of another thread, up to a time.
func (p *path) begin(base *path, at int64) {
	clear(p.sums)
	p.restart(at)
	p.until, p.base, p.at = at, base, at
	p.born++
	base.owe(&debt{p, p.born})
	if base.ended {
		base.settle(base.exiting)
	}
}

// exiting adds to a path what a thread did after its last call, until it woke
// that of the path.
func (p *path) exiting(d *path) { d.sum(stepCompute, d.at-p.until, &d.leg.prior) }

// owe records a debt. Debts of paths that have restarted are forgotten.
func (p *path) owe(d *debt) {
	if len(p.debts) == cap(p.debts) {
		p.debts = slices.DeleteFunc(p.debts, func(d *debt) bool { return d.of.born != d.born })
	}
	p.debts = append(p.debts, d)
}

// settle gives the path to those that began from it. rest adds what this thread
// has done since.
func (p *path) settle(rest func(*path)) {
	for _, d := range p.debts {
		if d.of.born != d.born {
			continue
		}
		d.of.late = true
		for step, nanos := range p.sums {
			d.of.add(int32(step), nanos)
		}
		rest(d.of)
		d.of.late = false
		if d.of.base = p.base; p.base != nil {
			d.of.at = p.at
			p.base.owe(d)
		}
	}
	clear(p.debts)
	p.debts = p.debts[:0]
}

// path returns the critical path, by steps with the longest first, and by
// threads; nil if it is not known, since there are several threads and no
// recorder has noted who woke whom.
func (c *critical) path() ([]Step, []walk) {
	c.flush(0)
	if c.alone == nil && !c.woken || len(c.paths) == 0 {
		return nil, nil
	}
	last := c.last
	for _, p := range c.paths {
		if last == nil || p.until > last.until {
			last = p
		}
	}
	// The unrecorded work of threads to which debts are left was compute.
	for base := last.base; base != nil; base = base.base {
		base.settle(base.exiting)
	}
	sums := map[Step]int64{}
	for i, nanos := range last.sums {
		if nanos > 0 {
			sums[c.steps[i]] += nanos
		}
	}
	var list []Step
	for step, nanos := range sums {
		step.Nanos = nanos
		list = append(list, step)
	}
	slices.SortFunc(list, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Category, b.Category))
	})
	return list, c.legs.walks(last.leg, last.until, last.most)
}
