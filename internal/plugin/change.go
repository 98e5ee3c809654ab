package plugin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"pianola/format"
	"pianola/format/script"
)

// Changes is a program that changes the events of a trace while they are replayed. It reads the
// lines of a Filter, without compute and edges, some time before the events are due, and writes
// what is played instead. It copies lines that begin with "#" at once: after each part of a
// thread's events comes such a line, "# fed: THREAD:EVENT", up to which all are answered.
//
// A line with at=THREAD:EVENT is that event, perhaps altered. A line with before=THREAD:EVENT is
// a new one before that event, and one without a note is before the thread's next line. Events
// without a line are removed. Compute is added to that of the next line.
//
// The replay of an event waits until the program has answered lookAhead events more, so a result
// does not depend on the speed of the program.
//
// Two goroutines feed the program and read its answers.
type Changes struct {
	run      *process
	trace    format.Trace
	several  bool
	line     threadState      // of the feeding goroutine
	reader   *script.Reader   // of the reading one, as what follows
	like     threadState      // the line that an answer is compared with
	got      []byte           // the line of an answer
	inserted int              // new lines in the answer to the current part
	numbers  map[string]int64 // of the strings of the trace; nil until they are needed

	ctx   context.Context // done once the program has failed, or is not needed any more
	stop  context.CancelCauseFunc
	asks  chan int32    // threads that go on
	parts chan struct{} // one for each part that the program is given
	fed   chan struct{} // closed by the feeding goroutine at its end
	ended chan struct{} // closed by the reading goroutine at its end

	mu      sync.Mutex
	threads []changed // guarded by mu, except what belongs to a goroutine
}

// changed is the state of a thread.
type changed struct {
	records format.RecordReader // of the feeding goroutine, as given
	given   int64               // events that the program was given

	from    int64             // the event that the worker is at
	parts   [][]format.Record // that were given and not answered as a whole
	known   int64             // the first event of these
	next    int64             // the event whose answer comes next
	insert  []format.Record   // calls before the next line
	compute int64             // before the next line
	changes []format.Change   // that the worker has not taken
	ready   chan struct{}     // has an element once known has grown
}

const (
	// lookAhead is how many events ahead of its own a line can be at most.
	lookAhead = 256

	// partEvents is how many events the program is given at a time.
	partEvents = 128

	// maxInserted bounds the new lines in the answer to such a part, and so the memory.
	maxInserted = 64 * partEvents
)

// The notes of lines that a program gets or writes besides at.
const (
	beforeNote = "before"
	fedNote    = "fed"
)

// fedLine begins a line that the program copies.
const fedLine = "# " + fedNote + ": "

