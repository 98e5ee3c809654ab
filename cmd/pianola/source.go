package main

import (
	"errors"
	"io"
	"os"

	"pianola/compile"
	"pianola/format"
	"pianola/format/packed"
	"pianola/format/script"
)

// dialect finds out what kind of script a file is, and whether it is the log of
// a replay.
func dialect(f *os.File, name string) (d script.Dialect, log bool, err error) {
	r, err := openScript(f, name)
	if err != nil {
		return 0, false, err
	}
	defer r.packed.Close()
	if _, err := r.Read(make([]format.Event, 1)); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	_, log = r.Header().Value(format.MetaReplay)
	return r.Dialect(), log, nil
}

// scriptSource opens a script again and again for the passes of compile. A
// reader is of no use any more once the next has been opened.
func scriptSource(f *os.File, name string) compile.Source {
	var last *source
	return func() (format.Reader, error) {
		if last != nil {
			last.packed.Close()
		}
		var err error
		if last, err = openScript(f, name); err != nil {
			return nil, err
		}
		return last, nil
	}
}

// source reads a script, compressed or not, and what a killed recorder left
// behind: it ends before what is not whole. Compile warns of such a recording,
// since it misses what a recorder writes last.
type source struct {
	*script.Reader
	packed *packed.Reader
}

// openScript reads a file from its start.
func openScript(f *os.File, name string) (*source, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	p := packed.NewReader(f)
	return &source{script.NewReader(p, name), p}, nil
}

// Read implements format.Reader.
func (s *source) Read(events []format.Event) (int, error) {
	n, err := s.Reader.Read(events)
	if err == nil || err == io.EOF {
		return n, err
	}
	syntax, ok := errors.AsType[*script.SyntaxError](err)
	if cut := ok && syntax.Cut || errors.Is(err, packed.ErrTruncated); cut {
		if _, recorded := s.Header().Value(format.MetaTool); recorded {
			err = io.EOF
		}
	}
	return n, err
}
