package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/plugin"
	"pianola/transform"
)

// recordedTraces is the recording or trace that candidates are compiled from.
type recordedTraces struct {
	ctx    context.Context
	name   string
	src    *sources
	warned bool
}

func (t *recordedTraces) open(c *cli.Context) (err error) {
	if plugin.Is(t.name) {
		t.src, err = generate(c, t.name, importer.Options{})
		return err
	}
	if t.src, err = openRecorded(t.name); err == nil && t.src.Log {
		err = fmt.Errorf("%s: the log of a replay, not a recording", t.name)
	}
	return err
}

// behind applies transforms to the recording and returns the compiled trace.
func (t *recordedTraces) behind(with []string) (*os.File, error) {
	funcs, err := parseSteps(with, t.src.isLowered())
	if err != nil {
		return nil, console.WithHint(fmt.Errorf("%s: %w", t.name, err), "use the script that record wrote")
	}
	if t.src.trace != nil && len(funcs) == 0 {
		return session.files.Open(t.name)
	}
	f, err := files.Spool("")
	if err == nil {
		if err = t.compile(f, funcs); err == nil {
			return f, nil
		}
		f.Close()
	}
	err = named(t.name, err)
	if len(with) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(with, "+"), err)
	}
	return nil, err
}

// parseSteps returns transforms, of a recording or of a compiled trace.
func parseSteps(with []string, compiled bool) (funcs []transform.Func, err error) {
	for _, text := range with {
		parse := extensions.transforms.Parse
		if compiled {
			parse = extensions.transforms.ParseCompiled
		}
		f, err := parse(text)
		if err != nil {
			return nil, err
		}
		funcs = append(funcs, f)
	}
	return funcs, nil
}

func (t *recordedTraces) compile(w io.Writer, with []transform.Func) error {
	defer endOn(t.ctx)() // there is nothing to remove yet
	defer t.src.endRead()
	if t.src.isLowered() {
		memory := readingMemory()
		events, end, err := t.src.transformed(with, memory)
		if err != nil {
			return err
		}
		defer end()
		return copyTo(w, events, memory)
	}
	chain := transform.NewChain(t.src.open, with...)
	defer chain.Close()
	events, err := chain.Open()
	if err != nil {
		return err
	}
	r, err := compileTo(w, events, compile.Options{Compensate: true, Names: true, Bare: t.src.Dialect == script.Older})
	if err == nil && !t.warned && (r.Endless || r.Lost > 0) {
		t.warned = true
		console.Warn("%s: warning: the recording is incomplete; pianola compile shows why", t.name)
	}
	return err
}
