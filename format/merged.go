package format

import (
	"container/heap"
	"errors"
	"io"
)

// Merged reads several readers, in the order in which their events ended. Each reader has
// its own events in about that order. It holds a batch of each reader in memory, and opens
// and closes none. It belongs to one goroutine.
type Merged struct {
	all     []Reader
	sources sources // those with events left
	begun   bool
	drained *mergeSource // the last Read returned the last event of its batch
	err     error
}

// NewMerged returns a Merged that has read nothing yet.
func NewMerged(readers []Reader) *Merged { return &Merged{all: readers} }

// MergedBatch is how many events of each reader are read at once.
const MergedBatch = 64

// mergeSource is a reader under way.
type mergeSource struct {
	r     Reader
	batch []Event
	n, i  int
}

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

// sources implements heap.Interface by the end of the next event.
type sources []*mergeSource

func (s sources) Len() int           { return len(s) }
func (s sources) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s sources) Less(i, j int) bool { return s[i].batch[s[i].i].End() < s[j].batch[s[j].i].End() }
func (s *sources) Push(any)          { panic("internal error: no reader is added") }

func (s *sources) Pop() any {
	last := len(*s) - 1
	top := (*s)[last]
	*s = (*s)[:last]
	return top
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
	for n < len(events) && len(m.sources) > 0 && m.drained == nil {
		s := m.sources[0]
		events[n] = s.batch[s.i]
		n++
		if s.i++; s.i == s.n {
			m.drained = s
			break
		}
		heap.Fix(&m.sources, 0)
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
				m.sources = append(m.sources, s)
			case !errors.Is(err, io.EOF):
				return err
			}
		}
		heap.Init(&m.sources)
		return nil
	}
	s := m.drained
	if s == nil {
		return nil
	}
	m.drained = nil
	switch err := s.fill(); {
	case errors.Is(err, io.EOF):
		heap.Pop(&m.sources) // it is the first
	case err != nil:
		return err
	default:
		heap.Fix(&m.sources, 0)
	}
	return nil
}
