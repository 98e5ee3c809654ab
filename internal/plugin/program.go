package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Prefix marks the command line of a program in place of a transform, a recording or a
// backend.
const Prefix = "exec:"

// DefaultTimeout is the default of Program.Timeout.
const DefaultTimeout = 10 * time.Second

// Program is a program that can be run as a plug-in. Each call starts a new process.
// Its methods may be called concurrently.
type Program struct {
	Timeout time.Duration // how long it may make no progress while Pianola waits for it; 0 means no limit
	Stderr  io.Writer     // gets its stderr; nil to discard it
	Dir     string        // that it works in; "" for the working directory
	Only    string        // expression that selects the events that it gets (package filter); "" for all

	text string   // as on the command line
	args []string // the program and its arguments
}

// Is reports whether a text names a program.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// Parse returns the program of a text "exec:PROGRAM [ARG…] [if EXPR]". The command line is
// split as a shell does, but without expansions and without a shell.
func Parse(text string) (*Program, error) {
	what, only, err := Condition(text)
	if err != nil {
		return nil, err
	}
	line, ok := strings.CutPrefix(what, Prefix)
	if !ok {
		return nil, fmt.Errorf("%q does not begin with %s", text, Prefix)
	}
	args, err := words(line)
	if err == nil && (len(args) == 0 || args[0] == "") {
		err = errors.New("the name of a program is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return &Program{Timeout: DefaultTimeout, Only: only, text: text, args: args}, nil
}

// String returns the text that was parsed.
func (p *Program) String() string { return p.text }

// Args returns the program and its arguments. They must not be changed.
func (p *Program) Args() []string { return p.args }

// Generate runs the program without input and copies its output to w.
func (p *Program) Generate(ctx context.Context, w io.Writer) error {
	r, err := p.start(ctx, false)
	if err != nil {
		return err
	}
	_, fault := io.Copy(w, r)
	return r.end(fault)
}
