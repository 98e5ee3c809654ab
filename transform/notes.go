package transform

import "pianola/format"

// moveTime lets an event that is put in ahead of another say what that says of
// the time before it.
func moveTime(from, to *format.Event) {
	to.Off, to.Cut = from.Off, from.Cut
	from.Off, from.Cut = 0, 0
}
