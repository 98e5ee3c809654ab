package importer

import (
	"io"

	"pianola/format"
)

// Format is a format of recordings that a program adds.
type Format struct {
	Name string // for messages

	// Is reports whether a file that begins with head is a recording of the
	// format. It is called before the formats of this package are tried.
	Is func(head []byte) bool

	// Open returns a reader of the recording in r. name is the name of the
	// file, for errors. Open is called for each pass over the recording, and
	// every pass must have the same events. A reader that is an io.Closer is
	// closed.
	Open func(r io.Reader, name string) (format.Reader, error)
}

// builtin returns the formats of this package, which are recognised by the beginning of a file.
func builtin(o Options) []Format {
	with := func(open func(io.Reader, string, Options) (format.Reader, error)) func(io.Reader, string) (format.Reader, error) {
		return func(r io.Reader, name string) (format.Reader, error) { return open(r, name, o) }
	}
	return []Format{
		{"Darshan DXT", isDarshan, with(openDarshan)},
		{"DFTracer", isDFTracer, with(openDFTracer)},
		{"blkparse", isBlkparse, with(openBlkparse)},
		{"block trace", isBlockTrace, with(openBlockTrace)},
	}
}

// headSize is how much of a file is read to recognise it, in bytes.
const headSize = 64 << 10

// formatOf returns the first format that recognises a file, nil if none does.
func formatOf(formats []Format, head []byte) *Format {
	for i := range formats {
		if f := &formats[i]; f.Is(head) {
			return f
		}
	}
	return nil
}

// NewLines returns a reader of a recording that consists of lines of at most 64
// KiB, for Format.Open. parse appends the events of a line to queue, mostly one
// or two; it must not overwrite their strings later. Its errors become
// *script.SyntaxErrors with file and line. parse may complete the header.
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
