package importer

import (
	"io"

	"pianola/format"
)

// Format is a format of recordings that this package does not know by itself.
type Format struct {
	Name string // for messages

	// Is reports whether a file that begins like this is a recording of the
	// format. It is asked before the formats of this package are.
	Is func(head []byte) bool

	// Open returns a reader of the recording in r, of which errors call the
	// file by its name. It is called for each pass over the recording, and each
	// must have the same events. A reader that is an io.Closer is closed.
	Open func(r io.Reader, name string) (format.Reader, error)
}

// headSize is how much of a file is looked at to find out what it is, in bytes.
const headSize = 64 << 10

// formatOf returns the first of formats that a file is of, nil if there is none.
func formatOf(formats []Format, head []byte) *Format {
	for i := range formats {
		if f := &formats[i]; f.Is(head) {
			return f
		}
	}
	return nil
}

// NewLines returns a reader of a recording that is made of lines, of 64 KiB at
// most, for Format.Open. parse appends the events of a line to queue, mostly
// one or two; their strings must stay as they are. Its errors become
// *script.SyntaxErrors with file and line. The header is parse's to complete.
func NewLines(r io.Reader, name string, header *format.Header, parse func(queue []format.Event, line []byte) ([]format.Event, error)) format.Reader {
	return newLines(r, name, lineParser{parse, header})
}

type lineParser struct {
	parseLine func([]format.Event, []byte) ([]format.Event, error)
	h         *format.Header
}

func (p lineParser) header() *format.Header { return p.h }
func (p lineParser) finish()                {}

func (p lineParser) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	return p.parseLine(queue, line)
}
