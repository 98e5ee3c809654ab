package compare

import (
	"fmt"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/table"
	"pianola/profile"
)

// Bound describes a side of replays that is as long as its floor. How fast the storage is
// does not show in its run time.
type Bound struct {
	Side    string  `json:"side"`
	By      string  `json:"by"` // what makes up the floor
	Floor   float64 `json:"floor_seconds"`
	RunTime float64 `json:"run_time_seconds"`

	serves   bool // clients: the rate of their requests is what the floor bounds
	computes bool // most of the floor is compute
}

// Bounds returns the sides that are bound, in order.
func (c *Comparison) Bounds() (bounds []Bound) {
	for side, runs := range [2][]*profile.Profile{c.applications, c.replays} {
		if b := BoundOf(c.the(side), runs); b != nil {
			bounds = append(bounds, *b)
		}
	}
	return bounds
}

// BoundOf describes a side by its typical run, nil if that is not bound.
func BoundOf(side string, runs []*profile.Profile) *Bound {
	p := Typical(runs)
	if p == nil || !p.Bound() {
		return nil
	}
	return &Bound{side, p.Floor.Binding(), format.Seconds(p.Floor.Total), format.Seconds(p.RunTime), p.Requests != nil, 2*p.Floor.Compute() > p.Floor.Total}
}

// mostFailed is the share of a class's calls that may fail in replays only. It changes the time of
// the class by about as much, which is well within usual tolerances.
const mostFailed = 0.01

// failing describes a class of which more calls fail in replays only, "" if there is none: an error
// takes less time than the work of the call. Other classes do not count: without root, a replay
// can't change owners.
func (c *Comparison) failing() string {
	share := func(m *profile.Measure) float64 { return float64(m.Errors) / float64(max(m.Calls, 1)) }
	for _, k := range []profile.Category{profile.Reads, profile.Writes, profile.Syncs} {
		r := &c.Rows[k]
		if was, is := share(&r.Application), share(&r.Replay); is > was+mostFailed {
			return fmt.Sprintf("%s of the %s calls failed in %s, and %s in %s", table.Percent(is), r.Name, c.the(1), table.Percent(was), c.the(0))
		}
	}
	return ""
}

// withholding returns why replays of an application are not judged, "" if they are. One reason is
// that calls fail. The other is that the replays are as long as their floor, so that any storage
// gives the same run time. Replays bound by compute are judged nevertheless, because the question is
// then whether compute is replayed truly. A server bound by it is not: its rate of requests is taken
// for that of its storage.
func (c *Comparison) withholding() string {
	if !c.ofReplays() {
		return ""
	}
	if why := c.failing(); why != "" {
		return why
	}
	if !slices.ContainsFunc(c.Bounds(), func(b Bound) bool { return !b.computes || c.Headline().Name == RequestsRow }) {
		return ""
	}
	return c.Bound()
}

// Bound returns what binds the sides in one sentence, "" if nothing does.
func (c *Comparison) Bound() string { return BoundText(c.Bounds()) }

// BoundText says what binds sides in one sentence, "" for no sides.
func BoundText(bounds []Bound) string {
	var clauses []string
	by := ""
	for _, b := range bounds {
		clause := fmt.Sprintf("%s (%.3f s of its %.3f s)", b.Side, b.Floor, b.RunTime)
		if b.By != by {
			clause = b.By + " " + clause
		}
		clauses, by = append(clauses, clause), b.By
	}
	what := "run time"
	if slices.ContainsFunc(bounds, func(b Bound) bool { return b.serves }) {
		what = "request rate"
	}
	switch len(clauses) {
	case 0:
		return ""
	case 1:
		return clauses[0] + ", so its " + what + " does not show how fast the storage is"
	}
	return strings.Join(clauses, " and ") + ", so the " + what + "s do not show how fast the storage is"
}
