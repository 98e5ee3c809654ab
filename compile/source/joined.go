package source

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"pianola/format"
)

// joined reads compiled events of several sources as those of one trace, whose threads play side
// by side. One source follows the other: the place of an event in time is that in its thread.
// Threads and processes get numbers of their own; files with the same name are the same file.
type joined struct {
	sources []*Source // that are left, the first of which is read
	reader  format.Reader
	header  format.Header   // of those that were read
	threads int32           // of these
	process int32           // of these the largest
	most    int32           // of the source that is read: the largest number of a thread in an event
	edges   []format.Edge   // memory of a batch
	known   map[string]bool // paths of files, and of names with a NUL before them
}

// ofOne are remarks that hold for one of several traces only.
var ofOne = []string{format.MetaFloor, format.MetaGrouped, format.MetaElapsed, format.MetaProcessors}

// Header implements format.Reader.
func (j *joined) Header() *format.Header { return &j.header }

// Read implements format.Reader.
func (j *joined) Read(events []format.Event) (int, error) {
	for len(j.sources) > 0 {
		s := j.sources[0]
		if j.reader == nil {
			var err error
			if j.reader, err = s.Events(); err != nil {
				return 0, err
			}
		}
		n, err := j.reader.Read(events)
		j.edges = j.edges[:0]
		for i := range events[:n] {
			j.renumber(&events[i])
		}
		if errors.Is(err, io.EOF) {
			if err = j.add(j.reader.Header()); err == nil {
				err = s.endRead()
			}
			j.sources, j.reader = j.sources[1:], nil
		}
		if err != nil {
			return n, Named(s.name, err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

// renumber gives an event the numbers of its threads.
func (j *joined) renumber(e *format.Event) {
	j.most = max(j.most, e.TID)
	e.TID += j.threads
	if e.Valid() {
		if e.Acts().Any(format.Starts) && e.Ret > 0 {
			e.Ret += int64(j.threads)
		}
		if e.Op.OfQueue() {
			e.Args[0] += int64(j.threads)
		}
	}
	from := len(j.edges)
	for _, edge := range e.Edges {
		if edge.Thread > 0 {
			j.most = max(j.most, edge.Thread)
			edge.Thread += j.threads
		}
		j.edges = append(j.edges, edge)
	}
	e.Edges = j.edges[from:len(j.edges):len(j.edges)]
}

// add adds the header of a source that was read.
func (j *joined) add(h *format.Header) error {
	threads := h.Threads
	if len(threads) == 0 {
		threads = []format.Thread{{Process: 1}}
	}
	if int(j.most) > len(threads) {
		return fmt.Errorf("an event of thread %d, or after one, of %d threads", j.most, len(threads))
	}
	if len(h.Ranks) > 0 && j.threads > 0 {
		return errors.New("ranks of a parallel program can't be read together with other programs")
	}
	to, process := &j.header, max(j.process, j.threads) // a process has the number of its first thread
	if j.threads == 0 {
		to.Meta = slices.DeleteFunc(slices.Clone(h.Meta), func(m format.Meta) bool { return slices.Contains(ofOne, m.Key) })
	}
	for _, t := range threads {
		j.process = max(j.process, process+t.Process)
		if t.Process += process; t.Parent > 0 {
			t.Parent += j.threads
		}
		to.Threads = append(to.Threads, t)
	}
	for _, d := range h.Descriptors {
		d.Process += process
		to.Descriptors = append(to.Descriptors, d)
	}
	to.Ranks = append(to.Ranks, h.Ranks...)
	for _, f := range h.Files {
		if j.isNew(f.Path) {
			to.Files = append(to.Files, f)
		}
	}
	for _, n := range h.Names {
		if j.isNew("\x00" + n.Path) {
			to.Names = append(to.Names, n)
		}
	}
	j.threads, j.most = j.threads+int32(len(threads)), 0
	return nil
}

// isNew reports whether a path comes for the first time.
func (j *joined) isNew(path string) bool {
	if j.known[path] {
		return false
	}
	if j.known == nil {
		j.known = map[string]bool{}
	}
	j.known[path] = true
	return true
}
