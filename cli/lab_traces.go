package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format/foreign"
	"pianola/format/script"
	"pianola/plugin"
	"pianola/transform"
)

// labTraces compiles what candidates replay, each set of transforms and programs
// once, into temporary files.
type labTraces struct {
	ctx      context.Context
	name     string
	compiled bool     // the operand is a compiled trace
	src      *sources // the operand, where it is not
	done     map[string]*os.File
}

func openLabTraces(c *cli.Context, name string) (t *labTraces, err error) {
	t = &labTraces{ctx: c.Context, name: name, done: map[string]*os.File{}}
	if plugin.Is(name) {
		t.src, err = generate(c, name, foreign.Options{})
		return t, err
	}
	f, err := openInput(name)
	if err != nil {
		return nil, err
	}
	t.compiled = isTrace(f)
	f.Close()
	if t.compiled {
		return t, nil
	}
	if t.src, err = inspect(foreign.Options{}, name); err == nil && t.src.Log {
		err = fmt.Errorf("%s: the log of a replay, not a recording", name)
	}
	return t, err
}

// of returns the compiled trace of the recording behind transforms, and then
// behind programs. It is the labTraces', which close closes.
func (t *labTraces) of(with []string, programs []*plugin.Program) (*os.File, error) {
	key := strings.Join(with, "+")
	for _, p := range programs {
		key += "+" + p.String()
	}
	if f, ok := t.done[key]; ok {
		return f, nil
	}
	f, err := t.behind(with)
	if err != nil {
		return nil, err
	}
	if f, err = through(t.ctx, f, programs); err != nil {
		return nil, err
	}
	t.done[key] = f
	return f, nil
}

// behind returns the compiled trace of the recording behind transforms.
func (t *labTraces) behind(with []string) (*os.File, error) {
	if (t.compiled || t.src.Dialect == script.Intermediate) && len(with) > 0 {
		return nil, &hint{fmt.Errorf("%s: %s takes a recording, and this is compiled", t.name, strings.Join(with, "+")), "give the script that record wrote"}
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
	defer endOn(t.ctx)() // nothing is there yet that would have to go
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
	if err != nil {
		return compileHint(named(t.name, err))
	}
	if len(t.done) == 0 && (r.Endless || r.Lost > 0) {
		warn("lab: %s: warning: the recording is not whole; pianola compile says more", t.name)
	}
	return nil
}

// equal reports whether two traces are the same to the byte.
func equal(a, b *os.File) (bool, error) {
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	if err != nil || x.Size() != y.Size() {
		return false, err
	}
	const piece = 1 << 16
	p, q := make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < x.Size(); at += piece {
		n, err := a.ReadAt(p, at)
		if err != nil && err != io.EOF {
			return false, err
		}
		if m, err := b.ReadAt(q[:n], at); m < n {
			return false, err
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
	}
	return true, nil
}

func (t *labTraces) close() {
	for _, f := range t.done {
		f.Close()
	}
}
