package cli

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/export"
	"pianola/format/script"
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
			"other formats are for fio, for tools that read strace output, and for analysis; see docs/reference/exports.md.\n" +
			"\n" +
			"TRACE is a compiled trace, a recording or a log. Recordings and logs are printed as they are; for\n" +
			"script and the formats of fio they are compiled first.\n" +
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
	if kind == "parquet" && isDataset(out) {
		if c.NArg() == 0 {
			return usage(c, "want a %s, got no operand", what)
		}
		return printDataset(c, out)
	}
	name, err := operand(c, what)
	if err != nil {
		return err
	}
	src, err := openEvents(name, kind)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := session.files.Create(out, files.Public)
	if err != nil {
		return err
	}
	defer dst.Abort()
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
func printEvents(c *cli.Context, kind string, to io.Writer, src *events) error {
	w, err := export.New(kind, cells(c, kind, to), src.Header())
	if err != nil {
		return err
	}
	if err := format.Copy(w, src); err != nil {
		return src.named(err)
	}
	return w.Close()
}

// events are those that a format is made of.
type events struct {
	format.Reader
	io.Closer
	named func(error) error // makes an error name the file
}

// openEvents opens an operand of convert for a format of package export: a compiled
// trace, or a recording or the log of a replay. It compiles a recording if the format
// needs a trace.
func openEvents(name, kind string) (*events, error) {
	src, err := openRecorded(name)
	if err != nil {
		return nil, err
	}
	if src.isLowered() || !export.TakesRecordings(kind) {
		defer src.Close()
		lowered := src.isLowered()
		f, err := src.compiled(name, compile.Options{Compensate: true, Bare: src.Dialect == script.Older, Names: true})
		if err != nil {
			return nil, err
		}
		if !lowered {
			session.Say("convert: %s: compiled in passing, because %s is made of a trace", name, kind)
		}
		return traceEvents(f, name, kind)
	}
	r, err := src.open()
	if err != nil {
		src.Close()
		return nil, err
	}
	if export.TakesSpans(kind) {
		format.WantSpans(r)
	}
	ahead := format.NewAhead(r)
	return &events{format.NewCausalReader(ahead), closer(func() error { return errors.Join(ahead.Close(), src.Close()) }), func(err error) error { return named(name, err) }}, nil
}

// traceEvents returns the events of a compiled trace, for a format. On an error it closes the trace.
func traceEvents(f *os.File, name, kind string) (*events, error) {
	t, err := traceOf(f)
	if err != nil {
		f.Close()
		return nil, named(name, err)
	}
	r := t.Events()
	if export.TakesSpans(kind) {
		format.WantSpans(r)
	}
	ahead := format.NewAhead(r)
	return &events{ahead, closer(func() error { return errors.Join(ahead.Close(), f.Close()) }), func(err error) error { return named(name, err) }}, nil
}

// closer is a function that closes.
type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }
