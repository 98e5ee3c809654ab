package export

import (
	"fmt"
	"io"
	"strings"

	"pianola/format"
	"pianola/format/script"
)

// Writer writes the events of a trace, in the order of their starts, or those of
// a recording, in the order of format.Causal. The first
// error of the underlying writer is returned by all later calls.
type Writer interface {
	format.Writer

	// Close writes the rest of the output, which is incomplete without it. It
	// does not close the underlying writer.
	Close() error
}

// Partial is a Writer of a format that says which events it leaves out.
type Partial interface {
	Writer

	// LeftOut returns them by operation, as "ioctl=1 mmap=2", after Close.
	LeftOut() string
}

// kinds are the formats, the default first.
var kinds = []struct {
	name      string
	open      func(io.Writer, *format.Header) (Writer, error)
	recording bool // takes recordings and logs of replays, too
	spans     bool // takes spans
}{
	{"script", newScript, false, true},
	{"fio", newFio, false, false},
	{"fio2", newFio2, false, false},
	{"fiofiles", newLayout, false, false},
	{"strace", newStrace, true, false},
	{"json", newJSON, true, true},
	{"csv", newCSV, true, true},
	{"parquet", newParquet, true, true},
	{"perfetto", newPerfetto, true, true},
	{"c", newProgram, false, false},
}

// Kinds returns the names of the formats, the default first.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// TakesRecordings reports whether the format named kind is for recordings and logs
// of replays as well as for compiled traces.
func TakesRecordings(kind string) bool {
	for i := range kinds {
		if kinds[i].name == kind {
			return kinds[i].recording
		}
	}
	return false
}

// TakesSpans reports whether the Writer of the format named kind can be given spans.
func TakesSpans(kind string) bool {
	for i := range kinds {
		if kinds[i].name == kind {
			return kinds[i].spans
		}
	}
	return false
}

// New returns a Writer to w in the format named kind, for the trace or the recording
// with header h. The header must not change before Close.
func New(kind string, w io.Writer, h *format.Header) (Writer, error) {
	for i := range kinds {
		if kinds[i].name == kind {
			return kinds[i].open(w, h)
		}
	}
	return nil, fmt.Errorf("unknown format %q: expected one of %s", kind, strings.Join(Kinds(), ", "))
}

// scriptWriter adds Close to the writer of intermediate scripts.
type scriptWriter struct{ *script.IntermediateWriter }

func newScript(w io.Writer, h *format.Header) (Writer, error) {
	return scriptWriter{script.NewIntermediateWriter(w, h)}, nil
}

func (w scriptWriter) Close() error { return w.Flush() }

// textSize is how much text is buffered before it is written, in bytes.
const textSize = 64 << 10

// text buffers lines. After an error it drops them.
type text struct {
	w   io.Writer
	b   []byte
	err error
}

func newText(w io.Writer) text { return text{w: w, b: make([]byte, 0, textSize+8<<10)} }

// flushFull writes the buffer if it holds textSize bytes.
func (t *text) flushFull() error {
	if len(t.b) < textSize {
		return t.err
	}
	return t.flush()
}

func (t *text) flush() error {
	if t.err == nil && len(t.b) > 0 {
		_, t.err = t.w.Write(t.b)
	}
	t.b = t.b[:0]
	if cap(t.b) > 4*textSize { // a header can be large
		t.b = make([]byte, 0, textSize+8<<10)
	}
	return t.err
}

func checkOp(e *format.Event) error {
	if !e.Op.Valid() || e.Via >= format.NumVias {
		return fmt.Errorf("export: operation %d is not in the table", e.Op)
	}
	return nil
}
