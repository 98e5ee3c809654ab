// Package mpi finds out what the calls of a parallel program waited for. Its input is the
// spans of the layer mpi, in the order of a recording: by their ends.
//
// Ranks on one machine exchange messages in shared memory, where a rank that waits polls: that
// looks like compute. A call says what it waits for:
//
//   - a receive ends after the begin of its send. The two are paired by communicator, source,
//     destination, tag and order.
//   - a send with a rendezvous ends after the begin of its receive: see Sends.
//   - a collective ends after all ranks of the communicator have entered it, or some of them. It
//     is paired by communicator and order.
//   - an operation that returns at once ends with the call that completes its request.
//
// One pass over the recording is enough. What can't be paired yet is kept: a line can stand
// before that of its partner, a receive from any source before the status that tells the
// source, and a call on a communicator before the call with which another rank makes it.
package mpi

import (
	"cmp"
	"maps"
	"slices"

	"pianola/format"
)

// Layer is the name of the layer whose spans are paired.
const Layer = "mpi"

// Begin is when a thread began something that others can wait for.
type Begin struct {
	Thread, Rank int32
	At           int64 // nanoseconds, on the recording's clock
}

// Call is a call that completed something.
type Call struct {
	Number       int64 // what Add returned
	Thread, Rank int32
	Start, End   int64

	// From is when the thread began to wait: at Start or, if it has polled, with the first
	// call of that loop. Polls is the number of calls of the loop before this one.
	From  int64
	Polls int32
}

// Kind is what a call completed.
type Kind uint8

// The kinds of what completes.
const (
	Received   Kind = iota // a message, or a probe that has found one
	Sent                   // a message; On is its receive
	Collective             // of a communicator
)

// Wait says that calls ended after others had begun: each of Calls after all of On. The slices
// are overwritten by the next call of the Pairer.
type Wait struct {
	Kind    Kind
	Guessed bool // the recording doesn't tell the source of the message, or which ranks of a collective wait for which
	Calls   []Call
	On      []Begin
	Message Message // of Sent
}

// Stats counts what was paired.
type Stats struct {
	Messages    int64 // that are paired
	Collectives int64 // calls that are paired
	Guessed     int64 // messages among them that can have other partners
	Unpaired    int64 // messages and collectives without a partner in the recording
	Unknown     int64 // calls on communicators or requests that are not known
}

// Pairer pairs the calls of a recording. It belongs to one goroutine.
type Pairer struct {
	Stats Stats
	Sends Sends

	waited  func(*Wait)
	nodes   map[int32]int // by rank
	partial bool          // some ranks are not recorded
	world   *comm
	self    *comm // those that have one rank
	ranks   map[int32]*rank
	comms   map[*comm]bool // all others
	ids     int            // of them
	makings map[origin]*making
	members int                // of all comms
	sources int                // of all graphs
	polling map[int32]*polling // by thread
	calls   int64

	queued  int // messages that wait for a partner
	ways    int
	entries int // of collectives that are open

	// Memory.
	free  []*message
	now   Call
	wait  Wait
	call  [1]Call
	begin [1]Begin

	begins []int64
}

const (
	// maxUnmatched bounds the messages from one rank to another that wait for a partner.
	maxUnmatched = 1 << 12

	// maxGuesses bounds the receives of a rank whose source must be guessed.
	maxGuesses = 1 << 8

	// maxQueued bounds all messages that wait for a partner, and maxEntries the entries of
	// collectives that are not complete.
	maxQueued  = 1 << 18
	maxEntries = 1 << 18

	// maxWays bounds the pairs of ranks that have exchanged messages. It is higher than maxQueued,
	// so some of them have none that waits.
	maxWays = 1 << 20

	// maxRequests bounds the requests of a rank.
	maxRequests = 1 << 13

	// maxComms bounds the communicators, and the handles of a rank. maxMembers bounds the ranks of
	// all communicators together, and the sources of all graphs.
	maxComms   = 1 << 16
	maxMembers = 1 << 22

	// maxPolling bounds the threads that poll.
	maxPolling = 1 << 16
)

