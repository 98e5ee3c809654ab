package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/internal/console"
	"pianola/plugin"
	"pianola/table"
	"pianola/transform"
)

// parseTransforms returns the transforms of --with, then those of --filter, and the
// programs of --with, in order.
func parseTransforms(c *cli.Context) (with []transform.Func, programs []*plugin.Program, err error) {
	names, programs, err := splitPrograms(c)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range names {
		f, err := extensions.transforms.Parse(text)
		if err != nil {
			name, _, _ := strings.Cut(text, "=")
			return nil, nil, &exitError{ExitUsage, console.WithHint(fmt.Errorf("%s: --with: %w", c.Command.Name, err), likeStep(name, false)+"pianola compile --list shows the transforms")}
		}
		with = append(with, f)
	}
	for _, text := range c.StringSlice("filter") {
		f, err := transform.Only(text)
		if err != nil {
			return nil, nil, usage(c, "%w", err)
		}
		with = append(with, f)
	}
	return with, programs, nil
}

// checkCompiled returns an error for transforms of --with that need a recording.
func checkCompiled(c *cli.Context) error {
	names, _, err := splitPrograms(c)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := extensions.transforms.ParseCompiled(name); err != nil {
			return err
		}
	}
	return nil
}

// listTransforms prints a line for each transform.
func listTransforms(w io.Writer) error {
	var rows [][]string
	for _, t := range extensions.transforms {
		rows = append(rows, []string{fmt.Sprintf("%s%v", t.Name, t.Arg), t.Doc + "; keeps " + t.Keeps})
	}
	rows = append(rows, []string{plugin.Prefix + "PROGRAM", "runs a program on the compiled trace (docs/reference/plugins.md); keeps what the program keeps"})
	_, err := io.WriteString(w, table.Format(rows, table.AllLeft))
	return err
}
