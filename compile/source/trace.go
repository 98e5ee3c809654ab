package source

import (
	"cmp"
	"io"
	"os"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/files"
)

// Trace is a compiled trace in a file. Its readers end with Close.
type Trace struct {
	*bin.Trace
	file *os.File
}

// Close closes the file.
func (t *Trace) Close() error { return t.file.Close() }

// Within opens a compiled trace in at most limit bytes of memory, 0 for those of a command
// that replays nothing. The caller closes the file after the last use of the trace.
func (r *Reader) Within(f *os.File, limit int64) (*bin.Trace, error) {
	return open(f, cmp.Or(limit, r.Limits.Reading()), nil)
}

func open(f *os.File, limit int64, choose chooser) (*bin.Trace, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return bin.OpenPart(f, info.Size(), limit, choose)
}

// spooled returns a temporary file that a function has written.
func spooled(write func(*os.File) error) (*os.File, error) {
	f, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	if err := write(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// writing has a function write a compiled trace. Its strings may take at most limit bytes,
// 0 for the default of a reader.
func writing(w io.Writer, limit int64, write func(*bin.Writer) error) error {
	parts, err := files.Spool("")
	if err != nil {
		return err
	}
	defer parts.Close()
	t := bin.NewWriter(w, parts)
	t.Limit = cmp.Or(limit, bin.DefaultLimit)
	return write(t)
}

// WriteText writes a compiled trace as an intermediate script.
func WriteText(w io.Writer, t *bin.Trace) error {
	p, events := script.NewIntermediateWriter(w, t.Header()), t.Events()
	if err := format.Copy(p, events); err != nil {
		return err
	}
	return p.Flush()
}
