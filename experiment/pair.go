package experiment

import (
	"io"
	"slices"

	"pianola/experiment/check"
	"pianola/experiment/compare"
	"pianola/experiment/page"
	"pianola/format"
)

// Pair is a side and what it is compared with.
type Pair struct {
	*compare.Comparison
	Base, Side *Side
}

// Compare compares the runs of two sides, under their names.
func Compare(base, side *Side) Pair {
	p := Pair{compare.Profiles(base.Profiles(), side.Profiles()), base, side}
	p.Names = [2]string{base.Name, side.Name}
	return p
}

// Complete adds where the sides ran, and what checks find.
func (p *Pair) Complete(checks []*check.Check) {
	p.SetProvenance(p.Base.remarks(), p.Side.remarks())
	p.Checks = check.Evaluate(checks, check.Side{Name: p.Names[0], Runs: p.Base.Profiles()}, check.Side{Name: p.Names[1], Runs: p.Side.Profiles()}, p.Coverage.Withheld())
}

// WritePage writes a page with the typical run of each side.
func (p *Pair) WritePage(w io.Writer, tolerance float64) error {
	runs := []page.Run{p.Base.typical(p.Names[0]), p.Side.typical(p.Names[1])}
	return page.Write(w, runs, &page.Comparison{Comparison: p.Comparison, Tolerance: tolerance})
}

// typical returns the run with the median run time, under a name.
func (s *Side) typical(name string) page.Run {
	profiles := s.Profiles()
	r := &s.Runs[slices.Index(profiles, compare.Typical(profiles))]
	return page.Run{Name: name, Meta: r.Meta, Profile: r.Profile}
}

// remarks returns those of each run.
func (s *Side) remarks() (all [][]format.Meta) {
	for i := range s.Runs {
		all = append(all, s.Runs[i].Meta)
	}
	return all
}
