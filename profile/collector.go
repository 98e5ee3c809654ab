package profile

import (
	"errors"
	"fmt"
	"io"

	"pianola/format"
)

// Read adds up all events of r, in bounded memory. It returns the errors of r
// unchanged, because they have a position.
func Read(r format.Reader) (*Profile, error) { return ReadWithin(r, 0) }

// ReadWithin is Read within so many bytes of memory, 0 for the default.
func ReadWithin(r format.Reader, memory int64) (*Profile, error) {
	c, err := Collect(r, memory)
	if err != nil {
		return nil, err
	}
	return c.Profile(), nil
}

// Collect is ReadWithin, but returns the collector, for a Sum.
func Collect(r format.Reader, memory int64) (*Collector, error) {
	c := &Collector{}
	if memory > 0 {
		c.Rows = RowsWithin(memory)
	}
	return c, c.Read(r)
}

// RowsWithin returns the Collector.Rows of a collector that has so many bytes of memory. A
// row takes a fifth of what counts for it, since there are two profiles, and garbage.
func RowsWithin(memory int64) int { return int(max(memory/(16<<10), 1)) }

// RunTime returns when the last event of a reader ends, in seconds.
func RunTime(r format.Reader) (seconds float64, err error) {
	last := int64(0)
	err = format.Each(format.WithoutSpans(r), func(e *format.Event) error {
		last = max(last, e.End())
		return nil
	})
	return format.Seconds(last), err
}

// Collector is a format.Writer that adds events up. Totals, curves and
// distributions of sizes and durations don't hang on the order of the events;
// files, threads and accesses are found out from events in the order in which
// Read takes them. The zero value is ready; a Collector is large and must not be copied once used.
type Collector struct {
	// Interval is the length of the intervals, in nanoseconds; 0 chooses one
	// from the run time. It becomes ten times as long where there would be
	// more than 32768 of them.
	Interval int64

	// Tails is whether intervals have latencies and operations (Span.Latency, Span.Ops).
	// There are at most 4096 intervals then.
	Tails bool

	// NoParts leaves out Profile.Parts, which only a page needs.
	NoParts bool

	// From and To are the part of the run, in nanoseconds, whose calls are gathered one
	// by one (Profile.Calls, Profile.SpanCalls). There is none while To is 0.
	From, To int64

	// Rows is how many files and how many threads are told apart, at most; 0 for
	// as many as ever: 65536 files and 16384 threads. Each takes a few kilobytes.
	Rows int

	// Internal state.
	totals
	all       Total // calls, bytes and time only
	time      timeline
	maps      [NumCategories]*latencyMap // nil before the first
	sizes     [2]sizes
	failures  failures
	intervals sliced
	atOnce    concurrency
	depth     concurrency // of requests in flight
	noFile    Usage
	parts     partition
	singles   singles
	spans     spans
	tracker   *tracker // nil before the first event
	told      Profile  // what the header tells
}

var _ format.Writer = (*Collector)(nil)

var (
	errOp    = errors.New("unknown operation")
	errRange = errors.New("time or size out of range")
)

// maxTime bounds start and duration, in nanoseconds (73 years), so that a sum
// of two never overflows.
const maxTime = 1 << 61

// call is an event as it is counted.
type call struct {
	category   Category
	total      Total
	start, end int64
}

// Read adds all events of r. Another goroutine reads them
// meanwhile.
func (c *Collector) Read(r format.Reader) error {
	ahead := format.NewAhead(r)
	defer ahead.Close()
	ordered := format.NewCausal(ahead)
	for {
		e, err := ordered.Next()
		if err == io.EOF {
			c.told.SetHeader(ahead.Header())
			return nil
		}
		if err != nil {
			return err
		}
		if c.tracker == nil {
			c.tracker = newTracker(ahead.Header(), c.Rows)
		}
		c.spans.name(ahead.Header())
		if err := c.add(e); err != nil {
			return c.fault(err)
		}
	}
}

// Write adds events. An event that starts before the recording counts as
// starting with it.
func (c *Collector) Write(events []format.Event) error {
	for i := range events {
		if err := c.add(&events[i]); err != nil {
			return c.fault(err)
		}
	}
	return nil
}

