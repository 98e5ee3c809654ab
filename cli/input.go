package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
)

func traceOf(f *os.File) (*bin.Trace, error) { return traceWithin(f, readingMemory()) }

func traceWithin(f *os.File, limit int64) (*bin.Trace, error) { return partWithin(f, limit, nil) }

func partWithin(f *os.File, limit int64, choose func(*format.Header) func(thread int32) bool) (*bin.Trace, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return bin.OpenPart(f, info.Size(), limit, choose)
}

// openInput opens a file that is read more than once, so it must be a regular
// file.
func openInput(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	if err := files.input(name, info); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readInput reads a small file, which may be a pipe.
func readInput(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil {
		if err := files.input(name, info); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(name)
}

// isTrace reports whether a file is a compiled trace.
func isTrace(f *os.File) bool {
	var prefix [16]byte
	n, _ := f.ReadAt(prefix[:], 0)
	return bin.IsTrace(prefix[:n])
}

// compileTo compiles a recording into a compiled trace.
func compileTo(w io.Writer, src format.Reader, o compile.Options) (*compile.Report, error) {
	events, err := spool("")
	if err != nil {
		return nil, err
	}
	defer events.Close()
	parts, err := spool("")
	if err != nil {
		return nil, err
	}
	defer parts.Close()
	return compile.Compile(src, events, traceWriter(w, parts, o.Memory), o)
}

// copyTo writes an intermediate script as a compiled trace. Its strings may
// take at most memory bytes, 0 for the default of a reader.
func copyTo(w io.Writer, src format.Reader, limit int64) error {
	parts, err := spool("")
	if err != nil {
		return err
	}
	defer parts.Close()
	return compile.Copy(src, traceWriter(w, parts, limit))
}

// traceWriter returns a writer of a compiled trace. Its strings may take at
// most memory bytes, 0 for the default of a reader.
func traceWriter(w io.Writer, s bin.Spool, limit int64) *bin.Writer {
	t := bin.NewWriter(w, s)
	t.Limit = cmp.Or(limit, bin.DefaultLimit)
	return t
}
