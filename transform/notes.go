package transform

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// setNote returns a copy of notes in which a key has a number as its value.
func setNote(notes []byte, key string, value int64) []byte {
	return setNoteText(notes, key, strconv.AppendInt(nil, value, 10))
}

// setNoteText returns a copy of notes in which a key has a value.
func setNoteText(notes []byte, key string, value []byte) []byte {
	out := make([]byte, 0, len(notes)+len(key)+len(value)+2)
	for {
		notes = bytes.TrimLeft(notes, " ")
		k, _, rest := format.CutNote(notes)
		if k == nil {
			break
		}
		if string(k) != key {
			out = append(append(out, notes[:len(notes)-len(rest)]...), ' ')
		}
		notes = rest
	}
	out = append(append(out, key...), '=')
	return append(out, value...)
}
