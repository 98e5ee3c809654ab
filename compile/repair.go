package compile

import (
	"fmt"

	"pianola/format"
	"pianola/format/process"
)

// learned is what one pass has learned and the next passes need from their start.
type learned struct {
	links   map[string]string  // absolute path → target, of symbolic links that existed at the start
	strays  map[stray]bool     // descriptors of unknown origin that are files
	first   bool               // this is the first pass
	more    bool               // this pass learned something
	ranges  bool               // a call closes a range of descriptors that has an end, or begins above firstMoved
	ordered bool               // the events come in the order of their effects, not of their lines
	lines   bool               // they come in the order of their lines, because another order takes too much memory
	closed  bool               // learn nothing more, so that the last pass meets the same names as the one before
	named   map[string]bool    // last components of links
	sent    map[channel]bool   // channels that a recorded thread sent to
	woken   map[spot]int64     // where a thread waited → line at which another thread last woke one there
	fed     map[int64]pipeCall // line of a pipe read → the received write, which has a later line
	mpi     mpiLearned
	pipes   pipePlan   // of the newest pass
	buffers []*buffers // the same, by process
	layouts []*buffers // the same, of mapped files
	plan    *plan      // nil in all passes but the last
	bytes   int        // size of the above
}

func newLearned() *learned {
	return &learned{
		links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}, sent: map[channel]bool{}, woken: map[spot]int64{}, fed: map[int64]pipeCall{},
	}
}

// stray is a descriptor whose open is not in the recording: it was open before without
// a note of the recorder, or events were lost.
type stray struct {
	process int32
	fd      int32
	closes  int // how often the number was closed before
}

// repair opens a descriptor of unknown origin that is a file, before the first event
// that uses it, so that a replay performs its I/O. The file gets a name of its own.
func (ds *descriptors) repair(s *simEvent) {
	t, e := s.t, s.e
	info, fd := e.Op.Info(), int32(e.FD())
	if fd < 0 || t.Table.Find(int64(fd)) != nil {
		return
	}
	switch e.FileType() {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypePseudo:
		// An accepted socket, an eventfd: the recorder notes at each read and
		// write what it is.
		ds.state.Put(t.Table, int64(fd), process.Descriptor{Description: ds.newFile(0).Description})
		return
	}
	lost := stray{t.proc.num, fd, numbersOf(t.Table).closes[fd]}
	if !ds.learned.strays[lost] {
		if info.Args[info.At.FD].Role == format.RoleFile && e.Ret >= 0 && !ds.learned.closed {
			ds.learned.strays[lost], ds.learned.more = true, true
			ds.learned.bytes += inMap
			ds.budget.take(forNames, inMap)
		}
		return
	}
	ds.report.Repaired++
	ds.simulate(&format.Event{
		Op: format.OpOpen, TID: e.TID, Start: e.Start, Ret: int64(fd), Args: [format.MaxArgs]int64{1: format.RDWR},
		Str: [format.MaxStrings][]byte{fmt.Appendf(nil, "/pianola_unknown_%d_%d_%d", lost.process, lost.fd, lost.closes)},
	})
}
