package script

import (
	"bytes"
	"fmt"
	"strconv"
)

// Dialect is a way to write events as text.
type Dialect uint8

// The dialects. A Reader returns Unrecognised until its first Read has returned, and
// always for a source without events.
const (
	Unrecognised Dialect = iota
	Recorded             // what record writes, and strace -f -r -T
	Older                // the first Pianola: no thread ids, flags as canonical numbers
	Intermediate         // the text form of a compiled trace
)

var dialectNames = [...]string{"unrecognised", "recorded", "older", "intermediate"}

func (d Dialect) String() string { return dialectNames[d] }

// version is the version of the text forms that this package writes, and the
// newest that it reads.
const version = 1

const recordedLine = "# pianola script 1\n"

// IntermediateLine is the line that an intermediate script with a header begins
// with.
const IntermediateLine = "# pianola intermediate 1\n"

// versionLine returns the dialect that a "# pianola … VERSION" line announces,
// Unrecognised for any other comment.
func versionLine(line []byte) (Dialect, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(line, []byte("#")), " ")
	var d Dialect
	var number []byte
	if n, ok := bytes.CutPrefix(text, []byte("pianola script ")); ok {
		d, number = Recorded, n
	} else if n, ok := bytes.CutPrefix(text, []byte("pianola intermediate ")); ok {
		d, number = Intermediate, n
	} else {
		return Unrecognised, nil
	}
	switch v, err := strconv.Atoi(string(bytes.TrimRight(number, " "))); {
	case err != nil || v < 1:
		return Unrecognised, fmt.Errorf("malformed version %q", number)
	case v > version:
		return Unrecognised, fmt.Errorf("version %d is newer than the version that this program reads (%d)", v, version)
	}
	return d, nil
}
