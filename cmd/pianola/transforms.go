package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pianola/transform"
)

// parseTransforms returns the transforms that --with asks for, in their order.
func parseTransforms(c *cli.Context) (with []transform.Func, err error) {
	for _, text := range c.StringSlice("with") {
		f, err := transform.Parse(text)
		if err != nil {
			return nil, &exitError{exitUsage, &hint{fmt.Errorf("%s: --with: %w", c.Command.Name, err), "pianola compile --list shows the transforms"}}
		}
		with = append(with, f)
	}
	return with, nil
}

// listTransforms prints a line for each transform.
func listTransforms(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range transform.All() {
		fmt.Fprintf(table, "%s%s\t%s; keeps %s\n", t.Name, t.Arg, t.Doc, t.Keeps)
	}
	return table.Flush()
}
