package compare

import (
	"fmt"

	"pianola/table"
)

// Paced says how a recording differs at a speed: compute, and the delays between
// threads, are divided by it, and calls take as long as recorded.
type Paced struct {
	Speed    float64 `json:"speed"`
	Recorded float64 `json:"recorded_seconds"` // its run time as recorded, of several the median
}

// Text says in a line what a recording is that takes so many seconds at the speed. who
// is whose it is, as the subject of a sentence.
func (p *Paced) Text(who string, seconds float64) string {
	u := table.UnitOf(max(seconds, p.Recorded))
	return fmt.Sprintf("%s is the recording at speed %g, %s %s where that took %s: compute is divided by %g, and calls take as long as recorded",
		who, p.Speed, u.Format(seconds), u.Name, u.Format(p.Recorded), p.Speed)
}
