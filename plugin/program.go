package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Prefix is what stands before the command line of a program where a
// transform, a recording or a backend can stand too.
const Prefix = "exec:"

// DefaultTimeout is how long a program may do nothing where nothing else is
// said.
const DefaultTimeout = 10 * time.Second

// Program is a program that can be run as a plug-in, each time anew. Its methods
// may be called concurrently.
type Program struct {
	Timeout time.Duration // how long it may make no progress while it is waited for; 0 is for ever
	Stderr  io.Writer     // gets what it says on stderr; nil for nowhere

	text string   // as it was asked for
	args []string // the program and its arguments
}

// Is reports whether a text asks for a program.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// Parse returns the program of a text "exec:PROGRAM [ARG…]". The command line is
// split as a shell does it, but nothing is expanded and no shell runs.
func Parse(text string) (*Program, error) {
	line, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return nil, fmt.Errorf("%q does not begin with %s", text, Prefix)
	}
	args, err := words(line)
	if err == nil && (len(args) == 0 || args[0] == "") {
		err = errors.New("no program is named")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return &Program{Timeout: DefaultTimeout, text: text, args: args}, nil
}

// String returns what the program was asked for by.
func (p *Program) String() string { return p.text }

// Args returns the program and its arguments. They must not be changed.
func (p *Program) Args() []string { return p.args }

// Generate runs the program without an input and copies what it writes to w.
func (p *Program) Generate(ctx context.Context, w io.Writer) error {
	r, err := p.start(ctx, false)
	if err != nil {
		return err
	}
	_, fault := io.Copy(w, r)
	return r.end(fault)
}
