package mpi

import (
	"maps"
	"math"
	"slices"
)

// inbox is the messages to a rank in a communicator.
type inbox struct {
	ways map[int32]*way // by source
	all  []*way         // in the order in which they were seen

	// posted are receives that can't be paired yet, in their order: the source of the first is
	// not known, and it could take a message that the others would get.
	posted []*message

	// guesses are receives that are complete, but their source is unknown. They get what the
	// others leave.
	guesses []*message

	// unsure says that messages were given up, and their partners can't be told from others: all
	// that is paired from then on is a guess.
	unsure bool

	tags []int64 // memory of release
}

// way is the messages of one source, of which one side was seen, in their order.
type way struct {
	sent, received []*message

	// partners counts, by tag, the messages to leave out because their partners were given
	// up: receives above 0, sends below.
	partners map[int64]int
}

// push adds a message to a list. If there are too many, the oldest one is given up, which push
// returns.
func (p *Pairer) push(list *[]*message, m *message) (given *message) {
	if p.queued == maxQueued || len(*list) == maxUnmatched {
		p.Stats.Unpaired++
		if len(*list) == 0 {
			return m
		}
		p.queued--
		given = (*list)[0]
		*list = append((*list)[:0], (*list)[1:]...)
	}
	p.queued++
	*list = append(*list, m)
	return given
}

// giveUp has the partner of a message that was given up left out, too, when it comes. The others
// are paired by their order.
func (w *way) giveUp(in *inbox, given *message) {
	switch {
	case given == nil || given.probe:
		return
	case given.tag < 0, w.partners[given.tag] == 0 && len(w.partners) == maxTags:
		in.unsure = true
		return
	case w.partners == nil:
		w.partners = map[int64]int{}
	}
	if given.receive {
		w.partners[given.tag]--
	} else {
		w.partners[given.tag]++
	}
}

// leavesOut reports whether the partner of a message was given up.
func (w *way) leavesOut(in *inbox, m *message) bool {
	n := w.partners[m.tag]
	switch {
	case len(w.partners) == 0:
		return false
	case m.tag < 0:
		in.unsure = true
		return false
	case m.receive != (n > 0) || n == 0:
		return false
	case m.probe:
		return true
	case m.receive:
		n--
	default:
		n++
	}
	if w.partners[m.tag] = n; n == 0 {
		delete(w.partners, m.tag)
	}
	return true
}

// maxTags bounds the tags of release, and of messages of a source that were given up.
const maxTags = 64

// remove removes the i-th message of a list.
func (p *Pairer) remove(list []*message, i int) []*message {
	p.queued--
	if len(list) == 1 && cap(list) > maxSpare {
		return nil
	}
	return slices.Delete(list, i, i+1)
}

// maxSpare is how long the memory of an empty list can be that is kept.
const maxSpare = 16

// post adds a message to those that wait for a partner.
func (p *Pairer) post(m *message) {
	if !m.comm.known {
		if p.push(&m.comm.pending, m) != nil {
			m.comm.unsure = true
		}
		return
	}
	if !m.receive {
		to, ok := p.at(m.comm, m.peer)
		if !ok {
			p.lost(m)
			return
		}
		p.sent(m.comm.inbox(to), m)
		return
	}
	in := m.comm.inbox(m.begin.Rank)
	if len(in.posted) == 0 && !m.wild {
		p.received(in, m)
		return
	}
	if given := p.push(&in.posted, m); given != nil {
		in.unsure = true // it may have another source than it says
	}
	p.release(in)
}

// lost counts a message whose partner has no recording, or is not known.
func (p *Pairer) lost(m *message) {
	if m.comm.all {
		p.Stats.Unpaired++
	} else {
		p.Stats.Unknown++
	}
}

// cancel removes a receive from those that wait for a partner.
func (p *Pairer) cancel(m *message) {
	if m == nil || !m.receive || m.paired || !m.comm.known {
		return
	}
	in := m.comm.inbox(m.begin.Rank)
	lists := []*[]*message{&in.posted}
	if from, ok := p.at(m.comm, m.peer); ok {
		lists = append(lists, &p.way(in, from).received)
	}
	for _, list := range lists {
		if i := slices.Index(*list, m); i >= 0 {
			*list = p.remove(*list, i)
		}
	}
	p.release(in)
}

