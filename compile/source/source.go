package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"pianola/compile"
	"pianola/compile/nodes"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
)

// Source is a compiled trace, or a recording in one or more files in any format of package
// importer, which can be read several times. It belongs to one goroutine at a time.
type Source struct {
	*importer.Recording // empty for a compiled trace

	reader *Reader
	name   string     // for messages
	nodes  *nodes.Run // of several recordings; nil for one
	beside []*Source  // compiled traces or intermediate scripts that are read as one instead
	trace  *os.File   // a compiled trace instead
	last   io.Closer  // the reader that was opened last
	warned bool       // that the recording is incomplete

	shown *console.Progress // of the reader that was opened last
	done  int64             // bytes that it has read
	total int64             // bytes of all files
}

// file returns a file whose reading is counted.
func (s *Source) file(name string) importer.File {
	if info, err := os.Stat(name); err == nil {
		s.total += info.Size()
	}
	return importer.File{Name: name, Open: func() (io.ReadCloser, error) { return s.openPacked(name) }}
}

// look detects the format of the files.
func (s *Source) look(o importer.Options, all []importer.File) (_ *Source, err error) {
	o.Formats = s.reader.Importers
	if len(all) > 1 {
		return s.lookBeside(o, all)
	}
	if s.Recording, err = importer.Inspect(all, o); err != nil {
		return nil, err
	}
	return s, nil
}

// count shows the progress of reading.
func (s *Source) count(n int) {
	s.done += int64(n)
	s.shown.Set(s.done, s.total)
}

// IsTrace reports whether it is a compiled trace.
func (s *Source) IsTrace() bool { return s.trace != nil }

// IsLowered reports whether it is a compiled trace, or one as text.
func (s *Source) IsLowered() bool { return s.trace != nil || s.Dialect == script.Intermediate }

// Options returns those that replay compiles a recording with.
func (s *Source) Options() compile.Options {
	return compile.Options{Compensate: true, Names: true, Bare: s.Dialect == script.Older}
}

// Open opens the recording at its beginning. It makes the last reader invalid.
func (s *Source) Open() (format.Reader, error) {
	s.endRead()
	s.done, s.shown = 0, s.reader.Console.Bytes("reading")
	if s.beside != nil {
		return &joined{sources: s.beside}, nil
	}
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

// Events returns the events as they are, of a compiled trace too.
func (s *Source) Events() (format.Reader, error) {
	if s.trace == nil {
		return s.Open()
	}
	t, err := open(s.trace, s.reader.Limits.Reading(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return t.Events(), nil
}

// Compiled returns the events of a log or of a compiled trace as they are, and those of a
// recording as they are compiled.
func (s *Source) Compiled(o compile.Options) (format.Reader, error) {
	if !s.Log && !s.IsLowered() {
		t, err := s.Trace(o)
		if err != nil {
			return nil, err
		}
		s.trace = t.file // Close closes it
		return t.Events(), nil
	}
	return s.Events()
}

// Trace returns the compiled trace. It compiles a recording, or writes an intermediate
// script, into a temporary file. The caller closes the trace after its last use; a Source
// that is a trace ends with it.
func (s *Source) Trace(o compile.Options) (*Trace, error) {
	return s.part(o, s.reader.Limits.Reading(), nil)
}

// part is Trace for some of the threads, in at most limit bytes of memory.
func (s *Source) part(o compile.Options, limit int64, choose chooser) (*Trace, error) {
	f := s.trace
	if s.trace = nil; f == nil {
		var err error
		if f, err = spooled(func(f *os.File) error { return s.compile(f, nil, o) }); err != nil {
			return nil, WithHint(Named(s.name, err))
		}
	}
	t, err := open(f, limit, choose)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return &Trace{t, f}, nil
}

// Compile applies transforms to the recording or trace, and returns the compiled trace,
// which the caller closes.
func (s *Source) Compile(steps []string) (*os.File, error) {
	parse := s.reader.Transforms.Parse
	if s.IsLowered() {
		parse = s.reader.Transforms.ParseCompiled
	}
	var with []transform.Func
	for _, step := range steps {
		t, err := parse(step)
		if err != nil {
			return nil, console.WithHint(fmt.Errorf("%s: %w", s.name, err), "use the script that record wrote")
		}
		with = append(with, t)
	}
	if s.trace != nil && len(with) == 0 {
		return s.reader.Files.Open(s.name)
	}
	o := s.Options()
	if s.IsLowered() {
		o.Memory = s.reader.Limits.Reading()
	}
	f, err := spooled(func(f *os.File) error { return s.compile(f, with, o) })
	if err != nil {
		if err = Named(s.name, err); len(steps) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(steps, "+"), err)
		}
		return nil, err
	}
	return f, nil
}

// compile is CompileTo, and warns once if the recording is incomplete.
func (s *Source) compile(w io.Writer, with []transform.Func, o compile.Options) error {
	r, err := s.CompileTo(w, with, o)
	if err == nil && r != nil && !s.warned && (r.Endless || r.Lost > 0) {
		s.warned = true
		console.Warn("%s: warning: the recording is incomplete; pianola compile shows why", s.name)
	}
	return err
}

// CompileTo applies transforms and writes the compiled trace. Strings of a trace that is
// changed may take o.Memory bytes. The report is nil if there was nothing to compile.
func (s *Source) CompileTo(w io.Writer, with []transform.Func, o compile.Options) (*compile.Report, error) {
	defer s.endRead()
	if s.IsLowered() {
		return nil, s.lower(w, with, o)
	}
	chain := transform.NewChain(s.Open, with...)
	defer chain.Close()
	events, err := chain.Open()
	if err != nil {
		return nil, err
	}
	spool, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	defer spool.Close()
	var report *compile.Report
	err = writing(w, o.Memory, func(t *bin.Writer) error {
		report, err = compile.Compile(events, spool, t, o)
		return err
	})
	return report, err
}

// lower writes a trace, or one as text, to which transforms are applied.
func (s *Source) lower(w io.Writer, with []transform.Func, o compile.Options) error {
	f := s.trace
	if f == nil && len(with) > 0 { // transforms read a trace, not text
		var err error
		if f, err = spooled(func(f *os.File) error {
			return s.lower(f, nil, compile.Options{Names: true, Memory: o.Memory})
		}); err != nil {
			return err
		}
		defer f.Close()
	}
	events, err := s.lowered(f, with, o.Memory)
	if err != nil {
		return err
	}
	if c, ok := events.(io.Closer); ok {
		defer c.Close()
	}
	if !o.Names {
		events = format.WithoutNames(events)
	}
	return writing(w, o.Memory, func(t *bin.Writer) error { return compile.Copy(events, t) })
}

// lowered returns the events of a trace in a file, nil for one as text. If it has transforms
// applied, the caller closes it.
func (s *Source) lowered(f *os.File, with []transform.Func, limit int64) (format.Reader, error) {
	if f == nil {
		return s.Open()
	}
	t, err := open(f, limit, nil)
	switch {
	case err != nil:
		return nil, err
	case len(with) == 0:
		return t.Events(), nil
	}
	return transform.OpenCompiled(t, with...)
}

// endRead closes the reader that was opened last.
func (s *Source) endRead() error {
	s.shown.Finish()
	if s.last == nil {
		return nil
	}
	err := s.last.Close()
	s.last = nil
	return err
}

// Close closes the reader that was opened last, and compiled traces.
func (s *Source) Close() error {
	for _, one := range s.beside {
		defer one.Close()
	}
	if s.trace != nil {
		return errors.Join(s.endRead(), s.trace.Close())
	}
	return s.endRead()
}
