package profile

// thin returns at most n points of c, n at least 3, that look like all of
// them: the first and the last, and of each of n-2 equal groups between them
// the point that makes the largest triangle with the point chosen before and
// the mean of the next group (largest triangle three buckets; Steinarsson,
// Downsampling Time Series for Visual Representation, 2013). Points keep their
// order and values, so a thinned curve still never falls.
func thin(c Curve, n int) Curve {
	if len(c) <= n {
		return c
	}
	out := make(Curve, 0, n)
	last := c[0]
	out = append(out, last)
	// Group g of n-2 holds the points from bound(g) to before bound(g+1).
	bound := func(g int) int { return 1 + g*(len(c)-2)/(n-2) }
	for g := range n - 2 {
		mean := c[len(c)-1:]
		if g < n-3 {
			mean = c[bound(g+1):bound(g+2)]
		}
		var mx, my float64
		for _, p := range mean {
			mx += float64(p.Elapsed) / float64(len(mean))
			my += float64(p.Spent) / float64(len(mean))
		}
		// Coordinates are relative to the last point, which makes the
		// area of the triangle one cross product.
		mx -= float64(last.Elapsed)
		my -= float64(last.Spent)
		best, bestArea := Point{}, -1.0
		for _, p := range c[bound(g):bound(g+1)] {
			x, y := float64(p.Elapsed-last.Elapsed), float64(p.Spent-last.Spent)
			if area := max(x*my-y*mx, y*mx-x*my); area > bestArea {
				best, bestArea = p, area
			}
		}
		last = best
		out = append(out, last)
	}
	return append(out, c[len(c)-1])
}
