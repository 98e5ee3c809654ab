package importer

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/script"
)

// Reader reads a recording of any kind. It implements format.Reader.
type Reader struct {
	events  format.Reader
	closers []io.Closer

	strace    *survey // nil for other kinds
	stamp     script.Stamp
	untaken   bool // an event without a duration was read
	header    format.Header
	underlain int // remarks of the header below when header was made
}

// openPart opens one file.
func openPart(r *Recording, f File) (*Reader, error) {
	src, err := f.Open()
	if err != nil {
		return nil, err
	}
	rd := &Reader{closers: []io.Closer{src}, underlain: -1}
	switch r.Kind {
	case Script:
		rd.events = script.NewReader(src, f.Name)
	case Strace:
		rd.events, rd.strace = script.NewReader(src, f.Name), &r.strace
	case Other:
		if rd.events, err = r.Format.Open(src, f.Name); err != nil {
			src.Close()
			return nil, err
		}
		if c, ok := rd.events.(io.Closer); ok {
			rd.closers = append(rd.closers, c)
		}
	default:
		rd.events = newLines(src, f.Name, newParser(r, f.Name))
	}
	return rd, nil
}

// newParser returns the parser of a kind that is not a script.
func newParser(r *Recording, name string) parser {
	switch r.Kind {
	case FioV2, FioV3:
		return &fio{version: r.Kind}
	case Iozone:
		return &iozone{write: r.options.Write}
	case IOProf:
		return &ioprof{name: path.Base(name)}
	}
	panic("internal error: kind without a parser")
}

// Read implements format.Reader.
func (r *Reader) Read(events []format.Event) (int, error) {
	n, err := r.events.Read(events)
	if r.strace != nil {
		for i := range events[:n] {
			e := &events[i]
			if e.Dur == format.Unknown && e.Ret != format.NoResult {
				r.untaken = true
			}
		}
		if s, ok := r.events.(*script.Reader); ok {
			r.stamp = s.Stamp()
		}
	}
	return n, err
}

// Header implements format.Reader.
func (r *Reader) Header() *format.Header {
	h := r.events.Header()
	if r.strace == nil {
		return h
	}
	// The header is created for each reader, because reading adds remarks.
	r.header = format.Header{Meta: slices.Clone(h.Meta), Descriptors: append(slices.Clone(h.Descriptors), r.strace.descriptors...)}
	r.header.Set(MetaSource, Strace.String())
	var unknown []string
	if r.stamp == script.Untimed {
		unknown = append(unknown, "times")
	}
	if r.stamp == script.Clock {
		unknown = append(unknown, "fractions of seconds")
	}
	if r.untaken {
		unknown = append(unknown, "durations")
	}
	if r.strace.cwd == "" {
		unknown = append(unknown, "working directory")
	} else if _, ok := h.Value(format.MetaCwd); !ok {
		r.header.Set(format.MetaCwd, string(format.AppendQuoted(nil, []byte(r.strace.cwd))))
	}
	if len(r.strace.descriptors) > 0 {
		unknown = append(unknown, "flags and offsets of the descriptors at the start")
	}
	if len(unknown) > 0 {
		r.header.Set(MetaUnknown, strings.Join(unknown, ", "))
	}
	return &r.header
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, c := range slices.Backward(r.closers) {
		err = errors.Join(err, c.Close())
	}
	r.closers = nil
	return err
}

// parser turns the lines of one kind of source into events.
type parser interface {
	// parse appends the events of a line to queue, at most two. Their strings
	// must outlive the parser. Its errors become the messages of SyntaxErrors.
	parse(queue []format.Event, line []byte) ([]format.Event, error)

	// finish completes the header at the end of the source.
	finish()
	header() *format.Header
}

const (
	// maxLine bounds a line, in bytes.
	maxLine = 64 << 10

	// maxNanos bounds times; it is about 73 years.
	maxNanos = 1 << 61
)

// lines reads a source line by line through a parser. It implements
// format.Reader.
type lines struct {
	p    parser
	name string
	r    io.Reader

	buf        []byte
	start, end int
	line       int
	empty      int   // lines that hold nothing
	ended      error // why r holds no more
	err        error // the next call of Read returns it
	queue      []format.Event
	next       int
}

func newLines(r io.Reader, name string, p parser) *lines {
	return &lines{p: p, name: name, r: r, buf: make([]byte, maxLine), queue: make([]format.Event, 0, 2)}
}

// Header implements format.Reader.
func (l *lines) Header() *format.Header { return l.p.header() }

// Read implements format.Reader.
func (l *lines) Read(events []format.Event) (int, error) {
	n := 0
	for n < len(events) && l.err == nil {
		if l.next < len(l.queue) {
			events[n] = l.queue[l.next]
			l.next++
			n++
			continue
		}
		line, err := l.nextLine()
		if err != nil {
			l.err = err
			break
		}
		l.line++
		l.next = 0
		if l.queue, err = l.p.parse(l.queue[:0], line); err != nil {
			l.err = l.fault(err)
		}
		for i := range l.queue {
			l.queue[i].Line = int64(l.line)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, l.err
}

func (l *lines) fault(err error) error {
	cut := l.ended == io.EOF && l.start == l.end && l.end > 0 && l.buf[l.end-1] != '\n'
	msg := err.Error()
	if cut {
		msg = "cut off in mid-line: " + msg
	}
	l.queue = l.queue[:0]
	return &script.SyntaxError{File: l.name, Line: l.line, Msg: msg, Cut: cut}
}
