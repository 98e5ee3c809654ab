// Package notetest shows tests what was noted of an event, as a script has it.
package notetest

import (
	"strings"

	"pianola/format"
	"pianola/format/script"
)

// Text returns the notes of an event, but for the time off the processor, which
// no test can know.
func Text(e format.Event) string {
	e.Off = 0
	return text(&e)
}

func text(e *format.Event) string {
	_, notes, _ := strings.Cut(string(script.AppendEvent(nil, e, 0)), " {")
	return strings.TrimSuffix(notes, "}\n")
}

// Value returns the value of a note, "-" where there is none.
func Value(e format.Event, key string) string {
	v, ok := format.Note([]byte(text(&e)), key)
	if !ok {
		return "-"
	}
	return string(v)
}
