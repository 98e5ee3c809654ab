package mpi

import (
	"math"
)

// mode says when a send completes, besides what Sends has learned.
type mode uint8

const (
	standard mode = iota
	synchronous
	buffered // it never waits
)

// message is one side of a message.
type message struct {
	receive bool
	probe   bool // a receive that leaves the message there
	mode    mode
	wild    bool // a receive from any source whose source is unknown
	shared  bool // the call that completed it completed something else as well
	ended   bool // call is known
	paired  bool // other is known
	comm    *comm
	peer    int64 // place of the other side in comm
	tag     int64 // negative for any
	begin   Begin
	call    Call
	other   Begin
	guessed bool
	data    Message
}

// take returns memory for a message.
func (p *Pairer) take() *message {
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		*m = message{}
		return m
	}
	return &message{}
}

// envelope reads the arguments of a message of a rank. It is nil for one that goes nowhere.
func (p *Pairer) envelope(r *rank, f *function, a arguments, c *Call, receive bool, peer, tag argument) *message {
	on := p.comm(r, a)
	to, known := a.int(peer)
	mark, tagged := a.int(tag)
	if on == nil || on.confused || !known || !tagged {
		p.Stats.Unknown++
		return nil
	}
	anySource, nowhere := int64(-2), int64(-1)
	if r.openMPI {
		anySource, nowhere = -1, -2
	}
	if on.alone || to == nowhere || to < 0 && !(receive && to == anySource) {
		return nil
	}
	m := p.take()
	m.receive, m.mode, m.comm, m.peer, m.tag = receive, f.mode, on, to, mark
	m.wild = to < 0
	m.begin = Begin{c.Thread, c.Rank, c.Start}
	if !receive {
		m.data = p.messageOf(r, f, a)
	}
	return m
}

// message adds a send or a receive.
func (p *Pairer) message(r *rank, f *function, a arguments, c *Call) bool {
	m := p.envelope(r, f, a, c, f.receive, argPeer, argTag)
	if a.has(argRequest) {
		if id, ok := a.handle(argRequest); ok {
			q := request{message: m}
			if f.starts {
				q = request{start: m, persistent: true}
			}
			p.ask(r, id, q)
		}
		if m != nil && !f.starts {
			p.post(m)
		}
		return true
	}
	if m == nil {
		return true
	}
	if f.receive {
		m.know(a.status(argStatus, 0, r.openMPI))
	}
	p.completed(m, c)
	return true
}

// completed adds a message that its own call completes.
func (p *Pairer) completed(m *message, c *Call) {
	m.ended, m.call = true, *c
	p.post(m)
}

// exchange adds a call that sends and receives.
func (p *Pairer) exchange(r *rank, f *function, a arguments, c *Call) bool {
	send := p.envelope(r, f, a, c, false, argPeer, argTag)
	receive := p.envelope(r, f, a, c, true, argSource, argRecvTag)
	asks := a.has(argRequest)
	if id, ok := a.handle(argRequest); asks && ok {
		p.ask(r, id, request{message: receive, send: send})
	}
	for _, m := range [...]*message{send, receive} {
		if m == nil {
			continue
		}
		if !asks {
			m.know(a.status(argStatus, 0, r.openMPI))
			m.ended, m.shared, m.call = true, true, *c
		}
		p.post(m)
	}
	return true
}

// probe adds a call that looks for a message. One with receive also takes it.
func (p *Pairer) probe(r *rank, f *function, a arguments, c *Call) bool {
	if a.has(argFlag) {
		if flag, known := a.result(argFlag); !known || flag == 0 {
			if !known {
				p.Stats.Unknown++
			}
			return false
		}
	}
	m := p.envelope(r, f, a, c, true, argPeer, argTag)
	if m == nil {
		return true
	}
	m.know(a.status(argStatus, 0, r.openMPI))
	if m.probe = !f.receive; m.probe && m.wild {
		p.Stats.Unknown++
		return true
	}
	p.completed(m, c)
	return true
}

// know notes what a status tells of a receive.
func (m *message) know(s status) {
	if s.known && m.receive {
		if m.wild {
			m.peer, m.wild = s.source, false
		}
		m.tag = s.tag
	}
}

// ended notes the call that has completed a message.
func (p *Pairer) ended(m *message, c *Call, s status, shared bool) {
	wild, queued := m.wild, m.receive && !m.paired
	m.know(s)
	m.ended, m.shared, m.call = true, shared, *c
	switch {
	case m.paired:
		p.finish(m)
	case queued && wild && m.comm.known:
		p.release(m.comm.inbox(m.begin.Rank))
	}
}

// abandon notes that the time when the request of a message completed is unknown.
func (p *Pairer) abandon(q request) {
	if m := q.message; m != nil && m.wild {
		p.ended(m, &Call{Rank: m.begin.Rank, End: math.MaxInt64 - ClockError, Number: -1}, status{}, true)
	}
}

// finish tells of a message that is paired, and whose end is known.
func (p *Pairer) finish(m *message) {
	if m.call.Number < 0 {
		return // its request can still complete
	}
	kind := Received
	if !m.receive {
		kind = Sent
		p.Sends.add(m, p.latest(&m.call, m.other.Rank))
	}
	m.data.Shared = m.shared
	p.call[0], p.begin[0] = m.call, m.other
	p.wait = Wait{Kind: kind, Guessed: m.guessed, Calls: p.call[:], On: p.begin[:], Message: m.data}
	p.waited(&p.wait)
	p.free = append(p.free, m)
}

// messageOf returns what a send of a rank sends.
func (p *Pairer) messageOf(r *rank, f *function, a arguments) Message {
	d := Message{Count: -1, Synchronous: f.mode == synchronous, of: -1}
	count, counted := a.int(argCount)
	handle, typed := a.handle(argType)
	if !counted || !typed || count < 0 || f.mode == buffered {
		return d
	}
	of := datatype{handle: handle, rank: -1}
	if r.openMPI || handle>>24 != mpichTypes {
		of.rank = r.number // each rank has its own
	}
	d.Count, d.of = count, p.Sends.typed(of)
	return d
}

// mpichTypes is the first byte of the handles of MPICH for predefined datatypes, which are the
// same in all ranks.
const mpichTypes = 0x4c
