package experiment

import (
	"fmt"
	"slices"

	"pianola/internal/console"
	"pianola/internal/table"
)

// ShowOn shows each run of planned subjects on a console, until finish is called. The amount is
// the number of runs, or where subjects have weights, that in seconds.
func (e *Experiment) ShowOn(c *console.Console) (finish func()) {
	total, begun := 0.0, map[*Subject]float64{}
	for _, s := range e.Report.Subjects {
		begun[s] = total
		total += s.Weight
	}
	p := c.Items("replaying", 0)
	if total > 0 {
		p = c.Progress("replaying", 0, func(ms int64) string { return table.Fixed(float64(ms)/1e3, 0) + " s" })
	}
	e.Show = func(s *Subject, side *Side, round, done, all int) {
		text := fmt.Sprintf("run %d of %d: %s", round+1, e.Runs, e.Report.Label(side))
		switch {
		case side.Kind == Recorded:
			p.Pause() // the command writes to the same terminal
		case total == 0:
			p.Describe("%s", text)
			p.Set(int64(done), int64(all))
		default:
			p.Describe("%s (%d of %d), %s", s.Name, slices.Index(e.Report.Subjects, s)+1, len(begun), text)
			p.Set(int64(1e3*(begun[s]+s.Weight*float64(done)/float64(all))), int64(1e3*total))
		}
	}
	return p.Finish
}
