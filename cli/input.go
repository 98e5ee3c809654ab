package cli

import (
	"cmp"
	"io"
	"os"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/internal/files"
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

// isTrace reports whether a file is a compiled trace.
func isTrace(f *os.File) bool {
	var prefix [16]byte
	n, _ := f.ReadAt(prefix[:], 0)
	return bin.IsTrace(prefix[:n])
}

// compileTo compiles a recording into a compiled trace.
func compileTo(w io.Writer, src format.Reader, o compile.Options) (*compile.Report, error) {
	events, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	defer events.Close()
	parts, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	defer parts.Close()
	return compile.Compile(src, events, traceWriter(w, parts, o.Memory), o)
}

// copyTo writes an intermediate script as a compiled trace. Its strings may
// take at most memory bytes, 0 for the default of a reader.
func copyTo(w io.Writer, src format.Reader, limit int64) error {
	parts, err := files.Spool("")
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
