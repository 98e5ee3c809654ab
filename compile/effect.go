package compile

import (
	"math"

	"pianola/format"
)

// effect does what the call does to descriptors, threads and directories,
// whether or not it is in the trace. It can still find a reason to leave the
// event out.
func (m *model) effect(s *step, why reason) reason {
	e, out, files := s.e, s.out, s.t.files
	ok := e.Ret >= 0
	switch out.Op.Info().Effect {
	case format.EffectOpen:
		return m.opened(s, why)
	case format.EffectClose:
		if e.Ret == ebadf {
			return why
		}
		if d := files.close(int32(e.Args[0])); d != nil {
			m.order.afterAll(d.used)
			m.unfed(s, d)
		}
		if why == reasonNone {
			files.free(int32(e.Args[0]), m.order.here)
		}
	case format.EffectCloseRange:
		if !ok {
			return reasonTable
		}
		if !files.holdsFile(e.Args[0], e.Args[1]) {
			why = reasonNoFile
		}
		for fd, d := range files.all {
			switch {
			case int64(fd) < e.Args[0] || int64(fd) > e.Args[1]:
			case out.Args[2]&format.CloseRangeCloexec != 0:
				files.own(fd).cloexec = true
			default:
				files.put(fd, nil)
				m.unfed(s, d)
				if d.file.isFile() {
					files.free(fd, m.order.here)
				}
			}
		}
	case format.EffectDup:
		if ok {
			return m.dup(s, why)
		}
	case format.EffectFcntl:
		switch cmd := e.Args[1]; {
		case !ok:
		case e.Copies():
			return m.dup(s, why)
		case cmd == format.FSetfd:
			if d := files.own(int32(e.Args[0])); d != nil {
				d.cloexec = e.Args[2]&1 != 0
			}
		case cmd == format.FSetfl && s.d != nil:
			s.d.file.append = e.Args[2]&format.APPEND != 0
		}
	case format.EffectPipe:
		if ok {
			p := m.newPipe()
			for i, fd := range [2]int32{int32(e.Args[0]), int32(e.Args[0] >> 32)} {
				f := m.newFile(0)
				f.pipe, f.feeds = p, i == 1
				files.set(fd, &descriptor{file: f, cloexec: e.Cloexec()})
			}
		}
	case format.EffectFork:
		if e.Ret > 0 {
			m.fork(s.t, e, out)
		}
	case format.EffectExec:
		if ok {
			for _, d := range files.all {
				if d.cloexec {
					m.unfed(s, d)
				}
			}
			files.exec()
			s.t.process.command, s.t.process.brk = baseName(string(s.e.Str[0])), 0
		}
		return reasonNone
	case format.EffectExit, format.EffectExitGroup:
		if m.ended(s.t, e); out.Op.Info().Effect == format.EffectExitGroup || s.t.process.threads <= 0 {
			for _, d := range files.all {
				m.unfed(s, d)
			}
		}
	case format.EffectChdir:
		if ok {
			m.chdir(s)
		}
	case format.EffectWait:
		m.waited(s)
	case format.EffectChroot:
		if at := s.at[0]; ok && at != nil {
			m.there(e, at)
			s.t.dir.root = at.node
		}
	case format.EffectUnshare:
		if ok && out.Args[0]&format.CloneFiles != 0 {
			s.t.files = files.fork()
		}
		if ok && out.Args[0]&(format.CloneFS|format.CloneNewns) != 0 {
			s.t.dir = s.t.dir.fork()
		}
	case format.EffectPipeline:
		return reasonTable // only compile makes them
	}
	return why
}

// waited orders a wait behind the end of the process it was for. What the call
// took after that is not waiting, so it is moved into the compute that follows.
func (m *model) waited(s *step) {
	// The arguments and the result name processes by their numbers.
	number := func(pid int64) int64 {
		if p := m.byPID[int32(pid)]; pid > 0 && p != nil {
			return int64(p.num)
		}
		return min(pid, 0)
	}
	child := s.e.Child()
	s.out.Args[0] = number(s.out.Args[0])
	p := m.byPID[int32(child)]
	if child <= 0 || p == nil {
		return
	}
	m.order.after(p.ended)
	s.out.Ret = int64(p.num)
	if s.e.Dur >= 0 {
		s.e.Dur = min(s.e.Dur, max(p.endTime-s.e.Start, 0))
		// What recording cost the process is not in it.
		s.out.Dur, s.joined = max(p.endNow-m.clock(s.t, s.e), 0), true
	}
	if p.threads <= 0 {
		delete(m.byPID, p.pid)
	}
}

