package pattern

import (
	"errors"

	"pianola/format"
)

// state is what a thread is about.
type state uint8

const (
	playing state = iota
	waiting       // at a barrier
	ended
)

// thread plays the steps of a group.
type thread struct {
	env
	reader  *Reader
	process *process
	group   int
	tid     int32
	state   state

	clock  int64 // nanoseconds since the start
	asleep int64 // of them since the last event
	events int64
	buffer int64 // address of what it reads and writes

	frames  []frame
	handles map[handle]*descriptor
	moving  moving // the read or write in hand
	name    []byte // scratch
}

// frame is a list of steps that is being played.
type frame struct {
	steps []step
	at    int   // the next
	left  int64 // how often still, this time included
	slot  int   // of what counts, -1 for nothing
	mix   *mix  // where the steps are drawn from, nil where they are fixed
}

// descriptor is an open file.
type descriptor struct {
	fd     int64
	node   *node
	pos    int64
	append bool
	direct bool
}

var (
	errIdle = errors.New("a thread runs a million steps without a call")
	errOpen = errors.New("more than a million open descriptors at a time, including those that processes start with")
)

// play goes on until an event was made, or the thread waits or has ended.
func (t *thread) play() error {
	before := t.events
	for range maxIdle {
		if err := t.step(); err != nil {
			return err
		}
		if t.events != before || t.state != playing {
			return nil
		}
	}
	return fault(t.line(), "%v", errIdle)
}

// line returns the line of the step that is due.
func (t *thread) line() int {
	f := &t.frames[len(t.frames)-1]
	return f.steps[min(f.at, len(f.steps)-1)].line
}

// step does the next step, or one call of it.
func (t *thread) step() error {
	if t.moving.left > 0 {
		return t.move()
	}
	f := &t.frames[len(t.frames)-1]
	if f.at < len(f.steps) {
		s := &f.steps[f.at]
		f.at++
		return s.run(t, s.line)
	}
	if f.left--; f.left > 0 {
		f.at = 0
		if f.slot >= 0 {
			t.vars[f.slot]++
		}
		if f.mix != nil {
			f.steps = f.mix.draw(t)
		}
		return nil
	}
	if t.frames = t.frames[:len(t.frames)-1]; len(t.frames) == 0 {
		t.exit()
	}
	return nil
}

// exit ends the thread, and its process with the last.
func (t *thread) exit() {
	op := format.OpExit
	if t.process.threads--; t.process.threads == 0 {
		op = format.OpExitGroup
		t.process.closeAll()
	}
	t.event(format.Event{Op: op, Ret: format.NoResult, Dur: format.Unknown})
	t.state, t.process.end = ended, max(t.process.end, t.clock)
}

// event puts an event of the thread, as of now, into the queue.
func (t *thread) event(e format.Event) {
	e.TID, e.Start = t.tid, t.clock
	e.Off, t.asleep = format.Off{Timer: t.asleep}, 0
	t.events++
	t.reader.calls++
	t.reader.queue = append(t.reader.queue, e)
}

// call puts a call on a file into the queue. Its duration is unknown.
func (t *thread) call(op format.Op, ret int64, args ...int64) *format.Event {
	e := format.Event{Op: op, Ret: ret, Dur: format.Unknown}
	copy(e.Args[:], args)
	t.event(e)
	return &t.reader.queue[len(t.reader.queue)-1]
}

// pass lets time pass.
func (t *thread) pass(line int, nanos int64) error {
	if t.clock += nanos; t.clock > maxNanos {
		return fault(line, "a thread runs longer than 30 years")
	}
	return nil
}

// file returns an open file.
func (t *thread) file(h handle, line int) (*descriptor, error) {
	d := t.handles[h]
	if d == nil {
		return nil, fault(line, "%q is not open", h)
	}
	return d, nil
}

// path returns a name, valid until the queue is read.
func (t *thread) path(p *template) ([]byte, error) {
	var err error
	if t.name, err = p.expand(t.name[:0], &t.env); err != nil {
		return nil, err
	}
	if err := errPath(t.name); err != nil {
		return nil, fault(p.line, "%.100q: %v", t.name, err)
	}
	return t.reader.text(t.name), nil
}

// enter plays steps a number of times.
func (t *thread) enter(f frame) {
	if f.left > 0 {
		t.frames = append(t.frames, f)
	}
}

func (a *repeat) run(t *thread, _ int) error {
	n, err := a.Times.within(&t.env, 0, maxCount)
	if err != nil {
		return err
	}
	t.enter(frame{steps: a.Steps, left: n, slot: a.As.count(t)})
	return nil
}

// count sets a variable that counts to 0 and returns its slot, -1 for none.
func (v *variable) count(t *thread) int {
	if v.name == "" {
		return -1
	}
	t.vars[v.slot] = 0
	return v.slot
}

func (a *mix) run(t *thread, _ int) error {
	n, err := a.Times.within(&t.env, 0, maxCount)
	if err != nil || n == 0 {
		return err
	}
	t.enter(frame{steps: a.draw(t), left: n, slot: a.As.count(t), mix: a})
	return nil
}

// draw returns the steps of an alternative.
func (a *mix) draw(t *thread) []step {
	at := t.rng.Int64N(a.weight)
	for i := range a.Of {
		if at -= a.Of[i].weight; at < 0 {
			return a.Of[i].Steps
		}
	}
	panic("internal error: the weights of a mix")
}

func (a *when) run(t *thread, _ int) error {
	holds, err := a.Condition.within(&t.env, -maxOffset, maxOffset)
	if err == nil && holds != 0 {
		t.enter(frame{steps: a.Steps, left: 1, slot: -1})
	}
	return err
}

func (a *let) run(t *thread, _ int) (err error) {
	t.vars[a.As.slot], err = a.Value.within(&t.env, -maxOffset, maxOffset)
	return err
}

func (a *think) run(t *thread, line int) error {
	n, err := a.Time.within(&t.env, 0, maxNanos)
	if err != nil {
		return err
	}
	if a.asleep {
		t.asleep += n
	}
	return t.pass(line, n)
}
