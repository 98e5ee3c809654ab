package compile

import (
	"bytes"
	"slices"
	"strings"

	"pianola/format"
)

// resolve finds the targets of the event's paths and descriptors, and maps the paths.
// It returns why the event cannot be in the trace, reasonNone if it can.
func (nm *naming) resolve(s *simEvent) reason {
	if info := s.out.Op.Info(); info.At.FD >= 0 {
		why := nm.resolveFDs(s)
		if info.Acts.Any(format.Maps) && why != reasonNone {
			s.out.Args[info.At.FD], why = -1, reasonNone // anonymous, or replayed like that
		}
		return why
	}
	from := s.e.Op.Info()
	for n, p := range from.At.Paths {
		if p.Arg < 0 {
			break
		}
		if n == 0 && s.out.Op == format.OpLinkat {
			if why := nm.linked(s, s.out.Args[0]); why != reasonNone {
				return why
			}
			continue
		}
		dir := s.t.dir().node
		name := s.e.Path(n)
		if fd := s.e.Dir(n); fd != format.AtFDCWD && (len(name) == 0 || name[0] != '/') {
			f := fileOf(s.t.Table.Find(fd))
			if f == nil {
				return reasonUnknown
			}
			if f.node == nil {
				return reasonNoFile
			}
			dir = f.node
		}
		if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 { // no call can have such a path
			return reasonPath
		}
		// A recorder cuts a path that is too long.
		state := noted(s.e).Strings[p.Str]
		if state != format.StringWhole && (state != format.StringCut || s.e.Ret != enametoolong) {
			return reasonPath
		}
		if from.Acts.Any(format.Symlinks) && len(s.e.Str[from.At.Text]) > maxPath && s.e.Ret >= 0 {
			return reasonLong
		}
		if long := tooLong(name); long >= 0 || len(name) > maxPath || state == format.StringCut {
			switch {
			case s.e.Ret == enametoolong:
				s.at[n] = nm.names.long()
				nm.names.mention(s.at[n])
				continue
			case s.e.Ret >= 0 || len(name) > maxPath:
				return reasonLong
			}
			standIn := longName // the call failed before it
			if nm.options.Paths == Flat {
				standIn = goneName // flat paths have no directories before it
			}
			name = append(name[:long:long], standIn...)
		}
		path := string(name)
		link, slash := linkItself, name[len(name)-1] == '/'
		switch {
		case s.e.Follows(n) && s.e.Creates(n):
			link = linkFile
		case s.e.Follows(n):
			link = linkTarget
		}
		if slash && (s.e.Creates(n) || s.e.Removes(n)) {
			// The call is about the name, so a slash does not make it follow a
			// link. After "." and ".." a slash has no effect. Otherwise it
			// makes O_CREAT fail, before O_EXCL can.
			path, link = path[:1]+strings.TrimRight(path[1:], "/"), linkItself
			slash = !dots(path)
		}
		if name[0] != '/' {
			dir, path = nm.below(dir, path)
			s.from[n] = dir.at
		}
		at, way := nm.names.walk(s.t.dir().root, dir, path, link, nm.trail)
		nm.trail = way.trail
		if at == nil {
			return reasonPath
		}
		if nm.names.isBelowNowhere(at) && s.e.Ret != enoent {
			// A replay has no directory that is removed and still open.
			if s.e.Ret < 0 || s.out.OpenFlags()&format.TMPFILE == 0 {
				return reasonResult
			}
			at = nm.names.root.at // a file without a name can be made anywhere
		}
		if way.magic != nil {
			var why reason
			if at, why = nm.through(s, n, at, way.magic); why != reasonNone || s.out.Op.Info().At.FD >= 0 {
				return why
			} else if at == nil {
				continue // linkat
			}
		} else if isMagic(at) && link != linkItself {
			if own := nm.entryByInode(s.e); own != nil {
				at = own
			}
		}
		if at.node != nil && at.node.pseudo {
			s.at[n] = at
			return reasonPseudo
		}
		if nm.names.tooFar(at) {
			s.deep = true
		} else {
			nm.names.mention(at)
		}
		s.at[n], s.slash[n] = at, (way.slash || slash) && at.dir != nil
	}
	nm.mapStrings(s)
	return reasonNone
}

