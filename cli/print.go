package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/export"
	"pianola/format/importer"
)

func printCommand() *cli.Command {
	kinds := export.Kinds()
	return command(&cli.Command{
		Name:      "print",
		Usage:     "print a compiled trace as an intermediate script, or either a trace or a recording for other programs",
		UsageText: "pianola print [--format " + strings.Join(kinds, "|") + "] [-o FILE] TRACE",
		Description: "The intermediate script can be edited, and compiles to the same trace again. The other\n" +
			"formats are for fio, for tools that read strace output, and for analysis; see docs/exports.md.\n" +
			"json, csv, parquet and perfetto also take recordings.\n\n" +
			"Example: pianola print trace.bin | head\n" +
			"Example: pianola print --format fio -o trace.iolog trace.bin",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: kinds[0], Usage: "`FORMAT` of the output: " + strings.Join(kinds, ", ")},
			rawCSV(),
			limitFlag(),
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Value: "-", Usage: "write to `FILE` (- for standard output)"},
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
	if err := parseLimits(c); err != nil {
		return err
	}
	src, err := openEvents(name, export.TakesRecordings(kind))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := createOutput(out, public)
	if err != nil {
		return err
	}
	defer dst.abort()
	if kind == "csv" {
		dst.holdsCSV()
	}
	return dst.put(func(to io.Writer) error {
		w, err := export.New(kind, cells(c, kind, to), src.Header())
		if err != nil {
			return err
		}
		if err := pump(src, w); err != nil {
			return src.named(err)
		}
		return w.Close()
	})
}

// events are those of a compiled trace, or of a recording, in an order in which a
// thread is created before its first event.
type events struct {
	format.Reader
	io.Closer
	named func(error) error // makes an error name the file
}

// openEvents opens a compiled trace, or a recording where one is allowed.
func openEvents(name string, recording bool) (*events, error) {
	if recording {
		f, err := openInput(name)
		if err != nil {
			return nil, err
		}
		recording = !isTrace(f)
		f.Close()
	}
	if !recording {
		t, f, err := openTrace(name, bin.DefaultLimit)
		if err != nil {
			return nil, err
		}
		return &events{t.Events(), f, func(err error) error { return fmt.Errorf("%s: %w", name, err) }}, nil
	}
	src, err := inspect(importer.Options{}, name)
	if err != nil {
		return nil, err
	}
	r, err := src.open()
	if err != nil {
		src.Close()
		return nil, err
	}
	c := &causal{r: r, next: format.NewCausal(r)}
	c.first, c.err = c.next.Next() // it completes the header, but for the end
	return &events{c, src, func(err error) error { return err }}, nil
}

// causal reads events one by one from a format.Causal.
type causal struct {
	r     format.Reader
	next  *format.Causal
	first *format.Event // not read so far
	err   error
}

// Read implements format.Reader.
func (c *causal) Read(events []format.Event) (int, error) {
	e, err := c.first, c.err
	if c.first = nil; e == nil && err == nil {
		e, err = c.next.Next()
	}
	if err != nil {
		c.err = err
		return 0, err
	}
	events[0] = *e
	return 1, nil
}

// Header implements format.Reader.
func (c *causal) Header() *format.Header { return c.r.Header() }
