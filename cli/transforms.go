package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pianola/plugin"
	"pianola/transform"
)

// parseTransforms returns the transforms and then the programs that --with asks
// for, in their order.
func parseTransforms(c *cli.Context) (with []transform.Func, programs []*plugin.Program, err error) {
	names, programs, err := splitPrograms(c)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range names {
		f, err := extensions.transforms.Parse(text)
		if err != nil {
			return nil, nil, &exitError{ExitUsage, &hint{fmt.Errorf("%s: --with: %w", c.Command.Name, err), "pianola compile --list shows the transforms"}}
		}
		with = append(with, f)
	}
	return with, programs, nil
}

// listTransforms prints a line for each transform.
func listTransforms(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range extensions.transforms {
		fmt.Fprintf(table, "%s%v\t%s; keeps %s\n", t.Name, t.Arg, t.Doc, t.Keeps)
	}
	fmt.Fprintf(table, "%sPROGRAM\twhat a program makes of the compiled trace (docs/plugins); keeps what the program keeps\n", plugin.Prefix)
	return table.Flush()
}
