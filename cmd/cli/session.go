package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"pianola/compile/source"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
)

// session is the console of the command, and the files that it reads and writes.
var session struct {
	console.Console
	files files.Set
}

// recordings opens the recordings that the command reads.
var recordings source.Reader

// cells returns a writer of an output format, which guards the cells of CSV unless
// the command line has --raw-csv.
func cells(c *cli.Context, form string, w io.Writer) io.Writer {
	if form != "csv" || c.Bool("raw-csv") {
		return w
	}
	return format.NewCellWriter(w)
}
