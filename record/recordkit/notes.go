package recordkit

import (
	"strings"

	"pianola/format"
	"pianola/format/script"
)

// Notes returns the notes of an event as in a script, without the time off the
// processor and the unrecorded calls, which no test can predict.
func Notes(e format.Event) string {
	e.Off, e.Cut, e.Calls = format.Off{}, 0, 0
	return notes(&e)
}

func notes(e *format.Event) string {
	_, text, _ := strings.Cut(string(script.AppendEvent(nil, e, 0)), " {")
	return strings.TrimSuffix(text, "}\n")
}

// Note returns the value of a note, "-" if there is none.
func Note(e format.Event, key string) string {
	v, ok := format.Note([]byte(notes(&e)), key)
	if !ok {
		return "-"
	}
	return string(v)
}
