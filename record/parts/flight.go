package parts

import (
	"bytes"
	"sync/atomic"
	"time"

	"pianola/filter"
	"pianola/format"
	"pianola/format/spool"
)

// FlightOptions say what a Flight keeps and when it writes it.
type FlightOptions struct {
	Last   time.Duration // so much of the recording is kept
	Memory int64         // bytes that it may take; what is kept is less where that is not enough
	Until  filter.Filter // an event that it selects has the events written; nil: none
	After  time.Duration // so much later

	// Wrote is told of each script that was written, or could not be. It may be called from
	// another goroutine. It can be nil.
	Wrote func(Window)
}

// Window is a script of the newest events.
type Window struct {
	Name    string // of the script, empty where there is none
	Events  int64
	Elapsed time.Duration // from its first event to its last
	Err     error
}

// Flight keeps the newest events in memory. It writes them to a new script when Ask was called,
// when an event was selected, and at the end of a recording where no filter is given.
//
// The events stand in segments. Each begins with how the processes stood; a script begins where a
// segment does.
type Flight struct {
	source
	o        FlightOptions
	next     Open
	segments []*segment // the last one is open
	buffer   spool.Buffer

	asked   atomic.Bool
	subject filter.Subject // memory
	due     int64          // when an event was selected: the time of the recording to write at; 0 for none
	quiet   int64          // events before that time are not selected again
	clock   time.Time
	writing chan struct{} // closed when a script is written; nil for none
	shown   []*segment    // that are being written
}

// segment is a part of the newest events.
type segment struct {
	from, to int64          // nanoseconds since the start of the recording
	lost     int64          // events until from
	stood    []byte         // how the processes stood, as the lines of a header
	entered  *format.Header // processes that entered just then; nil for none
	events   []byte         // of spool.Buffer
}

func (s *segment) bytes() int64 { return int64(len(s.stood) + len(s.events)) }

// pieces is how many segments what is kept consists of.
const pieces = 16

// NewFlight returns a Flight that writes to scripts that next opens.
func NewFlight(o FlightOptions, next Open) *Flight { return &Flight{o: o, next: next} }

// Ask has the newest events written soon. It may be called from any goroutine.
func (f *Flight) Ask() { f.asked.Store(true) }

// WriteHeader implements record.Sink.
func (f *Flight) WriteHeader(h *format.Header) error {
	if f.head == nil {
		f.begin(h)
		f.clock = time.Now()
		return f.cut(string(first(h).Append(nil)), nil)
	}
	if f.enter(h) {
		return f.cut("", h)
	}
	f.tail = h
	return nil
}

// Write implements format.Writer.
func (f *Flight) Write(events []format.Event) error {
	for i := range events {
		f.event = events[i]
		e := &f.event
		open := f.segments[len(f.segments)-1]
		long, large := f.now-open.from >= int64(f.o.Last)/pieces, int64(f.buffer.Len()) >= f.o.Memory/pieces
		if long && f.standing.Settled() || large {
			if err := f.cut("", nil); err != nil {
				return err
			}
		}
		f.look(e)
		f.standing.Place(e, &f.notes)
		if err := f.buffer.Append(e); err != nil {
			return err
		}
		f.standing.Apply(e)
		f.now = max(f.now, e.End())
	}
	return nil
}

// look selects an event.
func (f *Flight) look(e *format.Event) {
	if f.o.Until == nil || f.due != 0 || e.End() < f.quiet {
		return
	}
	process, command, name := e.TID, "", ""
	if t, file := f.standing.About(e); t != nil {
		process, command = t.Process.ID, t.Process.Command
		if file != nil {
			name = file.Name
		}
	}
	f.subject = filter.NewSubject(e, process, command, name)
	if f.o.Until(&f.subject) {
		f.due = max(e.End()+int64(f.o.After), 1)
		f.quiet = f.due + int64(f.o.Last)
	}
}

// Look writes what is due. A recorder calls it whenever it looks for events.
func (f *Flight) Look() error {
	if len(f.segments) == 0 {
		return nil
	}
	if f.writing != nil {
		select {
		case <-f.writing:
			f.writing, f.shown = nil, nil
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
	if err := f.cut("", nil); err != nil {
		return err
	}
	f.shown = f.segments[: len(f.segments)-1 : len(f.segments)-1]
	lost, tail := f.segments[len(f.segments)-1].lost, f.tail
	done := make(chan struct{})
	f.writing = done
	shown := f.shown
	go func() {
		defer close(done)
		w := f.write(shown, tail, lost)
		if f.o.Wrote != nil {
			f.o.Wrote(w)
		}
	}()
	return nil
}

// cut ends the open segment and begins the next one. What it stands for is given, or else that of
// now.
func (f *Flight) cut(stood string, entered *format.Header) error {
	lost, err := f.lost()
	if err != nil {
		return err
	}
	if n := len(f.segments); n > 0 {
		open := f.segments[n-1]
		open.to, open.events = f.now, f.buffer.Take()
	}
	s := &segment{from: f.now, lost: lost, entered: entered, stood: []byte(stood)}
	if stood == "" {
		s.stood = bytes.Clone(f.stands().Append(nil))
	}
	f.segments = append(f.segments, s)
	f.trim()
	return nil
}

// trim drops the oldest segments.
func (f *Flight) trim() {
	bytes := int64(0)
	for _, s := range f.segments {
		bytes += s.bytes()
	}
	for _, s := range f.shown {
		if s.to <= f.segments[0].from {
			bytes += s.bytes() // no longer kept, and still there
		}
	}
	most := f.o.Memory - f.o.Memory/pieces // the open one grows
	drop := 0
	for ; drop < len(f.segments)-1; drop++ {
		if old := f.segments[drop+1].from > f.now-int64(f.o.Last); old && bytes <= most {
			break
		}
		bytes -= f.segments[drop].bytes()
	}
	f.segments = f.segments[drop:]
}

// write writes segments to a new script.
func (f *Flight) write(segments []*segment, tail *format.Header, lost int64) (w Window) {
	if len(segments) == 0 {
		return w
	}
	first, last := segments[0], segments[len(segments)-1]
	stood, err := parse(first.stood)
	if err != nil {
		return Window{Err: err}
	}
	p, err := f.open(f.next, first.from, first.lost, stood)
	if err != nil {
		return Window{Err: err}
	}
	w = Window{Name: p.Name(), Elapsed: time.Duration(last.to - first.from)}
	for i, s := range segments {
		if s.entered != nil && i > 0 {
			if w.Err = p.Script.WriteHeader(s.entered); w.Err != nil {
				break
			}
		}
		if w.Err = spool.Each(s.events, p.write); w.Err != nil {
			break
		}
	}
	if w.Err == nil {
		w.Err = p.end(tail, last.to, lost)
	}
	if err := p.Close(); w.Err == nil {
		w.Err = err
	}
	w.Events = p.events
	return w
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

// Close writes what is due at the end of the recording.
func (f *Flight) Close() error {
	if len(f.segments) == 0 {
		return nil
	}
	if f.writing != nil {
		<-f.writing
		f.writing, f.shown = nil, nil
	}
	if f.o.Until != nil && f.due == 0 && !f.asked.Load() {
		return nil
	}
	err := f.show()
	if err == nil {
		<-f.writing
	}
	return err
}