// resolveAgain resolves the event's paths again, after the result showed that a path
// leaves, by "..", a file that is not a directory.
func (nm *naming) resolveAgain(s *simEvent) {
	nm.trail = nm.trail[:0]
	nm.resolve(s)
	nm.order.named(nm.trail)
}

// dots reports whether a path ends in "." or "..", with slashes or without.
func dots(path string) bool {
	path = strings.TrimRight(path, "/")
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last == "." || last == ".."
}

// below returns the directory where a relative path begins, and the path from
// there. Both differ from dir and name if dir was removed. The directories
// above go to the trail, because the result also depends on their names.
func (nm *naming) below(dir *node, name string) (*node, string) {
	for dir.at.node != dir {
		// The directory was removed, and its name may belong to another one.
		// Only ".." still leads somewhere.
		rest, up := strings.CutPrefix(name, "..")
		if !up || rest != "" && rest[0] != '/' || dir.isLeaf() {
			return nm.names.nowhere(), name
		}
		dir, name = dir.at.dir, strings.TrimLeft(rest, "/")
	}
	if !nm.order.alone {
		for at := dir.at; at.dir != nil; at = at.dir.at {
			nm.trail = append(nm.trail, at)
		}
	}
	return dir, name
}

// resolveFDs finds the descriptors of an event: fd, and outfd if it has one. Of
// two, one file is enough; the other becomes -1.
func (nm *naming) resolveFDs(s *simEvent) reason {
	at := &s.out.Op.Info().At
	d, why := nm.descriptor(s, s.out.FD())
	if at.OutFD >= 0 {
		other, no := nm.descriptor(s, s.out.OutFD())
		switch {
		case why != reasonNone && no != reasonNone:
			return why
		case why != reasonNone:
			s.out.Args[at.FD] = -1
		case no != reasonNone:
			s.out.Args[at.OutFD] = -1
		}
		s.d, s.other = d, other
		return reasonNone
	}
	if s.d = d; why != reasonNone {
		return why
	}
	if clones(s.out) {
		if _, why := nm.descriptor(s, s.out.Args[2]); why != reasonNone {
			return why
		}
	}
	nm.place(s)
	nm.mapStrings(s)
	return reasonNone
}

// clones reports whether an event is an ioctl whose argument is another descriptor.
func clones(e *format.Event) bool {
	if e.Op != format.OpIoctl {
		return false
	}
	switch e.Word(format.IoctlRequest) {
	case format.Ficlone, format.Ficlonerange, format.Fideduperange:
		return true
	}
	return false
}

// descriptor returns the open file description of a descriptor, or nil and the reason
// if it is not a file of the trace.
func (nm *naming) descriptor(s *simEvent, fd int64) (*openFile, reason) {
	table := s.t.Table
	closes := s.acts().Any(format.Closes)
	d := table.Find(fd)
	if closes {
		d = table.Closing(fd)
	}
	f := fileOf(d)
	switch {
	case f == nil:
		return nil, reasonUnknown
	case f.node != nil && f.node.pseudo:
		return nil, reasonPseudo
	case f.deep:
		return nil, reasonDeep
	case !f.isFile():
		return nil, reasonNoFile
	}
	if of, ok := d.Data.(*uses); ok {
		nm.order.after(of.opened, format.EdgeDescriptor)
	}
	if !nm.order.alone && !closes {
		of := nm.fds.used(table, fd)
		of.newest = nm.order.use(of.newest)
	}
	return f, reasonNone
}

