package profile

import (
	"math"
	"strings"

	"pianola/format"
)

// Activity is what a thread does at a moment. The first are the categories of
// calls.
type Activity uint8

// The activities that are no category.
const (
	DoingOther   Activity = Activity(NumCategories) + iota // in other calls
	DoingCompute                                           // between calls
	DoingReady                                             // it could run, but had no processor
	DoingWaiting                                           // for others
	DoingTimer                                             // until a time had come
	DoingStorage                                           // for storage, outside of calls
	NumActivities
)

var activityNames = [NumActivities - DoingOther]string{"other calls", "compute", "ready", "waiting", "timer", "storage"}

func (a Activity) String() string {
	if a < DoingOther {
		return Category(a).String()
	}
	return activityNames[a-DoingOther]
}

// Key is the name as a key of documents and columns.
func (a Activity) Key() string { return strings.ReplaceAll(a.String(), " ", "_") }

const (
	// maxColumns is how many columns a lane has at most, and at least half of
	// them where there are no more cells than maxCells, 15 MiB of them.
	maxColumns = 1 << 10
	maxCells   = 1 << 17
)

// lanes gather what threads did over time, in columns of one length. Where a
// thread goes on beyond the last column, or where there are too many cells,
// neighbours are added together.
//
// A thread's totals are kept anyway. So an event costs a comparison, and only
// the one that leaves a column puts into that what the thread has done since it
// entered it.
type lanes struct {
	shift   uint // a column is 1<<shift nanoseconds
	all     []*lane
	cells   int
	nowhere lane // of threads that are not told apart
}

// lane is what one thread did over time.
type lane struct {
	row   *Thread
	first int64 // column of the first cell
	cells []cell
	short []SpanTimes // of calls of libraries that are too short for SpanCalls; also from first on

	until   int64 // end of the column that it is in, 0 before its first event
	spent   Doing // what it had when it entered the column
	longest longest
}

// Doing is the time of threads by activity, in nanoseconds.
type Doing [NumActivities]int64

func (d *Doing) add(o *Doing) {
	for k, nanos := range o {
		d[k] += nanos
	}
}

func (d *Doing) subtract(o *Doing) {
	for k, nanos := range o {
		d[k] -= nanos
	}
}

// cell is what a thread did in a column.
type cell struct {
	Doing
	longest longest
}

// longest is the longest of some calls.
type longest struct {
	nanos int64
	file  *file // that it was about, nil for none
	op    format.Op
	wait  Wait
}

func newLanes() lanes {
	return lanes{shift: 14, nowhere: lane{until: math.MaxInt64, longest: longest{nanos: math.MaxInt64}}}
}

// add returns the lane of a new thread.
func (ls *lanes) add(row *Thread, created int64) *lane {
	n := &lane{row: row, first: max(created, 0) >> ls.shift}
	ls.all = append(ls.all, n)
	return n
}

// cross adds an event that ends beyond the column that its thread is in. It comes
// before the event is added to the thread's totals.
func (ls *lanes) cross(t *thread, c *call, e *format.Event, f *file) {
	for c.end>>ls.shift >= maxColumns {
		ls.widen()
	}
	n := t.lane
	ls.leave(n)
	if gap := c.start - t.last; gap > 0 {
		if e.Off.IsZero() {
			ls.put(n, DoingCompute, gap, t.last, c.start)
		} else {
			var between Times
			between.between(gap, e.Off)
			for k, nanos := range between.spent() {
				ls.put(n, Activity(k), nanos, t.last, c.start)
			}
		}
	}
	ls.put(n, c.activity(e), c.total.Nanos, c.start, c.end)
	for column := c.start >> ls.shift; column <= c.end>>ls.shift; column++ {
		ls.cell(n, column).longest.raise(c.total.Nanos, f, e)
	}
	n.until = (c.end>>ls.shift + 1) << ls.shift
	for ls.cells > maxCells {
		ls.widen()
	}
}

// leave puts into the column that a thread is in what it has done there.
func (ls *lanes) leave(n *lane) {
	if n.until == 0 {
		return
	}
	at, now := ls.cell(n, (n.until-1)>>ls.shift), n.row.spent()
	did := now
	did.subtract(&n.spent)
	at.Doing.add(&did)
	at.longest.merge(&n.longest)
	n.spent, n.longest = now, longest{}
}

