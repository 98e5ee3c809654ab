package compile

import (
	"slices"
	"strings"

	"pianola/format"
)

// there records that a successful call found a file at an entry.
func (nm *naming) there(e *format.Event, at *entry) {
	if !nm.names.exists(at) {
		nm.unexplained(e, at, "exists, but the recording did not create it")
	}
}

// failed learns from the error of an open or of another call on a path.
func (nm *naming) failed(s *simEvent, at *entry) {
	if at == nil || at.dir == nil {
		return
	}
	if (s.slash[0] || s.slash[1]) && (s.e.Ret != enoent || slashed(s, 0) || slashed(s, 1)) {
		return // the error is about the slash
	}
	if s.e.Ret == enoent && nm.missedOnWay(s) {
		return
	}
	if to := s.at[1]; to != nil && at == s.at[0] {
		// The error can be about the second name, or about its directory.
		switch s.e.Ret {
		case eexist, enotempty, eisdir:
			nm.disordered = nm.disordered || at.state == absent
			at = to
		case enoent:
			missing := to.dir != nil && (to.dir.at.state != present || to.dir.at.node != to.dir)
			if at.state == present && (missing || s.out.Exchanges() && to.state != present) || at.state == unknown && to.dir != nil && to.dir.at.state == absent {
				return
			}
		case enotdir:
			return
		}
	}
	if at.dir == nil {
		return
	}
	switch s.e.Ret {
	case enoent:
		if s.out.Creates(0) && at.dir.at.state == present && at.dir.at.node == at.dir {
			nm.disordered = true // only what is above the name can be missing
		}
		reached(at.dir)
		switch {
		case at.state == present && at.node.typ == format.TypeLnk && at.node.target == "":
			// It leads to nothing, which is how the replay's link is made.
		case at.state == present:
			nm.unexplained(s.e, at, "missing, but the recording did not remove it")
			nm.names.gone(at)
		case at.state == unknown && s.out.OpenFlags()&format.CREAT == 0:
			at.state = absent // with O_CREAT, the directory is missing, not the file
			if slices.Contains(nm.trail, at) {
				nm.resolveAgain(s) // the path entered what is missing, and left it by ".."
			}
		}
	case eexist, inUse:
		nm.there(s.e, at)
	case eisdir, enotempty:
		nm.there(s.e, at)
		at.node.typ = format.TypeDir
		if s.e.Ret == enotempty && !at.node.created {
			at.node.size = max(at.node.size, emptyListing+1)
		}
	case enotdir:
		nm.noDirectory(s, at)
	case eacces:
		nm.barred(at.dir)
		if !at.made && !at.moved {
			at.refused |= wanted(s)
		}
	}
}

// wanted returns the permissions that a call asks for of the file that its path leads to.
func wanted(s *simEvent) uint32 {
	bits := uint32(s.out.Word(format.AccessMode) & 7) // R_OK, W_OK and X_OK are the bits of permissions
	if flags := s.out.OpenFlags(); s.acts().Any(format.Opens) && flags&format.PATH == 0 {
		bits = 0o4
		switch {
		case flags&format.RDWR != 0:
			bits = 0o6
		case flags&format.WRONLY != 0:
			bits = 0o2
		}
	}
	return bits | bits<<3 | bits<<6
}

// barred learns from an EACCES below a directory that the application may not search it, if
// nothing else shows that it may (node.bars). The error can also be about the file itself, or
// about a directory above; a replay has the same error if this one is closed.
func (nm *naming) barred(dir *node) {
	if dir.at.dir == nil || dir.at.node != dir || dir.created || dir.isLeaf() || dir.at.state == absent {
		return
	}
	nm.names.exists(dir.at)
	if dir.typ == format.TypeUnknown {
		dir.typ = format.TypeDir
	}
	dir.barred = true
}

