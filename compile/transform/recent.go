package transform

import "pianola/format/process"

// recent holds the ranges of a file that were recently moved or announced, in
// bytes.
type recent struct {
	ranges [16]struct{ from, to int64 }
	oldest int
}

// recentOf returns the ranges of a file.
func recentOf(f *process.File) *recent {
	r, ok := f.Data.(*recent)
	if !ok {
		r = new(recent)
		f.Data = r
	}
	return r
}

// hold reports whether one of the ranges holds another.
func (r *recent) hold(from, to int64) bool {
	for i := range r.ranges {
		if r.ranges[i].from <= from && to <= r.ranges[i].to {
			return true
		}
	}
	return false
}

// add adds a range, joined with one that it touches.
func (r *recent) add(from, to int64) {
	for i := range r.ranges {
		if one := &r.ranges[i]; one.from < one.to && one.from <= to && from <= one.to {
			one.from, one.to = min(one.from, from), max(one.to, to)
			return
		}
	}
	r.ranges[r.oldest].from, r.ranges[r.oldest].to = from, to
	r.oldest = (r.oldest + 1) % len(r.ranges)
}
