package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// pass is what the concerns of one pass over a recording share. It knows them only by the
// facts that they hear.
type pass struct {
	options Options
	budget  *budget
	learned *learned
	report  Report
	names   *names
	state   *process.State
	order   order
	line    int64    // number of the current event in the order of the simulation
	told    bool     // the recording tells who woke whom
	event   simEvent // the event being simulated
	row     simEvent // see rowOf
	more    more     // of the fact being told
	hear    [numFacts][]concern
	acts    [format.NumEffects]func(*simEvent) // what concerns do with calls on files of the trace
	spanned bool                               // the recording has spans; known in the last pass
	judgement
	trace
}

// A concern is one thing that events are about, such as pipes or locks. It has a state of its
// own, which no other concern touches. Facts come to it in the order in which they happen. It
// answers with edges of the current event (order.after), and with events of the trace (emit).
type concern interface {
	hears() []what                          // the facts that it wants
	fact(f fact)                            // one of these has come
	holds(add func(use purpose, bytes int)) // the memory that it takes now
}

// what is a kind of fact.
type what uint8

const (
	factTimed   what = iota // the event comes, and its time on the trace's clock is known
	factNext                // the trace gets what must be before it
	factActs                // what it is about is known
	factOpened              // a descriptor of file was made, or was open at the start as from tells
	factClosed              // thread t closes a descriptor of file
	factDropped             // the last descriptor of file was closed
	factBegan               // thread t begins; maker is nil if no recorded thread made it
	factEnds                // thread t ends
	factWritten             // the event gets into the trace
	factLeft                // the event is left out
	factTried               // a lock of s was refused or taken
	factFreed               // a lock was given up
	factSpan                // the event is a span
	factOver                // the recording has ended
	numFacts
)

// fact is what concerns are told about an event. It has more only where its kind names that.
type fact struct {
	what what
	s    *simEvent
	*more
}

// more is what some facts are about besides the event.
type more struct {
	t, maker *thread
	file, of *openFile // that was opened, and what leads to it: the other end of a pipe, or a descriptor in a path
	named    bool      // it was opened by a name of a file
	from     *format.Descriptor
	lock     *lockCall
}

// tell tells the concerns that hear it a fact about an event.
func (p *pass) tell(w what, s *simEvent) {
	for _, c := range p.hear[w] {
		c.fact(fact{what: w, s: s})
	}
}

// tellMore does the same for a fact with more. A concern can tell another one meanwhile.
func (p *pass) tellMore(w what, s *simEvent, m more) {
	saved := p.more
	p.more = m
	for _, c := range p.hear[w] {
		c.fact(fact{w, s, &p.more})
	}
	p.more = saved
}

// rowOf returns a row for the trace that is no event of the recording.
func (p *pass) rowOf(t *thread, e, out *format.Event) *simEvent {
	p.row.t, p.row.e, p.row.out = t, e, out
	return &p.row
}

// thread returns the thread of an event. A thread whose creation is not in the
// recording becomes a process of its own.
func (p *pass) thread(e *format.Event) *thread { return p.state.Thread(e).Data.(*thread) }
