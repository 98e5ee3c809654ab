package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pianola/format/provenance"
)

func versionCommand() *cli.Command {
	return plain(&cli.Command{
		Name:      "version",
		Usage:     "print the version, its commit and date, and that of Go",
		UsageText: "pianola version [--json]",
		Description: "The date is that of the commit. Facts that the build does not state are left out.\n\n" +
			"Example: pianola version",
		Action: printVersion,
	})
}

func printVersion(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	b := provenance.ThisBuild()
	if c.Bool("json") {
		return printJSON(b)
	}
	_, err := fmt.Fprintf(session.Stdout("text"), "pianola %v\n", b)
	return err
}
