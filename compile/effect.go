package compile

import (
	"math"

	"pianola/format"
	"pianola/format/process"
)

// effect applies the call to descriptors, threads and directories, whether or
// not the event is in the trace. It returns why, or another reason to leave the
// event out.
func (m *model) effect(s *simEvent, why reason) reason {
	e, out, table := s.e, s.out, s.t.Table
	ok := e.Ret >= 0
	m.renumber(s)
	switch effect := out.Op.Info().Effect; effect {
	case format.EffectOpen:
		return m.opened(s, why)
	case format.EffectClose:
		if e.Ret == ebadf {
			return why
		}
		fd := int32(e.FD())
		if ok && m.keep(s) {
			return reasonTable
		}
		late := table.Closing(e.FD()) != table.Find(e.FD())
		if !late {
			m.countClose(table, fd)
		}
		m.state.Apply(s.t.Thread, e)
		if fd >= firstHidden {
			m.hidden = append(m.hidden, fd)
		}
		if why == reasonNone {
			v := int32(out.FD())
			m.free(table, v)
			if late && table.Find(e.FD()) != nil && numberAt(table, e.FD()) == int64(v) {
				// The close of the descriptor that has the number now comes
				// after this one, which must not close it.
				of := m.used(table, e.FD())
				of.newest = m.order.use(of.newest)
			}
		}
	case format.EffectCloseRange:
		if !ok {
			return reasonTable
		}
		m.learned.ranges = m.learned.ranges || m.order.planning && (e.Args[0] > firstMoved || e.Args[1] < math.MaxInt32)
		if !holdsFile(table, uint32(e.Args[0]), uint32(e.Args[1])) {
			why = reasonNoFile
		}
		m.state.Apply(s.t.Thread, e)
	case format.EffectDup, format.EffectFcntl:
		switch {
		case !ok:
		case e.Copies():
			return m.dup(s, why)
		default:
			m.state.Apply(s.t.Thread, e)
		}
	case format.EffectPipe:
		if ok {
			reads := (*openFile)(nil)
			for _, fd := range [2]int32{int32(e.Args[0]), int32(e.Args[0] >> 32)} {
				f := m.newFile(0)
				m.tellMore(factOpened, s, more{file: f, of: reads})
				reads = f
				m.state.Put(table, int64(fd), process.Descriptor{Description: f.Description, Cloexec: e.Cloexec()})
			}
		}
	case format.EffectEventfd:
		if ok {
			m.state.Put(table, e.Ret, process.Descriptor{Description: m.newFile(0).Description, Cloexec: e.Cloexec()})
		}
	case format.EffectFork:
		if e.Ret > 0 && !m.fork(s) {
			return reasonTable
		}
	case format.EffectExec:
		if ok {
			m.state.Apply(s.t.Thread, e)
			s.t.proc.brk, s.t.proc.program = 0, s.at[0]
			s.t.proc.remapped, s.t.proc.layout = place{}, m.newLayout()
		}
		return reasonNone
	case format.EffectExit, format.EffectExitGroup:
		m.ended(s)
	case format.EffectChdir:
		if ok {
			m.chdir(s)
		}
	case format.EffectWait:
		m.waited(s)
	case format.EffectChroot:
		if at := s.at[0]; ok && at != nil {
			m.there(e, at)
			s.t.Dir.Data = &workingDir{s.t.dir().node, at.node}
		}
	case format.EffectUnshare, format.EffectUmask:
		if ok {
			m.state.Apply(s.t.Thread, e)
		}
	case format.EffectMap, format.EffectUnmap, format.EffectRemap:
		if m.state.Apply(s.t.Thread, e); s.file != nil && why == reasonNone {
			m.state.Map(s.t.Thread, e, process.Mapping{Offset: e.Offset(), Data: s.file})
		}
	case format.EffectPipeline:
		return reasonTable // only compile makes them
	}
	return why
}

// waited orders a wait after the end of the awaited process. The rest of the call's
// duration becomes part of the compute that follows.
func (m *model) waited(s *simEvent) {
	// The arguments and the result name processes by their numbers.
	number := func(pid int64) int64 {
		if p := m.byPID[int32(pid)]; pid > 0 && p != nil {
			return int64(p.num)
		}
		return min(pid, 0)
	}
	child, any := s.e.Child(), s.out.Args[0] < 0
	s.out.Args[0] = number(s.out.Args[0])
	p := m.byPID[int32(child)]
	if child <= 0 || p == nil {
		return
	}
	if any && s.t.proc.children > 1 {
		m.order.afterAny(p.ended)
	} else {
		m.order.after(p.ended, format.EdgeExit)
	}
	s.joins = p
	s.out.Ret = int64(p.num)
	if s.e.Dur >= 0 {
		s.e.Dur = min(s.e.Dur, max(p.endTime-s.e.Start, 0))
		// The duration does not include what recording cost the process.
		s.out.Dur, s.joined = max(p.endNow-s.t.onTrace(s.e.Start), 0), true
	}
	if p.Alive() == 0 && s.out.Word(format.WaitOptions)&format.WaitNowait == 0 {
		delete(m.byPID, p.ID)
		if p.maker != nil {
			p.maker.children--
		}
	}
}