// put adds what a thread did between two times to the cells there, in proportion.
func (ls *lanes) put(n *lane, what Activity, nanos, from, to int64) {
	if nanos == 0 {
		return
	}
	column, last := from>>ls.shift, (to-1)>>ls.shift
	if column >= last {
		ls.cell(n, column).Doing[what] += nanos
		return
	}
	for ; column <= last; column++ {
		part := min(to, (column+1)<<ls.shift) - max(from, column<<ls.shift)
		ls.cell(n, column).Doing[what] += int64(float64(nanos) * (float64(part) / float64(to-from)))
	}
}

// cell returns the cell of a thread in a column. A column before its creation counts as
// its first.
func (ls *lanes) cell(n *lane, column int64) *cell {
	at := max(column-n.first, 0)
	for int64(len(n.cells)) <= at {
		n.cells = append(n.cells, cell{})
		ls.cells++
	}
	return &n.cells[at]
}

// short adds a call of a library to the sums of the short ones of a thread.
func (ls *lanes) short(n *lane, kind int, nanos, from, to int64) {
	for to>>ls.shift >= maxColumns || ls.cells > maxCells {
		ls.widen()
	}
	for column := from >> ls.shift; column <= to>>ls.shift; column++ {
		at := max(column-n.first, 0)
		for int64(len(n.short)) <= at {
			n.short = append(n.short, SpanTimes{})
			ls.cells++
		}
		part := min(to, (column+1)<<ls.shift) - max(from, column<<ls.shift)
		n.short[at][kind] += int64(float64(nanos) * float64(part) / float64(max(to-from, 1)))
	}
}

// widen adds each column to its neighbour.
func (ls *lanes) widen() {
	ls.shift++
	ls.cells = 0
	for _, n := range ls.all {
		odd := n.first & 1
		n.first /= 2
		n.cells = paired(n.cells, odd, func(into, from *cell) {
			into.Doing.add(&from.Doing)
			into.longest.merge(&from.longest)
		})
		n.short = paired(n.short, odd, (*SpanTimes).add)
		ls.cells += len(n.cells) + len(n.short)
		if n.until > 0 {
			n.until = ((n.until-1)>>ls.shift + 1) << ls.shift
		}
	}
}

// paired adds each column to its neighbour, in the memory of the list. odd is 1 if the first
// one is the second of a pair.
func paired[T any](list []T, odd int64, add func(into, from *T)) []T {
	out := list[:0]
	for i := range list {
		if (int64(i)+odd)&1 == 0 || i == 0 {
			out = append(out, list[i])
		} else {
			add(&out[len(out)-1], &list[i])
		}
	}
	return out
}

// raise takes a call if it is longer.
func (l *longest) raise(nanos int64, f *file, e *format.Event) {
	if nanos > l.nanos {
		*l = longest{nanos, f, e.Op, waitOf(e)}
	}
}

func (l *longest) merge(o *longest) {
	if o.nanos > l.nanos {
		*l = *o
	}
}

// step returns the call.
func (l *longest) step() Step {
	if l.nanos == 0 {
		return Step{}
	}
	s := Step{Name: l.op.String(), Nanos: l.nanos}
	if l.file != nil {
		s.File = l.file.name
	}
	if l.op.Info().Kind == format.WaitKind {
		s.Name += " (" + waitNames[l.wait] + ")"
	}
	return s
}

// activity returns what the thread does in a call.
func (c *call) activity(e *format.Event) Activity {
	switch {
	case c.category != noCategory:
		return Activity(c.category)
	case e.TimedOut():
		return DoingTimer
	case waitOf(e) < numWaits:
		return DoingWaiting
	}
	return DoingOther
}

// spent returns the time of a thread by activity.
func (t *Thread) spent() Doing {
	s := t.Times.spent()
	for k := range t.Categories {
		s[k] = t.Categories[k].Nanos
	}
	return s
}

// spent returns the time without that in the categories.
func (t *Times) spent() (s Doing) {
	s[DoingOther], s[DoingCompute], s[DoingReady] = t.Other, t.Compute, t.Ready
	s[DoingWaiting], s[DoingTimer], s[DoingStorage] = t.Waiting(), t.Timer, t.Storage
	return s
}
