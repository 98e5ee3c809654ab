package nodes

import (
	"fmt"
	"slices"
	"time"

	"pianola/compile/transform"
	"pianola/format"
)

// Beside reads several recordings as one of programs that ran side by side, with the same files
// and with threads of their own. Recordings that overlapped on the clock of the machine
// (format.MetaStart) keep their distance. If one did not, all begin together.
func Beside(sources []Source) (*Run, error) {
	if len(sources) > transform.MaxNodes {
		return nil, fmt.Errorf("%d recordings, more than %d", len(sources), transform.MaxNodes)
	}
	r := &Run{}
	for i, s := range sources {
		n := &node{Source: s, number: i, name: s.Name}
		if err := n.read(); err != nil {
			return nil, err
		}
		n.head = *transform.WithCommand(&n.head, n.first)
		r.nodes = append(r.nodes, n)
	}
	start := r.align()
	if err := r.describe(); err != nil {
		return nil, err
	}
	if start != "" {
		r.header.Set(format.MetaStart, start)
	}
	tool, _ := r.header.Value(format.MetaTool)
	if slices.ContainsFunc(r.nodes, func(n *node) bool { other, _ := n.head.Value(format.MetaTool); return other != tool }) {
		// They tell of different things.
		r.header.Meta = slices.DeleteFunc(r.header.Meta, func(m format.Meta) bool { return m.Key == format.MetaTool })
	}
	return r, r.measure()
}

// align sets the clocks by the starts of the recordings, and returns the first start, "" if they
// begin together.
func (r *Run) align() (start string) {
	starts := map[*node]time.Time{}
	for _, n := range r.nodes {
		text, _ := n.head.Value(format.MetaStart)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return ""
		}
		starts[n] = at
	}
	byStart := slices.Clone(r.nodes)
	slices.SortStableFunc(byStart, func(a, b *node) int { return starts[a].Compare(starts[b]) })
	first := byStart[0]
	reach := starts[first] // of those before
	for i, n := range byStart {
		if i > 0 && !starts[n].Before(reach) {
			return ""
		}
		// The sum of all must not overflow.
		if end := starts[n].Add(time.Duration(min(n.end, maxOffset/transform.MaxNodes))); end.After(reach) {
			reach = end
		}
	}
	for _, n := range r.nodes {
		n.clock.offset = int64(starts[n].Sub(starts[first]))
	}
	start, _ = first.head.Value(format.MetaStart)
	return start
}
