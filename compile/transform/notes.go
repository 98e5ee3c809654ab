package transform

import "pianola/format"

// moveTime moves the time before an event to a new event that is put in before
// it.
func moveTime(from, to *format.Event) {
	to.Off, to.Cut, to.Calls = from.Off, from.Cut, from.Calls
	from.Off, from.Cut, from.Calls = format.Off{}, 0, 0
}
