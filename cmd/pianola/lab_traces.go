package main

import (
	"fmt"
	"os"
	"strings"

	"pianola/compile"
	"pianola/format/bin"
	"pianola/format/foreign"
	"pianola/format/script"
	"pianola/transform"
)

// labTraces compiles what candidates replay, each set of transforms once, into
// temporary files.
type labTraces struct {
	name     string
	compiled *os.File // the operand, where it is a compiled trace
	src      *sources // the operand, where it is not
	done     map[string]*os.File
}

func openLabTraces(name string) (*labTraces, error) {
	t := &labTraces{name: name, done: map[string]*os.File{}}
	f, err := openInput(name)
	if err != nil {
		return nil, err
	}
	if isTrace(f) {
		t.compiled = f
		t.done[""] = f
		return t, nil
	}
	f.Close()
	if t.src, err = inspect(foreign.Options{}, name); err == nil && t.src.Log {
		err = fmt.Errorf("%s: the log of a replay, not a recording", name)
	}
	return t, err
}

// of returns the compiled trace of the recording behind transforms. It is the
// labTraces', which close closes.
func (t *labTraces) of(with []string) (*os.File, error) {
	key := strings.Join(with, "+")
	if f, ok := t.done[key]; ok {
		return f, nil
	}
	if t.src == nil || t.src.Dialect == script.Intermediate && len(with) > 0 {
		return nil, &hint{fmt.Errorf("%s: %s takes a recording, and this is compiled", t.name, key), "give the script that record wrote"}
	}
	var funcs []transform.Func
	for _, text := range with {
		f, err := transform.Parse(text)
		if err != nil {
			return nil, &hint{err, "pianola compile --list shows the transforms"}
		}
		funcs = append(funcs, f)
	}
	f, err := spool("")
	if err != nil {
		return nil, err
	}
	if err := t.compile(f, funcs); err != nil {
		f.Close()
		return nil, named(t.name, err)
	}
	t.done[key] = f
	return f, nil
}

func (t *labTraces) compile(f *os.File, funcs []transform.Func) error {
	defer t.src.Close()
	if t.src.Dialect == script.Intermediate {
		strings, err := spool("")
		if err != nil {
			return err
		}
		defer strings.Close()
		events, err := t.src.open()
		if err != nil {
			return err
		}
		return compile.Copy(events, bin.NewWriter(f, strings))
	}
	chain := transform.NewChain(t.src.open, funcs...)
	defer chain.Close()
	r, err := compileTo(f, chain.Open, compile.Options{Compensate: true, Bare: t.src.Dialect == script.Older})
	if err == nil && len(t.done) == 0 && (r.Endless || r.Lost > 0) {
		fmt.Fprintf(os.Stderr, "pianola: lab: %s: warning: the recording is not whole; pianola compile says more\n", t.name)
	}
	return err
}

func (t *labTraces) close() {
	for _, f := range t.done {
		f.Close()
	}
}