// inbox returns that of a rank.
func (c *comm) inbox(of int32) *inbox {
	in := c.inboxes[of]
	if in == nil {
		if c.inboxes == nil {
			c.inboxes = map[int32]*inbox{}
		}
		in = &inbox{ways: map[int32]*way{}}
		c.inboxes[of] = in
	}
	return in
}

// way returns that from a source to an inbox.
func (p *Pairer) way(in *inbox, source int32) *way {
	w := in.ways[source]
	if w == nil {
		if p.ways == maxWays {
			p.sweep()
		}
		p.ways++
		w = &way{}
		in.ways[source] = w
		in.all = append(in.all, w)
	}
	return w
}

// sweep forgets ways without messages.
func (p *Pairer) sweep() {
	p.ways = 0
	for c := range p.comms {
		p.sweepComm(c)
	}
	p.sweepComm(p.world)
}

func (p *Pairer) sweepComm(c *comm) {
	for _, in := range c.inboxes {
		maps.DeleteFunc(in.ways, func(_ int32, w *way) bool { return w.empty() })
		in.all = slices.DeleteFunc(in.all, (*way).empty)
		p.ways += len(in.all)
	}
}

func (w *way) empty() bool { return len(w.sent) == 0 && len(w.received) == 0 && len(w.partners) == 0 }

// release pairs the posted receives that no earlier one from an unknown source holds up.
func (p *Pairer) release(in *inbox) {
	tags, kept := in.tags[:0], in.posted[:0]
	all := in.posted
	for _, m := range all {
		switch {
		case m.wild && m.ended:
			p.guessed(in, m)
		case m.wild:
			if !slices.Contains(tags, m.tag) {
				if len(tags) == maxTags {
					tags = append(tags[:0], -1) // agrees with all
				}
				tags = append(tags, m.tag)
			}
			kept = append(kept, m)
		case slices.ContainsFunc(tags, func(tag int64) bool { return agree(tag, m.tag) }):
			kept = append(kept, m)
		default:
			p.queued--
			p.received(in, m)
		}
	}
	clear(all[len(kept):])
	in.tags, in.posted = tags, kept
	if len(kept) > maxUnmatched/2 && kept[0].wild && !kept[0].ended {
		// The call that has completed it was not seen.
		kept[0].ended, kept[0].call = true, Call{Rank: kept[0].begin.Rank, End: math.MaxInt64 - ClockError, Number: -1}
		p.release(in)
	}
}

// guessed adds a posted receive to those whose source must be guessed.
func (p *Pairer) guessed(in *inbox, m *message) {
	p.queued--
	if len(in.guesses) == maxGuesses {
		p.guess(in, 0)
	}
	if p.push(&in.guesses, m) != nil {
		in.unsure = true
	}
}

// agree reports whether messages with these tags can be one. A negative tag takes any.
func agree(a, b int64) bool { return a == b || a < 0 || b < 0 }

// sent adds a send. Messages with one tag do not pass one another.
func (p *Pairer) sent(in *inbox, s *message) {
	w := p.way(in, s.begin.Rank)
	if w.leavesOut(in, s) {
		p.Stats.Unpaired++
		return
	}
	if len(w.sent) == maxUnmatched && len(in.guesses) > 0 {
		p.guess(in, 0)
	}
	if given := p.push(&w.sent, s); given != nil {
		if w.giveUp(in, given); given == s {
			return
		}
	}
	for i := 0; i < len(w.received); {
		r := w.received[i]
		if !agree(r.tag, s.tag) {
			i++
			continue
		}
		p.guessBefore(in, r, s)
		last := len(w.sent) - 1
		if last < 0 || w.sent[last] != s {
			return
		}
		w.received = p.remove(w.received, i)
		if !r.probe {
			w.sent = p.remove(w.sent, last)
		}
		probe := r.probe
		if p.pair(in, s, r); !probe {
			return
		}
	}
}

