package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/format/bin"
	"pianola/format/export"
)

func printCommand() *cli.Command {
	kinds := export.Kinds()
	return command(&cli.Command{
		Name:      "print",
		Usage:     "print a compiled trace as an intermediate script, or for other programs",
		UsageText: "pianola print [--format " + strings.Join(kinds, "|") + "] [-o FILE] TRACE.bin",
		Description: "The intermediate script can be edited, and compiles to the same trace again. The other\n" +
			"formats are for fio, for tools that read strace output, and for analysis; see docs/exports.md.\n\n" +
			"Example: pianola print trace.bin | head\n" +
			"Example: pianola print --format fio -o trace.iolog trace.bin",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: kinds[0], Usage: "`FORMAT` of the output: " + strings.Join(kinds, ", ")},
			&cli.StringFlag{Name: "o", Value: "-", Usage: "write to `FILE` (- for standard output)"},
		},
		Action: runPrint,
	})
}

func runPrint(c *cli.Context) error {
	defer endOn(c.Context)()
	name, err := operand(c, "compiled trace")
	if err != nil {
		return err
	}
	kind, out := c.String("format"), c.String("o")
	if !slices.Contains(export.Kinds(), kind) {
		return usage(c, "--format is one of %s, not %q", strings.Join(export.Kinds(), ", "), kind)
	}
	if kind == "parquet" && out == "-" && isScreen(os.Stdout) {
		return usage(c, "a Parquet file is not for a terminal: name one with -o")
	}
	t, f, err := openTrace(name, bin.DefaultLimit)
	if err != nil {
		return err
	}
	defer f.Close()
	dst, err := createOutput(out, public)
	if err != nil {
		return err
	}
	defer dst.abort()
	if kind == "csv" {
		dst.holdsCSV()
	}
	return dst.put(func(to io.Writer) error {
		w, err := export.New(kind, to, t.Header())
		if err != nil {
			return err
		}
		if err := pump(t.Events(), w); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return w.Close()
	})
}
