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
func (t *labTraces) behind(with []string) (*os.File, error) {
	if (t.compiled || t.src.Dialect == script.Intermediate) && len(with) > 0 {
		return nil, &hint{fmt.Errorf("%s: %s takes a recording, and this is compiled", t.name, strings.Join(with, "+")), "use the script that record wrote"}
	}
	if t.compiled {
		return openInput(t.name)
	}
	var funcs []transform.Func
	for _, text := range with {
		f, err := extensions.transforms.Parse(text)
		if err != nil {
			return nil, err
		}
		funcs = append(funcs, f)
	}
	f, err := spool("")
	if err != nil {
		return nil, err
	}
	if err := t.compile(f, funcs); err != nil {
		f.Close()
		err = named(t.name, err)
		if len(with) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(with, "+"), err)
		}
		return nil, err
	}
	return f, nil
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
	r, err := compileTo(f, events, compile.Options{Compensate: true, Bare: t.src.Dialect == script.Older})
	if err == nil && !t.warned && (r.Endless || r.Lost > 0) {
		t.warned = true
		warn("lab: %s: warning: the recording is incomplete; pianola compile shows why", t.name)
	}
	return err
}
