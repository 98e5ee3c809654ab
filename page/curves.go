package page

import (
	"slices"

	"pianola/profile"
)

// curves are the cumulative profiles of all runs, sampled at the same times, so
// that they can be compared at each of them.
type curves struct {
	Elapsed []int64                           `json:"elapsed"`
	Spent   [][profile.NumCategories][]*int64 `json:"spent"` // by run and category; nil beyond the end of a run, no list for a category without time
}

// curvePoints is the number of points of a curve, about two for each pixel of a
// wide screen.
const curvePoints = 2000

func newCurves(profiles []*profile.Profile) curves {
	var last int64
	for _, p := range profiles {
		last = max(last, p.RunTime)
	}
	var c curves
	for i := range int64(curvePoints) {
		c.Elapsed = append(c.Elapsed, share(last, i, curvePoints-1))
	}
	for _, p := range profiles {
		c.Elapsed = append(c.Elapsed, p.RunTime) // where its curves end
	}
	slices.Sort(c.Elapsed)
	c.Elapsed = slices.Compact(c.Elapsed)
	for _, p := range profiles {
		var of [profile.NumCategories][]*int64
		for k := range of {
			of[k] = sample(p.Curves[k], c.Elapsed)
		}
		c.Spent = append(c.Spent, of)
	}
	return c
}

// share returns n×i/of for a large n.
func share(n, i, of int64) int64 { return n/of*i + n%of*i/of }

// sample returns the values of a curve at rising times.
func sample(c profile.Curve, times []int64) []*int64 {
	if len(c) == 0 {
		return nil
	}
	out := make([]*int64, len(times))
	at := 1
	for i, t := range times {
		for at < len(c) && c[at].Elapsed < t {
			at++
		}
		if at == len(c) {
			break
		}
		a, b := c[at-1], c[at]
		part := float64(t-a.Elapsed) / float64(b.Elapsed-a.Elapsed)
		out[i] = new(a.Spent + int64(part*float64(b.Spent-a.Spent)))
	}
	return out
}
