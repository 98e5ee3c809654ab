package compile

import (
	"slices"

	"pianola/format"
	"pianola/format/coverage"
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
	fds      *numbering
	line     int64    // number of the current event in the order of the simulation
	told     bool     // the recording tells who woke whom
	stolen   float64  // share of the time of busy processors for which the host of a virtual machine had them; 0 in all passes but the last
	delayed  float64  // share of the time for which the recorder had a processor that other programs wanted; the same
	event    simEvent // the event being simulated
	caller   *thread  // whose event it is
	trail    []*entry // that it passes through
	args     argMaps
	row      simEvent // see rowOf
	coming   simEvent // the next event, before it is resolved
	cost     int64    // that its thread had to subtract before it
	seemed   int64    // when it seemed to begin on the clock of the trace, before that was changed
	more     more     // of the fact being told
	hear     [numFacts][]func(fact)
	acting   byOp // see on
	changing byOp // see always
	making   byOp // see ahead
	loop     loop
	holdings []func(add func(use purpose, bytes int)) // tell the memory that concerns take now
	left     [format.NumVias]coverage.Missing         // I/O on files that is left out, by interface
	spanned  bool                                     // the recording has spans; known in the last pass
	logs     []*node                                  // those of Report.Logs
	judgement
	trace
}

// loop simulates events for concerns that have more of them than the recording.
type loop interface {
	apply(e *format.Event)
	about(s *simEvent)  // the first half: what it is about
	change(s *simEvent) // the second half: what it changes
}

// A concern is one thing that events are about, such as pipes or locks. It has a state of its
// own, which no other concern touches. Facts come to it in the order in which they happen. It
// answers with edges of the current event (order.after), and with events of the trace (emit).
type concern interface {
	enlist() // asks for facts and calls, by when, on, always and ahead
}

// what is a kind of fact.
type what uint8

const (
	factComes   what = iota // an event comes
	factTimed               // the event comes, and its time on the trace's clock is known
	factAsks                // its requests come before it
	factActs                // what it is about is known
	factOpened              // a descriptor of file was made, or process num had it open at the start, as from tells
	factClosed              // thread t closes a descriptor of file
	factDropped             // the last descriptor of file was closed
	factBegan               // thread t begins; maker is nil if no recorded thread made it
	factEnds                // thread t ends
	factWritten             // the event gets into the trace
	factLeft                // the event is left out
	factMoved               // it sent or received a message, and nothing more is told about it
	factTried               // a lock of s was refused or taken
	factFreed               // a lock was given up
	factSpan                // the event is a span
	factExec                // the process executes another program
	factOver                // the recording has ended
	numFacts
)

// fact is what concerns are told about an event. It has more only where its kind names that.
type fact struct {
	s *simEvent
	*more
}

// more is what some facts are about besides the event.
type more struct {
	t, maker *thread
	file, of *openFile // that was opened, and what leads to it: the other end of a pipe, or a descriptor in a path
	named    bool      // it was opened by a name of a file
	from     *format.Descriptor
	num      int32 // of the process in the trace
	lock     *lockCall
	fd       int32 // that is closed
	d        *process.Descriptor
}

// when calls hears for each fact of a kind. Concerns hear it in the order of model.concerns.
func (p *pass) when(w what, hears func(fact)) { p.hear[w] = append(p.hear[w], hears) }

// on calls act for each call on files of the trace whose operation has all of some acts, or of
// others; 0 is for operations that have none.
func (p *pass) on(act func(*simEvent), acts ...format.Acts) { p.acting.enter(act, has(acts)) }

// always calls change for each event whose operation has such acts, after the above. It changes
// descriptors, threads and directories, whether or not the event is in the trace.
func (p *pass) always(change func(*simEvent), acts ...format.Acts) {
	p.changing.enter(change, has(acts))
}

// ahead calls make before an event of some operations is simulated. It puts into the trace what
// must be there before.
func (p *pass) ahead(make func(*simEvent), of func(*format.Info) bool) { p.making.enter(make, of) }

