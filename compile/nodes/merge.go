package nodes

import (
	"errors"
	"fmt"
	"io"

	"pianola/compile/transform"
	"pianola/format"
)

// Reader reads the merged recording, in the order in which events ended.
type Reader struct {
	*format.Merged
	run     *Run
	sources []*source
}

// source is the recording of a node under way, on the clock of all.
type source struct {
	*node
	file ReadCloser
	format.Reader
}

// Open opens the recordings at their beginning. The caller closes the reader.
func (r *Run) Open() (*Reader, error) {
	m := &Reader{run: r}
	var readers []format.Reader
	for _, n := range r.nodes {
		file, err := n.Open()
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		s := &source{node: n, file: file}
		m.sources, readers = append(m.sources, s), append(readers, s)
		if s.Reader, err = transform.Node(n.number, n.rename)(file); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	m.Merged = format.NewMerged(readers)
	return m, nil
}

// Header implements format.Reader. It is complete from the start.
func (m *Reader) Header() *format.Header { return &m.run.header }

// Close closes the recordings.
func (m *Reader) Close() error {
	var errs []error
	for _, s := range m.sources {
		errs = append(errs, s.file.Close())
	}
	m.sources = nil
	return errors.Join(errs...)
}

// Read implements format.Reader.
func (s *source) Read(events []format.Event) (int, error) {
	n, err := s.Reader.Read(events)
	for i := range events[:n] {
		e := &events[i]
		if e.Start = s.clock.at(e.Start); e.Enters != nil {
			*e = format.Entry(transform.NodeHeader(e.Enters, s.number, s.rename), e.Start)
		}
		e.Line = 0    // of one recording of several
		if s.shares { // ranks of the other nodes on the machine, which its recorder does not know, had the processor
			e.Off.Own, e.Off.Ready = e.Off.Own+e.Off.Ready, 0
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", s.Name, err)
	}
	return n, err
}
