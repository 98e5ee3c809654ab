package parts

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/filter"
	"pianola/format/spool"
)

// MinFlightMemory is the least memory of a Flight, in bytes: with less, the work at each sixteenth
// of it would not be worth while.
const MinFlightMemory = 1 << 20

// FlightOptions say what a Flight keeps and when it writes it.
type FlightOptions struct {
	Last   time.Duration // so much of the recording is kept
	Memory int64         // bytes for it; less is kept where they do not suffice
	Until  filter.Filter // an event that it selects has the events written; nil: none
	After  time.Duration // so much later

	// Began is called when the recording has begun. It can be nil.
	Began func()

	// Wrote is told of each script that was written, or could not be. It may be called from
	// another goroutine. It can be nil.
	Wrote func(Window)
}

// Window is a script of the newest events.
type Window struct {
	Name    string // of the script, empty if there is none
	Events  int64
	Lost    int64         // events that the recorder could not keep
	Elapsed time.Duration // from its first event to its last
	Short   bool          // the memory did not suffice for all of Last
	Err     error
}

// ErrMemory says that the memory was too small for how the processes stood and an event, or that
// it was full of events that were being written.
var ErrMemory = errors.New("no memory for them")

// Flight keeps the newest events in memory. It writes them to a new script when Ask was called,
// when an event was selected, and at the end of a recording where no filter is given.
//
// The events stand in segments. Each begins with how the processes stood; a script begins where a
// segment does. Segments lie in memory of the size that is given, one behind the other, until they
// are too old, room is needed for newer ones, and they are not being written. The simulation of the
// processes comes on top (process.Standing).
type Flight struct {
	source
	o      FlightOptions
	next   Open
	memory *arena
	buffer spool.Buffer // of the newest events of open
	text   []byte       // memory

	kept    []*segment // complete, the oldest first; each begins where the last one ends
	open    *segment   // that follows; nil if there was no memory for it
	wanted  int64      // bytes for another one, then
	dropped []*segment // no longer kept, but there: the oldest is being written
	last    mark       // the newest

	asked   atomic.Bool
	subject filter.Subject // memory
	due     int64          // when an event was selected: the time of the recording to write at; 0 for none
	quiet   int64          // events before that time are not selected again
	clock   time.Time
	writing chan struct{} // closed when a script is written; nil for none
}

// segment is a part of the newest events.
type segment struct {
	from       mark
	begin, end int64      // positions in the memory
	stood      []byte     // how the processes stood, as the lines of a header
	entered    []newcomer // processes that entered since
	events     int64
	pieces     [][]byte    // of spool.Buffer
	shown      atomic.Bool // it is being written
}

// newcomer is a process that entered after so many events of a segment.
type newcomer struct {
	after int64
	text  []byte // the lines of a header
}

const (
	segments      = 16 // that what is kept consists of
	minPieces     = 64 // that the memory has room for
	maxPieceBytes = 64 << 10
)

// NewFlight returns a Flight that writes to scripts that next opens.
func NewFlight(o FlightOptions, next Open) *Flight { return &Flight{o: o, next: next} }

// Ask has the newest events written soon. It may be called from any goroutine.
func (f *Flight) Ask() { f.asked.Store(true) }

// WriteHeader implements record.Sink.
func (f *Flight) WriteHeader(h *format.Header) (err error) {
	switch {
	case f.head == nil:
		if f.memory, err = newArena(f.o.Memory); err != nil {
			return err
		}
		f.begin(h)
		f.clock = time.Now()
		f.start(mark{account: coverage.Account{Known: true}}, first(h))
		if f.o.Began != nil {
			f.o.Began()
		}
	case f.enter(h):
		f.text = h.Append(f.text[:0])
		if text := f.place(f.text); text != nil {
			f.open.entered = append(f.open.entered, newcomer{f.open.events, text})
		}
	default:
		f.tail = h
	}
	return nil
}

