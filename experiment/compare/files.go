package compare

import (
	"cmp"
	"slices"

	"pianola/profile"
)

// keptFiles is how many files a comparison holds.
const keptFiles = 20

// compareFiles compares file by file, by name. A file that a run does not have counts
// as 0 in that run. The result leaves out files beyond the limit of a profile, and is
// empty if a side has no files, as a baseline has none.
func (c *Comparison) compareFiles() {
	told := func(p *profile.Profile) bool { return len(p.Files) > 0 }
	if !slices.ContainsFunc(c.applications, told) || !slices.ContainsFunc(c.replays, told) {
		return
	}
	zero := profile.Measure{Seconds: new(0.0)}
	byName := make(map[string]*[2][]profile.Measure)
	for side, profiles := range [2][]*profile.Profile{c.applications, c.replays} {
		for run, p := range profiles {
			for i := range p.Files {
				f := &p.Files[i]
				io := f.IO()
				if io.Calls == 0 {
					continue
				}
				sides := byName[f.Name]
				if sides == nil {
					sides = &[2][]profile.Measure{slices.Repeat([]profile.Measure{zero}, len(c.applications)), slices.Repeat([]profile.Measure{zero}, len(c.replays))}
					byName[f.Name] = sides
				}
				sides[side][run] = io.Measure()
			}
		}
	}
	for name, sides := range byName {
		row, _, _ := newRow(name, sides[0], sides[1])
		c.Files = append(c.Files, row)
	}
	slices.SortFunc(c.Files, func(a, b Row) int { return cmp.Or(byDifference(a, b), cmp.Compare(a.Name, b.Name)) })
	c.Paired = paired(c.Files)
	c.Files = slices.Clone(c.Files[:min(keptFiles, len(c.Files))])
}

// paired returns the fraction of the time of all rows that belongs to rows on both
// sides.
func paired(rows []Row) *float64 {
	var all, both float64
	for i := range rows {
		r := &rows[i]
		for _, m := range []*profile.Measure{&r.Application, &r.Replay} {
			if m.Seconds == nil {
				continue
			}
			all += *m.Seconds
			if r.Application.Calls > 0 && r.Replay.Calls > 0 {
				both += *m.Seconds
			}
		}
	}
	if all == 0 {
		return nil
	}
	return new(both / all)
}
