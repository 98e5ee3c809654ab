package transform

import (
	"fmt"

	"pianola/compile/mpi"
	"pianola/format"
	"pianola/format/process"
)

// lookAhead is how many events a stage holds back at most.
const lookAhead = 4096

// stage is a transform that looks ahead, or makes several events of one.
type stage interface {
	// event gets the next event, which is valid during the call, as what it does. It
	// applies that, and puts the resulting events into the queue.
	event(s *staged, f *process.Fact) error
}

// holding is a stage that holds events in the queue.
type holding interface {
	// decide is called where the queue is full and its first event is held,
	// and must let it go.
	decide(s *staged, first *entry)
}

// ending is a stage that has something to do after the last event. One that holds
// events lets them go.
type ending interface{ end(s *staged) }

// spanning is a stage that takes spans. The others leave those as they are for which keeps
// holds, and take out the rest.
type spanning interface {
	// span gets the next span, and puts it into the queue if it stays.
	span(s *staged, e *format.Event)
}

// continued is a stage that puts what it makes of one event into the queue a few
// at a time.
type continued interface {
	// more continues with the newest event, and reports whether there was
	// anything left to do.
	more(s *staged) bool
}

// headed is a stage that changes the header.
type headed interface {
	// header returns the header that replaces h. It does not change h.
	header(h *format.Header) *format.Header
}

// staged is a reader that takes events through a stage.
type staged struct {
	*process.Follower // from the first event on
	queue

	events  *format.Causal
	source  format.Reader
	stage   stage
	limit   int // how long the queue may become
	carried carry
	given   []*entry // entries whose memory the events of the last Read use
	err     error    // once there are no more events
}

// newStaged returns the Func of a stage. make returns a new stage for each
// pass.
func newStaged(limit int, make func() stage) Func {
	return func(r format.Reader) (format.Reader, error) {
		return &staged{events: format.NewCausal(r), source: r, stage: make(), limit: limit, carried: carry{lines: lineageOf(r)}}, nil
	}
}

// keeps reports whether a transform leaves a span as it is: ranks wait for one another
// whatever I/O they do between calls of MPI. Other calls of libraries would not be those
// that a changed application makes.
func keeps(h *format.Header, e *format.Event) bool {
	return len(h.Ranks) > 0 && e.Span.Layer == mpi.Layer
}

// Header implements format.Reader.
func (s *staged) Header() *format.Header {
	if h, ok := s.stage.(headed); ok {
		return h.header(s.source.Header())
	}
	return s.source.Header()
}

// Read implements format.Reader.
func (s *staged) Read(events []format.Event) (int, error) {
	s.recycle(s.given)
	s.given = s.given[:0]
	n := 0
	for n < len(events) {
		if en := s.next(); en != nil {
			keep := en.verdict == Keep
			switch {
			case !en.Op.Valid():
			case keep:
				s.carried.give(&en.Event)
			default:
				keep = s.carried.take(&en.Event, en.verdict)
			}
			if keep {
				events[n] = en.Event
				n++
			}
			if en.made && !en.Beside() {
				en.spent -= s.carried.costs.Of(en.TID).Around(en.Op)
			}
			s.carried.cut(en.TID, en.spent)
			s.given = append(s.given, en)
			continue
		}
		if s.err != nil {
			break
		}
		s.advance()
	}
	if n == 0 {
		return 0, s.err
	}
	return n, nil
}

// next removes and returns the first event of the queue, nil if it is held.
func (s *staged) next() *entry {
	if s.first == nil || s.err == nil && s.length <= s.limit {
		return nil
	}
	if s.first.held {
		s.stage.(holding).decide(s, s.first)
	}
	return s.pop()
}

// advance reads one event, or continues with the last one.
func (s *staged) advance() {
	if c, ok := s.stage.(continued); ok && c.more(s) {
		return
	}
	e, err := s.events.Next()
	if err == nil {
		if s.Follower == nil {
			s.Follower = process.New(begun(s.source.Header()), maxFiles)
			s.carried.begin(s.source.Header())
		}
		switch k, spans := s.stage.(spanning); {
		case e.Span != nil && spans:
			k.span(s, e)
		case e.Span != nil:
			if keeps(s.source.Header(), e) {
				s.push(e)
			}
		case e.Enters != nil:
			s.enter(e)
		case !e.Op.Valid():
			s.push(e) // compile reports what is wrong with it
		default:
			if err = s.stage.event(s, s.Fact(e)); err == nil && s.Full() {
				err = fmt.Errorf("more than %d names of files, or %d MiB of names", maxFiles, maxFiles*process.NameBytes>>20)
			}
		}
	}
	if err != nil {
		s.err = err
		if last, ok := s.stage.(ending); ok {
			last.end(s)
		}
	}
}

// enter takes processes that enter the recording. A stage changes what a header tells of
// them as it changes that of the recording.
func (s *staged) enter(e *format.Event) {
	s.Thread(e)
	h := e.Enters
	if k, ok := s.stage.(headed); ok {
		h = entered(k.header(h))
	}
	s.push(e).Event = format.Entry(h, e.Start)
}

// entered returns a header with what h tells of processes.
func entered(h *format.Header) *format.Header {
	out := &format.Header{Descriptors: h.Descriptors}
	for _, m := range h.Meta {
		if m.Key == format.MetaProcess {
			out.Meta = append(out.Meta, m)
		}
	}
	return out
}

// maxFiles bounds the files that are followed, as many as a replay accepts by
// default. More are an error, because a transform would miss some.
const maxFiles = 1 << 20

// moveTime moves the time before an event to a new event that is put in before
// it.
func moveTime(from, to *format.Event) {
	to.Off, to.Cut, to.Calls = from.Off, from.Cut, from.Calls
	from.Off, from.Cut, from.Calls = format.Off{}, 0, 0
}
