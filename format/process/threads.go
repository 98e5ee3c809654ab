package process

import (
	"math"

	"pianola/format"
)

// Thread is a thread that is alive, as far as the recording tells.
type Thread struct {
	TID     int32
	Process *Process
	Created int64 // nanoseconds since the start of the recording
	Table   *Table
	Dir     *Dir
	Data    any // belongs to who follows

	place int // in Process.threads
}

// Process is a process.
type Process struct {
	ID      int32  // of a trace the number of the process
	Command string // the program that it runs, empty where the recording doesn't say
	Data    any    // belongs to who follows

	threads []*Thread // alive
}

// Alive returns how many threads of the process are alive.
func (p *Process) Alive() int { return len(p.threads) }

// maxCommand cuts commands off, in bytes.
const maxCommand = 256

// Dir is a working directory and a root directory, shared by threads that were
// cloned with CLONE_FS.
type Dir struct {
	Path string // of the working directory: absolute, or empty where it is not known
	Root string // of the root directory, empty for the usual one
	Data any    // belongs to who follows; copies share it until it is set
}

// copied returns a copy, for a thread that shares it no more.
func (d *Dir) copied() *Dir {
	c := *d
	return &c
}

// threads follows threads and processes.
type threads struct {
	// Added is called for each thread that comes to be, before its first
	// event, with the thread that made it: nil where no event shows that. It
	// can be nil.
	Added func(t, parent *Thread)

	known    []format.Thread // of a trace: what its header says
	alive    map[int32]*Thread
	numbered map[int32]*Process // of a trace
	current  *Thread            // that of the last event, if it is alive
	stray    *Thread            // stands for those beyond most
	most     int
	met      bool // there has been one
}

func newThreads(known []format.Thread) threads {
	stray := &Thread{Process: &Process{}, Table: &Table{}, Dir: &Dir{}}
	return threads{known: known, alive: make(map[int32]*Thread), numbered: make(map[int32]*Process), stray: stray, most: math.MaxInt}
}

// Living returns the thread that has an id now, nil for none.
func (ts *threads) Living(tid int32) *Thread { return ts.alive[tid] }

// Threads yields the threads that are alive, in no order.
func (ts *threads) Threads(yield func(*Thread) bool) {
	for _, t := range ts.alive {
		if !yield(t) {
			return
		}
	}
}

// find returns a thread that is alive, and nil for one that isn't. A thread that
// execs takes over the id of its process's first, which is no more.
func (s *State) find(e *format.Event) *Thread {
	if t := s.current; t != nil && t.TID == e.TID && e.Notes == nil {
		return t
	}
	if was := e.Renamed(); was != e.TID && s.alive[was] != nil {
		t := s.alive[was]
		if first := s.alive[e.TID]; first != nil {
			s.end(first)
		}
		delete(s.alive, was)
		t.TID = e.TID
		s.alive[e.TID] = t
	}
	s.current = s.alive[e.TID]
	return s.current
}

// add adds a thread to a process. Its table and its directory are shared with
// others.
func (s *State) add(t *Thread, parent *Thread) *Thread {
	if len(s.alive) >= s.threads.most {
		s.stray.Created = t.Created
		return s.stray
	}
	s.met = true
	t.place = len(t.Process.threads)
	t.Process.threads = append(t.Process.threads, t)
	s.alive[t.TID] = t
	if s.Added != nil {
		s.Added(t, parent)
	}
	return t
}

// end ends a thread.
func (s *State) end(t *Thread) {
	if t == s.stray {
		return
	}
	if s.alive[t.TID] == t {
		delete(s.alive, t.TID)
	}
	if s.current == t {
		s.current = nil
	}
	of := t.Process.threads
	last := of[len(of)-1]
	of[t.place], last.place = last, t.place
	of[len(of)-1] = nil
	t.Process.threads = of[:len(of)-1]
	s.leave(t.Table)
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
