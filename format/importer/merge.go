package importer

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/format/script"
)

// part is one of several files of a recording.
type part struct {
	file  File
	tid   int32 // strace: of all its events
	begin int64 // nanoseconds from the start of the recording to its first line
}

// align finds the start of each file, and returns the first one. It leaves out
// empty files, which strace leaves for threads that it could not follow.
func (r *Recording) align() (File, error) {
	if r.Kind != Strace && r.Kind != IOProf {
		return File{}, fmt.Errorf("%s: files of format %q cannot be merged, only those of strace -ff or IOProf", r.files[0].Name, r.Kind)
	}
	for _, f := range r.files {
		p := part{file: f}
		ok, err := p.inspect(r)
		if err != nil {
			return File{}, err
		}
		if ok {
			r.merge = append(r.merge, p)
		}
	}
	if len(r.merge) == 0 {
		return File{}, fmt.Errorf("%s: no events", r.files[0].Name)
	}
	byBegin := func(a, b part) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.tid, b.tid)) }
	slices.SortStableFunc(r.merge, byBegin)
	if last := r.merge[len(r.merge)-1].begin; last < day && last-r.merge[0].begin > day/2 {
		// Some times of day are before midnight and some after it.
		for i := range r.merge {
			if r.merge[i].begin < day/2 {
				r.merge[i].begin += day
			}
		}
		slices.SortStableFunc(r.merge, byBegin)
	}
	for i := len(r.merge) - 1; i >= 0; i-- {
		r.merge[i].begin -= r.merge[0].begin
	}
	return r.merge[0].file, nil
}

const day = 24 * 3600 * 1e9 // nanoseconds

// inspect sets begin to an absolute time. It reports false for a file without
// events.
func (p *part) inspect(r *Recording) (ok bool, err error) {
	kind, _, err := recognise(p.file, r.options)
	if err != nil {
		return false, err
	}
	if r.Kind == Strace && kind != Script || r.Kind == IOProf && kind != IOProf {
		return false, fmt.Errorf("%s: %s, while %s is %s", p.file.Name, kind, r.files[0].Name, r.Kind)
	}
	rd, err := openPart(r, p.file)
	if err != nil {
		return false, err
	}
	defer rd.Close()
	if _, err := rd.Read(make([]format.Event, 1)); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	switch events := rd.events.(type) {
	case *script.Reader:
		if events.Dialect() != script.Recorded || events.Own() {
			return false, fmt.Errorf("%s: a script cannot be merged with files of strace -ff", p.file.Name)
		}
		return true, p.inspectStrace(events)
	case *lines:
		p.begin = events.p.(*ioprof).epoch
	}
	return true, nil
}

func (p *part) inspectStrace(s *script.Reader) error {
	suffix := path.Ext(p.file.Name)
	for _, packed := range []string{".gz", ".zst"} {
		if suffix == packed {
			suffix = path.Ext(strings.TrimSuffix(p.file.Name, packed))
		}
	}
	tid, err := strconv.ParseInt(strings.TrimPrefix(suffix, "."), 10, 32)
	if err != nil || tid <= 0 {
		return fmt.Errorf("%s: the name does not end with a process id as files of strace -ff do", p.file.Name)
	}
	p.tid = int32(tid)
	var ok bool
	if p.begin, ok = s.Origin(); !ok || s.Stamp() == script.Clock {
		return fmt.Errorf("%s: %s, so the files cannot be merged; run strace with -ttt", p.file.Name, whyApart[s.Stamp()])
	}
	return nil
}

// whyApart says why files with such times can't be merged.
var whyApart = map[script.Stamp]string{
	script.Relative: "times are relative to the line before in the same file",
	script.Untimed:  "no times",
	script.Clock:    "times are whole seconds",
}

// openMerged opens all files.
func (r *Recording) openMerged() (*Reader, error) {
	m := &merged{}
	rd := &Reader{events: m}
	for _, p := range r.merge {
		sub, err := openPart(r, p.file)
		if err != nil {
			rd.Close()
			return nil, err
		}
		rd.closers = append(rd.closers, sub)
		m.sources = append(m.sources, &source{part: p, r: sub.events, batch: make([]format.Event, sourceBatch)})
	}
	if r.Kind == Strace {
		rd.strace, rd.stamp = &r.strace, script.Epoch
	}
	return rd, nil
}

// sourceBatch is how many events of each file are read at once. They are held
// in memory.
const sourceBatch = 64

// merged reads several files in the order in which events ended. It implements
// format.Reader, and heap.Interface over the files by their next event.
type merged struct {
	sources []*source
	begun   bool
	err     error
	drained *source // the last Read returned events of its batch
	h       format.Header
}

type source struct {
	part
	r     format.Reader
	batch []format.Event
	n, i  int
}

// fill reads the next batch.
func (s *source) fill() (err error) {
	s.i = 0
	s.n, err = s.r.Read(s.batch)
	for i := range s.batch[:s.n] {
		e := &s.batch[i]
		e.Start += s.begin
		e.Line = 0 // of one file of several
		if s.tid != 0 {
			e.TID = s.tid
		}
	}
	return err
}

func (m *merged) Len() int           { return len(m.sources) }
func (m *merged) Swap(i, j int)      { m.sources[i], m.sources[j] = m.sources[j], m.sources[i] }
func (m *merged) Push(any)           { panic("internal error: no file is added") }
func (m *merged) Less(i, j int) bool { return m.sources[i].key() < m.sources[j].key() }

func (m *merged) Pop() any {
	last := len(m.sources) - 1
	s := m.sources[last]
	m.sources = m.sources[:last]
	return s
}

func (s *source) key() int64 { return s.batch[s.i].End() }

// Header implements format.Reader. It returns the header of the file that
// begins first.
func (m *merged) Header() *format.Header { return &m.h }

// Read implements format.Reader. It returns before it must read more of a file
// whose events it returns, because that would overwrite them.
func (m *merged) Read(events []format.Event) (int, error) {
	if m.err == nil && !m.begun {
		m.begun = true
		m.err = m.begin()
	}
	if m.err == nil && m.drained != nil {
		m.err = m.refill()
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

// begin reads the first batch of every file.
func (m *merged) begin() error {
	all := m.sources
	m.sources = nil
	for i, s := range all {
		switch err := s.fill(); {
		case err == nil:
			m.sources = append(m.sources, s)
		case !errors.Is(err, io.EOF):
			return err
		}
		if i == 0 {
			m.h = *s.r.Header()
		}
	}
	heap.Init(m)
	return nil
}

// refill reads the next batch of the first file.
func (m *merged) refill() error {
	s := m.drained
	m.drained = nil
	switch err := s.fill(); {
	case errors.Is(err, io.EOF):
		heap.Pop(m)
		if s.begin == 0 {
			m.h = *s.r.Header()
		}
	case err != nil:
		return err
	default:
		heap.Fix(m, 0)
	}
	return nil
}