// opened puts the descriptor that an open made into the table.
func (m *model) opened(s *step, why reason) reason {
	e, flags, at := s.e, s.out.OpenFlags(), s.at[0]
	if at == nil && why == reasonNone {
		flags, why = 0, reasonNoFile // memfd_create and the like: what they open has no name
	}
	if e.Ret < 0 {
		if why == reasonNone {
			m.order.named(s.at[:1])
			m.failed(s, at)
		}
		return why
	}
	d := &descriptor{file: m.newFile(flags), cloexec: s.out.Cloexec(), opened: place{s.t.num, s.t.events}}
	s.made, d.file.deep = d.file, s.deep
	m.order.after(s.t.files.set(int32(e.Ret), d))
	if at != nil && why == reasonPseudo {
		d.file.node = at.node
	}
	if why != reasonNone {
		d.opened = place{}
		return why
	}
	n := noted(e)
	switch n.Type {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypeBlk:
		d.opened = place{}
		if n.Type == format.TypeFifo && at != nil {
			d.file.pipe, d.file.feeds = m.namedPipe(at), flags&(format.WRONLY|format.RDWR) != 0
		}
		return reasonNoFile
	}
	switch {
	case flags&format.TMPFILE != 0:
		m.there(e, at)
		d.file.node = &node{typ: format.TypeReg, created: true, cached: -1}
		// It has no name: as of a file that was removed, its entry leads to nothing.
		d.file.node.at = &entry{dir: at.node, comp: tempPrefix, mapped: tempPrefix, state: absent}
		return why
	case m.creates(e, at, flags):
		m.newAt(s, at)
		m.names.create(at, format.TypeReg)
		if m.options.Filter != nil {
			m.use(d.file) // whatever it wants: names are made here
		}
	default:
		m.there(e, at)
		m.order.named(s.at[:1])
		m.learn(at, n)
	}
	nd := at.node
	d.file.node = nd
	if flags&format.DIRECTORY != 0 && nd.typ == format.TypeUnknown {
		nd.typ = format.TypeDir
	}
	if flags&format.TRUNC != 0 && flags&(format.WRONLY|format.RDWR) != 0 {
		m.order.wrote(nd, 0, math.MaxInt64)
		m.order.sized(nd, 0, true)
		nd.now, nd.changed = 0, true
	}
	nd.listing = 0
	return why
}

// creates reports whether a successful open made the file. The recorder says
// so; without its notes a file that was not known to be there is taken to be
// new where the flags allow it, as the original Pianola did.
func (m *model) creates(e *format.Event, at *entry, flags int64) bool {
	switch {
	case flags&format.CREAT == 0:
		return false
	case e.FileType() != format.TypeUnknown:
		return e.Notes.Known(format.NotedNew)
	}
	return flags&format.EXCL != 0 || at.state != present
}

// dup puts a copy of a descriptor into the table.
func (m *model) dup(s *step, why reason) reason {
	files, fd := s.t.files, int32(s.e.Ret)
	src := files.at(int32(s.e.Args[0]))
	replaces := s.e.NewFD() >= 0
	if replaces && s.e.FD() == s.e.Ret {
		return why // onto itself
	}
	old := files.own(fd)
	m.unfed(s, old)
	switch {
	case src == nil:
		files.put(fd, nil)
	default:
		d := &descriptor{file: src.file, cloexec: s.e.Cloexec()}
		if why == reasonNone {
			d.opened = place{s.t.num, s.t.events}
		}
		files.put(fd, d)
		m.order.after(files.freed[fd])
		if old != nil {
			m.order.after(old.opened)
			m.order.afterAll(old.used)
		}
		if why == reasonNone {
			files.free(fd, m.order.here)
		}
	}
	if why != reasonNone && old != nil && old.file.isFile() && replaces {
		// What is no file takes the place of a file: all that is left of
		// the call is that the file is closed.
		*s.out = format.Event{Op: format.OpClose, Start: s.e.Start, Dur: s.e.Dur, Args: [format.MaxArgs]int64{int64(fd)}}
		return reasonNone
	}
	return why
}

// chdir sets the working directory.
func (m *model) chdir(s *step) {
	if s.out.Op.Info().At.FD >= 0 {
		if d := s.t.files.at(int32(s.e.FD())); d != nil && d.file.node != nil {
			s.t.dir.node = d.file.node
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
	s.t.dir.node = at.node
}