// bars reports whether the application may not search a directory: something below it was
// refused, and nothing there was found, made, or known to be missing.
func (nd *node) bars() bool {
	if !nd.barred || nd.searched {
		return false
	}
	for _, e := range nd.entries.list {
		if (e.existed || e.made || e.state == present) && (e.first == nil || !e.first.bars()) {
			return false
		}
	}
	return true
}

// reached learns from an ENOENT below a directory that it is one: with a file there, the
// error would be ENOTDIR. It reports whether the directory is known to exist; if not, its
// name, or one above it, can be the missing one.
func reached(dir *node) bool {
	if dir.at.dir == nil {
		return true
	}
	if dir.at.node != dir || !reached(dir.at.dir) || dir.at.state != present {
		return false
	}
	dir.searched = true
	if dir.typ == format.TypeUnknown {
		dir.typ = format.TypeDir
	}
	return true
}

// slashed reports whether the slash at the end of path n explains an ENOENT: with one, a
// call can make or rename a directory only. An open of such a path fails with EISDIR.
func slashed(s *simEvent, n int) bool {
	at := s.at[n]
	if !s.slash[n] || !s.out.Creates(n) || at.state == present {
		return false
	}
	for up := at; up.dir != nil; up = up.dir.at {
		if up.dir.isLeaf() {
			return false // the error would be ENOTDIR
		}
	}
	return !s.acts().Any(format.Opens | format.Renames | format.Directories)
}

// missedOnWay handles an ENOENT of a path that leads to something that exists:
// a name is missing that the path enters and leaves by "..". It reports whether
// there is such a name.
func (nm *naming) missedOnWay(s *simEvent) bool {
	for i, at := range s.at {
		if at == nil {
			continue
		}
		if s.out.Creates(i) && at.dir != nil && !s.out.Exchanges() {
			at = at.dir.at // the name itself may be missing
		}
		if at.node != nil && at.node.typ == format.TypeLnk && s.e.Follows(i) {
			return false // it leads to nothing
		}
		for up := at; up.dir != nil; up = up.dir.at {
			if up.dir.isLeaf() {
				at = up.dir.at // below a file the error would be ENOTDIR
			}
		}
		for ; at.dir != nil; at = at.dir.at {
			if at.state != present {
				return false
			}
		}
	}
	for _, e := range slices.Backward(nm.trail) {
		if e.state == unknown {
			e.state = absent
			nm.resolveAgain(s)
			return true
		}
	}
	return false
}

// passed learns from a success that names which paths entered and left by ".." are
// directories.
func (nm *naming) passed(s *simEvent) {
	for _, e := range nm.trail {
		if e.state == unknown && !within(s.at[0], e.node) && (s.at[1] == nil || !within(s.at[1], e.node)) {
			nm.names.exists(e)
			e.node.typ = format.TypeDir
		}
	}
}

// noDirectory learns from ENOTDIR which name on the path is not a directory. If the
// simulation already knows such a name, it learns nothing. Otherwise it takes the last
// possible name. The last component counts only if the call needs a directory there.
func (nm *naming) noDirectory(s *simEvent, at *entry) {
	on := nm.trail
	if s.from[0] != nil {
		on = append([]*entry{s.from[0]}, on...)
	}
	flags := s.out.OpenFlags()
	if s.acts().All(format.Removes|format.Directories) || flags&format.DIRECTORY != 0 && flags&format.CREAT == 0 || flags&format.TMPFILE != 0 || s.slash[0] {
		on = append(slices.Clip(on), at)
	}
	last := (*entry)(nil)
	for _, e := range on {
		switch {
		case e.state == unknown, e.state == present && e.node.typ == format.TypeUnknown && !e.node.holds():
			last = e
		case e.state == present && e.node.typ != format.TypeDir && e.node.typ != format.TypeUnknown && (e == at || e.node.target == ""):
			return
		}
	}
	if last == nil {
		nm.unexplained(s.e, at, "ENOTDIR, but every part of the path is a directory")
		return
	}
	nm.names.exists(last)
	last.node.typ = format.TypeReg
	if last != at {
		nm.resolveAgain(s)
	}
}

