package transform

import "pianola/format"

// moveTime moves the time before an event to a new event that is put in before
// it.
func moveTime(from, to *format.Event) {
	to.Off, to.Cut = from.Off, from.Cut
	from.Off, from.Cut = format.Off{}, 0
}