// ClockError is how much later than the end of a call something can begin on another node that
// the call has waited for, in nanoseconds: clocks of nodes are known with such an error.
const ClockError = 100_000

// New returns a Pairer for a recording with a header. It calls waited for each call that has
// waited, once it is known for what; that can be later than the call, and in another order.
func New(h *format.Header, waited func(*Wait)) *Pairer {
	p := &Pairer{
		waited: waited, nodes: map[int32]int{}, ranks: map[int32]*rank{}, comms: map[*comm]bool{}, makings: map[origin]*making{}, polling: map[int32]*polling{},
		self: &comm{alone: true, known: true}, Sends: Sends{types: map[datatype]int32{}},
	}
	numbers := map[string]int{}
	for _, r := range h.Ranks {
		if _, known := numbers[r.Node]; !known {
			numbers[r.Node] = len(numbers)
		}
		p.nodes[r.Rank] = numbers[r.Node]
	}
	p.world = &comm{known: true, all: true, size: len(p.nodes)}
	program, _ := h.Program()
	p.partial = int(program.Ranks) > len(p.nodes)
	return p
}

// Add adds a call of a thread of a rank. It returns the number of the call: the first has 0.
func (p *Pairer) Add(thread, number int32, e *format.Event) int64 {
	c := &p.now
	*c = Call{Number: p.calls, Thread: thread, Rank: number, Start: e.Start, End: e.End(), From: e.Start}
	p.calls++
	f, ok := functions[e.Span.Function]
	if !ok || e.Span.Failed && !f.alone {
		delete(p.polling, thread)
		return c.Number
	}
	r := p.ranks[number]
	if r == nil {
		r = &rank{number: number, comms: map[int64]*comm{}, makings: map[maker]int{}, entered: map[*comm]int{}, requests: map[int64]request{}}
		p.ranks[number] = r
		if _, listed := p.nodes[number]; !listed {
			p.nodes[number] = -1
			p.world.size++
		}
	}
	a := arguments{e.Span, &f.at}
	if f.polls {
		p.poll(r, f, a, c)
	} else {
		delete(p.polling, thread)
		f.do(p, r, f, a, c)
	}
	return c.Number
}

// End pairs what is left. Nothing can be added then.
func (p *Pairer) End() {
	for _, r := range p.ranks {
		for _, id := range slices.Backward(r.newest(maxRequests)) {
			p.abandon(r.requests[id])
		}
		clear(r.requests)
	}
	all := slices.SortedFunc(maps.Keys(p.comms), func(a, b *comm) int { return cmp.Compare(a.id, b.id) })
	for _, c := range all { // one stands before those that are made of it
		p.settle(c)
	}
	for _, c := range append(all, p.world) {
		p.endComm(c)
	}
}

// latest returns until when something that a call waited for can have begun: by its end, but
// clocks of two nodes differ.
func (p *Pairer) latest(c *Call, other int32) int64 {
	if p.nodes[c.Rank] == p.nodes[other] {
		return c.End
	}
	return c.End + ClockError
}

// polling is a loop of calls that ask whether something has come.
type polling struct {
	from, last int64 // begin of the first call, and end of the newest
	calls      int32
}

// pollGap is the longest time between two calls of such a loop, in nanoseconds. A thread that
// asks less often does something else besides.
const pollGap = 1_000_000

// poll adds a call that only asks. If it completes something, the whole loop has waited.
func (p *Pairer) poll(r *rank, f *function, a arguments, c *Call) {
	on := p.polling[c.Thread]
	if on != nil && c.Start-on.last <= pollGap {
		c.From, c.Polls = on.from, on.calls
	}
	if f.do(p, r, f, a, c) {
		delete(p.polling, c.Thread)
		return
	}
	if on == nil {
		if len(p.polling) == maxPolling {
			clear(p.polling)
		}
		on = &polling{}
		p.polling[c.Thread] = on
	}
	*on = polling{c.From, c.End, c.Polls + 1}
}
