package nodes

import (
	"container/heap"
	"errors"
	"fmt"
	"io"

	"pianola/format"
	"pianola/transform"
)

// sourceBatch is how many events of each recording are read at once.
const sourceBatch = 64

// Reader reads the merged recording, in the order in which events ended. It implements
// format.SpanReader, and heap.Interface over the recordings by their next event.
type Reader struct {
	run     *Run
	sources []*source // those with events left
	all     []*source
	begun   bool
	spans   bool
	drained *source // the last Read returned the last event of its batch
	err     error
}

// source is the recording of a node under way.
type source struct {
	*node
	file  ReadCloser
	r     format.Reader
	batch []format.Event
	n, i  int
}

// Open opens the recordings at their beginning. The caller closes the reader.
func (r *Run) Open() (*Reader, error) {
	m := &Reader{run: r}
	for _, n := range r.nodes {
		file, err := n.Open()
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		s := &source{node: n, file: file, batch: make([]format.Event, sourceBatch)}
		m.all = append(m.all, s)
		if s.r, err = transform.Node(n.number, n.rename)(file); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// Header implements format.Reader. It is complete from the start.
func (m *Reader) Header() *format.Header { return &m.run.header }

// WantSpans implements format.SpanReader.
func (m *Reader) WantSpans() bool {
	m.spans = false
	for _, s := range m.all {
		if format.WantSpans(s.r) {
			m.spans = true
		}
	}
	return m.spans
}

// Close closes the recordings.
func (m *Reader) Close() error {
	var errs []error
	for _, s := range m.all {
		errs = append(errs, s.file.Close())
	}
	m.all = nil
	return errors.Join(errs...)
}

// fill reads the next batch.
func (s *source) fill() (err error) {
	s.i = 0
	for s.n = 0; s.n == 0 && err == nil; {
		s.n, err = s.r.Read(s.batch)
	}
	for i := range s.batch[:s.n] {
		e := &s.batch[i]
		e.Start = s.clock.at(e.Start)
		e.Line = 0 // of one recording of several
	}
	if s.n > 0 {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return err
}

func (s *source) key() int64 { return s.batch[s.i].End() }

// Len, Swap, Less, Push and Pop implement heap.Interface.
func (m *Reader) Len() int           { return len(m.sources) }
func (m *Reader) Swap(i, j int)      { m.sources[i], m.sources[j] = m.sources[j], m.sources[i] }
func (m *Reader) Push(any)           { panic("internal error: no recording is added") }
func (m *Reader) Less(i, j int) bool { return m.sources[i].key() < m.sources[j].key() }
func (m *Reader) Pop() any {
	last := len(m.sources) - 1
	s := m.sources[last]
	m.sources = m.sources[:last]
	return s
}

// Read implements format.Reader. It returns before it must read more of a recording whose events
// it returns, because that would overwrite them.
func (m *Reader) Read(events []format.Event) (int, error) {
	if m.err == nil {
		m.err = m.ready()
	}
	if m.err != nil {
		return 0, m.err
	}
	n := 0
	for n < len(events) && len(m.sources) > 0 && m.drained == nil {
		s := m.sources[0]
		events[n] = s.batch[s.i]
		n++
		if s.i++; s.i == s.n {
			m.drained = s
			break
		}
		heap.Fix(m, 0)
	}
	if n == 0 && len(events) > 0 {
		m.err = io.EOF
		return 0, m.err
	}
	return n, nil
}

// ready reads what Read needs next: first a batch of every recording, then one of the recording
// whose events were returned.
func (m *Reader) ready() error {
	if !m.begun {
		m.begun = true
		for _, s := range m.all {
			switch err := s.fill(); {
			case err == nil:
				m.sources = append(m.sources, s)
			case !errors.Is(err, io.EOF):
				return err
			}
		}
		heap.Init(m)
		return nil
	}
	if m.drained == nil {
		return nil
	}
	s := m.drained
	m.drained = nil
	switch err := s.fill(); {
	case errors.Is(err, io.EOF):
		heap.Pop(m) // it is the first
	case err != nil:
		return err
	default:
		heap.Fix(m, 0)
	}
	return nil
}
