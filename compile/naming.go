package compile

import (
	"math"

	"pianola/format"
	"pianola/format/process"
)

// naming is the concern of names: what a call's paths and descriptors lead to, and what its
// result tells of that.
type naming struct {
	*pass
	inodes   map[format.Inode]*node // files with more than one name
	inherits []format.Descriptor    // files of the trace that are open at its start
	binds    bool                   // the recording has bind calls, so appear does not guess sockets
}

func (nm *naming) enlist() {
	nm.ahead(nm.appear, func(i *format.Info) bool { return i.At.Paths[0].Arg >= 0 && i.Class != format.ClassProcess })
	nm.when(factOpened, nm.inherited)
	nm.on(nm.looked, 0, format.Permits)
	nm.on(nm.stat, format.Stats)
	nm.on(nm.attribute, format.Attributes)
	nm.on(nm.readlink, format.Follows)
	nm.on(nm.made, format.Creates)
	nm.on(nm.link, format.Links)
	nm.on(nm.rename, format.Renames)
	nm.on(nm.removed, format.Removes)
	nm.on(nm.reached, format.Cuts)
	nm.always(nm.opened, format.Opens)
	nm.always(nm.chdir, format.Enters)
	nm.always(nm.chroot, format.Roots)
}

// inherited finds the file of a descriptor that was open at the start.
func (nm *naming) inherited(f fact) {
	d := f.from
	if d == nil || !namesFile(d) {
		return
	}
	at, _ := nm.names.walk(nm.names.root, nm.names.root, d.Path, linkTarget, nil)
	if at == nil || at.node != nil && at.node.pseudo {
		return
	}
	nm.names.exists(at)
	f.file.node = at.node
	nm.names.mention(at)
	nm.call(at)
	nm.learn(at, d.Notes())
	// The file was open at the start, so its size was at least the offset.
	nm.raise(at.node, d.Offset)
	nm.inherits = append(nm.inherits, format.Descriptor{
		Process: f.num, FD: d.FD, Offset: d.Offset, Path: nm.names.mappedPath(at, nm.options.Paths),
		Flags: d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC),
	})
}

// opened adds the descriptor that an open made to the table.
func (nm *naming) opened(s *simEvent) {
	e, flags, at := s.e, s.out.OpenFlags(), s.at[0]
	if at == nil && s.d == nil && s.why == reasonNone {
		flags, s.why = 0, reasonNoFile // memfd_create and the like open files without names
	}
	if e.Ret < 0 {
		if s.why == reasonNone && at != nil {
			nm.order.named(s.at[:1])
			nm.failed(s, at)
		}
		return
	}
	f := nm.newFile(flags)
	f.deep = s.deep
	nm.state.Put(s.t.Table, e.Ret, process.Descriptor{Description: f.Description, Cloexec: s.out.Cloexec(), Data: &f.uses})
	f.uses.by = s.t.Table
	if at != nil && s.why == reasonPseudo {
		f.node = at.node
	}
	nm.tellMore(factOpened, s, more{file: f, of: s.through, named: s.why == reasonNone})
	if s.why != reasonNone {
		return
	}
	n := noted(e)
	switch n.Type {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypeBlk:
		s.why = reasonNoFile
		return
	}
	f.uses.opened, f.uses.number = nm.order.here, nm.fds.newNumber(s.t.Table, e.Ret)
	nm.fds.changes(s.t.Table)
	s.out.Ret = int64(f.uses.number)
	nd := (*node)(nil)
	switch {
	case s.d != nil:
		nd = s.d.node
	case flags&format.TMPFILE != 0:
		nm.order.named(s.at[:1])
		nm.there(e, at)
		at.node.typ = format.TypeDir // its notes are those of the file
		f.node = &node{typ: format.TypeReg, created: true, exact: true, cached: -1}
		// The file has no name. As for a removed file, its entry leads to
		// nothing.
		f.node.at = &entry{dir: at.node, comp: tempPrefix, mapped: tempPrefix, state: absent}
		return
	case nm.creates(e, at, flags):
		nm.newAt(s, at)
		nm.names.create(at, format.TypeReg)
	default:
		nm.there(e, at)
		at.node.needs |= wanted(s)
		nm.order.named(s.at[:1])
		if after := *n; truncates(flags) && at.node.now > after.Size {
			after.Has &^= format.NotedSize // the size before is known
			n = &after
		}
		nm.learn(at, n)
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
		nm.order.wrote(nd, 0, math.MaxInt64)
		nm.order.sized(nd, 0, true)
		nd.become(0)
		nd.exact = true
	}
}

// creates reports whether a successful open made the file. The recorder notes
// that. Without notes, a file that was not known to exist is taken as new if
// the flags allow it, as in the original Pianola.
func (nm *naming) creates(e *format.Event, at *entry, flags int64) bool {
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

// chdir sets the working directory.
func (nm *naming) chdir(s *simEvent) {
	if s.e.Ret < 0 {
		return
	}
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
		nm.there(s.e, at)
		if at.node.typ == format.TypeUnknown {
			at.node.typ = format.TypeDir
		}
	}
	s.t.Dir.Data = &workingDir{at.node, s.t.dir().root}
}

// chroot sets the root directory.
func (nm *naming) chroot(s *simEvent) {
	if at := s.at[0]; s.e.Ret >= 0 && at != nil {
		nm.there(s.e, at)
		s.t.Dir.Data = &workingDir{s.t.dir().node, at.node}
	}
}

// truncates reports whether an open with such flags leaves the file empty.
func truncates(flags int64) bool {
	return flags&format.TRUNC != 0 && writes(flags)
}

// writes reports whether an open with such flags can write.
func writes(flags int64) bool { return flags&(format.WRONLY|format.RDWR) != 0 }

// masked gives a call that makes a file the permissions that the file gets: a
// replay has no umask. Those of a file that the recorder saw made are noted.
// They also show the umask where the recording has no other trace of it. If
// nothing shows it, the permissions are those that were asked for.
func (nm *naming) masked(s *simEvent) {
	i := s.out.Op.Info().At.Mode
	if i < 0 || !s.out.Creates(0) && s.out.OpenFlags()&format.TMPFILE == 0 {
		return
	}
	mode, dir := &s.out.Args[i], s.t.Dir
	if n := noted(s.e); n.Known(format.NotedNew | format.NotedMode) {
		asked := *mode
		*mode = asked&^0o777 | int64(n.Mode)&0o777
		if dir.Mask == process.UnknownMask {
			dir.Mask = asked &^ *mode & 0o777
		}
	} else if dir.Mask != process.UnknownMask {
		*mode &^= dir.Mask
	}
}
