package process

import "pianola/format"

// MaxThreads bounds the threads that are followed at a time. One stands for all
// beyond.
const MaxThreads = 1 << 15

// Thread is a thread that is alive, as far as the recording tells.
type Thread struct {
	TID     int32
	Process *Process
	Created int64 // nanoseconds since the start of the recording
	Table   *Table
	Data    any // belongs to who follows

	dir   *workDir
	place int // in Process.threads
}

// Dir returns the thread's working directory, absolute or empty where it is not
// known.
func (t *Thread) Dir() string { return t.dir.path }

// Process is a process.
type Process struct {
	ID      int32  // of a trace the number of the process
	Command string // the program that it runs, empty where the recording doesn't say
	Data    any    // belongs to who follows

	threads []*Thread // alive
}

// maxCommand cuts commands off, in bytes.
const maxCommand = 256

// workDir is a working directory. Threads can share it.
type workDir struct{ path string }

// threads follows threads and processes.
type threads struct {
	known    []format.Thread // of a trace: what its header says
	alive    map[int32]*Thread
	numbered map[int32]*Process // of a trace
	current  *Thread            // that of the last event, if it is alive
	stray    *Thread            // stands for those beyond MaxThreads
	met      bool               // there has been one
}

func newThreads(known []format.Thread) threads {
	stray := &Thread{Process: &Process{}, Table: &Table{}, dir: &workDir{}}
	return threads{known: known, alive: make(map[int32]*Thread), numbered: make(map[int32]*Process), stray: stray}
}

// find returns a thread that is alive, and nil for one that isn't.
func (ts *threads) find(e *format.Event) *Thread {
	if t := ts.current; t != nil && t.TID == e.TID && e.Notes == nil {
		return t
	}
	if was := e.Renamed(); was != e.TID && ts.alive[was] != nil {
		t := ts.alive[was]
		delete(ts.alive, was)
		t.TID = e.TID
		ts.alive[e.TID] = t
	}
	ts.current = ts.alive[e.TID]
	return ts.current
}

// add adds a thread to a process.
func (fl *Follower) add(tid int32, p *Process, created int64) *Thread {
	if len(fl.alive) >= MaxThreads {
		fl.stray.Created = created
		return fl.stray
	}
	fl.met = true
	t := &Thread{TID: tid, Process: p, Created: created, place: len(p.threads)}
	p.threads = append(p.threads, t)
	fl.alive[tid] = t
	if fl.Added != nil {
		fl.Added(t)
	}
	return t
}

// remove takes a thread away that has ended.
func (ts *threads) remove(t *Thread) {
	if ts.alive[t.TID] == t {
		delete(ts.alive, t.TID)
	}
	if ts.current == t {
		ts.current = nil
	}
	of := t.Process.threads
	last := of[len(of)-1]
	of[t.place], last.place = last, t.place
	of[len(of)-1] = nil
	t.Process.threads = of[:len(of)-1]
}

// newProcess returns the process of a thread that no other of it made: a new
// one, but that of its number in a trace.
func (ts *threads) newProcess(tid int32, command string) *Process {
	i := int(tid) - 1
	if i < 0 || i >= len(ts.known) {
		return &Process{ID: tid, Command: cutCommand(command)}
	}
	id := ts.known[i].Process
	p := ts.numbered[id]
	if p == nil {
		p = &Process{ID: id, Command: cutCommand(command)}
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
	if !ts.met {
		return 0
	}
	return start
}
