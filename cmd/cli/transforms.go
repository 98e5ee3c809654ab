package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile/transform"
	"pianola/internal/console"
	"pianola/internal/plugin"
	"pianola/internal/table"
)

// parseTransforms returns the names of the transforms of --with, these transforms and then
// those of --filter, and the programs of --with, in order. Programs work on the compiled
// trace, so no transform can follow one.
func parseTransforms(c *cli.Context) (names []string, with []transform.Func, programs []*plugin.Program, err error) {
	for _, text := range c.StringSlice("with") {
		if plugin.Is(text) {
			p, err := parseProgram(c, text)
			if err != nil {
				return nil, nil, nil, err
			}
			programs = append(programs, p)
			continue
		}
		if len(programs) > 0 {
			return nil, nil, nil, usage(c, "--with %s: comes before %s, which works on the compiled trace", text, programs[0])
		}
		f, err := extensions.transforms.Parse(text)
		if err != nil {
			name, _, _ := strings.Cut(text, "=")
			return nil, nil, nil, &exitError{ExitUsage, console.WithHint(fmt.Errorf("%s: --with: %w", c.Command.Name, err), likeStep(name, false)+"pianola compile --list shows the transforms")}
		}
		names, with = append(names, text), append(with, f)
	}
	for _, text := range c.StringSlice("filter") {
		f, err := transform.Only(text)
		if err != nil {
			return nil, nil, nil, usage(c, "%w", err)
		}
		with = append(with, f)
	}
	return names, with, programs, nil
}

// listTransforms prints a line for each transform.
func listTransforms(w io.Writer) error {
	var rows [][]string
	for _, t := range extensions.transforms {
		rows = append(rows, []string{fmt.Sprintf("%s%v", t.Name, t.Arg), t.Doc + "; keeps " + t.Keeps})
	}
	rows = append(rows, []string{plugin.Prefix + "PROGRAM", "runs a program on the compiled trace (docs/reference/plugins.md); the program decides which properties stay"})
	_, err := io.WriteString(w, table.Format(rows, table.AllLeft))
	return err
}
