package profile

import (
	"pianola/format"
	"pianola/format/process"
)

// Times divides the time of a thread, from its creation to the end of its last call, by
// what the thread did, in nanoseconds. Those of several threads are added up. If
// calls of one thread overlap, as in some imports, each counts in full.
type Times struct {
	IO            int64 // in calls on files
	Communication int64 // in calls on pipes, sockets and their like
	Submit        int64 // in calls that submit requests and wait for them
	Compute       int64 // between calls, less what the recording says was off the processor
	Ready         int64 // between calls: it could run, but something else had the processor
	Own           int64 // the part of Ready in which other recorded threads had it
	Waits         Waits // for others
	Timer         int64 // between calls, until a time had come
	Storage       int64 // between calls, for storage
	Other         int64 // in other calls: processes, memory, files that the kernel makes up
}

// Wait is what a thread waits for, as far as the recording tells.
type Wait uint8

// The kinds of waits.
const (
	WaitProcess Wait = iota // the end of a process
	WaitPipe                // another thread at a pipe of a compiled trace
	WaitFutex               // another thread at a lock, a condition and the like
	WaitPoll                // another thread, in poll(2) and its like
	WaitSocket              // another thread at a socket, in a call that is not recorded
	WaitSignal              // a signal of another thread
	WaitRest                // another thread, or what is not recorded
	numWaits
)

var waitNames = [numWaits]string{"process", "pipe", "futex", "poll", "socket", "signal", "rest"}

// Waits is the time of waiting by kind, in nanoseconds.
type Waits [numWaits]int64

// blocked are the kinds of waits by those of format.WaitKinds.
var blocked = [...]Wait{format.WaitOther: WaitRest, format.WaitFutex: WaitFutex, format.WaitPoll: WaitPoll, format.WaitSocket: WaitSocket, format.WaitSignal: WaitSignal}

// waitOf returns what the thread waited for in a call, numWaits for nothing.
func waitOf(e *format.Event) Wait {
	switch acts := e.Acts(); {
	case acts.Any(format.Awaits):
		return WaitProcess
	case acts.Any(format.Blocks) && e.Kind() == format.MadeKind:
		return WaitPipe
	case acts.Any(format.Blocks):
		if k := e.Args[0]; k >= 0 && k < int64(len(blocked)) {
			return blocked[k]
		}
		return WaitRest
	}
	return numWaits
}

// Waiting returns the time of waiting for others.
func (t *Times) Waiting() (sum int64) {
	for _, nanos := range t.Waits {
		sum += nanos
	}
	return sum
}

// Sum returns the time of the thread, or of all threads together.
func (t *Times) Sum() int64 {
	return t.IO + t.Communication + t.Submit + t.Compute + t.Ready + t.Waiting() + t.Timer + t.Storage + t.Other
}

func (t *Times) add(o *Times) {
	t.IO += o.IO
	t.Communication += o.Communication
	t.Submit += o.Submit
	t.Compute += o.Compute
	t.Ready += o.Ready
	t.Own += o.Own
	for k := range t.Waits {
		t.Waits[k] += o.Waits[k]
	}
	t.Timer += o.Timer
	t.Storage += o.Storage
	t.Other += o.Other
}

// between adds the time between two calls. The time off the processor is at most all of
// it.
func (t *Times) between(gap int64, off format.Off) {
	o := off.Within(gap)
	t.Ready += o.Ready + o.Own
	t.Own += o.Own
	t.Waits[WaitRest] += o.Wait + o.Other
	t.Timer += o.Timer
	t.Storage += o.Storage
	t.Compute += gap - o.Total()
}

// Thread is what one thread did.
type Thread struct {
	TID     int32 // the kernel's; of a trace the thread's number
	Process int32 // the id, or the number, of its process
	Usage
	Times Times
}

// Process is what the threads of one process did.
type Process struct {
	ID      int32
	Rank    int32  // in a parallel program, -1 for none
	Command string // the program that it ran last, empty if the recording doesn't say
	Threads int
	Usage
	Times Times
}

// maxThreads bounds the threads that are counted separately.
const maxThreads = 1 << 14

