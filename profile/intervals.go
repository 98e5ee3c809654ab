package profile

import "slices"

// Intervals cut the run time into pieces of one length.
type Intervals struct {
	Nanos int64 // length of each; the last may be cut short by the end of the run
	List  []Span
}

// Span is what happened in an interval. Calls, errors and bytes
// count where a call began. Time counts where it passed, so that a long call is
// part of many intervals.
type Span struct {
	Start      int64 // nanoseconds since the start of the recording
	Categories       // of communication the time only
	Files      []int // places in Profile.Files of those that calls began on, -1 for the others; up to 32
	MoreFiles  bool  // and there were more
}

const (
	// maxSlices bounds the number of slices, 12 MiB of them, and chosenSlices
	// where their length is not given: so many do for intervals of any length
	// that can be chosen.
	maxSlices    = 1 << 15
	chosenSlices = 1 << 12

	// sliceFiles is how many files a slice tells apart.
	sliceFiles = 32

	// defaultIntervals is how many intervals there are at most where their
	// length is not given.
	defaultIntervals = 200
)

// sliced gathers the intervals in bounded memory, in slices of one length.
// Where a call ends beyond the last slice that there may be, ten slices are
// added together: so lengths stay numbers that people like.
type sliced struct {
	width   int64 // nanoseconds
	most    int64 // slices
	widened int64 // how often
	slices  []slice
}

// slice is an interval as it is gathered.
type slice struct {
	totals  [NumIO]Total       // without the time
	changes [NumCategories]bin // of the time, see timeline
	files   [sliceFiles]int32
	nfiles  uint8
	more    bool
}

// newSliced returns slices of a length, 0 for a choice.
func newSliced(nanos int64) sliced {
	if nanos == 0 {
		return sliced{width: 1, most: chosenSlices}
	}
	return sliced{width: nanos, most: maxSlices}
}

// count adds a call on a file, which can be nil.
func (s *sliced) count(c *call, f *file) {
	for c.end/s.width >= s.most {
		s.widen()
	}
	from, to := c.start/s.width, c.end/s.width
	for int64(len(s.slices)) <= to {
		s.slices = append(s.slices, slice{})
	}
	at := &s.slices[from]
	if c.category < NumIO {
		one := c.total
		one.Nanos = 0
		at.totals[c.category].add(&one)
	}
	if c.end > c.start {
		b := &at.changes[c.category]
		b.calls++
		b.moment -= c.start
		b = &s.slices[to].changes[c.category]
		b.calls--
		b.moment += c.end
	}
	if f == nil {
		return
	}
	// Most calls are on a file that was touched just now.
	if now := from<<8 + s.widened + 1; f.touched != now {
		f.touched = now
		at.touch(f.id)
	}
}

func (s *slice) touch(id int32) {
	switch {
	case slices.Contains(s.files[:s.nfiles], id):
	case s.nfiles == sliceFiles:
		s.more = true
	default:
		s.files[s.nfiles] = id
		s.nfiles++
	}
}

func (s *slice) merge(o *slice) {
	for k := range s.totals {
		s.totals[k].add(&o.totals[k])
	}
	for k := range s.changes {
		s.changes[k].calls += o.changes[k].calls
		s.changes[k].moment += o.changes[k].moment
	}
	for _, id := range o.files[:o.nfiles] {
		s.touch(id)
	}
	s.more = s.more || o.more
}

// widen adds ten slices together.
func (s *sliced) widen() {
	const times = 10
	s.width *= times
	s.widened++
	s.slices = merged(s.slices, times, s.slices)
}

// merged adds so many neighbours together, in the memory of into.
func merged(from []slice, times int, into []slice) []slice {
	into = into[:0]
	for len(from) > 0 {
		n := min(times, len(from))
		sum := from[0]
		for i := range from[1:n] {
			sum.merge(&from[1+i])
		}
		into = append(into, sum)
		from = from[n:]
	}
	return into
}

// intervals returns the slices, of a length chosen from the run time if any
// will do. place holds the places of files by their ids.
func (s *sliced) intervals(runTime int64, choose bool, place []int) Intervals {
	if len(s.slices) == 0 {
		return Intervals{}
	}
	width, from := s.width, s.slices
	if choose {
		width = max(pleasant(runTime/defaultIntervals+1), s.width)
		from = merged(from, int(width/s.width), nil)
	}
	out := Intervals{Nanos: width, List: make([]Span, len(from))}
	var sum [NumCategories]bin
	var spent [NumCategories]int64
	for i := range from {
		at, v := &from[i], &out.List[i]
		v.Start, v.MoreFiles = int64(i)*width, at.more
		copy(v.Categories[:], at.totals[:])
		until := min(v.Start+width, runTime)
		for k := range v.Categories {
			sum[k].calls += at.changes[k].calls
			sum[k].moment += at.changes[k].moment
			now := sum[k].calls*until + sum[k].moment
			v.Categories[k].Nanos, spent[k] = now-spent[k], now
		}
		for _, id := range at.files[:at.nfiles] {
			v.Files = append(v.Files, place[id])
		}
		slices.Sort(v.Files)
	}
	// A call can end with the run, and an interval begin there.
	if last := &out.List[len(out.List)-1]; len(out.List) > 1 && last.Start == runTime && last.IO().Calls == 0 {
		out.List = out.List[:len(out.List)-1]
	}
	return out
}

// pleasant returns the least of 1, 2 and 5 times a power of ten that is not
// less than n.
func pleasant(n int64) int64 {
	for p := int64(1); ; p *= 10 {
		for _, m := range [...]int64{1, 2, 5} {
			if m*p >= n {
				return m * p
			}
		}
	}
}
