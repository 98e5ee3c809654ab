package suite

import (
	"slices"

	"pianola/compare"
)

// binds says what binds a side, if storage does not: "compute binds"; else "".
func (s *Runs) binds() string {
	if b := compare.BoundOf("", s.Profiles); b != nil {
		return b.By
	}
	return ""
}

// bound says what binds the sides of a workload, "" if storage does on all.
func (r *Report) bound(w *Workload) string {
	var bounds []compare.Bound
	for side := range w.Sides {
		if b := compare.BoundOf(r.Sides[side], w.Sides[side].Profiles); b != nil {
			bounds = append(bounds, *b)
		}
	}
	return compare.BoundText(bounds)
}

// hidden returns the names of workloads in whose run times storage shows on none of the
// sides.
func hidden(workloads []*Workload, sides ...int) (names []string) {
	for _, w := range workloads {
		if !slices.ContainsFunc(sides, func(side int) bool { return w.Sides[side].binds() == "" }) {
			names = append(names, w.Name)
		}
	}
	return names
}
