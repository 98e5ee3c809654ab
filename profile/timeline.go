package profile

import (
	"cmp"
	"slices"
)

// Timeline says what threads did over time, in columns of one length, and where
// the critical path went.
type Timeline struct {
	ColumnNanos int64     // length of a column; the first starts with the recording
	All         []Doing   // what all threads together did, for each column up to the last
	Lanes       []Lane    // of the threads on the critical path and the busiest ones, by their creation
	Others      int       // how many threads have none
	Segments    []Segment // of the critical path; nil if that is not known
}

// Lane is what one thread did.
type Lane struct {
	TID, Process int32
	Command      string // the program that its process ran last, empty if the recording doesn't say
	First        int    // column of the first cell
	Cells        []Cell // one for each column up to the last in which the thread had an event

	// Short is the time in calls of libraries that are too short for SpanCalls, for each column
	// from First up to the last that has any; nil for none.
	Short []SpanTimes
}

// Cell is what a thread did in a column.
type Cell struct {
	Doing
	Longest Step // the longest call there was, as long as it took; zero for none
}

// Segment is a part of the critical path that is on one thread. Where there would
// be more than about 2000, the shortest are left out, and others reach over them.
type Segment struct {
	TID      int32
	From, To int64  // nanoseconds since the start of the recording
	Name     string // as of a Step: of what took the longest at a time
	File     string
}

// maxLanes bounds the lanes of a Timeline. Beyond leastLanes there are only those
// that more than one in minBusy of the run time can be seen in.
const (
	maxLanes   = 32
	leastLanes = 8
	minBusy    = 500
)

// timeline returns the lanes of threads that matter most, and the path
// on them by steps.
func (ts *threads) timeline(path []walk, steps []Step, runTime int64) Timeline {
	ls := &ts.lanes
	t := Timeline{ColumnNanos: 1 << ls.shift}
	on := make(map[*lane]int64) // time of the path
	for _, w := range path {
		on[w.on.lane] += w.to - w.from
	}
	busy := make(map[*lane]int64)
	var order []int // places in rows and lanes
	for i, n := range ls.all {
		if n.row.empty() {
			continue
		}
		ls.leave(n)
		for k := range n.cells {
			for int(n.first)+k >= len(t.All) {
				t.All = append(t.All, Doing{})
			}
			t.All[int(n.first)+k].add(&n.cells[k].Doing)
		}
		order = append(order, i)
		busy[n] = n.row.Times.Sum() - n.row.Times.Waiting() - n.row.Times.Timer
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := ls.all[a], ls.all[b]
		return cmp.Or(cmp.Compare(on[y], on[x]), cmp.Compare(busy[y], busy[x]))
	})
	shown := order[:min(maxLanes, len(order))]
	for i := len(shown) - 1; i >= leastLanes && on[ls.all[shown[i]]]+busy[ls.all[shown[i]]] < runTime/minBusy; i-- {
		shown = shown[:i]
	}
	t.Others = len(order) - len(shown)
	slices.Sort(shown) // as they were created
	for _, i := range shown {
		t.Lanes = append(t.Lanes, ls.all[i].lane(ts.owners[i].Command))
	}
	for _, w := range path {
		s := Segment{TID: othersTID, From: w.from, To: w.to, Name: steps[w.step].Name, File: steps[w.step].File}
		if n := w.on.lane; n != nil && n.row != nil {
			s.TID = n.row.TID
		}
		t.Segments = append(t.Segments, s)
	}
	return t
}

func (n *lane) lane(command string) Lane {
	out := Lane{TID: n.row.TID, Process: n.row.Process, Command: command, First: int(n.first), Cells: make([]Cell, len(n.cells)), Short: slices.Clone(n.short)}
	for i := range n.cells {
		at := &n.cells[i]
		out.Cells[i] = Cell{at.Doing, at.longest.step()}
	}
	return out
}
