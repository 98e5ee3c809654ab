package transform

import (
	"pianola/format"
	"pianola/format/filter"
)

// around is the events of a recording or of a compiled trace from the beginning, of a
// recording with spans, and what finds the spans around them.
type around struct {
	format.Reader
	*filter.Around
}

// surrounded is a reader of the events of a compiled trace that knows the spans around them.
type surrounded interface {
	around() (*filter.Around, error)
}

func (r rewinder) around() (*filter.Around, error) {
	if s, ok := r.Reader.(surrounded); ok {
		return s.around()
	}
	return nil, nil
}

func (s onlySpans) around() (*filter.Around, error) {
	if lineageOf(s.Reader) == nil {
		return nil, nil // a recording can be read again
	}
	return s.only.spans.Around, nil
}

// around reads the spans of the trace.
func (l *lifted) around() (*filter.Around, error) { return filter.NewAround(l.trace.Events()) }

func newAround(r format.Reader) (*around, error) {
	if s, ok := r.(surrounded); ok {
		if a, err := s.around(); err != nil {
			return nil, err
		} else if a != nil {
			return &around{r, a.Again()}, nil
		}
	}
	rewinds, ok := r.(Rewinder)
	if !ok {
		return nil, filter.ErrNoSpans
	}
	a, err := filter.NewAround(r)
	if err != nil {
		return nil, err
	}
	again, err := rewinds.Again()
	return &around{again, a}, err
}

func (a *around) lineage() *lineage { return lineageOf(a.Reader) }