// mapStrings replaces the event's string arguments by names below the root.
func (nm *naming) mapStrings(s *simEvent) {
	info := s.out.Op.Info()
	if info.At.Text >= 0 {
		given, mapped := s.e.Str[s.e.Op.Info().At.Text], ""
		text := string(given)
		if info.Acts.Any(format.Symlinks) {
			mapped = nm.target(s.at[0], text) // in every pass, because it looks up names
		} else {
			mapped = nm.hideAttr(text)
		}
		if nm.out != nil && given != nil {
			s.out.Str[info.At.Text] = nm.text(mapped)
		}
	}
	// A replay puts a file in place of a directory that a whiteout replaced.
	whiteout := s.e.Ret >= 0 && info.Acts.Any(format.Renames) && s.out.Word(format.RenameFlags)&format.RenameWhiteout != 0
	for n, p := range info.At.Paths {
		if p.Arg >= 0 && s.at[n] != nil && nm.out != nil && !s.deep {
			s.out.Str[p.Str] = nm.path(s.at[n], s.from[n], s.slash[n] && !whiteout)
		}
	}
}

// path puts the mapped path of an entry into the arena. If the application's
// path was relative to the directory from, the mapped one has "//" after that
// directory (see relativeTo). It ends with a slash if slash is set.
func (nm *naming) path(at, from *entry, slash bool) []byte {
	start := len(nm.arena)
	nm.arena = nm.names.appendMapped(nm.arena, at, nm.options.Paths)
	if n := nm.relativeTo(from, nm.arena[start:]); n > 0 {
		nm.arena = slices.Insert(nm.arena, start+n, '/')
	}
	if slash {
		nm.arena = append(nm.arena, '/')
	}
	return nm.arena[start:len(nm.arena):len(nm.arena)]
}

// relativeTo returns the length of the part of a mapped path that leads to
// from, the directory where the application's path began. A replay keeps that
// directory open and looks up only the rest, because a lookup takes time for
// each component. The result is 0 if the path can't be split there, for example
// because the directory is renamed in the course of the trace.
func (nm *naming) relativeTo(from *entry, mapped []byte) int {
	if from == nil || from.dir == nil || nm.options.Paths == Flat || !nm.learned.plan.stays[from.id] {
		return 0
	}
	nm.names.scratch = nm.names.appendMapped(nm.names.scratch[:0], from, nm.options.Paths)
	if n := len(nm.names.scratch); len(mapped) > n+1 && mapped[n] == '/' && bytes.HasPrefix(mapped, nm.names.scratch) {
		return n
	}
	return 0
}

// target returns the text of a symbolic link at an entry, given the text of the
// application's link. It leads to the mapped path of the same target.
func (nm *naming) target(link *entry, text string) string {
	if len(text) > maxPath {
		return strings.Repeat(longName, maxPath/len(longName)+1) // longer than a link can hold
	}
	if link == nil || link.dir == nil || text == "" {
		return nm.hideTarget(text)
	}
	at, _ := nm.names.walk(nm.names.root, link.dir, text, linkItself, nil)
	if at == nil || at.node != nil && at.node.pseudo {
		return nm.hideTarget(text)
	}
	to := relative(nm.names.mappedPath(link, nm.options.Paths), nm.names.mappedPath(at, nm.options.Paths))
	if len(to) > maxPath {
		return goneName // paths in the trace don't follow the link, and what does finds nothing
	}
	return to
}

// relative returns the path from the directory of a link to a name. Both are
// below the root.
func relative(link, name string) string {
	from, to := strings.Split(link, "/"), strings.Split(name, "/")
	from = from[:len(from)-1]
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}

// place sets the buffer of a read or write: its offset in the replay's memory.
func (nm *naming) place(s *simEvent) {
	info := s.e.Op.Info()
	i := info.At.Buf
	if !info.Acts.Any(format.Buffers) || i < 0 || nm.options.Bare {
		return
	}
	if nm.out == nil {
		s.t.proc.buffers.add(s.e.Args[i], s.e.Size())
	} else {
		place := s.t.proc.buffers.place(s.e.Args[i])
		if place != 0 && fresh(s.e) {
			place |= format.FreshBuffer
		}
		s.out.Args[s.out.Op.Info().At.Buf] = place
	}
}

// fresh reports whether a call took page faults for at least half of the pages
// of its buffer.
func fresh(e *format.Event) bool {
	return e.Ret > 0 && e.Faults*2 >= (e.Ret+pageSize-1)/pageSize
}
