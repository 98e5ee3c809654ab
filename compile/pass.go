package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// pass is what the concerns of one pass over a recording share. It knows them only by the
// facts that they hear.
type pass struct {
	options  Options
	budget   *budget
	learned  *learned
	report   Report
	names    *names
	state    *process.State
	order    order
	line     int64    // number of the current event in the order of the simulation
	told     bool     // the recording tells who woke whom
	event    simEvent // the event being simulated
	hear     [numFacts][]concern
	acts     [format.NumEffects]func(*simEvent)
	spanned  bool                // the recording has spans; known in the last pass
	simulate func(*format.Event) // an event
	judgement
	trace
}

// A concern is one thing that events are about, such as pipes or locks. It has a state of its
// own, which no other concern touches. Facts come to it in the order in which they happen. It
// answers with edges of the current event (order.after), and with events of the trace (emit).
type concern interface {
	hears() ([]what, acts)                  // the facts that it wants, and the effects of calls on files
	fact(f fact)                            // one of these has come
	holds(add func(use purpose, bytes int)) // the memory that it takes now
}

// acts are what concerns do with calls on files of the trace, by their effect.
type acts map[format.Effect]func(*simEvent)

// what is a kind of fact.
type what uint8

const (
	factComes   what = iota // an event of t comes
	factTimed               // its time on the trace's clock is known; it seemed to be at another
	factNext                // the trace gets what must be before it
	factActs                // what it is about is known
	factOpened              // a descriptor of file was made, or was open at the start as from tells
	factClosed              // the descriptor fd of file is closed
	factDropped             // the last descriptor of file was closed
	factBegan               // thread t begins; maker is nil if no recorded thread made it
	factEnds                // thread t ends
	factWritten             // the event out gets into the trace
	factLeft                // the event is left out
	factTried               // a lock of s was refused or taken
	factFreed               // a lock was given up
	factSpan                // a span e of t comes
	factOver                // the recording has ended
	numFacts
)

// fact is what concerns are told. Fields that the kind does not name mean nothing.
type fact struct {
	what     what
	s        *simEvent // the current event
	t, maker *thread
	e        *format.Event // of t
	out      *format.Event
	file, of *openFile // that was opened, and what leads to it: the other end of a pipe, or a descriptor in a path
	named    bool      // it was opened by a name of a file
	from     *format.Descriptor
	lock     *lockCall
	cost     int64 // that t had to subtract before e
	seemed   int64
}

// tell tells a fact to the concerns that hear it.
func (p *pass) tell(f fact) {
	for _, c := range p.hear[f.what] {
		c.fact(f)
	}
}

// thread returns the thread of an event. A thread whose creation is not in the
// recording becomes a process of its own.
func (p *pass) thread(e *format.Event) *thread { return p.state.Thread(e).Data.(*thread) }