// Changes runs the program for a trace. It must be closed.
func (p *Program) Changes(ctx context.Context, t format.Trace) (*Changes, error) {
	n := max(1, len(t.Header().Threads))
	c := &Changes{
		trace: t, several: n > 1, threads: make([]changed, n),
		asks: make(chan int32, n), parts: make(chan struct{}, 64), fed: make(chan struct{}), ended: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	var err error
	if c.run, err = p.start(c.ctx, true); err != nil {
		c.stop(err)
		return nil, err
	}
	for i := range c.threads {
		c.threads[i].ready = make(chan struct{}, 1)
	}
	c.reader = script.NewReader(&answers{in: bufio.NewReaderSize(c.run, 64<<10)}, p.text)
	go c.feed()
	go c.read()
	return c, nil
}

// Await implements engine.Changer.
func (c *Changes) Await(thread int32, from int64, done <-chan struct{}) (changes []format.Change, until int64, waited bool, err error) {
	t := &c.threads[thread-1]
	c.mu.Lock()
	t.from = from
	c.mu.Unlock()
	select {
	case c.asks <- thread:
	case <-c.fed:
	case <-done:
	}
	for {
		c.mu.Lock()
		if until = t.known; until < c.trace.Len(thread) {
			until -= lookAhead
		}
		if until > from {
			n := t.at(until)
			changes, t.changes = t.changes[:n:n], t.changes[n:]
			c.mu.Unlock()
			return changes, until, waited, nil
		}
		c.mu.Unlock()
		waited = true
		select {
		case <-t.ready:
		case <-c.ctx.Done():
			return nil, from, true, context.Cause(c.ctx)
		case <-done:
			return nil, from, true, nil
		}
	}
}

// at returns the place of the first change from an event on.
func (t *changed) at(event int64) int {
	return sort.Search(len(t.changes), func(i int) bool { return t.changes[i].Event >= event })
}

var errNotNeeded = errors.New("the replay has ended before all events")

// Close ends the program. A failure of the program is an error.
func (c *Changes) Close() error {
	select {
	case <-c.fed:
	default:
		c.stop(errNotNeeded)
		<-c.fed
	}
	<-c.ended
	defer c.stop(nil)
	if err := context.Cause(c.ctx); err != errNotNeeded {
		return err
	}
	return nil
}

// Write gives the program text. The reading goroutine notices if the program hangs.
func (c *Changes) Write(b []byte) (int, error) { return len(b), c.run.write(b, 0) }

// feed gives the program what workers come to.
func (c *Changes) feed() {
	defer close(c.fed)
	defer close(c.parts)
	defer c.run.closeInput()
	h := c.trace.Header()
	left := 0
	for i := range c.threads {
		if c.trace.Len(int32(i+1)) > 0 && (i >= len(h.Threads) || h.Threads[i].Ring == format.ViaCall) {
			left++
		}
	}
	if c.begin() != nil || writeHeader(c, h) != nil || c.mark(1, 0, nil) != nil {
		return
	}
	for left > 0 {
		select {
		case thread := <-c.asks:
			done, err := c.give(thread)
			if err != nil {
				return
			}
			if done {
				left--
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// begin announces a part.
func (c *Changes) begin() error {
	select {
	case c.parts <- struct{}{}:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// mark gives the program text, and the line that it answers then.
func (c *Changes) mark(thread int32, event int64, text []byte) error {
	_, err := c.Write(fmt.Appendf(text, "%s%d:%d\n", fedLine, thread, event))
	return err
}

// give gives the program the events that a thread comes to, and reports whether the last one is
// among them.
func (c *Changes) give(thread int32) (done bool, err error) {
	t, n := &c.threads[thread-1], c.trace.Len(thread)
	c.mu.Lock()
	until := min(t.from+lookAhead+2*partEvents, n)
	c.mu.Unlock()
	for t.given < until {
		if t.records == nil {
			t.records = c.trace.Records(thread)
		}
		part := make([]format.Record, min(partEvents, n-t.given))
		for k := 0; k < len(part); {
			m, err := t.records.Read(part[k:])
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				err = fmt.Errorf("read event %d of thread %d: %w", t.given+int64(k), thread, err)
				c.stop(err)
				return false, err
			}
			k += m
		}
		c.mu.Lock()
		t.parts = append(t.parts, part)
		c.mu.Unlock()
		if err := c.begin(); err != nil {
			return false, err
		}
		var text []byte
		for i := range part {
			c.line.fill(thread, &part[i], c.trace.Strings(), c.several)
			text = append(text, bytes.TrimSuffix(c.line.line, []byte("\n"))...)
			text = fmt.Appendf(text, " {%s=%d:%d}\n", atNote, thread, t.given+int64(i))
		}
		t.given += int64(len(part))
		if err := c.mark(thread, t.given, text); err != nil {
			return false, err
		}
		if t.given == n {
			_, _ = t.records.Read(part[:1]) // the end frees its memory
			t.records, done = nil, true
		}
	}
	return done, nil
}

// read reads what the program writes.
func (c *Changes) read() {
	defer close(c.ended)
	if err := c.run.end(c.readParts()); err != nil {
		c.stop(err)
	}
}

func (c *Changes) readParts() error {
	batch := make([]format.Event, 1)
	for range c.parts {
		for marked := false; !marked; {
			_, err := c.reader.Read(batch)
			if errors.Is(err, io.EOF) {
				err = c.run.named(errors.New("closed its output before the replay had ended"))
			}
			if err != nil {
				return err
			}
			if marked, err = c.take(&batch[0]); err != nil {
				return fmt.Errorf("%s:%d: %w", c.run, batch[0].Line, err)
			}
		}
	}
	n, err := c.reader.Read(batch)
	if n > 0 {
		return fmt.Errorf("%s:%d: a line after the last event", c.run, batch[0].Line)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// take takes a line of the program, and reports whether it ends a part.
func (c *Changes) take(e *format.Event) (marked bool, err error) {
	key, event, err := position(e, atNote, beforeNote, fedNote)
	switch {
	case err != nil:
		return false, err
	case int(e.TID) > len(c.threads):
		return false, fmt.Errorf("thread %d is not in the trace", e.TID)
	case len(e.Edges) > 0:
		return false, errors.New("edges can't change while a replay runs")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.threads[e.TID-1]
	switch key {
	case fedNote:
		return true, c.settle(t, e, event)
	case atNote:
		return false, c.answer(t, e, event)
	}
	r, err := c.record(e, nil)
	c.inserted++
	switch {
	case err != nil:
		return false, err
	case t.known == c.trace.Len(e.TID):
		return false, fmt.Errorf("a new line after the last event of thread %d", e.TID)
	case c.inserted > maxInserted:
		return false, fmt.Errorf("more than %d new lines since the last line with %s", maxInserted, fedLine)
	case key == "":
		r.Compute += t.compute
		t.compute, t.insert = 0, append(t.insert, r)
		return false, nil
	case event > t.next || event < t.known-lookAhead || event < 0:
		return false, fmt.Errorf("before=%d:%d: want an event from %d to %d", e.TID, event, max(t.known-lookAhead, 0), t.next)
	case event == t.next:
		t.insert = append(t.insert, r)
		return false, nil
	}
	to := t.change(event)
	to.Before = append(to.Before, r)
	return false, nil
}

// change returns the change of an event, a new one if there is none.
func (t *changed) change(event int64) *format.Change {
	i := t.at(event)
	if i == len(t.changes) || t.changes[i].Event > event {
		t.changes = append(t.changes, format.Change{})
		copy(t.changes[i+1:], t.changes[i:])
		t.changes[i] = format.Change{Event: event}
	}
	return &t.changes[i]
}

// answer takes the line of an event of a thread.
func (c *Changes) answer(t *changed, e *format.Event, event int64) error {
	if len(t.parts) == 0 || event < t.next || event >= t.known+int64(len(t.parts[0])) {
		return fmt.Errorf("at=%d:%d: this event is not the next one of its thread, or the line after it was copied first", e.TID, event)
	}
	if err := c.remove(t, event); err != nil {
		return err
	}
	t.next = event + 1
	like := &t.parts[0][event-t.known]
	c.like.fill(e.TID, like, c.trace.Strings(), false)
	shown := format.Event{Op: e.Op, Ret: e.Ret, Dur: format.Unknown, Args: e.Args, Str: e.Str, List: e.List}
	for i, arg := range e.Op.Info().Args {
		if arg.Kind == format.Addr {
			shown.Args[i] = 0
		}
	}
	c.got = script.AppendOperation(c.got[:0], &shown)
	altered := !bytes.Equal(c.got, c.like.line)
	compute := t.compute + e.Compute
	t.compute = 0
	if !altered && compute == 0 && len(t.insert) == 0 {
		return nil
	}
	to := t.change(event)
	to.Compute, to.Before, t.insert = compute, append(t.insert, to.Before...), nil
	if to.Altered = altered; !altered {
		return nil
	}
	err := changeable(like.Op)
	if err == nil {
		to.As, err = c.record(e, like)
	}
	return err
}

// remove removes the events of a thread from the next one to another one.
func (c *Changes) remove(t *changed, until int64) error {
	for ; t.next < until; t.next++ {
		if err := changeable(t.parts[0][t.next-t.known].Op); err != nil {
			return fmt.Errorf("event %d before this line is removed: %w", t.next, err)
		}
		t.change(t.next).Removed = true
	}
	return nil
}

// settle ends a part.
func (c *Changes) settle(t *changed, e *format.Event, event int64) error {
	t.compute += e.Compute
	c.inserted = 0
	if event == 0 { // the header
		return nil
	}
	if len(t.parts) == 0 || event != t.known+int64(len(t.parts[0])) {
		return fmt.Errorf("%s%d:%d was copied twice, or in another order", fedLine, e.TID, event)
	}
	if err := c.remove(t, event); err != nil {
		return err
	}
	if event == c.trace.Len(e.TID) && len(t.insert) > 0 {
		return fmt.Errorf("a new line after the last event of thread %d", e.TID)
	}
	t.known, t.parts = event, t.parts[1:]
	select {
	case t.ready <- struct{}{}:
	default:
	}
	return nil
}

// changeable returns an error for an operation that a program can't change.
func changeable(op format.Op) error {
	if info := op.Info(); info.Class == format.ClassProcess || info.At.List >= 0 || info.Acts.Any(format.Submits) {
		return fmt.Errorf("%s can't change while a replay runs", op)
	}
	return nil
}

// record returns the record of a line: of an event whose record is like, or of a new call.
func (c *Changes) record(e *format.Event, like *format.Record) (r format.Record, err error) {
	if err := changeable(e.Op); err != nil {
		return r, err
	}
	r = format.Record{Op: e.Op, Compute: e.Compute, Ret: e.Ret, Args: e.Args}
	text := 0
	for i, arg := range e.Op.Info().Args {
		switch {
		case arg.Kind == format.Addr:
			if r.Args[i] = 0; like != nil && like.Op == e.Op {
				r.Args[i] = like.Args[i]
			}
		case arg.Kind.IsString():
			if r.Args[i], err = c.number(e.Str[text]); err != nil {
				return r, err
			}
			text++
		}
	}
	return r, nil
}

// number returns the number of a string of the trace.
func (c *Changes) number(s []byte) (int64, error) {
	if s == nil {
		return -1, nil
	}
	if c.numbers == nil {
		c.numbers = make(map[string]int64)
		for i, s := range c.trace.Strings() {
			c.numbers[s] = int64(i)
		}
	}
	n, ok := c.numbers[string(s)]
	if !ok {
		return 0, fmt.Errorf("%.100q is not a name of the trace", s)
	}
	return n, nil
}

// answers is the output of a program with events in the place of the lines that end a part, and
// empty lines in that of other ones that it copied.
type answers struct {
	in   *bufio.Reader
	rest []byte
}

// Read implements io.Reader.
func (a *answers) Read(b []byte) (int, error) {
	if len(a.rest) == 0 {
		line, err := a.in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return 0, io.EOF
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return 0, err
		}
		a.rest = line
		if place, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(fedLine)); ok {
			thread, _, _ := bytes.Cut(place, []byte(":"))
			a.rest = fmt.Appendf(nil, "%s sync ( ) = 0 {%s=%s}\n", thread, fedNote, place)
		} else if line[0] == '#' && !bytes.HasPrefix(line, []byte("# pianola ")) && !bytes.HasPrefix(line, []byte("# thread:")) {
			a.rest = []byte("\n")
		}
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
