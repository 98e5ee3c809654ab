package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/compressed"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/nodes"
	"pianola/plugin"
	"pianola/transform"
)

// sources is a recording in one or more files, compressed or not, in any format
// of package importer.
type sources struct {
	*importer.Recording
	last io.Closer // the reader that was opened last

	nodes *nodes.Run // of recordings of several nodes; nil for one recording
	trace *os.File   // a compiled trace instead

	shown *console.Progress // of the reader that was opened last
	done  int64             // bytes that it has read
	total int64             // bytes of all files
}

func newSources() *sources { return &sources{shown: session.Bytes("reading")} }

// lowered returns the sources of a compiled trace, which they close.
func lowered(trace *os.File) *sources {
	s := newSources()
	s.Recording, s.trace = &importer.Recording{}, trace
	return s
}

// inspect detects the format of files. The caller closes the sources.
func inspect(o importer.Options, names ...string) (*sources, error) {
	if len(names) == 1 {
		recordings, isDir, err := recordingsIn(names[0])
		switch {
		case err != nil:
			return nil, err
		case isDir:
			return inspectNodes(o, names[0], recordings)
		}
	}
	s := newSources()
	var files []importer.File
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			s.total += info.Size()
		}
		files = append(files, s.file(name))
	}
	return s.look(o, files)
}

// openRecorded opens what record, compile or replay wrote, or what an importer reads: a
// compiled trace, or a recording, an intermediate script or a log. The caller closes the
// sources.
func openRecorded(name string) (*sources, error) {
	if isDir(name) {
		return inspect(importer.Options{}, name) // the recordings of nodes
	}
	f, err := session.files.Open(name)
	if err != nil {
		return nil, err
	}
	if isTrace(f) {
		return lowered(f), nil
	}
	f.Close()
	return inspect(importer.Options{}, name)
}

// openTrace opens a compiled trace, or compiles a recording in passing. It reads threads
// that choose selects, all for nil, into at most limit bytes of memory. The caller closes
// the file after the last use of the trace.
func openTrace(name string, limit int64, choose func(*format.Header) func(thread int32) bool) (*bin.Trace, *os.File, error) {
	s, err := openRecorded(name)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	if s.Log {
		return nil, nil, console.WithHint(fmt.Errorf("%s: the log of a replay, not a recording", name), `replay the trace that the line "# options" of the log names`)
	}
	if s.trace == nil && s.Dialect != script.Intermediate {
		session.Say("replay: %s: compiled in passing", name)
	}
	f, err := s.compiled(name, compile.Options{Compensate: true, Bare: s.Dialect == script.Older, Names: true})
	if err != nil {
		return nil, nil, err
	}
	t, err := partWithin(f, limit, choose)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, f, nil
}

// file returns a file whose reading is counted.
func (s *sources) file(name string) importer.File {
	return importer.File{Name: name, Open: func() (io.ReadCloser, error) { return openPacked(name, s.count) }}
}

// look detects the format of the files.
func (s *sources) look(o importer.Options, files []importer.File) (_ *sources, err error) {
	o.Formats = extensions.importers
	if s.Recording, err = importer.Inspect(files, o); err != nil {
		return nil, err
	}
	return s, nil
}

// count shows the progress of reading.
func (s *sources) count(n int) {
	s.done += int64(n)
	s.shown.Set(s.done, s.total)
}

// open opens the recording at its beginning. It makes the last reader invalid.
func (s *sources) open() (format.Reader, error) {
	s.endRead()
	s.done, s.shown = 0, session.Bytes("reading")
	if s.nodes != nil {
		r, err := s.nodes.Open()
		if err != nil {
			return nil, err
		}
		s.last = r
		return r, nil
	}
	r, err := s.Recording.Open()
	if err != nil {
		return nil, err
	}
	s.last = r
	return tolerant{r}, nil
}

// compiled returns the compiled trace, which the caller closes. It compiles a recording, or
// writes an intermediate script, which is a trace as text, into a temporary file.
func (s *sources) compiled(name string, o compile.Options) (*os.File, error) {
	if f := s.trace; f != nil {
		s.trace = nil
		return f, nil
	}
	events, err := s.open()
	if err != nil {
		return nil, err
	}
	tmp, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	report := &compile.Report{}
	if s.Dialect == script.Intermediate {
		err = copyTo(tmp, events, o.Memory)
	} else {
		report, err = compileTo(tmp, events, o)
	}
	if err != nil {
		tmp.Close()
		return nil, compileHint(named(name, err))
	}
	if report.Endless || report.Lost > 0 {
		console.Warn("%s: warning: the recording is incomplete; pianola compile shows why", name)
	}
	return tmp, nil
}

