package profile

import "pianola/format"

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

const (
	// maxThreads bounds the threads that are told apart, from the beginning.
	maxThreads = 1 << 14

	// maxAlive bounds the threads that are followed at a time.
	maxAlive = 1 << 15

	// maxCommand cuts commands off, in bytes.
	maxCommand = 256
)

// othersTID is the id of the thread that stands for those that are not told
// apart.
const othersTID = -1

// thread is a thread that is alive, as far as the recording tells.
type thread struct {
	tid     int32
	row     *Thread // what it did; those beyond maxThreads share one
	process *process
	place   int // in process.threads
	table   *table
	dir     *workDir
	last    int64 // end of its last call, or its creation
}

// process is a process that has threads.
type process struct {
	row     *Process
	threads []*thread
}

// workDir is a working directory. Threads can share it.
type workDir struct{ path string }

// threads follows threads and processes.
type threads struct {
	known    []format.Thread // of a trace: what its header says
	alive    map[int32]*thread
	numbered map[int32]*process // of a trace
	current  *thread            // that of the last event, if it is alive
	stray    *thread            // stands for those beyond maxAlive
	rows     []*Thread
	owners   []*Process // of rows
	others   Thread     // stands for those beyond maxThreads
}

func newThreads(known []format.Thread) threads {
	stray := &thread{process: &process{row: &Process{}}, table: &table{}, dir: &workDir{}}
	return threads{known: known, alive: make(map[int32]*thread), numbered: make(map[int32]*process), stray: stray, others: Thread{TID: othersTID}}
}

// find returns a thread that is alive, and nil for one that isn't.
func (ts *threads) find(e *format.Event) *thread {
	if t := ts.current; t != nil && t.tid == e.TID && len(e.Notes) == 0 {
		return t
	}
	if was := e.Renamed(); was != e.TID && ts.alive[was] != nil {
		t := ts.alive[was]
		delete(ts.alive, was)
		t.tid = e.TID
		ts.alive[e.TID] = t
	}
	ts.current = ts.alive[e.TID]
	return ts.current
}

// add adds a thread to a process.
func (ts *threads) add(tid int32, p *process, created int64) *thread {
	if len(ts.alive) >= maxAlive {
		ts.stray.row, ts.stray.last = &ts.others, created
		return ts.stray
	}
	t := &thread{tid: tid, row: &ts.others, process: p, place: len(p.threads), last: created}
	if len(ts.rows) < maxThreads {
		t.row = &Thread{TID: tid, Process: p.row.ID}
		ts.rows, ts.owners = append(ts.rows, t.row), append(ts.owners, p.row)
		p.row.Threads++
	}
	p.threads = append(p.threads, t)
	ts.alive[tid] = t
	return t
}

// remove takes a thread away that has ended.
func (ts *threads) remove(t *thread) {
	if t == ts.stray {
		return
	}
	if ts.alive[t.tid] == t {
		delete(ts.alive, t.tid)
	}
	if ts.current == t {
		ts.current = nil
	}
	of := t.process.threads
	last := of[len(of)-1]
	of[t.place], last.place = last, t.place
	of[len(of)-1] = nil
	t.process.threads = of[:len(of)-1]
}

// newProcess returns the process of a thread that no other of it made: a new
// one, but that of its number in a trace.
func (ts *threads) newProcess(tid int32, command string) *process {
	i := int(tid) - 1
	if i < 0 || i >= len(ts.known) {
		return &process{row: &Process{ID: tid, Command: cutCommand(command)}}
	}
	id := ts.known[i].Process
	p := ts.numbered[id]
	if p == nil {
		p = &process{row: &Process{ID: id, Command: cutCommand(command)}}
		ts.numbered[id] = p
	}
	return p
}

func cutCommand(command string) string { return command[:min(len(command), maxCommand)] }

// created returns when a thread was made whose first event is at start, and of
// which the recording doesn't show how it was made. The first thread is there
// from the beginning.
func (ts *threads) created(tid int32, start int64) int64 {
	if i := int(tid) - 1; i >= 0 && i < len(ts.known) {
		return min(max(ts.known[i].Start, 0), start)
	}
	if len(ts.rows) == 0 {
		return 0
	}
	return start
}

// count adds a call to what a thread did, and says what the time since its
// last call was spent with.
func (t *thread) count(c *call, e *format.Event) {
	times := &t.row.Times
	if gap := c.start - t.last; gap > 0 {
		off := min(offProcessor(e), gap)
		times.Waiting += off
		times.Compute += gap - off
	}
	t.last = max(t.last, c.end)
	effect := e.Op.Info().Effect
	switch {
	case c.category != noCategory:
		times.IO += c.total.Nanos
	case effect == format.EffectWait || effect == format.EffectPipeline:
		times.Waiting += c.total.Nanos
	default:
		times.Other += c.total.Nanos
	}
	t.row.count(c)
}

// offProcessor returns how long the thread was off the processor since its
// last event, 0 where the recording doesn't say.
func offProcessor(e *format.Event) int64 {
	if len(e.Notes) == 0 {
		return max(e.Off, 0)
	}
	v, ok := format.Note(e.Notes, "off")
	if !ok {
		return max(e.Off, 0)
	}
	return digits(v)
}

// snapshot returns the threads and the processes that did something, those that
// did I/O for the longest first.
func (ts *threads) snapshot() (list []Thread, others Thread, processes []Process) {
	place := make(map[*Process]int)
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
			processes = append(processes, *owner)
		}
		processes[at].merge(&row.Usage)
		processes[at].Times.add(&row.Times)
	}
	sortByTime(list, func(t Thread) int64 { return t.Times.IO }, func(t Thread) int32 { return t.TID })
	sortByTime(processes, func(p Process) int64 { return p.Times.IO }, func(p Process) int32 { return p.ID })
	return list, ts.others, processes
}
