package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/foreign"
	"pianola/format/script"
)

// openTrace opens and verifies a compiled trace, which may take so many bytes of
// memory. The file is to be closed when the trace is no longer used.
func openTrace(name string, limit int64) (*bin.Trace, *os.File, error) {
	f, err := openInput(name)
	if err != nil {
		return nil, nil, err
	}
	t, err := traceWithin(f, limit)
	if err != nil {
		f.Close()
		err = fmt.Errorf("%s: %w", name, err)
		if errors.Is(err, bin.ErrMagic) {
			err = &hint{err, fmt.Sprintf("if it is a script, compile it first: pianola compile -o trace.bin %s", name)}
		}
		return nil, nil, err
	}
	return t, f, nil
}

func traceOf(f *os.File) (*bin.Trace, error) { return traceWithin(f, bin.DefaultLimit) }

func traceWithin(f *os.File, limit int64) (*bin.Trace, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return bin.Open(f, info.Size(), limit)
}

// openInput opens a file that must be a regular one, for it is read more than
// once.
func openInput(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	return f, nil
}

// isTrace reports whether a file is a compiled trace.
func isTrace(f *os.File) bool {
	var prefix [16]byte
	n, _ := f.ReadAt(prefix[:], 0)
	return bin.IsTrace(prefix[:n])
}

// openRecording opens what a profile or a comparison can be made of: a script,
// which is compiled on the way so that both sides hold the same kind of
// events, a compiled trace, or the log of a replay. close is to be called when
// the reader is no longer used.
func openRecording(name string) (r format.Reader, close func() error, err error) {
	f, err := openInput(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if isTrace(f) {
		t, err := traceOf(f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		return t.Events(), f.Close, nil
	}
	src, err := inspect(foreign.Options{}, name)
	if err != nil {
		return nil, nil, err
	}
	f.Close()
	if src.Log || src.Dialect == script.Intermediate {
		r, err := src.open()
		return r, src.Close, err
	}
	defer src.Close()
	tmp, err := spool("")
	if err != nil {
		return nil, nil, err
	}
	report, err := compileTo(tmp, src.open, compile.Options{Compensate: true})
	if err != nil {
		tmp.Close()
		return nil, nil, err
	}
	if report.Endless || report.Lost > 0 {
		fmt.Fprintf(os.Stderr, "pianola: %s: warning: the recording is not whole; pianola compile says more\n", name)
	}
	t, err := traceOf(tmp)
	if err != nil {
		tmp.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.Events(), tmp.Close, nil
}

// compileTo compiles a script into a compiled trace.
func compileTo(w io.Writer, src compile.Source, o compile.Options) (*compile.Report, error) {
	s, err := spool("")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return compile.Compile(src, bin.NewWriter(w, s), o)
}
