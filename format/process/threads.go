package process

import (
	"math"

	"pianola/format"
)

// Thread is a thread that is alive, as far as the recording shows.
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
	ID      int32  // in a trace the number of the process
	Command string // the program that it runs, empty if unknown
	Rank    int32  // in the parallel program that it belongs to, -1 for none
	Space   *Space // what it has mapped
	Data    any    // belongs to who follows

	threads []*Thread // alive
}

// Alive returns how many threads of the process are alive.
func (p *Process) Alive() int { return len(p.threads) }

// maxCommand bounds the length of a command, in bytes.
const maxCommand = 256

// Dir is a working directory and a root directory, shared by threads that were
// cloned with CLONE_FS.
type Dir struct {
	Path string // of the working directory: absolute, or empty if unknown
	Root string // of the root directory, empty for "/"
	Mask int64  // umask, UnknownMask if unknown
	Data any    // for the caller; copies share it until it is set
}

// UnknownMask is the umask of a process whose umask is unknown.
const UnknownMask = -1

// copied returns a copy for a thread that no longer shares it.
func (d *Dir) copied() *Dir {
	c := *d
	return &c
}

// threads follows threads and processes.
type threads struct {
	// Added is called for each new thread, before its first event, with the
	// thread that created it, nil if unknown. It can be nil.
	Added func(t, parent *Thread)

	known    []format.Thread // the thread table of a trace
	ranks    map[int32]int32 // of processes of a recording, by their ids
	alive    map[int32]*Thread
	numbered map[int32]*Process // of a trace
	current  *Thread            // thread of the last event, if it is alive
	stray    *Thread            // stands for the threads beyond most
	most     int
	met      bool // there was an event
}

func newThreads(h *format.Header) threads {
	stray := &Thread{Process: &Process{Space: &Space{}, Rank: -1}, Table: &Table{}, Dir: &Dir{Mask: UnknownMask}}
	ranks := make(map[int32]int32)
	for _, r := range h.Ranks {
		ranks[r.Process] = r.Rank
	}
	return threads{known: h.Threads, ranks: ranks, alive: make(map[int32]*Thread), numbered: make(map[int32]*Process), stray: stray, most: math.MaxInt}
}

// Living returns the living thread with an id, nil for none.
func (ts *threads) Living(tid int32) *Thread { return ts.alive[tid] }

// Threads yields the threads that are alive, in no particular order.
func (ts *threads) Threads(yield func(*Thread) bool) {
	for _, t := range ts.alive {
		if !yield(t) {
			return
		}
	}
}

// find returns a living thread, nil for none. A thread that execs takes over
// the id of its process's first thread, which no longer exists.
func (s *State) find(e *format.Event) *Thread {
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

// add adds a thread with a table and a directory, which it may share, to a
// process.
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

// newProcess returns the process of a thread without a known creator: in a
// trace the one with its number, else a new one.
func (ts *threads) newProcess(tid int32, command string) *Process {
	i := int(tid) - 1
	if i < 0 || i >= len(ts.known) {
		p := &Process{ID: tid, Command: cutCommand(command), Space: &Space{}, Rank: -1}
		if rank, ok := ts.ranks[tid]; ok && tid > 0 {
			p.Rank = rank
		}
		return p
	}
	id := ts.known[i].Process
	p := ts.numbered[id]
	if p == nil {
		p = &Process{ID: id, Command: cutCommand(command), Space: &Space{}, Rank: ts.known[i].Rank()}
		ts.numbered[id] = p
	}
	return p
}

func cutCommand(command string) string { return command[:min(len(command), maxCommand)] }

// created returns the creation time of a thread whose first event is at start
// and whose creation is not in the recording: that of a trace's thread table, 0
// for the first thread, else start.
func (ts *threads) created(tid int32, start int64) int64 {
	if i := int(tid) - 1; i >= 0 && i < len(ts.known) {
		return min(max(ts.known[i].Start, 0), start)
	}
	if !ts.met {
		return 0
	}
	return start
}
