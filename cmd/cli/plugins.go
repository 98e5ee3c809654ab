package cli

import (
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

// openRecordings opens the operands of a command as one recording, or a compiled trace. A
// program that they name is run.
func openRecordings(c *cli.Context, o importer.Options, names ...string) (*source.Source, error) {
	switch {
	case len(names) == 0:
		return nil, usage(c, "want a recording, got no operand")
	case !plugin.Is(names[0]):
		return recordings.OpenAll(o, names...)
	case len(names) > 1:
		return nil, usage(c, "want one generator (%sPROGRAM), got %d operands", plugin.Prefix, len(names))
	}
	p, err := parseProgram(c, names[0])
	if err != nil {
		return nil, err
	}
	running.RLock()
	defer running.RUnlock()
	return recordings.Generate(c.Context, p, o)
}
