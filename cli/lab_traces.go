package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/plugin"
	"pianola/transform"
)

// labTraces is the recording or trace that candidates are compiled from.
type labTraces struct {
	ctx      context.Context
	name     string
	compiled bool     // the operand is a compiled trace
	src      *sources // the operand, if it is a recording
	warned   bool
}

func (t *labTraces) open(c *cli.Context) (err error) {
	if plugin.Is(t.name) {
		t.src, err = generate(c, t.name, importer.Options{})
		return err
	}
	f, err := openInput(t.name)
	if err != nil {
		return err
	}
	t.compiled = isTrace(f)
	f.Close()
	if t.compiled {
		return nil
	}
	if t.src, err = inspect(importer.Options{}, t.name); err == nil && t.src.Log {
		err = fmt.Errorf("%s: the log of a replay, not a recording", t.name)
	}
	return err
}

// behind applies transforms to the recording and returns the compiled trace.
func (t *labTraces) behind(with []string) (f *os.File, err error) {
	compiled := t.compiled || t.src.Dialect == script.Intermediate
	funcs, err := parseSteps(with, compiled)
	if err != nil {
		return nil, &hint{fmt.Errorf("%s: %w", t.name, err), "use the script that record wrote"}
	}
	if t.compiled {
		f, err = openInput(t.name)
	} else if f, err = spool(""); err == nil {
		if compiled {
			err = t.compile(f, nil)
		} else {
			err = t.compile(f, funcs)
		}
	}
	if err == nil && compiled && len(funcs) > 0 {
		f, err = transformed(f, funcs)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		err = named(t.name, err)
		if len(with) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(with, "+"), err)
		}
		return nil, err
	}
	return f, nil
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

// transformed returns what transforms make of a compiled trace, in a temporary file that
// the caller closes. It closes the trace.
func transformed(f *os.File, funcs []transform.Func) (*os.File, error) {
	defer f.Close()
	t, err := traceOf(f)
	if err != nil {
		return nil, err
	}
	r, err := transform.OpenCompiled(t, funcs...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, err := spool("")
	if err != nil {
		return nil, err
	}
	if err := copyTo(out, r, 0); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

func (t *labTraces) compile(f *os.File, funcs []transform.Func) error {
	defer endOn(t.ctx)() // there is nothing to remove yet
	defer t.src.Close()
	if t.src.Dialect == script.Intermediate {
		events, err := t.src.open()
		if err != nil {
			return err
		}
		return copyTo(f, events, 0)
	}
	chain := transform.NewChain(t.src.open, funcs...)
	defer chain.Close()
	events, err := chain.Open()
	if err != nil {
		return err
	}
	r, err := compileTo(f, events, compile.Options{Compensate: true, Names: true, Bare: t.src.Dialect == script.Older})
	if err == nil && !t.warned && (r.Endless || r.Lost > 0) {
		t.warned = true
		warn("lab: %s: warning: the recording is incomplete; pianola compile shows why", t.name)
	}
	return err
}
