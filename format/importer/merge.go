package importer

import (
	"cmp"
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

	// IOProf: of the process, and of the one that creates it if no log has that fork, else 0.
	pid, parent int32
}

// align finds the start of each file, and returns the first one. It leaves out
// empty files, which strace leaves for threads that it could not follow.
func (r *Recording) align() (File, error) {
	if r.Kind != Strace && r.Kind != IOProf {
		return File{}, fmt.Errorf("%s: files of format %q cannot be merged, only those of strace -ff or IOProf", r.files[0].Name, r.Kind)
	}
	forked := map[int32]bool{}
	for _, f := range r.files {
		p := part{file: f}
		ok, err := p.inspect(r, forked)
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
	known := map[int32]bool{}
	for i := range r.merge {
		p := &r.merge[i]
		if known[p.pid] || forked[p.pid] || !known[p.parent] {
			p.parent = 0
		}
		known[p.pid] = true
	}
	for i := len(r.merge) - 1; i >= 0; i-- {
		r.merge[i].begin -= r.merge[0].begin
	}
	return r.merge[0].file, nil
}

const day = 24 * 3600 * 1e9 // nanoseconds

// inspect sets begin to an absolute time, and adds the processes that the file has forks
// of. It reports false for a file without events.
func (p *part) inspect(r *Recording, forked map[int32]bool) (ok bool, err error) {
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
	batch := make([]format.Event, format.MergedBatch)
	n, err := rd.Read(batch)
	if errors.Is(err, io.EOF) {
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
		log := events.p.(*ioprof)
		p.begin, p.pid, p.parent = log.epoch, log.pid, log.parent
		// An error in a later line is that of the reader.
		for ; n > 0; n, _ = rd.Read(batch) {
			for i := range batch[:n] {
				if e := &batch[i]; e.Op == format.OpFork && len(forked) < maxForked {
					forked[int32(e.Ret)] = true
				}
			}
		}
	}
	return true, nil
}

// maxForked bounds the processes that logs of IOProf have forks of.
const maxForked = 1 << 20

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
	m := &merged{told: map[string][]string{}}
	rd := &Reader{events: m}
	var sources []format.Reader
	for i, p := range r.merge {
		sub, err := openPart(r, p.file)
		if err != nil {
			rd.Close()
			return nil, err
		}
		rd.closers = append(rd.closers, sub)
		sources = append(sources, &source{part: p, Reader: sub.events, first: i == 0, of: m})
	}
	m.Merged = format.NewMerged(sources)
	if r.Kind == Strace {
		rd.strace, rd.stamp = &r.strace, script.Epoch
	}
	return rd, nil
}

// merged reads several files in the order in which events ended. It implements
// format.Reader.
type merged struct {
	*format.Merged
	h       format.Header
	skipped format.Skipped      // of the files that have ended, as
	told    map[string][]string // the values of the remarks ofEach
}

// Header implements format.Reader. It returns the header of the file that
// begins first, with what is skipped of all.
func (m *merged) Header() *format.Header {
	m.skipped.Remark(&m.h)
	for _, key := range ofEach {
		if values := m.told[key]; len(values) > 0 {
			m.h.Set(key, strings.Join(values, ", "))
		}
	}
	return &m.h
}

// ofEach are the remarks of one of several logs of IOProf that are those of all.
var ofEach = [...]string{format.MetaIncomplete, format.MetaDrift}

// source is a file, with its events on the clock of all.
type source struct {
	part
	format.Reader
	of    *merged
	first bool // of is to have the header, as it is after the next Read
	ended bool
}

// Read implements format.Reader.
func (s *source) Read(events []format.Event) (int, error) {
	if s.parent != 0 && len(events) > 0 {
		// The fork is not logged, but the process had the descriptors of its parent.
		events[0] = format.Event{Op: format.OpFork, TID: s.parent, Start: s.begin, Ret: int64(s.pid)}
		s.parent = 0
		return 1, nil
	}
	n, err := s.Reader.Read(events)
	for i := range events[:n] {
		e := &events[i]
		e.Start += s.begin
		e.Line = 0 // of one file of several
		if s.tid != 0 {
			e.TID = s.tid
		}
	}
	if l, ok := s.Reader.(*lines); ok && errors.Is(err, io.EOF) && !s.ended {
		s.ended = true
		for kind, n := range l.p.(*ioprof).skipped {
			s.of.skipped.Add(kind, n)
		}
		h := s.Header()
		_, complete := h.Value(format.MetaLost)
		if _, known := h.Value(format.MetaIncomplete); !complete && !known {
			h.Set(format.MetaIncomplete, path.Base(s.file.Name)+" (no end)")
		}
		for _, key := range ofEach {
			if value, ok := h.Value(key); ok {
				s.of.told[key] = append(s.of.told[key], value)
			}
		}
	}
	if s.first || s.begin == 0 && errors.Is(err, io.EOF) {
		s.of.h, s.first = *s.Header(), false
	}
	return n, err
}
