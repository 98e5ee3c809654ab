package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"pianola/format/bin"
	"pianola/format/compressed"
	"pianola/internal/available"
)

// inputs bounds what the inputs of the command may turn into: a small file can be a
// compressed endless text.
var inputs inputLimits

type inputLimits struct {
	text int64 // bytes of text that a compressed file may hold, 0 for textLimit
}

// The default for the text of a compressed file. A recording is compressed to a
// twentieth.
const (
	minText   = 1 << 30 // bytes, for any file
	textRatio = 100     // bytes for each of the file
)

// textLimit returns how many bytes of text a compressed file of a size may hold.
func textLimit(size int64) int64 {
	return cmp.Or(inputs.text, max(minText, size*textRatio))
}

// set sets the limit with a name, and reports whether there is one.
func (l *inputLimits) set(name string, n int64) bool {
	if name == "text" {
		l.text = n
	}
	return name == "text"
}

// readingMemory returns how many bytes of memory a trace or a profile may take in a
// command that replays nothing: half of what is available, since garbage takes as much
// again, and at most as much as a trace may take anywhere.
func readingMemory() int64 {
	free, err := available.Memory()
	if err != nil {
		free = math.MaxInt64
	}
	return min(bin.DefaultLimit, max(free/2, 1<<20))
}

// spareMemory has garbage collected early from then on where a profile of very many files
// or threads takes most of 256 MiB, or of what is available. Otherwise there can be as much
// garbage as memory in use.
func spareMemory() { debug.SetMemoryLimit(min(192<<20, readingMemory())) }

// limitFlag is the flag of commands that only read their inputs.
func limitFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "limit", Usage: "allow `NAME=VALUE` for an input: text (bytes in a compressed file)"}
}

// parseLimits sets the limits of such a command.
func parseLimits(c *cli.Context) error {
	for _, text := range c.StringSlice("limit") {
		name, n, err := parseLimit(text)
		if err == nil && !inputs.set(name, n) {
			err = fmt.Errorf("%s: text is the only limit here", text)
		}
		if err != nil {
			return usage(c, "--limit: %w", err)
		}
	}
	return nil
}

// limitHint adds to an error of an input which limit to raise.
func limitHint(err error) error {
	if errors.Is(err, compressed.ErrLimit) {
		return &hint{err, "--limit text=SIZE allows more"}
	}
	return err
}
