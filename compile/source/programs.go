package source

import (
	"context"
	"fmt"
	"io"
	"os"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/filter"
	"pianola/format/importer"
	"pianola/internal/files"
	"pianola/internal/plugin"
)

// generated runs a program, and returns its output as a file whose reading is counted.
func (s *Source) generated(of Operand) (importer.File, error) {
	// The garbage collector closes the file once no pass can open it any more.
	f, err := spooled(func(f *os.File) error { return of.Generate(f) })
	if err != nil {
		return importer.File{}, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	s.total += size
	return importer.File{Name: of.Name, Open: func() (io.ReadCloser, error) {
		return s.unpack(io.NopCloser(io.NewSectionReader(f, 0, size)), size), nil
	}}, err
}

// Through runs programs on a compiled trace, one after the other, and returns
// the result, which the caller closes. It closes the trace.
func (r *Reader) Through(ctx context.Context, trace *os.File, programs []*plugin.Program) (*os.File, error) {
	for _, p := range programs {
		next, err := spooled(func(next *os.File) error { return r.filter(ctx, trace, next, p) })
		trace.Close()
		if err != nil {
			return nil, err
		}
		trace = next
	}
	return trace, nil
}

// filter runs a program on a compiled trace, and writes another one.
func (r *Reader) filter(ctx context.Context, trace, next *os.File, p *plugin.Program) error {
	t, err := r.Within(trace, 0)
	if err != nil {
		return err
	}
	text, err := files.Spool("")
	if err != nil {
		return err
	}
	defer text.Close()
	var part *plugin.Part
	if p.Only != "" {
		part = &plugin.Part{Trace: t}
		if part.Selected, err = filter.Select(t, p.Only, r.Limits.Reading()); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return writing(next, 0, func(to *bin.Writer) error { return p.Filter(ctx, format.WithoutSpans(t.Events()), part, text, to) })
}
