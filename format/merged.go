package format

import (
	"errors"
	"io"
)

// Merged reads several readers, in the order in which their events ended. Each reader has
// its own events in about that order. It holds a batch of each reader in memory, and opens
// and closes none. It belongs to one goroutine.
type Merged struct {
	all     []Reader
	sources Heap[*mergeSource] // those with events left, by the end of the next one
	begun   bool
	drained *mergeSource // the last Read returned the last event of its batch
	err     error
}

// NewMerged returns a Merged that has read nothing yet.
func NewMerged(readers []Reader) *Merged {
	return &Merged{all: readers, sources: NewHeap(func(a, b **mergeSource) bool { return (*a).end() < (*b).end() }, nil)}
}

// MergedBatch is how many events of each reader are read at once.
const MergedBatch = 64

// mergeSource is a reader under way.
type mergeSource struct {
	r     Reader
	batch []Event
	n, i  int
}

// end returns the end of the next event.
func (s *mergeSource) end() int64 { return s.batch[s.i].End() }

// fill reads the next batch.
func (s *mergeSource) fill() (err error) {
	s.i = 0
	for s.n = 0; s.n == 0 && err == nil; {
		s.n, err = s.r.Read(s.batch)
	}
	if s.n > 0 {
		return nil
	}
	return err
}

// Read returns events as Reader.Read does. It returns before it must read more of a reader
// whose events it returns, because that would overwrite them.
func (m *Merged) Read(events []Event) (int, error) {
	if m.err == nil {
		m.err = m.ready()
	}
	if m.err != nil {
		return 0, m.err
	}
	n := 0
	for n < len(events) && len(m.sources.Items) > 0 && m.drained == nil {
		s := m.sources.Items[0]
		events[n] = s.batch[s.i]
		n++
		if s.i++; s.i == s.n {
			m.drained = s
			break
		}
		m.sources.Fix(0)
	}
	if n == 0 && len(events) > 0 {
		m.err = io.EOF
		return 0, m.err
	}
	return n, nil
}

// ready reads what Read needs next: first a batch of every reader, then one of the reader
// whose events were returned.
func (m *Merged) ready() error {
	if !m.begun {
		m.begun = true
		for _, r := range m.all {
			s := &mergeSource{r: r, batch: make([]Event, MergedBatch)}
			switch err := s.fill(); {
			case err == nil:
				m.sources.Push(s)
			case !errors.Is(err, io.EOF):
				return err
			}
		}
		return nil
	}
	s := m.drained
	if s == nil {
		return nil
	}
	m.drained = nil
	switch err := s.fill(); {
	case errors.Is(err, io.EOF):
		m.sources.Pop() // it is the first
	case err != nil:
		return err
	default:
		m.sources.Fix(0)
	}
	return nil
}
