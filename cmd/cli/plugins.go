package cli

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pianola/compile/source"
	"pianola/format/importer"
	"pianola/internal/console"
	"pianola/internal/plugin"
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

// openRecordings opens the operands of a command as one recording, or a compiled trace.
// Programs that they name are run.
func openRecordings(c *cli.Context, o importer.Options, names ...string) (*source.Source, error) {
	if len(names) == 0 {
		return nil, usage(c, "want a recording, got no operand")
	}
	var operands []source.Operand
	for _, name := range names {
		of := source.Operand{Name: name}
		if plugin.Is(name) {
			p, err := parseProgram(c, name)
			if err != nil {
				return nil, err
			}
			if p.Only != "" {
				return nil, usage(c, "%s: an input gets no events", name)
			}
			of = source.Operand{Name: p.String(), Generate: func(w io.Writer) error {
				running.RLock()
				defer running.RUnlock()
				return p.Generate(c.Context, w)
			}}
		}
		operands = append(operands, of)
	}
	return recordings.OpenAll(o, operands...)
}