// received adds a receive whose source is known.
func (p *Pairer) received(in *inbox, r *message) {
	from, ok := p.at(r.comm, r.peer)
	if !ok {
		p.lost(r)
		return
	}
	w := p.way(in, from)
	if w.leavesOut(in, r) {
		p.Stats.Unpaired++
		return
	}
	for {
		i := slices.IndexFunc(w.sent, func(s *message) bool { return agree(r.tag, s.tag) })
		if i < 0 {
			w.giveUp(in, p.push(&w.received, r))
			return
		}
		s := w.sent[i]
		if p.guessBefore(in, r, s); i >= len(w.sent) || w.sent[i] != s {
			continue
		}
		if !r.probe {
			w.sent = p.remove(w.sent, i)
		}
		p.pair(in, s, r)
		return
	}
}

// guessBefore pairs receives of unknown source before a later receive takes a send that can be
// theirs: if there are as many of them as sends that can be.
func (p *Pairer) guessBefore(in *inbox, later, s *message) {
	mine := func(g, s *message) bool {
		return agree(g.tag, s.tag) && s.begin.At <= p.latest(&g.call, s.begin.Rank)
	}
	first := slices.IndexFunc(in.guesses, func(g *message) bool { return g.begin.At <= later.begin.At && mine(g, s) })
	if first < 0 {
		return
	}
	tag, begins := in.guesses[first].tag, p.begins[:0]
	for _, w := range in.all {
		for _, s := range w.sent {
			if agree(tag, s.tag) {
				begins = append(begins, s.begin.At)
			}
		}
	}
	p.begins = begins
	slices.Sort(begins)
	guesses, sends, sure := 0, 0, 0
	for _, g := range in.guesses {
		if g.tag != tag {
			continue
		}
		guesses++
		for sends < len(begins) && begins[sends] <= g.call.End {
			sends++
		}
		if sends == guesses {
			sure = guesses
		}
	}
	for ; sure > 0; sure-- {
		p.guess(in, slices.IndexFunc(in.guesses, func(g *message) bool { return g.tag == tag }))
	}
}

// guess pairs the i-th receive of unknown source with the send that began first of those that
// nothing else has taken.
func (p *Pairer) guess(in *inbox, i int) {
	r := in.guesses[i]
	in.guesses = p.remove(in.guesses, i)
	var best *way
	at := 0
	for _, w := range in.all {
		i := slices.IndexFunc(w.sent, func(s *message) bool { return agree(r.tag, s.tag) })
		if i < 0 || w.sent[i].begin.At > p.latest(&r.call, w.sent[i].begin.Rank) {
			continue
		}
		if best == nil || w.sent[i].begin.At < best.sent[at].begin.At {
			best, at = w, i
		}
	}
	if best == nil {
		p.Stats.Unpaired++
		return
	}
	s := best.sent[at]
	best.sent = p.remove(best.sent, at)
	r.guessed = true
	p.pair(in, s, r)
}

// pair notes that two messages are one. A probe leaves the send as it is.
func (p *Pairer) pair(in *inbox, s, r *message) {
	r.other, r.paired = s.begin, true
	r.guessed = r.guessed || in.unsure || s.comm.unsure
	if !r.probe {
		if s.guessed = r.guessed; s.guessed {
			p.Stats.Guessed++
		}
		p.Stats.Messages++
		s.other, s.paired = r.begin, true
		if s.ended {
			p.finish(s)
		}
	}
	if r.ended {
		p.finish(r)
	}
}

// endMessages pairs what is left in a communicator.
func (p *Pairer) endMessages(c *comm) {
	for _, rank := range sortedKeys(c.inboxes) {
		in := c.inboxes[rank]
		for len(in.guesses) > 0 {
			p.guess(in, 0)
		}
		for _, w := range in.all {
			p.queued -= len(w.sent) + len(w.received)
			p.Stats.Unpaired += int64(len(w.sent))
			for _, r := range w.received {
				if !r.probe {
					p.Stats.Unpaired++
				}
			}
		}
		p.queued -= len(in.posted)
		p.Stats.Unpaired += int64(len(in.posted))
		p.ways -= len(in.all)
	}
	c.inboxes = nil
}
