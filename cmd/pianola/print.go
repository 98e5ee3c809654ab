package main

import (
	"github.com/urfave/cli/v2"
)

func printCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "print",
		Usage:     "print a compiled trace as an intermediate script",
		UsageText: "pianola print TRACE.bin",
		Description: "The intermediate script can be edited, and compiles to the same trace again.\n\n" +
			"Example: pianola print trace.bin | head",
		Action: func(c *cli.Context) error {
			name, err := operand(c, "compiled trace")
			if err != nil {
				return err
			}
			t, f, err := openTrace(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return writeOutput("-", func(o *output) error { return printTrace(o, t) })
		},
	})
}
