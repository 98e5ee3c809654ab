// Package process simulates processes: their threads, descriptors and working
// directories at each event of a recording or a compiled trace. It assumes
// defaults for what a recording does not show.
//
// A State has threads, tables of descriptors and open file descriptions.
// Callers keep their own data about them in the fields named Data:
//
//	s := process.NewState(header)
//	s.Start(describe)
//	t := s.Thread(e)
//	d := t.Table.At(e.FD())
//	s.Apply(t, e)
//
// A Follower is a State that also has files, by name, and the bytes that calls
// move. It tells what each event does, as a Fact:
//
//	fact := f.Fact(e)
//	if fact.Did.Any(format.Removes) {
//		forget(fact.File)
//	}
//	f.Apply(fact)
//
// In the order of events, a thread is created before its first event
// (format.Causal). A Follower bounds its memory: it does not tell apart
// threads, names and descriptors beyond its limits.
package process

import (
	"math"

	"pianola/format"
)

// State is the threads and tables of descriptors at an event. It belongs to one
// goroutine.
type State struct {
	threads
	tables

	header   *format.Header
	describe func(*format.Descriptor) *Description // of Start
	home     string                                // working directory at the start, empty if unknown
	mask     int64                                 // umask at the start
	command  string
	initial  map[int32]*Table // of processes without an event so far
	fact     Fact             // memory

	// ExitsAlone says that exit_group ends only the thread that calls it,
	// because events of the others can follow.
	ExitsAlone bool
}

// NewState returns the State of the recording with header h. Call Start next.
func NewState(h *format.Header) *State {
	s := &State{threads: newThreads(h), header: h, initial: make(map[int32]*Table)}
	s.tables.most = math.MaxInt
	s.command, _ = h.Value(format.MetaCommand)
	s.mask = h.Umask()
	s.home = h.Cwd()
	return s
}

// Start adds the processes that already ran, and the descriptors that were open
// before the first event, if describe returns a description for them. It describes those of
// processes that enter, too.
func (s *State) Start(describe func(d *format.Descriptor) *Description) {
	s.describe = describe
	s.addRunning(s.header, 0)
}

// Enter adds the processes of a header, at a time. A known process either left the
// recording meanwhile, or its number belongs to another process now: its state begins again.
func (s *State) Enter(h *format.Header, at int64) {
	for _, r := range h.Running() {
		for _, tid := range r.Threads {
			for t := s.alive[tid]; t != nil && t.Process.Alive() > 0; {
				s.end(t.Process.threads[0])
			}
		}
	}
	s.addRunning(h, at)
}

// addRunning adds the processes of a header, except for known threads.
func (s *State) addRunning(h *format.Header, at int64) {
	for _, r := range h.Running() {
		p, tab, dir := s.newProcess(r.Process, r.Command), s.newTable(0), &Dir{Path: r.Cwd, Root: r.Root, Mask: r.Umask}
		for _, tid := range r.Threads {
			if s.alive[tid] == nil && s.add(&Thread{TID: tid, Process: p, Created: at, Table: tab, Dir: dir}, nil) != s.stray {
				tab.users++
			}
		}
		s.initial[r.Process] = tab
	}
	for i := range h.Descriptors {
		d := &h.Descriptors[i]
		if s.initial[d.Process] == nil {
			s.initial[d.Process] = s.newTable(0)
		}
		if at := s.describe(d); at != nil {
			at.Offset, at.Flags = d.Offset, d.Flags
			s.Put(s.initial[d.Process], int64(d.FD), Descriptor{Description: at, Cloexec: d.Flags&format.CLOEXEC != 0})
		}
	}
	for id, tab := range s.initial {
		if tab.users > 0 {
			delete(s.initial, id)
		}
	}
}

// beginning returns the first table of a process whose creation is not in the
// recording.
func (s *State) beginning(process int32, first bool) *Table {
	if s.initial[process] == nil && first && len(s.header.Descriptors) > 0 {
		process = s.header.Descriptors[0].Process
	}
	tab := s.initial[process]
	if tab == nil {
		return s.newTable(1)
	}
	delete(s.initial, process)
	tab.users = 1
	return tab
}

