package process

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pianola/format"
)

// Standing tracks the state of the processes of a recording after each event: their
// threads, directories and descriptors, with the current names of their files. Written
// as a header, the state is enough to begin a script at that event. Events must come in
// the order of completion. A Standing belongs to one goroutine.
//
// Its memory is bounded as that of a Follower. Names that nothing refers to are
// forgotten.
type Standing struct {
	follower *Follower
	epoch    *epoch
	made     int64 // pipes so far

	// Events of threads whose creation has not come: a child can be ahead of its parent's
	// fork, and is all of its way to exec after a vfork.
	held  map[int32][]format.Event
	waits int // events in held

	old, name []byte // memory
}

// epoch is the time between two calls of Header.
type epoch struct{ _ byte }

const (
	standingFiles = 1 << 16
	maxWaits      = 1 << 14 // events in held; beyond it threads are taken for new processes
)

// NewStanding returns the Standing of a recording with header h, before the first event.
func NewStanding(h *format.Header) *Standing {
	s := &Standing{follower: New(h, standingFiles), epoch: &epoch{}, held: make(map[int32][]format.Event)}
	s.follower.begin()
	return s
}

// Enter takes the header of processes that enter the recording.
func (s *Standing) Enter(h *format.Header) { s.follower.Enter(h, 0) }

// Settled reports whether the creation of all threads has come that have events. A script that
// begins where it has not shows what the thread did before only in part.
func (s *Standing) Settled() bool { return s.waits == 0 }

// Apply takes the next event. It is borrowed for the call.
func (s *Standing) Apply(e *format.Event) {
	if e.Span != nil {
		return
	}
	if s.unborn(e) {
		if s.waits < maxWaits {
			s.held[e.TID] = append(s.held[e.TID], e.Clone())
			s.waits++
			return
		}
		s.release()
	}
	s.apply(e)
	if s.waits > 0 && e.Did().Any(format.Starts) {
		s.born(int32(e.Ret))
	}
}

// unborn reports whether the creation of an event's thread is yet to come.
func (s *Standing) unborn(e *format.Event) bool {
	f := s.follower
	switch {
	case s.waits == 0 && f.current != nil && f.current.TID == e.TID: // most events
		return false
	case f.alive[e.TID] != nil && len(s.held[e.TID]) == 0, !f.met:
		return false
	}
	was := e.Renamed()
	return was == 0 || f.alive[was] == nil
}

// born takes the events of a thread that has been created.
func (s *Standing) born(tid int32) {
	events := s.held[tid]
	delete(s.held, tid)
	s.waits -= len(events)
	for i := range events {
		s.Apply(&events[i])
	}
}

// release takes the events of threads whose creation did not come.
func (s *Standing) release() {
	held := s.held
	s.held, s.waits = make(map[int32][]format.Event), 0
	for _, tid := range slices.Sorted(maps.Keys(held)) {
		for i := range held[tid] {
			s.apply(&held[tid][i])
		}
	}
}

func (s *Standing) apply(e *format.Event) {
	f := s.follower
	if len(f.byName) >= f.max || f.files.bytes > NameBytes*f.max*3/4 {
		f.forget()
	}
	at := f.Fact(e)
	t := at.Thread
	renamed := at.Did.Any(format.Renames | format.Removes)
	if renamed {
		s.old = append(s.old[:0], f.Path(t, e, 0)...)
		if at.Did.Any(format.Renames) {
			s.name = append(s.name[:0], f.Path(t, e, 1)...)
		}
	}
	f.Apply(at)
	switch {
	case renamed:
		s.moved(at)
	case at.Did.Any(format.Channels) && e.Op.Info().Result != format.ResultFD:
		s.made++
		pipe := &File{Name: fmt.Sprintf("pipe:[%d]", firstPipe+s.made), Kind: KindChannel}
		from, to := at.Made()
		for flags, fd := range map[int64]int64{format.RDONLY: from, format.WRONLY: to} {
			if d := t.Table.At(fd); d != nil {
				d.File, d.Flags = pipe, flags
			}
		}
	case at.Did.Any(format.Maps):
		if m := t.Process.Space.At(e.Ret); m != nil {
			m.Data = s.epoch
		}
	}
}

// firstPipe is above the numbers that the kernel gives pipes, which are inodes of 32 bits.
const firstPipe = 1 << 32

// gone is what the kernel shows behind the last name of a file that has none any more.
const gone = " (deleted)"

// moved gives files the names that a call gave them.
func (s *Standing) moved(at *Fact) {
	f := s.follower
	old, to := string(s.old), string(s.name)
	if at.Did.Any(format.Removes) {
		if file := f.byName[old]; file != nil {
			s.rename(file, old+gone)
		}
		return
	}
	if old == to {
		return
	}
	const aside = "\x00" // no name
	exchanges := at.Did.Any(format.Exchanges)
	if exchanges {
		s.renameAll(to, aside)
	} else if file := f.byName[to]; file != nil {
		s.rename(file, to+gone)
	}
	s.renameAll(old, to)
	if exchanges {
		s.renameAll(aside, old)
	}
}

