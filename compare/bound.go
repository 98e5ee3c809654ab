package compare

import (
	"fmt"
	"strings"

	"pianola/format"
	"pianola/profile"
)

// Bound describes a side of replays that is as long as its floor. How fast the storage is
// does not show in its run time.
type Bound struct {
	Side    string  `json:"side"`
	By      string  `json:"by"` // what makes up the floor
	Floor   float64 `json:"floor_seconds"`
	RunTime float64 `json:"run_time_seconds"`
}

// Bounds returns the sides that are bound, in order.
func (c *Comparison) Bounds() (bounds []Bound) {
	for side, runs := range [2][]*profile.Profile{c.applications, c.replays} {
		p := Typical(runs)
		if p == nil || !p.Bound() {
			continue
		}
		bounds = append(bounds, Bound{c.the(side), p.Floor.Binding(), format.Seconds(p.Floor.Total), format.Seconds(p.RunTime)})
	}
	return bounds
}

// Bound returns what binds the sides in one sentence, "" if nothing does.
func (c *Comparison) Bound() string {
	var clauses []string
	by := ""
	for _, b := range c.Bounds() {
		clause := fmt.Sprintf("%s (%.3f s of its %.3f s)", b.Side, b.Floor, b.RunTime)
		if b.By != by {
			clause = b.By + " " + clause
		}
		clauses, by = append(clauses, clause), b.By
	}
	switch len(clauses) {
	case 0:
		return ""
	case 1:
		return clauses[0] + ", so its run time does not show how fast the storage is"
	}
	return strings.Join(clauses, " and ") + ", so the run times do not show how fast the storage is"
}