// Thread returns the thread of an event. If the recording does not show its
// creation, it starts a process, or joins its process in a trace. It adds the processes
// that enter with an event.
func (s *State) Thread(e *format.Event) *Thread {
	if e.Enters != nil {
		s.Enter(e.Enters, max(e.Start, 0))
	}
	if t := s.current; t != nil && t.TID == e.TID && e.Notes == nil {
		return t
	}
	if t := s.find(e); t != nil {
		return t
	}
	first, command := !s.met, ""
	if first {
		command = s.command
	}
	p := s.newProcess(e.TID, command)
	t := &Thread{TID: e.TID, Process: p, Created: s.created(e.TID, max(e.Start, 0))}
	if len(s.alive) >= s.threads.most {
		return s.add(t, nil)
	}
	if len(p.threads) > 0 {
		t.Table, t.Dir = p.threads[0].Table, p.threads[0].Dir
		t.Table.users++
	} else {
		t.Table, t.Dir = s.beginning(p.ID, first), &Dir{Path: s.home, Mask: s.mask}
	}
	return s.add(t, nil)
}

// Apply updates threads and tables by an event. It does not add new
// descriptors, except copies, and no mappings: the caller must Put and Map them,
// because a State has no files. A thread that ends is invalid afterwards.
func (s *State) Apply(t *Thread, e *format.Event) {
	s.ApplyFact(&Fact{Event: e, Did: e.Did(), Thread: t})
}

// ApplyFact is Apply for what Fact returned. It updates offsets and lengths, too.
func (s *State) ApplyFact(f *Fact) {
	t, e := f.Thread, f.Event
	switch did := f.Did; {
	case did.Any(format.ReadsBytes | format.WritesBytes): // most events
		f.Read.apply(false)
		f.Written.apply(true)
	case did.Any(format.Seeks) && f.Description != nil:
		f.Description.Offset = e.Ret
	case did.Any(format.Cuts|format.Allocates) && f.File != nil:
		f.File.Length = f.sized(f.File.Length)
	case did.Any(format.EndsAll) && !s.ExitsAlone:
		for i := len(t.Process.threads) - 1; i >= 0 && t != s.stray; i-- {
			s.end(t.Process.threads[i])
		}
	case did.Any(format.Ends):
		s.end(t)
	case did.Any(format.Closes | format.Marks):
		s.mark(t, f)
	case did.Any(format.Duplicates):
		s.dup(t, e)
	case did.Any(format.Starts):
		s.started(t, e)
	case did.Any(format.Execs):
		s.exec(t)
		t.Process.Space = &Space{}
	case did.Any(format.Masks):
		t.Dir.Mask = e.Args[0] & 0o777
	case did.Any(format.Unmaps | format.Maps): // the caller maps the file, if it has one
		if from, to, ok := f.Pages(); ok {
			s.unmap(t.Process.Space, from, to)
		}
	case did.Any(format.Remaps):
		s.remap(t.Process.Space, e)
	case did.Any(format.Unshares):
		if e.Args[0]&format.CloneFiles != 0 {
			s.alone(t)
		}
		if e.Args[0]&(format.CloneFS|format.CloneNewns) != 0 {
			t.Dir = t.Dir.copied()
		}
	}
}

// ebadf is the error of a descriptor that is not open.
const ebadf = 9

// started adds the thread that a call created.
func (s *State) started(t *Thread, e *format.Event) {
	if e.Ret <= 0 || e.Ret > math.MaxInt32 {
		return
	}
	child := int32(e.Ret)
	if old := s.alive[child]; old == t || old != nil && int(child) <= len(s.known) {
		return // a trace uses a number only once
	} else if old != nil {
		s.end(old) // its end is not in the recording
	}
	flags := e.CloneFlags()
	n := &Thread{TID: child, Process: t.Process, Created: max(e.Start, 0), Table: t.Table, Dir: t.Dir}
	if len(s.alive) >= s.threads.most {
		s.add(n, t)
		return
	}
	if flags&format.CloneThread == 0 {
		n.Process = s.newProcess(child, t.Process.Command)
		n.Process.Rank = t.Process.Rank
		n.Process.Space = s.forkSpace(t.Process.Space, flags)
	}
	if flags&format.CloneFiles == 0 {
		n.Table = s.fork(t.Table)
	} else {
		n.Table.users++
	}
	if flags&format.CloneFS == 0 {
		n.Dir = t.Dir.copied()
	}
	s.add(n, t)
}
