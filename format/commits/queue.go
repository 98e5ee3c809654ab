package commits

import (
	"slices"

	"pianola/format"
)

// Queue is the commits to a log that wait, and forms groups of them. It knows no clock: its
// caller says when things happen, in nanoseconds. A Queue is for one goroutine at a time.
type Queue struct {
	*Log
	waiting []Member // in the order in which they are wanted
	taken   []Member // those of the group that is being written
	done    int64    // commits that are durable
	hint    int      // for Log.extent
	due     int64    // when the last sync ended
}

// Member is a commit that waits.
type Member struct {
	Thread int32
	Wanted int64
	Before int64 // when the sync ended of the thread's commit before, if another thread led it
}

// Write is what the leader of a group does.
type Write struct {
	Offset int64
	Size   int64  // 0 if there is nothing to write
	Of     *Group // the recorded group at this place of the log
}

// NewQueue returns the queue of a log to which so many threads commit at a time, at most.
func NewQueue(l *Log, threads int) Queue {
	return Queue{Log: l, waiting: make([]Member, 0, threads), taken: make([]Member, 0, threads)}
}

// Add adds a commit.
func (q *Queue) Add(m Member) {
	i := len(q.waiting)
	for ; i > 0 && q.waiting[i-1].Wanted > m.Wanted; i-- {
	}
	q.waiting = slices.Insert(q.waiting, i, m)
}

// TurnAfter returns how long a leader that waited for the end of a group takes to begin, at the pace of
// the recording. The threads that the group before let go on have the processors for some time. If the calls
// of the group took much longer than in the recording, in nanoseconds, these have come to rest by its end.
func (l *Log) TurnAfter(took int64) int64 {
	return l.Turn + int64(float64(l.Busy)*min(max(2-float64(took)/float64(max(l.Took, 1)), 0), 1))
}

// Next returns the thread that leads next, and when it begins. A thread that waited for the end
// of a sync takes some time to go on, which is Log.TurnAfter at the pace of a replay. ok is false if
// no commit waits.
func (q *Queue) Next(turn int64) (thread int32, at int64, ok bool) {
	if len(q.waiting) == 0 {
		return 0, 0, false
	}
	first := &q.waiting[0]
	if q.Waited() {
		return first.Thread, q.due + turn, true
	}
	return first.Thread, first.Wanted, true
}

// Waited reports whether the next leader waited for the end of the last sync. Some commit must wait.
func (q *Queue) Waited() bool { return q.waiting[0].Wanted < q.due }

// Take begins a group, of all commits that are wanted until a time, and of the first one. If
// that one waited for the end of a sync, those whose threads the same sync let go on are too
// late: its leader was woken before them. The members are valid until the next call.
func (q *Queue) Take(until int64) ([]Member, Write) {
	waited := q.Waited()
	n, left := 0, 0
	q.taken = q.taken[:0]
	for ; n < len(q.waiting) && (n == 0 || q.waiting[n].Wanted <= until); n++ {
		if m := q.waiting[n]; n > 0 && waited && m.Before == q.due {
			q.waiting[left] = m
			left++
		} else {
			q.taken = append(q.taken, m)
		}
	}
	q.waiting = slices.Delete(q.waiting, left, n)
	n = len(q.taken)
	var w Write
	w.Offset, w.Size = q.extent(q.done, int64(n), &q.hint)
	w.Of = q.Groups[q.hint]
	return q.taken, w
}

// Synced ends the group: its sync ended at a time, so its commits are durable.
func (q *Queue) Synced(at int64) {
	q.due = at
	q.done += int64(len(q.taken))
}

// Durable returns how many commits are.
func (q *Queue) Durable() int64 { return q.done }

// Needed reports whether the group makes the write, as the calls of another group would: it
// makes at least one call.
func (w *Write) Needed(like *Group) bool { return w.Size > 0 || !like.Syncs() }

// Make returns the write of a group, as the calls of another group would make it.
func (w *Write) Make(like *Group) format.Record {
	r := like.Write
	r.Ret, r.Args[2] = w.Size, w.Size
	if r.Op == format.OpPwrite64 {
		r.Args[3] = w.Offset
	}
	return r
}

// Waits reports whether a commit of a thread waits.
func (q *Queue) Waits(thread int32) bool {
	return slices.ContainsFunc(q.waiting, func(m Member) bool { return m.Thread == thread })
}