// emptyListing is what getdents64 returns for an empty directory: two records
// of 24 bytes, for "." and ".." (getdents64(2)).
const emptyListing = 48

func (nm *naming) stat(s *simEvent) {
	if s.d != nil {
		nm.fstat(s)
	} else {
		nm.looked(s)
	}
}

// looked handles calls that read attributes of a path's target, or change attributes
// that the simulation does not track.
func (nm *naming) looked(s *simEvent) {
	at := s.at[0]
	if at == nil {
		return
	}
	nm.order.named(s.at[:1])
	if s.e.Ret < 0 {
		nm.failed(s, at)
		return
	}
	nm.there(s.e, at)
	at.node.needs |= wanted(s)
	nm.learn(at, noted(s.e))
}

// readlink learns the target of a link. If the simulation took the name for another
// type before, the pass is repeated with that target.
func (nm *naming) readlink(s *simEvent) {
	at := s.at[0]
	nm.order.named(s.at[:1])
	if s.e.Ret < 0 {
		if s.e.Ret == einval {
			nm.names.exists(at)
		}
		nm.failed(s, at)
		return
	}
	known := at.state == present
	nm.there(s.e, at)
	nd := at.node
	target := string(noted(s.e).Target)
	if len(target) > maxPath {
		target = "" // no link holds it
	}
	if nd.created || nd.target != "" || target == "" {
		if nd.typ == format.TypeUnknown {
			nd.typ = format.TypeLnk
		}
		return
	}
	if known && nm.learned.closed {
		nm.unexplained(s.e, at, "a symbolic link, but it was used as another type of file")
		return
	}
	if known {
		nm.learnLink(nm.names.original(nd.first), target)
		return
	}
	nd.typ, nd.target = format.TypeLnk, target
}

// learnLink records, for the next pass, that a symbolic link existed at the start.
func (nm *naming) learnLink(name, target string) {
	l := nm.learned
	if _, known := l.links[name]; !known {
		bytes := len(name) + len(target) + 2*inMap
		l.bytes += bytes
		nm.budget.take(forNames, bytes)
	}
	l.links[name], l.named[name[strings.LastIndexByte(name, '/')+1:]], l.more = target, true, true
}

// made handles a call that makes a name of a new file.
func (nm *naming) made(s *simEvent) {
	acts, mode := s.acts(), s.out.Op.Info().At.Mode
	typ := format.TypeReg
	switch {
	case acts.Any(format.Directories):
		typ = format.TypeDir
	case acts.Any(format.Symlinks):
		typ = format.TypeLnk
	case mode < 0: // bind
		nm.binds, typ = true, format.TypeSock
	case s.out.Args[mode]&0o170000 != 0 && s.out.Args[mode]&0o170000 != modeRegular: // S_IFMT
		typ = format.TypeFifo
	}
	if s.e.Ret < 0 {
		nm.order.named(s.at[:1])
		nm.failed(s, s.at[0])
		return
	}
	nm.newAt(s, s.at[0])
	if nd := nm.names.create(s.at[0], typ); typ == format.TypeLnk {
		nd.target = string(s.e.Str[0])
	}
}

// newAt records that the event created a name, which must not have existed.
func (nm *naming) newAt(s *simEvent, at *entry) {
	switch {
	case at.state == present:
		nm.unexplained(s.e, at, "created, but it existed")
	case at.dir != nil && at.dir.at.dir != nil && !at.dir.named():
		nm.unexplained(s.e, at, "created in a directory that was removed")
	}
	nm.order.renamed(at)
}

