package format

import "bytes"

// CutNote cuts the first note off a text of notes, from between the braces of
// an event in a script, or from a remark: "key=value" or a bare word, separated
// by spaces. Spaces between double quotes in a value belong to it; a backslash
// escapes a quote. The results are parts of notes. A nil key means that there
// are no more notes.
func CutNote(notes []byte) (key, value, rest []byte) {
	notes = bytes.TrimLeft(notes, " ")
	if len(notes) == 0 {
		return nil, nil, nil
	}
	end, quoted := 0, false
	for ; end < len(notes) && (quoted || notes[end] != ' '); end++ {
		switch {
		case notes[end] == '"':
			quoted = !quoted
		case notes[end] == '\\' && quoted && end+1 < len(notes):
			end++
		}
	}
	key, value, _ = bytes.Cut(notes[:end], []byte("="))
	return key, value, notes[end:]
}

// Note returns the value of the first note with that key in such a text. A bare
// word has an empty value; a quoted value keeps its
// quotes (see Unquote). The value is part of notes.
func Note(notes []byte, key string) (value []byte, ok bool) {
	for len(notes) > 0 {
		k, v, rest := CutNote(notes)
		if k != nil && string(k) == key {
			return v, true
		}
		notes = rest
	}
	return nil, false
}