// renameAll renames a file, or a directory with all that is below it.
func (s *Standing) renameAll(old, to string) {
	f := s.follower
	if file := f.byName[old]; file != nil {
		s.rename(file, to)
	}
	var below []*File
	for name, file := range f.byName {
		if len(name) > len(old) && name[len(old)] == '/' && name[:len(old)] == old {
			below = append(below, file)
		}
	}
	for _, file := range below {
		s.rename(file, to+file.Name[len(old):])
	}
	for t := range f.Threads {
		if rest, ok := strings.CutPrefix(t.Dir.Path, old); ok && (rest == "" || rest[0] == '/') {
			t.Dir.Path = to + rest
		}
	}
}

// rename gives a file another name. A file that was removed is found by none.
func (s *Standing) rename(file *File, to string) {
	f := s.follower
	delete(f.byName, file.Name)
	f.files.bytes += len(to) - len(file.Name)
	if file.Name = to; !strings.HasSuffix(to, gone) {
		f.byName[to] = file
	} else {
		f.files.bytes -= len(to)
	}
}

// forget forgets the names of files that nothing leads to.
func (fl *Follower) forget() {
	used := make(map[*File]bool)
	for t := range fl.Threads {
		for _, d := range t.Table.All {
			used[d.File] = true
		}
		for _, d := range t.Table.late {
			used[d.File] = true
		}
		for m := range t.Process.Space.All {
			used[m.File] = true
		}
	}
	for _, at := range fl.fixed {
		used[at.file] = true
	}
	fl.files.bytes = 0
	maps.DeleteFunc(fl.byName, func(name string, f *File) bool {
		if used[f] {
			fl.files.bytes += len(name)
		}
		return !used[f]
	})
	fl.full = false
}

// Place gives a fault on a mapping from before the last Header the name of its file, where it has none,
// because the script that begins there does not show the mapping. It must come before Apply.
func (s *Standing) Place(e *format.Event, notes *format.Notes) {
	if !e.Acts().Any(format.Faults) || e.Notes.Known(format.NotedPath) {
		return
	}
	t := s.follower.Living(e.TID)
	if t == nil {
		return
	}
	m := t.Process.Space.At(e.Args[0])
	if m == nil || m.File == nil || m.Data == any(s.epoch) || !strings.HasPrefix(m.File.Name, "/") {
		return
	}
	*notes = format.Notes{}
	if e.Notes != nil {
		*notes = *e.Notes
	}
	notes.Path, notes.Has = []byte(m.File.Name), notes.Has|format.NotedPath
	e.Notes = notes
}

// About returns the thread of the next event and the file that it is about, nil if they are
// not known. It must come before Apply.
func (s *Standing) About(e *format.Event) (*Thread, *File) {
	t := s.follower.Living(e.TID)
	if t == nil {
		return nil, nil
	}
	f, _ := s.follower.About(t, e)
	return t, f
}

// Header adds to h how the processes stand, as a recorder does that attaches to them: a line
// of each, and its descriptors.
func (s *Standing) Header(h *format.Header) {
	s.epoch = &epoch{}
	type group struct {
		*Process
		table *Table
		dir   *Dir
		tids  []int32
	}
	groups := make(map[*Process]*group)
	for t := range s.follower.Threads {
		g := groups[t.Process]
		if g == nil {
			g = &group{t.Process, t.Table, t.Dir, nil}
			groups[t.Process] = g
		}
		g.tids = append(g.tids, t.TID)
		if t.TID == t.Process.ID {
			g.table, g.dir = t.Table, t.Dir
		}
	}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.ID, b.ID) }) {
		slices.Sort(g.tids)
		line := fmt.Appendf(nil, "%d threads=", g.ID)
		for i, tid := range g.tids {
			if i > 0 {
				line = append(line, ',')
			}
			line = fmt.Append(line, tid)
		}
		for _, note := range [...]struct{ key, text string }{{"cwd", g.dir.Path}, {"root", g.dir.Root}} {
			if strings.HasPrefix(note.text, "/") {
				line = format.AppendQuoted(fmt.Appendf(line, " %s=", note.key), []byte(note.text))
			}
		}
		if g.dir.Mask != UnknownMask {
			line = fmt.Appendf(line, " %s=%04o", format.MetaUmask, g.dir.Mask)
		}
		if g.Command != "" {
			line = format.AppendQuoted(append(line, " command="...), []byte(g.Command))
		}
		h.Meta = append(h.Meta, format.Meta{Key: format.MetaProcess, Value: string(line)})
		for fd, d := range g.table.All {
			if out, ok := standing(d); ok {
				out.Process, out.FD = g.ID, fd
				h.Descriptors = append(h.Descriptors, out)
			}
		}
	}
}

// standing describes a descriptor, and reports whether its file is known.
func standing(d *Descriptor) (out format.Descriptor, ok bool) {
	name := []byte(d.File.Name)
	switch {
	case bytes.HasSuffix(name, []byte(unnamed)):
		name = append(name, gone...)
	case bytes.HasPrefix(name, []byte("memfd:")):
		name = append(append([]byte("/"), name...), gone...)
	case len(name) > 0 && name[0] == '/':
	case !bytes.Contains(name, []byte(":[")):
		return out, false
	}
	out = format.Descriptor{Path: string(name), Offset: d.Offset, Flags: d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC | format.CLOEXEC)}
	if d.Cloexec {
		out.Flags |= format.CLOEXEC
	}
	return out, true
}
