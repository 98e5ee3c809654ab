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
	out := append(withoutNote(notes, key), key...)
	return append(append(out, '='), value...)
}

// withoutNote returns a copy of notes in which a key is missing, with a space at
// the end if there are others.
func withoutNote(notes []byte, key string) []byte {
	out := make([]byte, 0, len(notes)+len(key)+22) // room for one more
	for {
		notes = bytes.TrimLeft(notes, " ")
		k, _, rest := format.CutNote(notes)
		if k == nil {
			return out
		}
		if string(k) != key {
			out = append(append(out, notes[:len(notes)-len(rest)]...), ' ')
		}
		notes = rest
	}
}

// moveTime lets an event that is put in ahead of another say what that says of
// the time before it.
func moveTime(from, to *format.Event) {
	for _, key := range []string{"off", "cut"} {
		if value, ok := format.Note(from.Notes, key); ok {
			to.Notes = setNoteText(to.Notes, key, value)
			from.Notes = bytes.TrimSuffix(withoutNote(from.Notes, key), []byte(" "))
		}
	}
}
