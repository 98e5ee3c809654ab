package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"pianola/format"
)

// Names of files, remarks of recordings and what plug-ins say can hold what a
// terminal obeys. So text and JSON are always written visibly, for they can get
// to a terminal through a pager; data stays exact unless a terminal is where
// it goes to.

// warn prints a message of one line. It may be called concurrently.
func warn(form string, args ...any) {
	fmt.Fprintf(os.Stderr, "pianola: %s\n", format.Visible(fmt.Sprintf(form, args...)))
}

// suggest prints what there is to do about a message.
func suggest(text string) { fmt.Fprintf(os.Stderr, "hint: %s\n", format.Visible(text)) }

// visibly returns a writer of text for people.
func visibly(w io.Writer) io.Writer { return format.NewVisibleWriter(w, format.TextNotation) }

// stdout returns a writer to standard output, for one of the forms that commands
// print: text, json, csv, ….
func stdout(form string) io.Writer {
	switch form {
	case "json":
		return format.NewVisibleWriter(os.Stdout, format.JSONNotation)
	case "csv":
		return onScreen(os.Stdout, format.CSVNotation)
	}
	return visibly(os.Stdout)
}

// onScreen returns a writer of data to a file.
func onScreen(f *os.File, n format.Notation) io.Writer {
	if isScreen(f) {
		return format.NewVisibleWriter(f, n)
	}
	return f
}

// isScreen reports whether a file is a terminal.
func isScreen(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
