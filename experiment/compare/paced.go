package compare

import (
	"fmt"

	"pianola/internal/table"
)

// Paced describes a recording at a speed other than 1: compute and the delays between
// threads are divided by the speed, and calls take their recorded time.
type Paced struct {
	Speed    float64 `json:"speed"`
	Recorded float64 `json:"recorded_seconds"` // run time as recorded, the median if there are several recordings
}

// Text describes, in one line, a recording that takes so many seconds at the speed. who
// is the subject of the sentence.
func (p *Paced) Text(who string, seconds float64) string {
	u := table.UnitOf(max(seconds, p.Recorded))
	return fmt.Sprintf("%s is the recording at speed %g, %s %s where that took %s: compute is divided by %g, and calls take their recorded time",
		who, p.Speed, u.Format(seconds), u.Name, u.Format(p.Recorded), p.Speed)
}
