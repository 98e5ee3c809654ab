package cli

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/urfave/cli/v2"

	"pianola/format/importer"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/plugin"
)

// parseProgram parses exec:PROGRAM.
func parseProgram(c *cli.Context, text string) (*plugin.Program, error) {
	p, err := plugin.Parse(text)
	if err != nil {
		return nil, usage(c, "%w", err)
	}
	if err := session.files.Words(p.Args()); err != nil {
		return nil, err
	}
	p.Stderr = console.Visibly(os.Stderr)
	p.Timeout = c.Duration("plugin-timeout")
	return p, nil
}

// running is read-locked while a plug-in runs. An interrupt ends the plug-in
// first and then the process.
var running sync.RWMutex

// generate runs the program that an operand names, and returns its output as a
// recording.
func generate(c *cli.Context, name string, o importer.Options) (*sources, error) {
	p, err := parseProgram(c, name)
	if err != nil {
		return nil, err
	}
	f, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	// The garbage collector closes it once no pass can open it any more.
	running.RLock()
	err = p.Generate(c.Context, f)
	running.RUnlock()
	if err != nil {
		return nil, err
	}
	s := newSources()
	if s.total, err = f.Seek(0, io.SeekCurrent); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) {
		return newPackedFile(io.NopCloser(io.NewSectionReader(f, 0, s.total)), s.total, s.count), nil
	}
	return s.look(o, []importer.File{{Name: name, Open: open}})
}

// through runs programs on a compiled trace, one after the other, and returns
// the result. It closes the trace.
func through(ctx context.Context, trace *os.File, programs []*plugin.Program) (*os.File, error) {
	for _, p := range programs {
		next, err := throughOne(ctx, trace, p)
		trace.Close()
		if err != nil {
			return nil, err
		}
		trace = next
	}
	return trace, nil
}

func throughOne(ctx context.Context, trace *os.File, p *plugin.Program) (*os.File, error) {
	t, err := traceOf(trace)
	if err != nil {
		return nil, err
	}
	text, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	defer text.Close()
	parts, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	defer parts.Close()
	next, err := files.Spool("")
	if err != nil {
		return nil, err
	}
	running.RLock()
	err = p.Filter(ctx, t.Events(), text, traceWriter(next, parts, 0))
	running.RUnlock()
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// splitPrograms splits the values of --with into transforms and programs.
// Programs work on the compiled trace, so no transform can follow one.
func splitPrograms(c *cli.Context) (names []string, programs []*plugin.Program, err error) {
	for _, text := range c.StringSlice("with") {
		switch {
		case plugin.Is(text):
			p, err := parseProgram(c, text)
			if err != nil {
				return nil, nil, err
			}
			programs = append(programs, p)
		case len(programs) > 0:
			return nil, nil, usage(c, "--with %s: comes before %s, which works on the compiled trace", text, programs[0])
		default:
			names = append(names, text)
		}
	}
	return names, programs, nil
}
