package profile

import (
	"cmp"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

// Calls are single calls, and requests, by when they began: all that took at least
// so long, and began in a part of the run.
type Calls struct {
	Least    int64 // nanoseconds; 0 for all
	From, To int64 // nanoseconds since the start of the recording
	List     []Call
}

// Call is a single call of a thread, or a request that it submitted.
type Call struct {
	TID      int32 // -1 for a thread that is not told apart
	Op       format.Op
	Activity Activity
	Request  bool
	File     int // place in Profile.Files, or PartOthers or PartNone
	Waker    int32
	Start    int64
	Nanos    int64 // -1 if the source does not hold it
	Gap      int64 // nanoseconds since the thread's last call, or its creation
	Off      format.Off
	Offset   int64 // -1 if there is none, or it is not known
	Ret      int64
}

// MaxCalls is how many calls there are at most.
const MaxCalls = 1 << 17

// single is a Call as it is gathered.
type single struct {
	Call
	file *file
}

// singles gather calls. Where there are twice as many as may stay, the longest of
// them stay, and what comes is compared with the shortest of these.
type singles struct {
	least int64
	list  []single
	nanos []int64 // for thin
}

// add adds a call of a thread, on a file or none, with what it moved.
func (s *singles) add(t *thread, c *call, e *format.Event, f *file, m *process.Moved) {
	nanos := c.end - c.start
	if nanos < s.least {
		return
	}
	if s.list == nil {
		s.list = make([]single, 0, 2*MaxCalls)
	}
	one := single{file: f, Call: Call{TID: t.row.TID, Op: e.Op, Activity: Activity(c.category), Request: e.Via != format.ViaCall, Start: c.start, Nanos: nanos, Offset: e.Offset(), Ret: e.Ret}}
	if e.Dur < 0 {
		one.Nanos = -1
	}
	if m != nil {
		one.Offset = m.From
	}
	if !one.Request {
		one.Activity = c.activity(e)
		if one.Gap = max(c.start-t.last, 0); one.Gap > 0 {
			one.Off = e.Off.Within(one.Gap)
		}
		if e.Notes.Known(format.NotedWaker) {
			one.Waker = e.Notes.Waker
		}
	}
	if s.list = append(s.list, one); len(s.list) == cap(s.list) {
		s.thin()
	}
}

// thin leaves the longest calls, at most MaxCalls.
func (s *singles) thin() {
	s.nanos = s.nanos[:0]
	for i := range s.list {
		s.nanos = append(s.nanos, s.list[i].Nanos)
	}
	s.least = leastOf(s.nanos, MaxCalls)
	s.list = slices.DeleteFunc(s.list, func(c single) bool { return c.Nanos < s.least })
}

// leastOf returns the least duration of which at most n are as long or longer, out of more
// than n. It sorts them.
func leastOf(nanos []int64, n int) int64 {
	slices.Sort(nanos)
	least := nanos[len(nanos)-n]
	if nanos[len(nanos)-n-1] == least { // others are as long
		least++
	}
	return least
}

// snapshot returns the calls. place holds the places of files by their ids.
func (s *singles) snapshot(place []int) *Calls {
	if len(s.list) > MaxCalls {
		s.thin()
	}
	out := &Calls{Least: s.least, List: make([]Call, len(s.list))}
	for i := range s.list {
		one := s.list[i].Call
		if one.File = PartNone; s.list[i].file != nil {
			one.File = place[s.list[i].file.id]
		}
		out.List[i] = one
	}
	slices.SortStableFunc(out.List, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	return out
}
