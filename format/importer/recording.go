package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"pianola/format"
	"pianola/format/script"
)

// Kind is the format of a recording.
type Kind uint8

// The kinds.
const (
	Script Kind = iota // Pianola's own, of any dialect
	Strace
	FioV2
	FioV3
	Iozone
	IOProf
	Other // of a Format
)

var kindNames = [...]string{"script", "strace", "fio iolog v2", "fio iolog v3", "iozone telemetry", "IOProf log", "format of an importer"}

func (k Kind) String() string { return kindNames[k] }

// The remarks that this package adds to the header, except for scripts.
const (
	MetaSource  = "source"  // the Kind
	MetaUnknown = "unknown" // what the source lacks
)

// File is a source that can be read several times.
type File struct {
	Name string // for messages; strace -ff ends it with the process id
	Open func() (io.ReadCloser, error)
}

// Options are the choices of reading.
type Options struct {
	// Write reads iozone telemetry as writes. The file itself does not say.
	Write bool

	// Fold is the size of the volumes that block traces are folded into, in bytes; 0
	// for as large as they are. An offset beyond goes on from the volume's beginning.
	Fold int64

	// Formats are tried in order, before those of this package.
	Formats []Format
}

// Recording is a recording whose kind is known.
type Recording struct {
	Kind    Kind
	Dialect script.Dialect // of scripts; Unrecognised without events
	Log     bool           // it is the log of a replay
	Format  *Format        // for the kind Other, else nil

	files   []File
	options Options
	strace  survey
	merge   []part // of several files
}

// maxFiles bounds the files of one recording; all are open at the same time.
const maxFiles = 4096

// Inspect detects the kind of the files. Several files must be of one recording
// by strace -ff or IOProf.
func Inspect(files []File, o Options) (*Recording, error) {
	switch {
	case len(files) == 0:
		return nil, errors.New("no files")
	case len(files) > maxFiles:
		return nil, fmt.Errorf("more than %d files", maxFiles)
	}
	r := &Recording{files: files, options: o}
	var err error
	if r.Kind, r.Format, err = recognise(files[0], o); err != nil {
		return nil, err
	}
	if r.Kind == Script {
		if err := r.peek(); err != nil {
			return nil, err
		}
	}
	first := files[0]
	if len(files) > 1 {
		if first, err = r.align(); err != nil {
			return nil, err
		}
	}
	if r.Kind == Strace {
		if r.strace, err = surveyFile(first); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// recognise returns the kind of a file, Script if it is of no other kind, and
// the format if the kind is Other.
func recognise(f File, o Options) (Kind, *Format, error) {
	src, err := f.Open()
	if err != nil {
		return 0, nil, err
	}
	defer src.Close()
	b := bufio.NewReaderSize(src, headSize)
	// If the file can't be read, the code below returns the error.
	head, _ := b.Peek(headSize)
	if known := formatOf(append(slices.Clip(o.Formats), builtin(o)...), head); known != nil {
		return Other, known, nil
	}
	for n := 1; ; n++ {
		line, err := b.ReadSlice('\n')
		if kind, ok := kindOf(bytes.TrimSpace(line), n == 1); ok {
			return kind, nil, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == bufio.ErrBufferFull || n > script.MaxEmpty {
			return Script, nil, nil
		}
		if err != nil && n > 1 {
			return 0, nil, fmt.Errorf("%s:%d: %w", f.Name, n, err)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
}

// kindOf returns the kind that a line shows, and false if it shows none.
func kindOf(line []byte, first bool) (Kind, bool) {
	switch {
	case len(line) == 0 || line[0] == '#':
		return 0, false
	case first && bytes.HasPrefix(line, fioPrefix):
		if bytes.Equal(line, fioV2Line) {
			return FioV2, true
		}
		return FioV3, true // the parser refuses other versions
	case isIOProf(line):
		return IOProf, true
	case isTelemetry(line):
		return Iozone, true
	}
	return Script, true
}

// peek reads the first event of a script.
func (r *Recording) peek() error {
	rd, err := openPart(r, r.files[0])
	if err != nil {
		return err
	}
	defer rd.Close()
	if _, err := rd.Read(make([]format.Event, 1)); err != nil && err != io.EOF && !isCut(err) {
		return err
	}
	s := rd.events.(*script.Reader)
	_, r.Log = s.Header().Value(format.MetaReplay)
	if r.Dialect = s.Dialect(); r.Dialect == script.Recorded && !s.Own() {
		r.Kind = Strace
	}
	return nil
}

// isCut reports whether the error is only that a source ends too early, which
// some readers accept.
func isCut(err error) bool {
	syntax, ok := errors.AsType[*script.SyntaxError](err)
	return ok && syntax.Cut || errors.Is(err, io.ErrUnexpectedEOF)
}

// Open returns a reader of the recording from its beginning. The caller closes
// it.
func (r *Recording) Open() (*Reader, error) {
	open := r.openMerged
	if len(r.files) == 1 {
		open = func() (*Reader, error) { return openPart(r, r.files[0]) }
	}
	rd, err := open()
	if err == nil && r.Kind == IOProf {
		rd.events = &sockets{Reader: rd.events, of: map[int32]map[int64]*socket{}}
	}
	return rd, err
}
