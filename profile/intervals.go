package profile

import (
	"slices"

	"pianola/format"
	"pianola/internal/stats"
)

// Intervals cut the run time into pieces of one length.
type Intervals struct {
	Nanos int64 // length of each; the last may be cut short by the end of the run
	List  []Span
	Tails bool // Collector.Tails was set: intervals have Latency, Ops and Sizes
}

// Span is what happened in an interval. Calls, errors and bytes
// count where a call began. Time counts where it passed, so that a long call is
// part of many intervals.
type Span struct {
	Start      int64                   // nanoseconds since the start of the recording
	Categories                         // of communication the time only
	Latency    [NumIO]*stats.Quantiles // of the calls that began in it; nil for none, and where Collector.Tails is not set
	Ops        OpTotals                // of the calls that began in it, the most first, with all of their time; nil where Collector.Tails is not set
	Sizes      *[2]Powers              // of the reads and writes that began in it; nil for none, and where Collector.Tails is not set
	Files      []int                   // places in Profile.Files of those that calls began on, -1 for the others; up to 32
	MoreFiles  bool                    // and there were more
	Commits    int64                   // of threads to logs, in a trace
	Groups     int64                   // of commits that began, each with a sync
	Replies    int64                   // to clients that were not recorded
}

// merged returns at most so many intervals: neighbours are added together, without their
// files, operations, sizes and latencies.
func (v *Intervals) merged(most int) *Intervals {
	each := max((len(v.List)+most-1)/most, 1)
	out := &Intervals{Nanos: v.Nanos * int64(each)}
	for i := range v.List {
		if i%each == 0 {
			out.List = append(out.List, Span{Start: v.List[i].Start})
		}
		into := &out.List[len(out.List)-1]
		for k := range into.Categories {
			into.Categories[k].add(&v.List[i].Categories[k])
		}
		into.Commits += v.List[i].Commits
		into.Groups += v.List[i].Groups
		into.Replies += v.List[i].Replies
	}
	return out
}

const (
	// maxSlices bounds the number of slices, 12 MiB of them, and chosenSlices
	// where their length is not given: so many do for intervals of any length
	// that can be chosen.
	maxSlices    = 1 << 15
	chosenSlices = 1 << 12

	// tailSlices is the number of slices where they have latencies, 5 KiB for each
	// category, operations, 56 bytes for each, and sizes, 320 bytes.
	tailSlices = 1 << 12

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
	tails   bool  // slices have latencies, operations and sizes
	slices  []slice

	// The slice of the time that was asked for last, and where it starts: the next one is
	// mostly the same, and a division costs more than the comparison.
	last, start int64
}

// slice is an interval as it is gathered.
type slice struct {
	totals  [NumIO]Total // without the time
	tails   [NumIO]*stats.Histogram
	ops     OpTotals
	sizes   *[2]Powers
	changes [numChanges]bin // of the time, see timeline
	files   [sliceFiles]int32
	nfiles  uint8
	more    bool
	commits [2]int64 // Span.Commits and Groups
	replies int64
}

// inFlight is the first place in slice.changes of requests, after those of the
// categories.
const (
	inFlight   = NumCategories
	numChanges = NumCategories + NumIO
)

// newSliced returns slices of a length, 0 for a choice, with latencies, operations and sizes
// or not.
func newSliced(nanos int64, tails bool) sliced {
	s := sliced{width: nanos, most: maxSlices, tails: tails}
	if nanos == 0 {
		s.width, s.most = 1, chosenSlices
	}
	if tails {
		s.most = min(s.most, tailSlices)
	}
	return s
}

// count adds a call on a file, which can be nil. nanos is how long it took, below 0
// if that is not known. The time that passed is for spend.
func (s *sliced) count(c *call, op format.Op, f *file, nanos int64) {
	s.reach(c.end)
	place := s.place(c.start)
	at := &s.slices[place]
	if s.tails {
		at.ops.add(op, &c.total)
		if c.category <= Writes {
			if at.sizes == nil {
				at.sizes = new([2]Powers)
			}
			at.sizes[c.category].count(c.total.Bytes)
		}
	}
	if k := c.category; k < NumIO {
		one := c.total
		one.Nanos, one.Flight = 0, 0
		at.totals[k].add(&one)
		if s.tails && nanos >= 0 {
			if at.tails[k] == nil {
				at.tails[k] = &stats.Histogram{Digits: 1}
			}
			at.tails[k].Add(nanos)
		}
	}
	if f == nil {
		return
	}
	// Most calls are on a file that was touched just now.
	if now := place<<8 + s.widened + 1; f.touched != now {
		f.touched = now
		at.touch(f.id)
	}
}

