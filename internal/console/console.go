// Package console prints messages, progress and text for people.
//
// Names of files, remarks of recordings and messages of plug-ins can hold control
// sequences of terminals. Text and JSON are always written with escapes for them, because
// a pager can show them on a terminal. Data formats are escaped only if the output is a
// terminal.
package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"pianola/format"
)

// Console is where a command talks. Its methods may be called concurrently.
type Console struct {
	Quiet bool // only errors, warnings and what the command line asks for are written
}

// Warn prints a message of one line.
func Warn(form string, args ...any) {
	fmt.Fprintf(os.Stderr, "pianola: %s\n", format.Visible(fmt.Sprintf(form, args...)))
}

// Suggest prints a hint for the message before.
func Suggest(text string) { fmt.Fprintf(os.Stderr, "hint: %s\n", format.Visible(text)) }

// Say prints a message of one line, unless the console is quiet.
func (c *Console) Say(form string, args ...any) {
	if !c.Quiet {
		Warn(form, args...)
	}
}

// Stdout returns a writer to standard output for an output format: text, json, csv, ….
// A quiet console has no text.
func (c *Console) Stdout(form string) io.Writer {
	switch form {
	case "text":
		if c.Quiet {
			return io.Discard
		}
	case "json":
		return format.NewVisibleWriter(os.Stdout, format.JSONNotation)
	case "csv":
		return OnScreen(os.Stdout, format.CSVNotation)
	}
	return Visibly(os.Stdout)
}

// Visibly returns a writer that escapes control characters, for text and JSON.
func Visibly(w io.Writer) io.Writer { return format.NewVisibleWriter(w, format.TextNotation) }

// WriteJSON writes one document, indented.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// OnScreen returns a writer of data to a file, with escapes if it is a terminal.
func OnScreen(f *os.File, n format.Notation) io.Writer {
	if IsScreen(f) {
		return format.NewVisibleWriter(f, n)
	}
	return f
}

// IsScreen reports whether a file is a terminal.
func IsScreen(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Hint is an error with a text that says what to do about it.
type Hint struct {
	error
	Text string
}

// WithHint adds to an error what to do about it.
func WithHint(err error, text string) error { return &Hint{err, text} }

// Unwrap returns the error without its hint.
func (h *Hint) Unwrap() error { return h.error }