// attribute handles calls on extended attributes of a path or a descriptor. An
// attribute that the trace reads before it sets it existed at the start.
func (nm *naming) attribute(s *simEvent) {
	nd := (*node)(nil)
	if s.d != nil {
		nd = s.d.node
	} else if nm.looked(s); s.at[0].state == present {
		nd = s.at[0].node
	}
	if nd == nil || s.e.Ret < 0 {
		return
	}
	info := s.out.Op.Info()
	name := string(s.e.Str[info.At.Text])
	if nd.attrs == nil {
		nd.attrs = map[string]int64{}
	}
	switch _, known := nd.attrs[name]; {
	case known:
	case info.Acts.Any(format.Amends):
		nd.attrs[name] = notRead
		nm.budget.take(forFiles, attrBytes+len(name))
	case !nd.created:
		nd.attrs[name] = s.e.Ret
		nm.budget.take(forFiles, attrBytes+len(name))
	}
}

// notRead is the size of an attribute that the trace set or removed before it
// read it.
const notRead = -1

// removed handles unlink and rmdir.
func (nm *naming) removed(s *simEvent) {
	at := s.at[0]
	if s.e.Ret < 0 {
		nm.order.named(s.at[:1])
		if s.acts().Any(format.Directories) {
			nm.order.held(at.node)
		}
		if s.e.Ret == enotempty {
			nm.emptied(s, at, false)
		}
		nm.failed(s, at)
		return
	}
	nm.there(s.e, at)
	if s.acts().Any(format.Directories) {
		at.node.typ = format.TypeDir
		nm.order.vanished(at.node)
		nm.emptied(s, at, true)
	}
	nm.order.renamed(at)
	nm.names.gone(at)
}

func (nm *naming) rename(s *simEvent) {
	from, to := s.at[0], s.at[1]
	if s.e.Ret < 0 {
		nm.order.named(s.at[:])
		if s.e.Ret == enotempty {
			nm.order.held(to.node)
			nm.emptied(s, to, false)
		}
		nm.failed(s, from)
		return
	}
	nm.there(s.e, from)
	nm.order.renamed(from)
	nm.order.renamed(to)
	nd := from.node
	if s.out.Exchanges() {
		nm.there(s.e, to)
		other := to.node
		nm.names.put(to, nd)
		nm.names.put(from, other)
		return
	}
	if from == to || nd == to.node {
		return // rename(2): if both are names of one file, nothing changes
	}
	if to.state == present {
		nm.order.vanished(to.node)
		nm.emptied(s, to, true)
	}
	nm.names.gone(from)
	nm.names.put(to, nd)
	if s.out.Word(format.RenameFlags)&format.RenameWhiteout != 0 {
		nm.names.create(from, format.TypeChr)
	}
}

func (nm *naming) link(s *simEvent) {
	from, to := s.at[0], s.at[1]
	if from == nil { // the file of a descriptor
		nm.linkFile(s, to)
		return
	}
	if s.e.Ret < 0 {
		nm.order.named(s.at[:])
		nm.failed(s, from)
		// The kernel looks up both names before it refuses: the first is a directory.
		if s.e.Ret == eperm && from.state != absent && to.dir != nil && to.dir.at.dir != nil && to.dir.at.state == unknown {
			nm.names.exists(to.dir.at)
			to.dir.typ = format.TypeDir
		}
		return
	}
	nm.there(s.e, from)
	nm.order.named(s.at[:1])
	nm.newAt(s, to)
	nd := from.node
	if nd.typ == format.TypeUnknown {
		nd.typ = format.TypeReg // a directory can't have a second name
	}
	nm.names.put(to, nd)
}

// linkFile handles a call that gives a name to the file of a descriptor.
func (nm *naming) linkFile(s *simEvent, to *entry) {
	switch {
	case s.e.Ret >= 0:
		nm.newAt(s, to)
		nm.names.put(to, s.d.node)
	case s.e.Ret != enoent || s.d.node.named(): // else the file can't get a name again
		nm.order.named(s.at[1:])
		nm.failed(s, to)
	default:
		nm.order.named(s.at[1:])
	}
}

// reached handles a call that changes the file of a path.
func (nm *naming) reached(s *simEvent) {
	if s.d != nil {
		return
	}
	if nm.order.named(s.at[:1]); s.e.Ret < 0 {
		nm.failed(s, s.at[0])
		return
	}
	nm.there(s.e, s.at[0])
}