func (c *Collector) fault(err error) error { return fmt.Errorf("event %d: %w", c.all.Calls+1, err) }

func (c *Collector) add(e *format.Event) error {
	if !e.Valid() {
		return errOp
	}
	start, dur := max(e.Start, 0), max(e.Dur, 0)
	if start > maxTime || dur > maxTime {
		return errRange
	}
	if c.tracker == nil {
		c.tracker = newTracker(&format.Header{}, c.Rows)
	}
	if e.Enters != nil {
		c.tracker.Thread(e)
		return nil
	}
	if e.Span != nil {
		by := c.tracker.Thread(e)
		c.spans.calls.from, c.spans.calls.to, c.spans.calls.lanes = c.From, c.To, &c.tracker.threads.lanes
		c.spans.span(c.tracker.threads.of(by), e)
		c.tracker.ranks.span(e, by.Process.Rank)
		return nil
	}
	one := call{total: Total{Calls: 1, Nanos: dur, Bytes: e.Bytes()}, start: start, end: start + dur}
	beside := e.Beside()
	if beside {
		one.total.Nanos, one.total.Flight = 0, dur
	}
	if e.Failed() {
		one.total.Errors = 1
		c.failures.add(e, &one.total)
	}
	if e.Dur < 0 && !beside {
		one.total.Unknown = 1
	}
	// The sum over all events overflows before any part of it does.
	if c.all.Nanos+dur < 0 || c.all.Flight+dur < 0 || c.all.Bytes+one.total.Bytes < 0 {
		return errRange
	}
	c.all.Calls++
	c.all.Nanos += one.total.Nanos
	c.all.Flight += one.total.Flight
	c.all.Bytes += one.total.Bytes
	c.runTime = max(c.runTime, one.end)
	if beside {
		c.requested(&one, e)
	} else {
		c.follow(&one, e)
	}
	c.ops[one.category][e.Op].add(&one.total)
	if e.Dur >= 0 {
		c.latencies[one.category][e.Op].Add(dur)
		if one.category != noCategory {
			if c.maps[one.category] == nil {
				c.maps[one.category] = newLatencyMap()
			}
			c.maps[one.category].add(start, dur)
		}
	}
	return nil
}

// follow counts a call for its category, its file and its thread.
func (c *Collector) follow(one *call, e *format.Event) {
	tr := c.tracker
	fact := tr.Fact(e)
	by := fact.Thread
	file, moves := tr.place(one, fact)
	t, f := tr.threads.of(by), tr.files.of(file)
	if one.start < c.To && one.start >= c.From {
		c.singles.add(t, one, e, f, moves)
	}
	c.spans.call(t, one, e, f)
	tr.threads.count(t, one, e, f)
	tr.path.add(e, t, f, one.category, by.Created)
	if t.serving != nil && one.category < NumIO {
		t.serving.use(e, one.start)
	}
	if e.Notes.Known(format.NotedMessage) || e.Op == format.OpClientRequest || e.Op == format.OpClientReply {
		if at := tr.requests.message(t, by, e); at >= 0 {
			c.slice()
			c.intervals.reply(at)
		}
	}
	tr.ranks.count(one, by.Process.Rank, f)
	if tr.blocked != nil {
		tr.blocked.count(one, e)
	}
	if f != nil {
		f.usage.count(one)
	} else {
		c.noFile.count(one)
	}
	if !c.NoParts {
		c.parts.count(one, e.Op, e.Dur, t, f, tr.files.all[othersID])
	}
	if one.category <= Writes {
		c.sizes[one.category].count(e.Bytes(), &one.total)
		if moves != nil {
			tr.move(one, e, moves)
		}
	}
	if m := fact.Touches(); m != nil && f != nil {
		tr.heat(one, f, m.From, m.To)
	}
	if one.category != noCategory {
		c.slice()
		c.intervals.count(one, e.Op, f, e.Dur)
		c.intervals.commit(e, one.start)
		c.intervals.spend(one.category, one.start, one.end)
		if one.end > one.start {
			c.time.add(one.category, one.start, one.end)
		}
	}
	if one.category < NumIO && one.end > max(one.start, t.io) {
		// A thread is in one call at a time, but in imports calls can overlap.
		c.atOnce.add(max(one.start, t.io), one.end, tr.threads.active)
		t.io = one.end
	}
	tr.Apply(fact)
}

