package nodes

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"pianola/compile/mpi"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/process"
)

// channel is a direction of a connection.
type channel struct {
	kind format.ChannelKind
	id   uint64
}

// passing is an end of a message: the node, when it was on the merged clock, and where it ends in
// the channel.
type passing struct {
	node int
	at   int64
	pos  uint32
}

// unpaired are the messages of a channel with only one known side, the newest of each
// side.
type unpaired struct{ sent, received []passing }

const (
	maxChannels = 1 << 14 // with unpaired messages; more are not paired
	maxUnpaired = 64
)

// crossings finds, for each pair of nodes, the least time from the begin of what the one does to
// the end of a call of the other one that has waited for it: of TCP messages, and of messages and
// collectives of MPI between machines.
type crossings struct {
	open     map[channel]*unpaired
	least    leasts
	leastMPI leasts

	machines    []string      // of the nodes
	nodes       map[int32]int // by rank
	begun, done []int64       // memory of waited: the last begin and the first end of each node
}

// leasts are the least times, by the nodes of the begin and of the end, in nanoseconds.
type leasts map[[2]int]int64

// add adds an event of a node. A receive can stand before its send: clocks are wrong, and a long
// send ends after the receive.
func (c *crossings) add(node int, e *format.Event) {
	if !e.Op.Valid() || !e.Notes.Known(format.NotedMessage) || e.Notes.ChannelKind != format.ChannelTCP {
		return
	}
	at := channel{e.Notes.ChannelKind, e.Notes.Channel}
	u := c.open[at]
	if u == nil {
		if len(c.open) == maxChannels {
			return
		}
		u = &unpaired{}
		c.open[at] = u
	}
	if e.Sends() {
		s := passing{node, e.Start, e.Notes.Pos}
		// The send holds what was received up to its position, since the send before.
		u.received = slices.DeleteFunc(u.received, func(r passing) bool {
			if int32(r.pos-s.pos) > 0 {
				return false
			}
			c.least.pair(&s, &r)
			return true
		})
		u.sent = keep(u.sent, s)
		return
	}
	r := passing{node, e.End(), e.Notes.Pos}
	for i, s := range u.sent {
		if int32(s.pos-r.pos) < 0 {
			continue
		}
		u.sent = u.sent[i:]
		c.least.pair(&s, &r)
		return
	}
	u.sent = u.sent[:0]
	u.received = keep(u.received, r)
}

func keep(list []passing, p passing) []passing {
	if len(list) == maxUnpaired {
		list = append(list[:0], list[1:]...)
	}
	return append(list, p)
}

func (l leasts) pair(s, r *passing) {
	if s.node == r.node {
		return
	}
	key := [2]int{s.node, r.node}
	if least, known := l[key]; !known || r.at-s.at < least {
		l[key] = r.at - s.at
	}
}

// waited adds calls of MPI that ended after others had begun.
func (c *crossings) waited(w *mpi.Wait) {
	if w.Guessed || w.Kind == mpi.Sent && !w.Message.Synchronous {
		return
	}
	for i := range c.machines {
		c.begun[i], c.done[i] = math.MinInt64, math.MaxInt64
	}
	for _, on := range w.On {
		at := &c.begun[c.nodes[on.Rank]]
		*at = max(*at, on.At)
	}
	for i := range w.Calls {
		at := &c.done[c.nodes[w.Calls[i].Rank]]
		*at = min(*at, w.Calls[i].End)
	}
	for from, begun := range c.begun {
		for to, done := range c.done {
			if begun > math.MinInt64 && done < math.MaxInt64 && c.machines[from] != c.machines[to] {
				c.leastMPI.pair(&passing{node: from, at: begun}, &passing{node: to, at: done})
			}
		}
	}
}

