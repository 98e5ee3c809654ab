package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pianola/format"
	"pianola/profile"
)

// typical returns the run with the median run time, the lower one of two; nil for none.
func typical(runs []*profile.Profile) *profile.Profile {
	if len(runs) == 0 {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b *profile.Profile) int { return cmp.Compare(a.RunTime, b.RunTime) })
	return sorted[(len(sorted)-1)/2]
}

// bound returns the typical run if it is as long as its floor, else nil.
func (s *Runs) bound() *profile.Profile {
	if p := typical(s.Profiles); p != nil && p.Bound() {
		return p
	}
	return nil
}

// binds says what binds a side, if storage does not: "compute binds"; else "".
func (s *Runs) binds() string {
	if p := s.bound(); p != nil {
		return p.Floor.Binding()
	}
	return ""
}

// bound says what binds the sides of a workload, "" if storage does on all.
func (r *Report) bound(w *Workload) string {
	var clauses []string
	last := ""
	for side := range w.Sides {
		p := w.Sides[side].bound()
		if p == nil {
			continue
		}
		clause := fmt.Sprintf("%s (%.3f s of its %.3f s)", r.Sides[side], format.Seconds(p.Floor.Total), format.Seconds(p.RunTime))
		if by := p.Floor.Binding(); by != last {
			clause, last = by+" "+clause, by
		}
		clauses = append(clauses, clause)
	}
	switch len(clauses) {
	case 0:
		return ""
	case 1:
		return clauses[0] + ", so its run time does not show how fast the storage is"
	}
	return strings.Join(clauses, " and ") + ", so the run times do not show how fast the storage is"
}

// hidden returns the names of workloads in whose run times storage shows on none of the
// sides.
func hidden(workloads []*Workload, sides ...int) (names []string) {
	for _, w := range workloads {
		if !slices.ContainsFunc(sides, func(side int) bool { return w.Sides[side].bound() == nil }) {
			names = append(names, w.Name)
		}
	}
	return names
}
