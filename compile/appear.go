package compile

import "pianola/format"

// unshown reports whether an event is a call on a name that does not show what
// kind of file it leads to: chmod, chown, unlink and the like. Besides
// connecting, these are the calls that programs make on the name of a socket.
func unshown(e *format.Event) bool {
	info := e.Op.Info()
	return info.Acts.Any(format.Permits|format.Removes) && !info.Acts.Any(format.Directories) && info.At.Paths[0].Arg >= 0
}

// The modes by which mknod makes a socket and a regular file, without
// permissions.
const (
	modeSocket  = 0o140000 // S_IFSOCK
	modeRegular = 0o100000 // S_IFREG
)

// appear creates the files that the event finds although earlier calls missed them:
// another program created them. It adds the creating calls right before the event. The
// files must not be in the fileset, because the calls that missed them would find them.
//
// Older recordings and imports lack bind. In those, a file that appears and is used
// only by calls on sockets counts as a socket: its owner binds it, sets its mode,
// and removes it at the end.
func (nm *naming) appear(next *simEvent) {
	t, e := next.t, next.e
	if e.Ret < 0 && e.Ret != eexist && e.Ret != inUse {
		return
	}
	s := nm.begin(t, e)
	if nm.resolveAhead(s) != reasonNone || s.deep || refusedChange(s) {
		return
	}
	for n, at := range s.at {
		if at == nil || at.dir == nil || at.state != absent || !nm.needs(s, n) {
			continue
		}
		what := format.File{Type: format.TypeReg, Mode: defaultMode}
		switch noted := noted(e); {
		case s.acts().Any(format.Follows):
			what.Type, what.Target = format.TypeLnk, string(noted.Target)
		case s.slash[n] || s.acts().All(format.Removes|format.Directories) || s.acts().Any(format.Enters) || at.node != nil && at.node.holds():
			what.Type = format.TypeDir
		case unshown(e) && !nm.binds:
			what.Type, what.Mode = format.TypeSock, 0o777
		case n == 0 && noted.Type != format.TypeUnknown:
			what.Type, what.Mode, what.Size = noted.Type, noted.Mode, noted.Size
		}
		if what.Type == format.TypeSock {
			nm.report.Sockets++
			nm.disordered = true // a call under way may have made it
		} else {
			nm.unexplained(e, at, "exists, but the recording did not create it")
		}
		nm.makeThere(t, e, at, &what)
	}
}

// resolveAhead resolves an event that is simulated later. It resets the edges collected for
// it, because the event does not wait for anything yet.
func (nm *naming) resolveAhead(s *simEvent) reason {
	planning := nm.order.planning
	nm.order.planning = true
	defer func() { nm.order.planning = planning }()
	return nm.resolve(s)
}

// needs reports whether the result of an event shows that something is at path n.
func (nm *naming) needs(s *simEvent, n int) bool {
	makes := s.out.Creates(n) && !s.out.Exchanges()
	if s.e.Ret < 0 {
		return makes
	}
	return !makes || s.acts().Any(format.Opens) && !nm.creates(s.e, s.at[n], s.out.OpenFlags())
}

// makeThere adds calls to the trace that create a file at an entry, and its missing
// parent directories, before the event.
func (nm *naming) makeThere(t *thread, e *format.Event, at *entry, what *format.File) {
	if above := at.dir.at; above.dir != nil && above.state == absent {
		if nm.names.isNowhere(at.dir) || above.node != at.dir {
			return // a directory that was removed
		}
		nm.makeThere(t, e, above, &format.File{Type: format.TypeDir, Mode: defaultDirMode})
	}
	calls := [2]format.Event{{Op: format.OpMknod}, {Op: format.OpTruncate}}
	mode := int64(what.Mode)
	switch what.Type {
	case format.TypeDir:
		calls[0].Op = format.OpMkdir
	case format.TypeLnk:
		calls[0].Op = format.OpSymlink
	case format.TypeSock:
		mode |= modeSocket
	default:
		mode |= modeRegular
	}
	used := calls[:1]
	if what.Type == format.TypeReg && what.Size > 0 {
		used = calls[:]
	}
	typ := what.Type
	nd := nm.names.create(at, typ)
	nd.target = what.Target
	for i := range used {
		made := &used[i]
		made.TID, made.Start = e.TID, e.Start
		out := nm.beginMade(t, made)
		nm.order.named(nm.trail)
		if i == 0 {
			nm.order.renamed(at)
			if k := out.Op.Info().At.Mode; k >= 0 {
				out.Args[k] = mode
			}
		} else {
			nm.order.named([]*entry{at})
			out.Args[1], nd.now, nd.changed = what.Size, what.Size, true
		}
		if nm.out != nil {
			path := &out.Str[out.Op.Info().At.Paths[0].Str]
			*path = nm.path(at, nil, false)
			if out.Op == format.OpSymlink {
				out.Str[0] = nm.text(nm.target(at, what.Target))
			}
		}
		nm.emitMade(t, made, out)
	}
}
