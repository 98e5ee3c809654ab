package source

import (
	"errors"
	"io"

	"pianola/format"
	"pianola/format/export"
)

// Events are those that an output of package export is made of. Another goroutine reads
// ahead of them.
type Events struct {
	format.Reader
	name  string
	ahead *format.AheadReader
	src   io.Closer
}

// Close ends the events and closes their file.
func (e *Events) Close() error { return errors.Join(e.ahead.Close(), e.src.Close()) }

// Named makes an error that comes of the events name their file.
func (e *Events) Named(err error) error { return Named(e.name, err) }

// OpenEvents opens a compiled trace, a recording or the log of a replay for a kind of output
// of package export. It compiles a recording if the output needs a trace. The caller closes
// the events.
func (r *Reader) OpenEvents(name, kind string) (*Events, error) {
	s, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	if !s.IsLowered() && export.TakesRecordings(kind) {
		events, err := s.Open()
		if err != nil {
			s.Close()
			return nil, err
		}
		e := ahead(events, name, kind, s)
		e.Reader = format.NewCausalReader(e.ahead)
		return e, nil
	}
	defer s.Close()
	lowered := s.IsLowered()
	t, err := s.Trace(s.Options())
	if err != nil {
		return nil, err
	}
	if !lowered {
		r.Console.Say("convert: %s: compiled first, because the format %s needs a compiled trace", name, kind)
	}
	return ahead(t.Events(), name, kind, t), nil
}

// ahead returns the events of a reader, whose source they close.
func ahead(r format.Reader, name, kind string, src io.Closer) *Events {
	if !export.TakesSpans(kind) {
		r = format.WithoutSpans(r)
	}
	a := format.NewAhead(r)
	return &Events{a, name, a, src}
}