// Write implements format.Writer.
func (f *Flight) Write(events []format.Event) error {
	if f.over() {
		if err := f.cut(); err != nil {
			return err
		}
	}
	for i := range events {
		f.event = events[i]
		e := &f.event
		f.look(e)
		f.standing.Place(e, &f.notes)
		if f.open != nil {
			if err := f.buffer.Append(e); err != nil {
				return err
			}
			f.open.events++
			if f.buffer.Size() >= f.piece() {
				f.keep()
			}
		}
		f.standing.Apply(e)
		f.now = max(f.now, e.End())
	}
	return nil
}

// piece returns at how many bytes events are moved from the buffer.
func (f *Flight) piece() int { return int(min(f.memory.size()/minPieces, maxPieceBytes)) }

// over reports whether the open segment ends here.
func (f *Flight) over() bool {
	age, part := f.now-f.last.at, int64(f.o.Last)/segments
	if f.open == nil {
		f.reclaim()
		return age >= part || f.memory.room() >= f.wanted
	}
	bytes := f.memory.head - f.open.begin + int64(f.buffer.Len())
	if bytes >= max(f.memory.size()/segments, 2*int64(len(f.open.stood))) {
		return true
	}
	return age >= 2*part || age >= part && f.standing.Settled()
}

// look selects an event.
func (f *Flight) look(e *format.Event) {
	if f.o.Until == nil || f.due != 0 || e.End() < f.quiet || e.Span != nil {
		return
	}
	process, rank, command, name := e.TID, int32(-1), "", ""
	if t, file := f.standing.About(e); t != nil {
		process, rank, command = t.Process.ID, t.Process.Rank, t.Process.Command
		if file != nil {
			name = file.Name
		}
	}
	f.subject = filter.NewSubject(e, process, rank, command, name)
	if f.o.Until(&f.subject) {
		f.due = max(e.End()+int64(f.o.After), 1)
		f.quiet = f.due + int64(f.o.Last)
	}
}

// Look writes what is due. A recorder calls it whenever it has looked for events.
func (f *Flight) Look() error {
	if f.head == nil {
		return nil
	}
	if f.writing != nil {
		select {
		case <-f.writing:
			f.writing = nil
		default:
			return nil
		}
	}
	selected := f.due != 0 && (f.now >= f.due || int64(time.Since(f.clock)) >= f.due+int64(time.Second))
	if !selected && !f.asked.Swap(false) {
		return nil
	}
	if selected {
		f.due = 0
	}
	return f.show()
}

// show writes the newest events, in another goroutine.
func (f *Flight) show() error {
	if err := f.cut(); err != nil {
		return err
	}
	// New events need room until the oldest ones have been written.
	for f.memory.room() < 2*f.memory.size()/segments && len(f.kept) > 1 && f.drop() {
	}
	shown := slices.Clone(f.kept)
	for _, s := range shown {
		s.shown.Store(true)
	}
	to, tail, done := f.last, f.tail, make(chan struct{})
	f.writing = done
	go func() {
		defer close(done)
		w := f.write(shown, tail, to)
		for _, s := range shown {
			s.shown.Store(false)
		}
		if f.o.Wrote != nil {
			f.o.Wrote(w)
		}
	}()
	return nil
}

// cut ends the open segment and begins the next one.
func (f *Flight) cut() error {
	m, err := f.mark()
	if err != nil {
		return err
	}
	if f.keep(); f.open != nil {
		f.open.end = f.memory.head
		f.kept = append(f.kept, f.open)
	}
	f.start(m, f.stands())
	return nil
}

// start begins a segment.
func (f *Flight) start(m mark, stood *format.Header) {
	f.last = m
	old := 0
	for old < len(f.kept)-1 && f.kept[old+1].from.at <= m.at-int64(f.o.Last) {
		old++
	}
	f.dropped, f.kept = append(f.dropped, f.kept[:old]...), f.kept[old:]
	f.reclaim()
	f.text = stood.Append(f.text[:0])
	s := &segment{from: m, begin: f.memory.head}
	f.open = s
	s.stood = f.place(f.text)
}