// othersTID is the id of the thread that stands for all threads beyond maxThreads.
const othersTID = -1

// thread is what is counted of a thread.
type thread struct {
	row    *Thread // what it did; those that are not told apart share one
	last   int64   // end of its last call, or its creation
	io     int64   // end of its last call that is I/O
	active bool    // it has made a call
	path   *path   // see critical
	lane   *lane
	weight int64 // time in its calls, nanoseconds, and their number: see partition
	spans  *threadSpans

	serving *serving // nil for one that has taken no request
}

// threads counts threads and processes.
type threads struct {
	rows   []*Thread
	owners []*process.Process // of rows
	active int                // threads that have made a call
	lanes  lanes              // of rows
	most   int                // rows
	others Thread             // stands for those beyond them
	stray  thread             // stands for those that are not followed
}

func newThreads(most int) threads {
	return threads{lanes: newLanes(), most: most, others: Thread{TID: othersTID}}
}

// added gives a row to a new thread.
func (ts *threads) added(t, _ *process.Thread) {
	counted := &thread{row: &ts.others, lane: &ts.lanes.nowhere, last: t.Created}
	t.Data = counted
	if len(ts.rows) >= ts.most {
		return
	}
	owner, ok := t.Process.Data.(*Process)
	if !ok {
		owner = &Process{ID: t.Process.ID, Rank: t.Process.Rank}
		t.Process.Data = owner
	}
	owner.Threads++
	counted.row = &Thread{TID: t.TID, Process: owner.ID}
	counted.lane = ts.lanes.add(counted.row, t.Created)
	ts.rows, ts.owners = append(ts.rows, counted.row), append(ts.owners, t.Process)
}

// of returns what is counted of a thread.
func (ts *threads) of(t *process.Thread) *thread {
	if counted, ok := t.Data.(*thread); ok {
		return counted
	}
	ts.stray = thread{row: &ts.others, lane: &ts.lanes.nowhere, last: t.Created}
	return &ts.stray
}

// count adds a call, on a file or none, to what a thread did, and attributes the time
// since its last call.
func (ts *threads) count(t *thread, c *call, e *format.Event, f *file) {
	crosses := c.end >= t.lane.until
	if crosses {
		ts.lanes.cross(t, c, e, f)
	}
	if !t.active {
		t.active = true
		ts.active++
	}
	times := &t.row.Times
	if gap := c.start - t.last; gap > 0 {
		if e.Off.IsZero() {
			times.Compute += gap
		} else {
			times.between(gap, e.Off)
		}
	}
	t.last = max(t.last, c.end)
	switch {
	case c.category < NumIO:
		times.IO += c.total.Nanos
	case c.category == Communication:
		times.Communication += c.total.Nanos
	case e.TimedOut():
		times.Timer += c.total.Nanos
	case c.category == Submitting:
		times.Submit += c.total.Nanos
	default:
		if k := waitOf(e); k < numWaits {
			times.Waits[k] += c.total.Nanos
		} else {
			times.Other += c.total.Nanos
		}
	}
	t.row.count(c)
	if crosses {
		t.lane.spent = t.row.spent()
	} else {
		t.lane.longest.raise(c.total.Nanos, f, e)
	}
}

// snapshot returns the threads and the processes that did something, those that
// did I/O for the longest first.
func (ts *threads) snapshot() (list []Thread, others Thread, processes []Process) {
	place := make(map[*process.Process]int)
	for i, row := range ts.rows {
		if row.empty() {
			continue
		}
		list = append(list, *row)
		owner := ts.owners[i]
		at, ok := place[owner]
		if !ok {
			at = len(processes)
			place[owner] = at
			p := *owner.Data.(*Process)
			p.Command = owner.Command
			processes = append(processes, p)
		}
		processes[at].merge(&row.Usage)
		processes[at].Times.add(&row.Times)
	}
	sortByTime(list, func(t Thread) int64 { return t.Times.IO }, func(t Thread) int32 { return t.TID })
	sortByTime(processes, func(p Process) int64 { return p.Times.IO }, func(p Process) int32 { return p.ID })
	return list, ts.others, processes
}
