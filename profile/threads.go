package profile

import (
	"pianola/format"
	"pianola/format/process"
)

// Times cut the time of a thread, from its creation to the end of its last
// call, into what it was spent with, in nanoseconds. Of several threads they
// are added up.
type Times struct {
	IO      int64 // in calls of the four categories
	Waiting int64 // in calls that wait for a process or at a pipe, and off the processor between calls
	Other   int64 // in other calls: processes and memory
	Compute int64 // between calls, less what the recording says was off the processor
}

// Sum returns the time of the thread, or of all threads together.
func (t *Times) Sum() int64 { return t.IO + t.Waiting + t.Other + t.Compute }

func (t *Times) add(o *Times) {
	t.IO += o.IO
	t.Waiting += o.Waiting
	t.Other += o.Other
	t.Compute += o.Compute
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
	Command string // the program that it ran last, empty where the recording doesn't say
	Threads int
	Usage
	Times Times
}

// maxThreads bounds the threads that are told apart, from the beginning.
const maxThreads = 1 << 14

// othersTID is the id of the thread that stands for those that are not told
// apart.
const othersTID = -1

// thread is what is counted of a thread.
type thread struct {
	row  *Thread // what it did; those beyond maxThreads share one
	last int64   // end of its last call, or its creation
	path *path   // see critical
}

// threads counts threads and processes.
type threads struct {
	rows   []*Thread
	owners []*process.Process // of rows
	others Thread             // stands for those beyond maxThreads
	stray  thread             // stands for those that are not followed
}

func newThreads() threads {
	return threads{others: Thread{TID: othersTID}}
}

// added gives a row to a thread that has come to be.
func (ts *threads) added(t, _ *process.Thread) {
	counted := &thread{row: &ts.others, last: t.Created}
	t.Data = counted
	if len(ts.rows) >= maxThreads {
		return
	}
	owner, ok := t.Process.Data.(*Process)
	if !ok {
		owner = &Process{ID: t.Process.ID}
		t.Process.Data = owner
	}
	owner.Threads++
	counted.row = &Thread{TID: t.TID, Process: owner.ID}
	ts.rows, ts.owners = append(ts.rows, counted.row), append(ts.owners, t.Process)
}

// of returns what is counted of a thread.
func (ts *threads) of(t *process.Thread) *thread {
	if counted, ok := t.Data.(*thread); ok {
		return counted
	}
	ts.stray = thread{row: &ts.others, last: t.Created}
	return &ts.stray
}

// count adds a call to what a thread did, and says what the time since its
// last call was spent with.
func (t *thread) count(c *call, e *format.Event) {
	times := &t.row.Times
	if gap := c.start - t.last; gap > 0 {
		off := min(max(e.Off.Total(), 0), gap)
		times.Waiting += off
		times.Compute += gap - off
	}
	t.last = max(t.last, c.end)
	effect := e.Op.Info().Effect
	switch {
	case c.category != noCategory:
		times.IO += c.total.Nanos
	case effect == format.EffectWait || effect == format.EffectBlock || effect == format.EffectPipeline:
		times.Waiting += c.total.Nanos
	default:
		times.Other += c.total.Nanos
	}
	t.row.count(c)
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