// synchronize moves the clocks so that no message is received before it was sent.
func (r *Run) synchronize() error {
	if len(r.nodes) == 1 {
		return nil
	}
	c := crossings{open: map[channel]*unpaired{}, least: leasts{}, leastMPI: leasts{}, nodes: map[int32]int{}}
	for i, n := range r.nodes {
		c.machines = append(c.machines, n.program.Machine)
		for _, rank := range n.head.Ranks {
			c.nodes[rank.Rank] = i
		}
	}
	c.begun, c.done = make([]int64, len(r.nodes)), make([]int64, len(r.nodes))
	m, err := r.Open()
	if err != nil {
		return err
	}
	defer m.Close()
	if r.pairsCalls() {
		err = c.readCalls(m)
	} else {
		err = c.read(m)
	}
	if err != nil {
		return err
	}
	both := maps.Clone(c.least)
	for pair, least := range c.leastMPI {
		if known, ok := both[pair]; !ok || least < known {
			both[pair] = least
		}
	}
	if !r.move(both) && len(c.leastMPI) > 0 {
		// Calls of MPI are paired by their order, which one that was not recorded upsets.
		unclear := r.Unclear
		r.Moved, r.Unclear = nil, nil
		if r.move(c.least) {
			r.Unclear = unclear
		}
	}
	return nil
}

// pairsCalls reports whether calls of MPI are to be paired: where clocks can be wrong, and all
// calls were recorded.
func (r *Run) pairsCalls() bool {
	apart := false
	for _, n := range r.nodes {
		apart = apart || n.program.Machine != r.nodes[0].program.Machine
		if !n.hasCalls() {
			return false
		}
	}
	return apart
}

// hasCalls reports whether the recording has all calls of MPI of the node, at least up to its end.
func (n *node) hasCalls() bool {
	text, _ := n.head.Value(format.MetaLost)
	if lost, _, _ := strings.Cut(text, " "); lost != "" && lost != "0" {
		return false
	}
	some := false
	for _, meta := range n.head.Meta {
		if layer, notes, _ := strings.Cut(meta.Value, " "); meta.Key == format.MetaLayer && layer == mpi.Layer {
			stepped, _ := format.Note([]byte(notes), "stepped")
			_, late := format.Note([]byte(notes), "late")
			if some = true; string(stepped) != "0" || late {
				return false
			}
		}
	}
	return some
}

// read reads the recordings for messages of TCP.
func (c *crossings) read(m *Reader) error {
	return format.Each(m, func(e *format.Event) error {
		c.add(transform.NodeOf(e), e)
		return nil
	})
}

// readCalls reads the recordings for messages of TCP and calls of MPI.
func (c *crossings) readCalls(m *Reader) error {
	events, state := format.NewCausal(m), process.NewState(m.Header())
	state.Start(func(*format.Descriptor) *process.Description { return nil })
	pairer := mpi.New(m.Header(), c.waited)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			pairer.End()
			return nil
		}
		if err != nil {
			return err
		}
		t := state.Thread(e)
		switch {
		case e.Span == nil:
			c.add(transform.NodeOf(e), e)
			if e.Op.Valid() && e.Op.Info().Class == format.ClassProcess {
				state.Apply(t, e)
			}
		case e.Span.Layer == mpi.Layer && t.Process.Rank >= 0:
			pairer.Add(t.TID, t.Process.Rank, e)
		}
	}
}

// move moves the clocks by the least times between sends and receives. Each is moved as little
// as possible; that of the first node stays. It reports whether the times agree with one another.
func (r *Run) move(least leasts) (agree bool) {
	add := make([]int64, len(r.nodes))
	wrong := func(pair [2]int) bool { return add[pair[1]] < add[pair[0]]-least[pair] }
	var pairs [][2]int
	for pair := range least {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for range r.nodes {
		for _, pair := range pairs {
			if wrong(pair) {
				add[pair[1]] = add[pair[0]] - least[pair]
			}
		}
	}
	agree = true
	for _, pair := range pairs {
		if wrong(pair) {
			agree = false
			r.Unclear = append(r.Unclear, Pair{r.nodes[pair[0]].name, r.nodes[pair[1]].name})
		}
	}
	for i, n := range r.nodes {
		n.clock.moved = add[i] - add[0]
		if by := n.clock.moved; by != 0 {
			r.Moved = append(r.Moved, Moved{n.name, by})
		}
	}
	return agree
}
