package profile

// Access is the pattern of reads, or of writes, of a file. Only calls that
// moved bytes count.
//
// A call is sequential if it begins where the descriptor's last call of the
// same direction ended, and the first one if it begins at the start of the file. Else it
// is strided if the distance between its start and that of the last call is the same as
// between the two calls before. Else it is random. A first call that begins at another place has
// no pattern.
type Access struct {
	Moves      int64 // calls that moved bytes
	From, To   int64 // the bytes from the first to behind the last that were moved, whatever lies between
	Sequential int64
	Strided    int64
	Random     int64
	Sizes      []Frequent // bytes moved by a call, of up to four sizes, the most frequent first
	Asked      []Frequent // bytes asked for, the same
	Strides    []Frequent // bytes from beginning to beginning, of strided calls
}

// SequentialShare returns the part of the calls with a pattern that are sequential, and
// false if there are none.
func (a *Access) SequentialShare() (float64, bool) {
	n := a.Sequential + a.Strided + a.Random
	if n == 0 {
		return 0, false
	}
	return float64(a.Sequential) / float64(n), true
}

// accesses counts the figures of an Access.
type accesses struct {
	moves, sequential, strided, random int64
	from, to                           int64
	sizes, asked, strides              frequent
}

// run is the position of one direction of a descriptor.
type run struct {
	begin, end int64 // of the last call, bytes
	stride     int64 // from the beginning of the one before
	calls      uint8 // 0, 1, or 2 for more
}

// count adds a call that moved the bytes from begin to end, and asked for so many.
func (a *accesses) count(r *run, begin, end, asked int64) {
	if a.moves == 0 {
		a.from = begin
	}
	a.moves++
	a.from, a.to = min(a.from, begin), max(a.to, end)
	a.sizes.add(end - begin)
	a.asked.add(asked)
	stride := begin - r.begin
	switch {
	case begin == r.end: // 0 before the first call
		a.sequential++
	case r.calls == 0:
	case r.calls > 1 && stride == r.stride:
		a.strided++
		a.strides.add(stride)
	default:
		a.random++
	}
	*r = run{begin, end, stride, min(r.calls+1, 2)}
}

func (a *accesses) access() Access {
	return Access{a.moves, a.from, a.to, a.sequential, a.strided, a.random, a.sizes.list(), a.asked.list(), a.strides.list()}
}

// merge adds the accesses of another file, except for sizes, strides and positions.
func (a *Access) merge(o *Access) {
	a.Moves += o.Moves
	a.Sequential += o.Sequential
	a.Strided += o.Strided
	a.Random += o.Random
}
