package compile

import "pianola/format"

// list is the state of a directory listing by an open file description.
type list struct {
	begun   bool
	marked  bool  // the replay compares the listing as a whole
	partial bool  // not all of its names are counted
	tid     int32 // of the thread that has it
	fd      int64
	there   int64 // names that existed when it began
	before  int64 // node.removed when it began

	bytes int64 // that its calls returned since it began, or since a seek
	other int64 // of them, bytes of names that the trace may have added, less those of names that it had removed
	put   int64 // node.put when it began
}

// sizeAtStart returns the minimum size of the listing of a directory before the trace
// changed it, given the bytes that one more call has returned.
func (l *list) sizeAtStart(dir *node, bytes int64) int64 {
	if l.bytes == 0 {
		l.other, l.put = dir.longer(), dir.put
	}
	l.bytes += bytes
	return l.bytes - l.other - (dir.put - l.put)
}

// longer returns how many bytes longer the listing of a directory is than at the start.
func (nd *node) longer() (bytes int64) {
	if !nd.edited {
		return 0
	}
	for _, e := range nd.entries.list {
		switch {
		case e.state == present && !e.existed:
			bytes += format.DirentSize(e.comp)
		case e.state == absent && e.existed:
			bytes -= format.DirentSize(e.comp)
		}
	}
	return bytes
}

// listed decides how a replay compares the listing of a directory in which the trace
// has created or removed names. Temporary names have other lengths, and another order
// in the directory. The listing must have all names that existed from its first call to
// its last.
func (cs *contents) listed(s *simEvent) {
	f, nd := s.d, s.d.node
	if s.e.Ret < 0 || cs.options.Bare {
		return
	}
	l, mark := &f.list, int64(format.Listing)
	marked := nd.created || nd.edited
	if !l.begun && !l.partial {
		*l = list{begun: true, marked: marked, tid: s.e.TID, fd: s.e.FD(), there: cs.namesIn(nd), before: nd.removed}
		mark |= format.ListingStart
	}
	if l.tid != s.e.TID || l.fd != s.e.FD() || marked != l.marked {
		l.partial = true // a replay counts names per thread and descriptor
	}
	if s.e.Ret == 0 {
		if !l.partial {
			mark |= min(max(l.there-(nd.removed-l.before), 0), format.ListingLeast)
		}
		l.partial = true
	}
	if marked {
		s.out.Args[s.out.Op.Info().At.Buf] = mark
	}
}

// namesIn returns the minimum number of names that a replay has in a directory, 0 with
// Flat.
func (cs *contents) namesIn(dir *node) (n int64) {
	if cs.options.Paths == Flat {
		return 0
	}
	for _, e := range dir.entries.list {
		if e.state == present && !e.node.pseudo {
			n++
		}
	}
	return n
}

func (cs *contents) getdents(s *simEvent) {
	f := s.d
	cs.order.turn(&f.moved, format.EdgeOffset)
	cs.order.held(f.node)
	cs.listed(s)
	if f.node.named() == (s.e.Ret == enoent) {
		cs.disordered = true // a directory that is removed can't be listed
		if cs.learned.ordered {
			what := "listed, but it was removed"
			if s.e.Ret == enoent {
				what = "missing, but the recording did not remove it"
			}
			cs.unexplained(s.e, f.node.at, what)
		}
	}
	if s.e.Ret < 0 {
		return
	}
	if f.node.typ == format.TypeUnknown {
		f.node.typ = format.TypeDir
	}
	if !f.node.created {
		f.node.size = max(f.node.size, f.list.sizeAtStart(f.node, s.e.Ret))
	}
}