// commit counts the commits before an event of a trace.
func (s *sliced) commit(e *format.Event, at int64) {
	for i := range e.Edges {
		k := e.Edges[i].Kind
		if !k.Commits() {
			continue
		}
		s.reach(at)
		commits := &s.slices[s.place(at)].commits
		if commits[0]++; k == format.EdgeLead {
			commits[1]++
		}
	}
}

// reply counts the reply to a client.
func (s *sliced) reply(at int64) {
	s.reach(at)
	s.slices[s.place(at)].replies++
}

// replied returns when there were so many replies, in nanoseconds. Those of a slice count as
// evenly spread.
func (s *sliced) replied(n int64) float64 {
	for i := range s.slices {
		at := &s.slices[i]
		if at.replies >= n && n > 0 {
			return (float64(i) + float64(n)/float64(at.replies)) * float64(s.width)
		}
		n -= at.replies
	}
	return 0
}

// reach makes slices up to a time.
func (s *sliced) reach(end int64) {
	at := s.place(end)
	for ; at >= s.most; at = s.place(end) {
		s.widen()
	}
	for int64(len(s.slices)) <= at {
		s.slices = append(s.slices, slice{})
	}
}

// place returns the place of the slice that a time is in.
func (s *sliced) place(at int64) int64 {
	if at < s.start || at-s.start >= s.width {
		s.last = at / s.width
		s.start = s.last * s.width
	}
	return s.last
}

// spend adds time from start to end to a category, or to that of its requests, from
// inFlight on.
func (s *sliced) spend(k Category, start, end int64) {
	if end <= start {
		return
	}
	b := &s.slices[s.place(start)].changes[k]
	b.calls++
	b.moment -= start
	b = &s.slices[s.place(end)].changes[k]
	b.calls--
	b.moment += end
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
	for k, more := range o.tails {
		if mine := s.tails[k]; mine != nil && more != nil { // both can be part of other slices
			sum := &stats.Histogram{Digits: 1}
			sum.Merge(mine)
			sum.Merge(more)
			s.tails[k] = sum
		} else if more != nil {
			s.tails[k] = more
		}
	}
	s.ops = slices.Clone(s.ops) // it can be part of another slice
	for i := range o.ops {
		s.ops.add(o.ops[i].Op, &o.ops[i].Total)
	}
	s.sizes = sumOfSizes(s.sizes, o.sizes)
	for k := range s.changes {
		s.changes[k].add(&o.changes[k])
	}
	for _, id := range o.files[:o.nfiles] {
		s.touch(id)
	}
	s.more = s.more || o.more
	s.commits[0] += o.commits[0]
	s.commits[1] += o.commits[1]
	s.replies += o.replies
}

// widen adds ten slices together.
func (s *sliced) widen() {
	const times = 10
	s.width *= times
	s.widened++
	s.last, s.start = 0, 0
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
		width = max(roundUp125(runTime/defaultIntervals+1), s.width)
		from = merged(from, int(width/s.width), nil)
	}
	out := Intervals{Nanos: width, List: make([]Span, len(from)), Tails: s.tails}
	var sum [numChanges]bin
	var spent [numChanges]int64
	for i := range from {
		at, v := &from[i], &out.List[i]
		v.Start, v.MoreFiles, v.Commits, v.Groups, v.Replies = int64(i)*width, at.more, at.commits[0], at.commits[1], at.replies
		v.Ops, v.Sizes = slices.Clone(at.ops), sumOfSizes(at.sizes, nil)
		v.Ops.sort()
		copy(v.Categories[:], at.totals[:])
		until := min(v.Start+width, runTime)
		for k := range sum {
			sum[k].add(&at.changes[k])
			now := sum[k].calls*until + sum[k].moment
			passed := now - spent[k]
			spent[k] = now
			if k := Category(k); k >= inFlight {
				v.Categories[k-inFlight].Flight = passed
			} else {
				v.Categories[k].Nanos = passed
			}
		}
		for k, tail := range at.tails {
			if tail != nil {
				v.Latency[k] = new(tail.Quantiles())
			}
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

// roundUp125 returns the least of 1, 2 and 5 times a power of ten that is not
// less than n.
func roundUp125(n int64) int64 {
	for p := int64(1); ; p *= 10 {
		for _, m := range [...]int64{1, 2, 5} {
			if m*p >= n {
				return m * p
			}
		}
	}
}
