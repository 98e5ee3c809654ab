package console

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// Sequences of terminals. A view is written over the last one, so that it does not
// flicker.
const (
	home        = "\x1b[H"
	clearRest   = "\x1b[K\n"
	clearBelow  = "\x1b[J"
	clearScreen = home + "\x1b[2J"
)

// ClearScreen empties the terminal of standard output.
func ClearScreen() { os.Stdout.WriteString(clearScreen) }

// Redraw replaces the contents of the terminal of standard output. write is told how many lines there
// are. Lines that do not fit are cut off, so that the top stays in place.
func Redraw(write func(w io.Writer, lines int) error) error {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	var b bytes.Buffer
	if err := write(Visibly(&b), height-1); err != nil {
		return err
	}
	out := []byte(home)
	for i, line := range bytes.Split(bytes.TrimRight(b.Bytes(), "\n"), []byte("\n")) {
		if i == height-1 {
			break
		}
		out = append(append(out, cutLine(line, width)...), clearRest...)
	}
	_, err = os.Stdout.Write(append(out, clearBelow...))
	return err
}

// cutLine returns the first characters of a line.
func cutLine(line []byte, width int) []byte {
	runes := bytes.Runes(line)
	return []byte(string(runes[:min(len(runes), width)]))
}
