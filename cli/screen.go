package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pianola/format"
)

// Names of files, remarks of recordings and messages of plug-ins can hold
// control sequences of terminals. Text and JSON are always written with escapes
// for them, because a pager can show them on a terminal. Data formats are
// escaped only if the output is a terminal.

// warn prints a message of one line. It may be called concurrently.
func warn(form string, args ...any) {
	fmt.Fprintf(os.Stderr, "pianola: %s\n", format.Visible(fmt.Sprintf(form, args...)))
}

// say prints a remark of one line, which --quiet leaves out.
func say(form string, args ...any) {
	if !quiet {
		warn(form, args...)
	}
}

// suggest prints a hint for the message before.
func suggest(text string) { fmt.Fprintf(os.Stderr, "hint: %s\n", format.Visible(text)) }

// visibly returns a writer that escapes control characters, for text and JSON.
func visibly(w io.Writer) io.Writer { return format.NewVisibleWriter(w, format.TextNotation) }

// stdout returns a writer to standard output for an output format: text, json,
// csv, …. --quiet leaves out text.
func stdout(form string) io.Writer {
	switch form {
	case "text":
		if quiet {
			return io.Discard
		}
	case "json":
		return format.NewVisibleWriter(os.Stdout, format.JSONNotation)
	case "csv":
		return onScreen(os.Stdout, format.CSVNotation)
	}
	return visibly(os.Stdout)
}

// cells returns a writer of an output format, which guards the cells of CSV unless
// the command line has --raw-csv.
func cells(c *cli.Context, form string, w io.Writer) io.Writer {
	if form != "csv" || c.Bool("raw-csv") {
		return w
	}
	return format.NewCellWriter(w)
}

// onScreen returns a writer of data to a file, with escapes if it is a
// terminal.
func onScreen(f *os.File, n format.Notation) io.Writer {
	if isScreen(f) {
		return format.NewVisibleWriter(f, n)
	}
	return f
}

// isScreen reports whether a file is a terminal.
func isScreen(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