// keep moves the events in the buffer to the open segment.
func (f *Flight) keep() {
	if f.open == nil || f.buffer.Len() == 0 {
		return
	}
	piece := f.alloc(f.buffer.Size())
	f.buffer.Take(piece)
	if piece != nil {
		f.open.pieces = append(f.open.pieces, piece)
	}
}

// place returns a copy of a text in the memory of the open segment, nil if there is none.
func (f *Flight) place(text []byte) []byte {
	if f.open == nil {
		return nil
	}
	at := f.alloc(len(text))
	copy(at, text)
	return at
}

// alloc returns memory for the open segment. Where there is none even without the segments before,
// or they are being written, that segment is given up and those before it, which no other one can
// follow; it returns nil then.
func (f *Flight) alloc(n int) []byte {
	for {
		if at := f.memory.alloc(n); at != nil {
			return at
		}
		if !f.drop() {
			break
		}
	}
	f.buffer.Take(nil)
	f.memory.undo(f.open.begin)
	f.wanted = 2*int64(len(f.open.stood)+n) + f.memory.size()/segments
	f.open = nil
	f.dropped, f.kept = append(f.dropped, f.kept...), nil
	f.reclaim()
	return nil
}

// drop frees the memory of the oldest segments, and reports whether there was some that is not
// being written.
func (f *Flight) drop() bool {
	if f.reclaim() {
		return true
	}
	if len(f.dropped) > 0 || len(f.kept) == 0 || f.kept[0].shown.Load() {
		return false
	}
	f.memory.free(f.kept[0].end)
	f.kept = f.kept[1:]
	return true
}

// reclaim frees the memory of segments that are no longer kept, and reports whether there was some.
func (f *Flight) reclaim() (freed bool) {
	for len(f.dropped) > 0 && !f.dropped[0].shown.Load() {
		f.memory.free(f.dropped[0].end)
		f.dropped, freed = f.dropped[1:], true
	}
	return freed
}

// write writes segments to a new script. It lets go of each when that is written.
func (f *Flight) write(shown []*segment, tail *format.Header, to mark) (w Window) {
	if len(shown) == 0 {
		return Window{Err: ErrMemory}
	}
	from := shown[0].from
	stood, err := parse(shown[0].stood)
	if err != nil {
		return Window{Err: err}
	}
	p, err := f.begins(f.next, from, stood)
	if err != nil {
		return Window{Err: err}
	}
	w = Window{Name: p.Name(), Lost: to.lost - from.lost, Elapsed: time.Duration(to.at - from.at)}
	w.Short = from.at > 0 && w.Elapsed < f.o.Last
	for _, s := range shown {
		if w.Err = s.write(p); w.Err != nil {
			break
		}
		s.shown.Store(false)
	}
	if w.Err == nil {
		w.Err = p.end(tail, to)
	}
	if err := p.Close(); w.Err == nil {
		w.Err = err
	}
	w.Events = p.events
	return w
}

// write writes the events of a segment.
func (s *segment) write(p *part) error {
	n, entered := int64(0), s.entered
	enter := func() error {
		for ; len(entered) > 0 && entered[0].after <= n; entered = entered[1:] {
			h, err := parse(entered[0].text)
			if err == nil {
				err = p.Script.WriteHeader(h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, piece := range s.pieces {
		err := spool.Each(piece, func(e *format.Event) error {
			if err := enter(); err != nil {
				return err
			}
			n++
			return p.write(e)
		})
		if err != nil {
			return err
		}
	}
	return enter()
}

// parse reads the lines of a header.
func parse(text []byte) (*format.Header, error) {
	h := &format.Header{}
	for line := range bytes.Lines(text) {
		if err := h.ParseLine(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Close writes what is due at the end of the recording, and frees the memory. It must be the last
// call.
func (f *Flight) Close() error {
	if f.head == nil {
		return nil
	}
	if f.writing != nil {
		<-f.writing
	}
	if f.o.Until == nil || f.due != 0 || f.asked.Load() {
		if err := f.show(); err != nil {
			return err
		}
		<-f.writing
	}
	return f.memory.close()
}