// events returns the events as they are, of a compiled trace too.
func (s *sources) events() (format.Reader, error) {
	if s.trace == nil {
		return s.open()
	}
	t, err := traceOf(s.trace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.trace.Name(), err)
	}
	return t.Events(), nil
}

// isLowered reports whether it is a compiled trace, or one as text.
func (s *sources) isLowered() bool { return s.trace != nil || s.Dialect == script.Intermediate }

// transformed returns the events of a compiled trace to which transforms are applied, and
// what ends them. A trace as text is written into a temporary file for that.
func (s *sources) transformed(with []transform.Func, memory int64) (r format.Reader, end func() error, err error) {
	end = func() error { return nil }
	if s.trace == nil {
		r, err := s.open()
		if err != nil || len(with) == 0 {
			return r, end, err
		}
		if s.trace, err = files.Spool(""); err != nil {
			return nil, nil, err
		}
		if err := copyTo(s.trace, r, memory); err != nil {
			return nil, nil, err
		}
	}
	t, err := traceWithin(s.trace, memory)
	if err != nil {
		return nil, nil, err
	}
	if len(with) == 0 {
		return t.Events(), end, nil
	}
	c, err := transform.OpenCompiled(t, with...)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// endRead closes the reader that was opened last.
func (s *sources) endRead() error {
	s.shown.Finish()
	if s.last == nil {
		return nil
	}
	err := s.last.Close()
	s.last = nil
	return err
}

// Close closes the reader that was opened last, and the compiled trace.
func (s *sources) Close() error {
	if s.trace != nil {
		s.trace.Close()
	}
	return s.endRead()
}

// tolerant reads the output of a killed recorder: it returns io.EOF at an
// incomplete end. Compile warns of such a recording, because it lacks the lines
// that a recorder writes last.
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

// WantSpans implements format.SpanReader.
func (t tolerant) WantSpans() bool { return format.WantSpans(t.Reader) }

// packedFile is a file that may be compressed.
type packedFile struct {
	*compressed.Reader
	file io.Closer
}

// openPacked opens a file that may be compressed. It calls read with the number
// of bytes after each read of the file.
func openPacked(name string, read func(int)) (*packedFile, error) {
	f, err := session.files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return newPackedFile(f, info.Size(), read), nil
}

func newPackedFile(f io.ReadCloser, size int64, read func(int)) *packedFile {
	r := compressed.NewReader(&counter{f, read})
	r.Limit = textLimit(size)
	return &packedFile{r, f}
}

// counter is a reader that reports how much is read.
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

// openOperands opens the operands of compile as one recording.
func openOperands(c *cli.Context) (*sources, error) {
	if c.NArg() == 0 {
		return nil, usage(c, "want a recording, got no operand")
	}
	o := importer.Options{Write: c.String("telemetry") == "write", Fold: sizeOf(c, "fold")}
	if plugin.Is(c.Args().First()) {
		name, err := operand(c, "generator ("+plugin.Prefix+"PROGRAM)")
		if err != nil {
			return nil, err
		}
		return generate(c, name, o)
	}
	for _, name := range c.Args().Slice() {
		if isDir(name) {
			continue // of recordings
		}
		f, err := session.files.Open(name)
		if err != nil {
			return nil, err
		}
		if !isTrace(f) {
			f.Close()
			continue
		}
		if c.NArg() == 1 && len(c.StringSlice("with"))+len(c.StringSlice("filter")) > 0 {
			return lowered(f), nil
		}
		f.Close()
		return nil, console.WithHint(fmt.Errorf("%s: already compiled", name), "pianola convert shows it as text; --with and --filter change one trace")
	}
	s, err := inspect(o, c.Args().Slice()...)
	if err == nil && s.Log {
		return nil, fmt.Errorf("%s: the log of a replay, not a recording", c.Args().First())
	}
	return s, err
}
