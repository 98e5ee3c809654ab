package profile

import "slices"

// leg is the part of a critical path that is on one thread: from a time until
// the leg after it begins. Paths share their beginnings, so a leg is not changed
// once it has another after it.
type leg struct {
	on     *walker
	from   int64 // nanoseconds since the start of the recording
	before *leg
	prior  most // of what the path did in the leg before

	round int  // of the last shortening, and
	short *leg // what it became then
}

// most is the step that took the longest at a time.
type most struct {
	step  int32
	nanos int64
}

func (m *most) raise(step int32, nanos int64) {
	if nanos > m.nanos {
		*m = most{step, nanos}
	}
}

// walker is a thread that paths can be on. Its lane is nil before its first event.
type walker struct{ lane *lane }

const (
	// maxLegs is how many legs all paths have together, 4 MiB of them, before the
	// shortest are left out.
	maxLegs = 1 << 16

	// maxSegments is how many segments a Timeline has, with one more for the
	// beginning.
	maxSegments = 1 << 11
)

// legs makes the legs of paths, and keeps their number bounded: of those that
// begin in one slot of time only the last one stays, and lasts from where the
// ones before it are cut. Slots become longer as more legs are made.
type legs struct {
	made  int // since the last shortening, and left by that
	slot  int64
	round int
}

// add returns a leg of a path that goes on on another thread.
func (ls *legs) add(on *walker, from int64, before *leg) *leg {
	ls.made++
	return &leg{on: on, from: from, before: before}
}

// shorten lets slots become longer until there is room for as many legs again.
func (ls *legs) shorten(paths []*path) {
	for ls.made > maxLegs/2 {
		ls.slot, ls.made = max(2*ls.slot, 1<<10), 0
		ls.round++
		for _, p := range paths {
			p.leg = ls.shortened(p.leg, ls.slot)
		}
	}
}

// shortened returns the path that ends with a leg, with slots of a length. Legs
// that paths share are shortened once in each round.
func (ls *legs) shortened(last *leg, slot int64) *leg {
	var todo []*leg
	for ; last != nil && last.round != ls.round; last = last.before {
		todo = append(todo, last)
	}
	var before *leg
	if last != nil {
		before = last.short
	}
	for i := len(todo) - 1; i >= 0; i-- {
		l := todo[i]
		prior := l.prior
		// The first leg is where the path begins.
		if before != nil && before.before != nil && before.from/slot == l.from/slot {
			before, prior = before.before, before.prior
		}
		if before == nil || before.on != l.on {
			before = ls.add(l.on, l.from, before)
			before.prior, before.round, before.short = prior, ls.round, before
		}
		l.round, l.short = ls.round, before
	}
	return before
}

// walk is a part of a path, on one thread.
type walk struct {
	on       *walker
	from, to int64
	step     int32 // that took the most of it
}

// walks returns the path that ends with a leg at a time. most is of that leg.
func (ls *legs) walks(last *leg, end int64, most most) (list []walk) {
	legs := 0
	for l := last; l != nil; l = l.before {
		legs++
	}
	if legs > maxSegments {
		ls.round++
		last = ls.shortened(last, end/maxSegments+1)
	}
	for l := last; l != nil; l = l.before {
		if l.from < end {
			list = append(list, walk{l.on, l.from, end, most.step})
			end = l.from
		}
		most = l.prior
	}
	slices.Reverse(list)
	return list
}
