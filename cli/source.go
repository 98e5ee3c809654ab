package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/pattern"
	"pianola/plugin"
)

func openPattern(r io.Reader, name string) (format.Reader, error) {
	p, err := pattern.Parse(r, name)
	if err != nil {
		return nil, err
	}
	return p.Reader(), nil
}

// sources is a recording in one or more files, compressed or not, in any of
// the formats that package importer knows.
type sources struct {
	*importer.Recording
	last *importer.Reader

	shown *progress // of what was opened last
	done  int64     // bytes of it that were read
	total int64     // bytes of all files
}

func newSources() *sources { return &sources{shown: newProgress("reading", -1)} }

// inspect finds out what the files are. sources must be closed.
func inspect(o importer.Options, names ...string) (*sources, error) {
	s := newSources()
	var files []importer.File
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			s.total += info.Size()
		}
		files = append(files, importer.File{Name: name, Open: func() (io.ReadCloser, error) { return openPacked(name, s.count) }})
	}
	return s.look(o, files)
}

// look finds out what the files are.
func (s *sources) look(o importer.Options, files []importer.File) (_ *sources, err error) {
	o.Formats = extensions.importers
	if s.Recording, err = importer.Inspect(files, o); err != nil {
		return nil, err
	}
	return s, nil
}

// count shows how far the reading has come.
func (s *sources) count(n int) {
	s.done += int64(n)
	s.shown.set(s.done, s.total)
}

// open opens the recording from its beginning. A reader is of no use any more
// once the next has been opened.
func (s *sources) open() (format.Reader, error) {
	s.Close()
	s.done = 0
	var err error
	if s.last, err = s.Recording.Open(); err != nil {
		return nil, err
	}
	return tolerant{s.last}, nil
}

// Close closes what was opened last.
func (s *sources) Close() error {
	s.shown.done()
	if s.last == nil {
		return nil
	}
	err := s.last.Close()
	s.last = nil
	return err
}

// tolerant reads what a killed recorder left behind: it ends before what is
// not whole. Compile warns of such a recording, since it misses what a
// recorder writes last.
type tolerant struct{ format.Reader }

// Read implements format.Reader.
func (t tolerant) Read(events []format.Event) (int, error) {
	n, err := t.Reader.Read(events)
	if err == nil || err == io.EOF {
		return n, err
	}
	syntax, ok := errors.AsType[*script.SyntaxError](err)
	if cut := ok && syntax.Cut || errors.Is(err, compressed.ErrTruncated); cut {
		if _, recorded := t.Header().Value(format.MetaTool); recorded {
			err = io.EOF
		}
	}
	return n, err
}

// packedFile is a file that may be compressed.
type packedFile struct {
	*compressed.Reader
	file io.Closer
}

// openPacked tells read how many bytes of the file were read, each time.
func openPacked(name string, read func(int)) (*packedFile, error) {
	f, err := openInput(name)
	if err != nil {
		return nil, err
	}
	return newPackedFile(f, read), nil
}

func newPackedFile(f io.ReadCloser, read func(int)) *packedFile {
	return &packedFile{compressed.NewReader(&counter{f, read}), f}
}

// counter tells how much is read.
type counter struct {
	io.Reader
	read func(int)
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read(n)
	return n, err
}

// Close frees the memory and closes the file.
func (p *packedFile) Close() error {
	p.Reader.Close()
	return p.file.Close()
}

// openOperands opens the recording that the operands of compile are.
func openOperands(c *cli.Context) (*sources, error) {
	if c.NArg() == 0 {
		return nil, usage(c, "want a recording, got no operand")
	}
	var o importer.Options
	switch c.String("telemetry") {
	case "read":
	case "write":
		o.Write = true
	default:
		return nil, usage(c, "--telemetry is read or write, not %q", c.String("telemetry"))
	}
	if plugin.Is(c.Args().First()) {
		name, err := operand(c, "generator ("+plugin.Prefix+"PROGRAM)")
		if err != nil {
			return nil, err
		}
		return generate(c, name, o)
	}
	for _, name := range c.Args().Slice() {
		f, err := openInput(name)
		if err != nil {
			return nil, err
		}
		compiled := isTrace(f)
		f.Close()
		if compiled {
			return nil, &hint{fmt.Errorf("%s: compiled already", name), "pianola print shows it as text"}
		}
	}
	s, err := inspect(o, c.Args().Slice()...)
	if err == nil && s.Log {
		return nil, fmt.Errorf("%s: the log of a replay, not a recording", c.Args().First())
	}
	return s, err
}