// maxDepth bounds how many requests can be in flight.
const maxDepth = 1 << 16

// requested counts a request for its category, its file and its thread, which spends
// no time in it.
func (c *Collector) requested(one *call, e *format.Event) {
	tr := c.tracker
	fact := tr.Fact(e)
	one.category = categoryOn(e.Op, fact.Kind())
	if one.end > one.start {
		c.depth.add(one.start, one.end, maxDepth)
	}
	t, f := tr.threads.of(fact.Thread), tr.files.of(fact.File)
	t.row.count(one)
	if one.start < c.To && one.start >= c.From {
		c.singles.add(t, one, e, f, nil)
	}
	if !c.NoParts {
		c.parts.count(one, e.Op, e.Dur, t, f, tr.files.all[othersID])
	}
	if f != nil {
		f.usage.count(one)
	} else {
		c.noFile.count(one)
	}
	if one.category <= Writes {
		c.sizes[one.category].count(e.Bytes(), &one.total)
	}
	if one.category != noCategory {
		c.slice()
		c.intervals.count(one, e.Op, f, e.Dur)
		if one.category < NumIO {
			c.intervals.spend(inFlight+one.category, one.start, one.end)
		}
	}
	tr.Apply(fact)
}

// slice makes the intervals ready.
func (c *Collector) slice() {
	if c.intervals.width == 0 {
		c.intervals = newSliced(max(c.Interval, 0), c.Tails)
	}
}

// Profile returns the profile of the events so far.
func (c *Collector) Profile() *Profile {
	p := c.totals.profile()
	p.NoFile, p.Coverage, p.Floor = c.noFile, c.told.Coverage, c.told.Floor
	if g := c.told.Grouping; g != nil && (g.Recorded == 0 || p.Categories[Syncs].Calls >= g.Groups) { // not where writes end the groups
		p.Grouping = g
	}
	for k := range p.Curves {
		p.Curves[k] = c.time.curve(Category(k), c.runTime, p.Categories[k].Nanos)
	}
	for k := range p.LatencyMaps {
		p.LatencyMaps[k] = c.maps[k].snapshot()
	}
	for k := range p.Sizes {
		p.Sizes[k] = c.sizes[k].classes()
	}
	p.Failures = c.failures.list()
	p.Concurrency, p.Depth = c.atOnce.nanos(c.runTime), c.depth.nanos(c.runTime)
	if c.tracker == nil {
		return p
	}
	var place []int
	p.Files, p.OtherFiles, place = c.tracker.files.snapshot()
	p.Threads, p.OtherThreads, p.Processes = c.tracker.threads.snapshot()
	p.Ranks, p.Shared = c.tracker.ranks.snapshot(p.Processes), c.tracker.files.shared()
	p.RankMap = c.tracker.ranks.heat(p.Ranks)
	p.Parts = c.parts.snapshot(place)
	if c.To > 0 {
		p.Calls = c.singles.snapshot(place)
		p.Calls.From, p.Calls.To = c.From, min(c.To, c.runTime)
	}
	if c.tracker.requests.asked > 0 {
		c.slice()
		p.Requests = c.tracker.requests.snapshot(&c.intervals)
	}
	p.Intervals = c.intervals.intervals(c.runTime, c.Interval <= 0, place)
	for i := range p.Threads {
		p.Times.add(&p.Threads[i].Times)
	}
	p.Times.add(&p.OtherThreads.Times)
	p.Layers = c.spans.snapshot()
	p.SpanCalls = c.spans.calls.snapshot()
	var path []walk
	p.Critical, path = c.tracker.path.path()
	p.Timeline = c.tracker.threads.timeline(path, c.tracker.path.steps, c.runTime)
	if b := c.tracker.blocked; b != nil {
		p.Blocked = new(*b)
	}
	return p
}
