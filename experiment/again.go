package experiment

import (
	"fmt"
	"math"
)

// mostVariation is the part by which the calls or the bytes of recordings of a command that
// does the same may differ. A build that finds everything made, or a load into a database
// that is full, differs by far more.
const mostVariation = 0.1

// Strays says what a run of a command did otherwise than the first one, "" if it did the same.
func (r *Run) Strays(first *Run) string {
	now, then := r.Profile.IO(), first.Profile.IO()
	differs := func(a, b int64) bool { return math.Abs(float64(a-b)) > mostVariation*float64(b) }
	switch {
	case differs(now.Calls, then.Calls):
		return fmt.Sprintf("made %d calls instead of %d", now.Calls, then.Calls)
	case differs(now.Bytes, then.Bytes):
		return fmt.Sprintf("moved %d bytes instead of %d", now.Bytes, then.Bytes)
	}
	return ""
}