func has(acts []format.Acts) func(*format.Info) bool {
	return func(i *format.Info) bool {
		return slices.ContainsFunc(acts, func(a format.Acts) bool { return i.Acts.All(a) && (a != 0 || i.Acts == 0) })
	}
}

// byOp are functions for events of each operation.
type byOp [format.NumOps][]func(*simEvent)

func (b *byOp) enter(f func(*simEvent), of func(*format.Info) bool) {
	for op := range b {
		if of(format.Op(op).Info()) {
			b[op] = append(b[op], f)
		}
	}
}

func (b *byOp) call(op format.Op, s *simEvent) {
	for _, f := range b[op] {
		f(s)
	}
}

// acts returns what an event does if it succeeds, as far as its operation tells.
func (s *simEvent) acts() format.Acts { return s.out.Op.Info().Acts }

// tell tells the concerns that hear it a fact about an event.
func (p *pass) tell(w what, s *simEvent) {
	for _, hears := range p.hear[w] {
		hears(fact{s: s})
	}
}

// tellMore does the same for a fact with more. A concern can tell another one meanwhile.
func (p *pass) tellMore(w what, s *simEvent, m more) {
	saved := p.more
	p.more = m
	for _, hears := range p.hear[w] {
		hears(fact{s, &p.more})
	}
	p.more = saved
}

// rowOf returns a row for the trace that is no event of the recording.
func (p *pass) rowOf(t *thread, e, out *format.Event) *simEvent {
	p.row.t, p.row.e, p.row.out = t, e, out
	return &p.row
}

// simulate simulates an event that comes before the one that is coming.
func (p *pass) simulate(e *format.Event) {
	t, next := p.coming.t, p.coming.e
	p.loop.apply(e)
	p.coming.t, p.coming.e = t, next
}

// thread returns the thread of an event. A thread whose creation is not in the
// recording becomes a process of its own.
func (p *pass) thread(e *format.Event) *thread { return p.state.Thread(e).Data.(*thread) }

// newFile returns the next description.
func (p *pass) newFile(flags int64) *openFile {
	p.budget.take(forDescriptors, descriptorBytes)
	f := &openFile{Description: p.state.Open(nil, flags)}
	f.Data = f
	return f
}

// learned is what one pass has learned and the next passes need from their start.
type learned struct {
	links   map[string]string        // absolute path → target, of symbolic links that existed at the start
	strays  map[stray]bool           // descriptors of unknown origin that are files
	first   bool                     // this is the first pass
	more    bool                     // this pass learned something
	ranges  bool                     // a call closes a range of descriptors that has an end, or begins above firstMoved
	ordered bool                     // the events come in the order of their effects, not of their lines
	lines   bool                     // they come in the order of their lines, because another order takes too much memory
	closed  bool                     // learn nothing more, so that the last pass meets the same names as the one before
	named   map[string]bool          // last components of links
	sent    map[format.Channel]int32 // channels that a recorded thread sent to → the first one
	got     map[format.Channel]int32 // channels that a recorded thread received from → the first one
	serves  bool                     // some of these are of unrecorded programs, as far as the pass before knew
	servers map[int32]bool           // the threads that received from these
	woken   map[spot]int64           // where a thread waited → line at which another thread last woke one there
	logs    map[int32]bool           // entries of files that threads waited for while another one synced them
	fed     map[int64]pipeCall       // line of a pipe read → the received write, which has a later line
	mpi     mpiLearned
	pipes   pipePlan   // of the newest pass
	buffers []*buffers // the same, by process
	layouts []*buffers // the same, of mapped files
	plan    *plan      // nil in all passes but the last
	bytes   int        // size of the above
}

func newLearned() *learned {
	return &learned{
		links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}, sent: map[format.Channel]int32{}, got: map[format.Channel]int32{}, servers: map[int32]bool{}, woken: map[spot]int64{}, logs: map[int32]bool{}, fed: map[int64]pipeCall{},
	}
}
