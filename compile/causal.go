package compile

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"pianola/format"
)

// maxHeld bounds the events of not yet created threads that are held back. A
// child runs ahead of the line of its parent's clone by what the parent needs
// to return from it, so far fewer are met in practice.
const maxHeld = 1 << 18

// causal yields events in an order in which a thread is created before its
// first event. A script's lines stand in order of completion, so a child's
// first lines can precede the line of the clone that made it; they are held
// back until it comes.
type causal struct {
	r     format.Reader
	batch []format.Event
	n, i  int
	err   error

	started bool

	alive   map[int32]bool
	held    map[int32][]format.Event
	heldNum int
	ready   [][]format.Event // events let go, the next to be taken in the last queue
	orphans int              // threads whose creation the recording does not show
}

func newCausal(r format.Reader) *causal {
	return &causal{r: r, batch: make([]format.Event, batchSize), alive: map[int32]bool{}, held: map[int32][]format.Event{}}
}

// next returns the next event, valid until the next call.
func (c *causal) next() (*format.Event, error) {
	for {
		if n := len(c.ready); n > 0 {
			queue := c.ready[n-1]
			if len(queue) == 0 {
				c.ready = c.ready[:n-1]
				continue
			}
			c.ready[n-1] = queue[1:]
			if c.admit(&queue[0]) {
				return &queue[0], nil
			}
			continue
		}
		if c.i == c.n {
			if c.err == nil {
				c.n, c.err = c.r.Read(c.batch)
				c.i = 0
				if !c.started {
					c.begin()
				}
			}
			if c.i < c.n {
				continue
			}
			if c.err != nil && (!errors.Is(c.err, io.EOF) || !c.release()) {
				return nil, c.err
			}
			continue
		}
		e := &c.batch[c.i]
		c.i++
		if c.admit(e) {
			return e, nil
		}
	}
}

// begin lets the threads go on that ran when the recording began.
func (c *causal) begin() {
	c.started = true
	for _, p := range attached(c.r.Header()) {
		for _, tid := range p.threads {
			c.alive[tid] = true
		}
	}
}

// admit reports whether e can go on now, and holds it back if not.
func (c *causal) admit(e *format.Event) bool {
	if was := renamed(e); c.alive[was] {
		delete(c.alive, was)
		c.alive[e.TID] = true
	}
	if !c.alive[e.TID] {
		if len(c.alive) > 0 && c.heldNum < maxHeld {
			c.held[e.TID] = append(c.held[e.TID], e.Clone())
			c.heldNum++
			return false
		}
		if len(c.alive) > 0 {
			c.orphans++
		}
		c.alive[e.TID] = true
	}
	switch e.Op.Info().Effect {
	case format.EffectFork:
		if e.Ret > 0 {
			child := int32(e.Ret)
			c.alive[child] = true
			if len(c.held[child]) > 0 {
				c.ready = append(c.ready, c.held[child])
			}
			c.heldNum -= len(c.held[child])
			delete(c.held, child)
		}
	case format.EffectExit, format.EffectExitGroup:
		// The map must not become empty: that stands for the very start.
		if len(c.alive) > 1 {
			delete(c.alive, e.TID)
		}
	}
	return true
}

// release lets the threads go on whose creation never came. It reports whether
// there were any.
func (c *causal) release() bool {
	if len(c.held) == 0 {
		return false
	}
	for _, tid := range slices.Backward(slices.Sorted(maps.Keys(c.held))) {
		c.alive[tid] = true
		c.orphans++
		c.ready = append(c.ready, c.held[tid])
	}
	c.held, c.heldNum = map[int32][]format.Event{}, 0
	return true
}

// renamed returns the id that a thread had before it became the only one of its
// process by an exec, and took over the process's id (execve(2)). It is 0 for
// any other event.
func renamed(e *format.Event) int32 {
	if e.Op.Info().Effect != format.EffectExec || len(e.Notes) == 0 {
		return 0
	}
	v, ok := format.Note(e.Notes, "was")
	tid, err := strconv.ParseInt(string(v), 10, 32)
	if !ok || err != nil {
		return 0
	}
	return int32(tid)
}
