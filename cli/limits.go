package cli

import (
	"cmp"
	"errors"
	"math"
	"runtime/debug"

	"pianola/format/bin"
	"pianola/format/compressed"
	"pianola/internal/available"
	"pianola/internal/console"
)

// inputs bounds what the inputs of the command may turn into: a small file can be a
// compressed endless text.
var inputs readLimits

type readLimits struct {
	text   int64 // bytes of text that a compressed file may hold, 0 for textLimit
	memory int64 // bytes of memory that a recording, trace or profile may take, 0 for readingMemory
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

// readingMemory returns how many bytes of memory a trace or a profile may take in a
// command that replays nothing: half of what is available, since garbage takes as much
// again, and at most as much as a trace may take anywhere.
func readingMemory() int64 {
	if inputs.memory > 0 {
		return inputs.memory
	}
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

// limitHint adds to an error of an input which limit to raise.
func limitHint(err error) error {
	if errors.Is(err, compressed.ErrLimit) {
		return console.WithHint(err, "--limit text=SIZE allows more")
	}
	return err
}
