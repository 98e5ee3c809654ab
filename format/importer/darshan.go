package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pianola/format"
)

// darshan parses the text that darshan-dxt-parser makes of a log with extended
// tracing (DXT):
//
//	# DXT, file_id: 16457598720760448348, file_name: /tmp/test/testFile
//	# DXT, rank: 0, hostname: node1
//	 X_POSIX       0  write        0               0       262144      0.0029      0.0032
//
// module, rank, direction, number, offset, length, start and end in seconds. The
// segments of X_MPIIO are counted only: those of X_POSIX hold the calls that they caused.
//
// The lines stand file by file. So all are read and sorted by their start, and there can
// be at most maxSegments.
type darshan struct {
	lines   *lines
	h       format.Header
	t       *tracks
	file    int // of the lines that follow, -1 before the first
	all     []segment
	skipped format.Skipped
	cut     []string // modules that ran out of memory
	queue   []format.Event
	next    int // of all
	from    int // of queue
	err     error
	sorted  bool
}

// segment is a line of X_POSIX. Its size bounds what maxSegments take: 48 bytes each.
type segment struct {
	start, end     int64 // nanoseconds
	offset, length int64
	rank, file     int32
	line           int32
	write          bool
}

const maxSegments = 8 << 20

// maxModules bounds the modules that ran out of memory, and maxModule the line of one in
// bytes. Darshan has fewer.
const (
	maxModules = 64
	maxModule  = 128
)

var (
	darshanFile = []byte("# DXT, file_id:")
	darshanCut  = []byte(" module contains incomplete data!")
)

// isDarshan reports whether a file begins as darshan-dxt-parser's output does.
func isDarshan(head []byte) bool {
	return bytes.HasPrefix(head, []byte("# darshan log version:")) || bytes.HasPrefix(head, []byte("# DXT")) || bytes.Contains(head, []byte("\n# DXT, file_id:"))
}

func openDarshan(r io.Reader, name string, _ Options) (format.Reader, error) {
	p := &darshan{t: newTracks(), file: -1}
	p.lines = newLines(r, name, p)
	return p, nil
}

// Header implements format.Reader.
func (p *darshan) Header() *format.Header { return p.header() }

func (p *darshan) header() *format.Header {
	p.h.Set(MetaSource, "Darshan DXT")
	p.h.Set(MetaUnknown, "numbers of ranks and waits for them, opens and their flags, syncs, metadata, threads of a rank, STDIO, page cache")
	return &p.h
}

func (p *darshan) finish() {
	p.skipped.Remark(&p.h)
	if len(p.cut) > 0 {
		p.h.Set(format.MetaIncomplete, strings.Join(p.cut, " "))
	}
}

func (p *darshan) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	if rest, ok := bytes.CutPrefix(line, darshanFile); ok {
		_, name, ok := bytes.Cut(rest, []byte("file_name:"))
		if name = bytes.TrimSpace(name); !ok || len(name) == 0 {
			return queue, errors.New("expected # DXT, file_id: NUMBER, file_name: NAME")
		}
		var err error
		p.file, err = p.t.files.add(name)
		return queue, err
	}
	if rest, ok := bytes.CutPrefix(line, []byte("# exe:")); ok {
		p.h.Set(format.MetaCommand, string(bytes.TrimSpace(rest)))
	}
	if rest, ok := bytes.CutPrefix(line, []byte("# start_time:")); ok {
		if seconds, ok := number(bytes.TrimSpace(rest)); ok && seconds < maxNanos/1_000_000_000 {
			p.h.Set(format.MetaStart, time.Unix(seconds, 0).UTC().Format(time.RFC3339Nano))
		}
	}
	if text, ok := bytes.CutSuffix(line, darshanCut); ok && len(line) < maxModule && len(p.cut) < maxModules {
		p.cut = append(p.cut, string(text[bytes.LastIndexByte(text, ' ')+1:]))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
		return queue, nil
	}
	module, rest := field(line, ' ')
	switch string(module) {
	case "X_POSIX":
	case "X_MPIIO":
		p.skipped.Add("X_MPIIO", 1)
		return queue, nil
	default:
		return queue, errors.New("expected a segment of X_POSIX or X_MPIIO")
	}
	var words [7][]byte
	for i := range words {
		words[i], rest = field(rest, ' ')
	}
	s := segment{file: int32(p.file), line: int32(min(p.lines.line, 1<<31-1))}
	rank, ok1 := number(words[0])
	_, ok2 := number(words[2])
	var ok3, ok4 bool
	s.offset, ok3 = number(words[3])
	s.length, ok4 = number(words[4])
	if s.write = string(words[1]) == "write"; !s.write && string(words[1]) != "read" || !ok1 || !ok2 || !ok3 || !ok4 || rank > 1<<30 || s.length > maxOffset || s.offset > maxOffset {
		return queue, errors.New("malformed segment, expected X_POSIX RANK write|read NUMBER OFFSET LENGTH START END")
	}
	var err1, err2 error
	s.start, err1 = format.ParseSeconds(words[5])
	s.end, err2 = format.ParseSeconds(words[6])
	switch {
	case err1 != nil || err2 != nil || s.start < 0 || s.start > maxNanos || s.end < s.start || s.end > maxNanos:
		return queue, errors.New("malformed time, expected the start and the end in seconds")
	case p.file < 0:
		return queue, errors.New("a segment before the first # DXT, file_id: line")
	case len(p.all) == maxSegments:
		return queue, fmt.Errorf("more than %d segments", maxSegments)
	}
	s.rank = int32(rank)
	p.all = append(p.all, s)
	return queue, nil
}

// Read implements format.Reader.
func (p *darshan) Read(events []format.Event) (int, error) {
	if !p.sorted {
		if _, err := p.lines.Read(events); err != io.EOF {
			return 0, err // there are no events before the end
		}
		p.sorted = true
		slices.SortStableFunc(p.all, func(a, b segment) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	}
	n := 0
	for ; n < len(events) && p.err == nil; n++ {
		if p.from == len(p.queue) {
			if p.next == len(p.all) {
				p.err = io.EOF
				break
			}
			p.from = 0
			if p.queue, p.err = p.add(p.queue[:0], &p.all[p.next]); p.err != nil {
				break
			}
			p.next++
		}
		events[n] = p.queue[p.from]
		p.from++
	}
	if n > 0 {
		return n, nil
	}
	return 0, p.err
}

func (p *darshan) add(queue []format.Event, s *segment) (_ []format.Event, err error) {
	e := format.Event{Start: s.start, Dur: s.end - s.start, Op: format.OpPread64, Line: int64(s.line)}
	if s.write {
		e.Op = format.OpPwrite64
	}
	if e.TID, err = p.t.lane(fmt.Appendf(nil, "rank %d", s.rank), s.start, s.end); err != nil {
		return queue, err
	}
	return p.t.transfer(queue, e, int(s.file), s.length, s.offset)
}
