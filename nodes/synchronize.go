package nodes

import (
	"errors"
	"io"
	"slices"

	"pianola/format"
	"pianola/transform"
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

// unpaired are the messages of a channel of which only one side was seen, the newest of each
// side.
type unpaired struct{ sent, received []passing }

const (
	maxChannels = 1 << 14 // with unpaired messages; more are not paired
	maxUnpaired = 64
)

// crossings finds, for each pair of nodes, the least time from the begin of a send of the one to
// the end of the receive of the other.
type crossings struct {
	open  map[channel]*unpaired
	least map[[2]int]int64
}

// add adds an event of a node. A receive can stand before its send: clocks are wrong, and a long
// send ends after the receive.
func (c *crossings) add(node int, e *format.Event) {
	if e.Op == format.OpSpan || !e.Op.Valid() || !e.Notes.Known(format.NotedMessage) || e.Notes.ChannelKind != format.ChannelTCP {
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
			c.pair(&s, &r)
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
		c.pair(&s, &r)
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

func (c *crossings) pair(s, r *passing) {
	if s.node == r.node {
		return
	}
	key := [2]int{s.node, r.node}
	if least, known := c.least[key]; !known || r.at-s.at < least {
		c.least[key] = r.at - s.at
	}
}

// synchronize moves the clocks so that no message is received before it was sent.
func (r *Run) synchronize() error {
	if len(r.nodes) == 1 {
		return nil
	}
	c := crossings{open: map[channel]*unpaired{}, least: map[[2]int]int64{}}
	m, err := r.Open()
	if err != nil {
		return err
	}
	defer m.Close()
	batch := make([]format.Event, format.MergedBatch)
	for {
		n, err := m.Read(batch)
		for i := range batch[:n] {
			c.add(transform.NodeOf(&batch[i]), &batch[i])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	r.move(c.least)
	return nil
}

// move moves the clocks by the least times between sends and receives. Each is moved as little
// as possible; that of the first node stays.
func (r *Run) move(least map[[2]int]int64) {
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
	for _, pair := range pairs {
		if wrong(pair) {
			r.Unclear = append(r.Unclear, Pair{r.nodes[pair[0]].name, r.nodes[pair[1]].name})
		}
	}
	for i, n := range r.nodes {
		if by := add[i] - add[0]; by != 0 {
			n.clock.moved = by
			r.Moved = append(r.Moved, Moved{n.name, by})
		}
	}
}
