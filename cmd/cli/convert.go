package cli

import (
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile/source"
	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/export"
	"pianola/format/export/dataset"
	"pianola/internal/console"
	"pianola/internal/files"
)

func convertCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "convert",
		Usage: "convert a trace, a recording or a log to text or other formats",
		UsageText: "pianola convert [OPTION]… TRACE\n" +
			"pianola convert --format parquet -o DIR [OPTION]… TRACE…",
		Description: "The default format, the intermediate script, can be edited and compiles to the same trace again. The\n" +
			"other formats are for fio, for C compilers, for tools that read strace output, and for analysis; see docs/reference/exports.md.\n" +
			"\n" +
			"TRACE is a compiled trace, a recording or a log. Recordings and logs are printed as they are; for\n" +
			"script, c and the formats of fio they are compiled first.\n" +
			"\n" +
			"With --format parquet, -o names one file (NAME.parquet), or a directory: a dataset of several tables,\n" +
			"to which each TRACE is added. A name that ends in .gz is compressed.\n" +
			"\n" +
			"Example: pianola convert trace.bin | head\n" +
			"Example: pianola convert --format fio -o trace.iolog trace.bin\n" +
			"Example: pianola convert --format strace replay.log\n" +
			"Example: pianola convert --format parquet -o dataset trace.txt replay.log",
		Action: runConvert,
	})
}

func runConvert(c *cli.Context) error {
	defer endOn(c.Context)()
	kind, out := c.String("format"), c.String("o")
	if kind == "parquet" && out == "-" && console.IsScreen(os.Stdout) {
		return usage(c, "a Parquet file is not for a terminal: name one with -o")
	}
	if err := parseLimits(c, nil); err != nil {
		return err
	}
	const what = "compiled trace, recording or log"
	if kind == "parquet" && dataset.Is(out) {
		if c.NArg() == 0 {
			return usage(c, "want a %s, got no operand", what)
		}
		return addToDataset(c, out)
	}
	name, err := operand(c, what)
	if err != nil {
		return err
	}
	src, err := recordings.OpenEvents(name, kind)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := session.files.Create(out, files.Public)
	if err != nil {
		return err
	}
	if kind == "csv" {
		dst.HoldsCSV()
	}
	return dst.Put(func(to io.Writer) error {
		if kind == "parquet" || !strings.HasSuffix(out, ".gz") {
			return printEvents(c, kind, to, src)
		}
		z := compressed.NewGzip(to)
		if err := printEvents(c, kind, z, src); err != nil {
			return err
		}
		return z.Close()
	})
}

// printEvents prints events in a format.
func printEvents(c *cli.Context, kind string, to io.Writer, src *source.Events) error {
	w, err := export.New(kind, cells(c, kind, to), src.Header())
	if err != nil {
		return err
	}
	if err := format.Copy(w, src); err != nil {
		return src.Named(err)
	}
	if err := w.Close(); err != nil {
		return src.Named(err)
	}
	if p, ok := w.(export.Partial); ok && p.LeftOut() != "" {
		session.Say("convert: the program leaves out %s", p.LeftOut())
	}
	return nil
}

// addToDataset adds operands to the dataset in a directory.
func addToDataset(c *cli.Context, dir string) error {
	names, err := dataset.Names(c.Args().Slice())
	if err != nil {
		return usage(c, "%w", err)
	}
	d := dataset.Dataset{Name: dir, Files: &session.files}
	for i, operand := range c.Args().Slice() {
		if err := d.Add(names[i], func() (dataset.Input, error) { return recordings.OpenEvents(operand, "parquet") }); err != nil {
			return err
		}
	}
	return nil
}