// opened adds the descriptor that an open made to the table.
func (m *model) opened(s *simEvent, why reason) reason {
	e, flags, at := s.e, s.out.OpenFlags(), s.at[0]
	if at == nil && s.d == nil && why == reasonNone {
		flags, why = 0, reasonNoFile // memfd_create and the like open files without names
	}
	if e.Ret < 0 {
		if why == reasonNone && at != nil {
			m.order.named(s.at[:1])
			m.failed(s, at)
		}
		return why
	}
	f := m.newFile(flags)
	f.deep = s.deep
	m.state.Put(s.t.Table, e.Ret, process.Descriptor{Description: f.Description, Cloexec: s.out.Cloexec(), Data: &f.uses})
	f.uses.by = s.t.Table
	if at != nil && why == reasonPseudo {
		f.node = at.node
	}
	m.tellMore(factOpened, s, more{file: f, of: s.through, named: why == reasonNone})
	if why != reasonNone {
		return why
	}
	n := noted(e)
	switch n.Type {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypeBlk:
		return reasonNoFile
	}
	f.uses.opened, f.uses.number = m.order.here, m.newNumber(s.t.Table, e.Ret)
	m.changes(s.t.Table)
	s.out.Ret = int64(f.uses.number)
	nd := (*node)(nil)
	switch {
	case s.d != nil:
		nd = s.d.node
	case flags&format.TMPFILE != 0:
		m.order.named(s.at[:1])
		m.there(e, at)
		at.node.typ = format.TypeDir // its notes are those of the file
		f.node = &node{typ: format.TypeReg, created: true, exact: true, cached: -1}
		// The file has no name. As for a removed file, its entry leads to
		// nothing.
		f.node.at = &entry{dir: at.node, comp: tempPrefix, mapped: tempPrefix, state: absent}
		return why
	case m.creates(e, at, flags):
		m.newAt(s, at)
		m.names.create(at, format.TypeReg)
	default:
		m.there(e, at)
		at.node.needs |= wanted(s)
		m.order.named(s.at[:1])
		if after := *n; truncates(flags) && at.node.now > after.Size {
			after.Has &^= format.NotedSize // the size before is known
			n = &after
		}
		m.learn(at, n)
		at.node.allocated(n, e.Start+e.Dur)
	}
	if nd == nil {
		nd = at.node
	}
	f.node = nd
	if flags&format.DIRECTORY != 0 && nd.typ == format.TypeUnknown {
		nd.typ = format.TypeDir
	}
	if truncates(flags) {
		m.order.wrote(nd, 0, math.MaxInt64)
		m.order.sized(nd, 0, true)
		nd.become(0)
		nd.exact = true
	}
	return why
}

// truncates reports whether an open with such flags leaves the file empty.
func truncates(flags int64) bool {
	return flags&format.TRUNC != 0 && writes(flags)
}

// writes reports whether an open with such flags can write.
func writes(flags int64) bool { return flags&(format.WRONLY|format.RDWR) != 0 }

// creates reports whether a successful open made the file. The recorder notes
// that. Without notes, a file that was not known to exist is taken as new if
// the flags allow it, as in the original Pianola.
func (m *model) creates(e *format.Event, at *entry, flags int64) bool {
	switch {
	case flags&format.CREAT == 0:
		return false
	case flags&format.EXCL != 0: // a recorder by ptrace can have seen the file that another call then removed
		return true
	case e.FileType() != format.TypeUnknown:
		return e.Notes.Known(format.NotedNew)
	}
	return at.state != present
}

// dup adds a copy of a descriptor to the table.
func (m *model) dup(s *simEvent, why reason) reason {
	table, fd := s.t.Table, int32(s.e.Ret)
	replaces := s.e.NewFD() >= 0
	if replaces && s.e.FD() == s.e.Ret {
		return why // onto itself
	}
	known, was := table.Find(s.e.FD()) != nil, table.Find(s.e.Ret)
	v, closes := int64(fd), replaces && was != nil && fileOf(was).isFile()
	switch {
	case closes:
		v = numberAt(table, s.e.Ret)
		m.order.after(numbersOf(table).freed[int32(v)], format.EdgeDescriptor)
		m.afterUses(table, was)
	case known && why == reasonNone:
		v = int64(m.newNumber(table, s.e.Ret))
	}
	m.state.Apply(s.t.Thread, s.e)
	if known && why == reasonNone && table.Find(s.e.Ret) != nil {
		of := m.used(table, s.e.Ret)
		of.opened, of.number = m.order.here, int32(v)
		m.free(table, of.number)
		if closes && of.number != fd {
			m.take(m.ownNumbers(table), of.number) // the close has given it back
		}
	}
	if s.out.Ret = v; replaces {
		s.out.Args[s.out.Op.Info().At.NewFD] = v
	}
	if why != reasonNone && closes {
		// The new descriptor replaces a file but is not a file itself. In the trace,
		// the call is a close of that file.
		*s.out = format.Event{Op: format.OpClose, Start: s.e.Start, Dur: s.e.Dur, Args: [format.MaxArgs]int64{v}}
		return reasonNone
	}
	return why
}

// chdir sets the working directory.
func (m *model) chdir(s *simEvent) {
	if s.out.Op.Info().At.FD >= 0 {
		if f := fileOf(s.t.Table.Find(s.e.FD())); f != nil && f.node != nil {
			s.t.Dir.Data = &workingDir{f.node, s.t.dir().root}
		}
		return
	}
	at := s.at[0]
	if at == nil {
		return
	}
	if at.node == nil || !at.node.pseudo {
		m.there(s.e, at)
		if at.node.typ == format.TypeUnknown {
			at.node.typ = format.TypeDir
		}
	}
	s.t.Dir.Data = &workingDir{at.node, s.t.dir().root}
}
