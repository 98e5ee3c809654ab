package transform

import (
	"slices"

	"pianola/format"
)

// collector collects the edges of an event.
type collector struct {
	w     *lower
	t     *outThread
	self  int32
	edges []format.Edge
	waits []format.Edge // as they were
	floor int64
}

// waited adds the edges of waits that have ended: one, or with the number -1 all that
// are left.
func (c *collector) waited(line, number int64) {
	p := &c.t.pending
	p.waits = slices.DeleteFunc(p.waits, func(k lapsed) bool {
		if number >= 0 && (k.line != line || k.edge != number) {
			return false
		}
		k.was.Delay = sum(k.was.Delay, p.own()-k.own)
		c.wait(k.was, 0)
		return true
	})
}

// wait adds the edge of a wait: to the last written event at the end of the awaited
// event, and to what that event's thread has waited for since.
func (c *collector) wait(edge format.Edge, depth int) {
	if edge.Thread == 0 {
		c.late(edge, 0, depth)
		return
	}
	t, b := c.w.threads[edge.Thread-1], &c.w.lines.threads[edge.Thread-1]
	k := b.target(edge.Event)
	if k == nil || c.followed(edge) {
		return
	}
	at, lag, more, floor := k.at, k.lag, k.more, k.floor
	if !k.stands {
		at, lag, more = c.w.before(t, b, edge.Thread, k)
		floor = sum(t.floor, lag)
	}
	for _, passed := range more {
		passed.Delay = sum(passed.Delay, edge.Delay)
		c.wait(passed, depth+1)
	}
	edge.Delay = sum(edge.Delay, lag)
	exact := at == k.data && lag == 0
	if edge.Thread, edge.Event = at.thread, at.event; at.thread == c.self && at.event >= c.t.count {
		return
	}
	if !exact {
		depth++
	}
	c.late(edge, floor-lag, depth)
	if !k.commits {
		c.follow(edge)
	}
}

// followed reports whether the event already has a wait edge to another event that is
// at least as long, and records the edge.
func (c *collector) followed(edge format.Edge) bool {
	for i := range c.waits {
		if k := &c.waits[i]; k.Thread == edge.Thread && k.Event == edge.Event && k.Kind == edge.Kind {
			if edge.Delay <= k.Delay {
				return true
			}
			k.Delay = edge.Delay
			return false
		}
	}
	c.waits = append(c.waits, edge)
	return false
}

// late adds an edge of a wait. An edge that another thread passed on is dropped if
// there is one that is at least as long.
func (c *collector) late(edge format.Edge, floor int64, depth int) {
	if depth > 0 {
		for i := range c.edges {
			k := &c.edges[i]
			if k.Thread != edge.Thread || k.Event != edge.Event || !isWait(k.Kind) || k.Kind.Outside() != edge.Kind.Outside() {
				continue
			}
			if k.Delay < edge.Delay {
				k.Delay = edge.Delay
				c.floor = max(c.floor, sum(floor, edge.Delay))
			}
			return
		}
	}
	c.add(edge, floor)
}

// to returns the event with the effects of an event, or the event before it.
func (c *collector) to(edge format.Edge) (at where, exact bool, floor int64) {
	t, b := c.w.threads[edge.Thread-1], &c.w.lines.threads[edge.Thread-1]
	switch k := b.target(edge.Event); {
	case k == nil:
	case k.data.thread > 0:
		return k.data, k.data == k.at, k.floor
	case k.stands:
		return k.at, false, k.floor - k.lag
	}
	if t.count == 0 {
		return c.w.born[edge.Thread-1], false, 0
	}
	return where{edge.Thread, t.count - 1}, false, t.floor
}

// keep adds an edge that the event has had.
func (c *collector) keep(edge format.Edge) {
	if edge.Thread == 0 {
		c.add(edge, 0)
		return
	}
	at, exact, floor := c.to(edge)
	if !exact {
		c.order(edge)
		return
	}
	edge.Thread, edge.Event = at.thread, at.event
	c.add(edge, floor)
	c.follow(edge)
}

// keepCommit adds an edge of a commit that the event has had. Where the sync is gone, it is the
// event before, if that is of the same thread.
func (c *collector) keepCommit(edge format.Edge) {
	if edge.Thread > 0 {
		at, _, _ := c.to(edge)
		if at.thread != edge.Thread {
			return
		}
		edge.Event = at.event
	}
	c.edges = append(c.edges, edge)
}

// order adds an edge that keeps a result, if nothing else does.
func (c *collector) order(edge format.Edge) {
	if edge.Thread == 0 {
		return
	}
	at, _, floor := c.to(edge)
	c.after(at, edge.Kind, floor)
}

// after lets the event come after a place.
func (c *collector) after(at where, kind format.EdgeKind, floor int64) {
	if at.thread == 0 || at.thread == c.self || c.t.follows[at.thread] > at.event {
		return
	}
	edge := format.Edge{Thread: at.thread, Kind: kind, Event: at.event}
	c.add(edge, floor)
	c.follow(edge)
}

func (c *collector) add(edge format.Edge, floor int64) {
	c.edges = append(c.edges, edge)
	if edge.Kind != format.EdgeArrival {
		c.floor = max(c.floor, sum(floor, edge.Delay))
	}
}

// follow notes that the thread comes after an event in all replays.
func (c *collector) follow(edge format.Edge) {
	if edge.Kind != format.EdgeAny {
		c.t.follows[edge.Thread] = max(c.t.follows[edge.Thread], edge.Event+1)
	}
}
