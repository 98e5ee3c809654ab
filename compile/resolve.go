package compile

import (
	"bytes"
	"strings"

	"pianola/format"
)

// resolve finds what the event's paths and descriptor lead to, and maps the
// paths. It returns why the event can't be in the trace, if it can't.
func (m *model) resolve(s *step) reason {
	if i := layouts[s.out.Op].fd; i >= 0 {
		why := m.resolveFDs(s, i)
		if s.out.Op == format.OpMmap && why != reasonNone {
			s.out.Args[i], why = -1, reasonNone // anonymous, or as good as that
		}
		return why
	}
	from := s.e.Op.Info()
	n := 0
	for i, a := range from.Args {
		if a.Kind != format.Path {
			continue
		}
		dir := s.t.dir.node
		name := s.e.Str[from.StringIndex(i)]
		if i > 0 && from.Args[i-1].Kind == format.DirFD && s.e.Args[i-1] != format.AtFDCWD && (len(name) == 0 || name[0] != '/') {
			d := s.t.files.fds[int32(s.e.Args[i-1])]
			if d == nil {
				return reasonUnknown
			}
			if d.file.node == nil {
				return reasonNoFile
			}
			dir = d.file.node
		}
		if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 { // which no kernel was ever given
			return reasonPath
		}
		if s.e.Notes != nil && s.e.Notes.Strings[from.StringIndex(i)] != format.StringWhole {
			return reasonPath
		}
		path := string(name)
		follow, slash := follows(s, a.Name), name[len(name)-1] == '/'
		if slash && (s.out.Op == format.OpOpenm || shapes[s.out.Op] && (s.out.Op != format.OpLink || a.Name != "old")) {
			// It is the name that counts: a slash makes no link lead elsewhere. After
			// "." and ".." it says nothing; elsewhere it is what fails O_CREAT, even
			// where O_EXCL would.
			path, follow = path[:1]+strings.TrimRight(path[1:], "/"), false
			slash = !dots(path)
		}
		if name[0] != '/' {
			dir, path = m.below(dir, path)
			s.from[n] = dir.at
			if m.names.isNowhere(dir) && s.e.Ret != enoent {
				return reasonResult // a replay has no directory that is gone, and still open
			}
		}
		at, way := m.names.walk(s.t.dir.root, dir, path, follow, m.trail)
		m.trail = way.trail
		if at == nil {
			return reasonPath
		}
		if at.node != nil && at.node.pseudo {
			s.at[n] = at
			return reasonPseudo
		}
		at.direct = true
		s.at[n], s.slash[n] = at, (way.slash || slash) && at.dir != nil
		n++
	}
	m.mapStrings(s)
	return reasonNone
}

// resolveAgain resolves the event's paths by what its own result taught: a path
// that leaves what is no directory by ".." leads nowhere.
func (m *model) resolveAgain(s *step) {
	m.trail = m.trail[:0]
	m.resolve(s)
	m.order.named(m.trail)
}

// dots reports whether a path ends in "." or "..".
func dots(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return last == "." || last == ".."
}

// below prepares for a path that begins in a directory, and returns where it
// does and what is left of it: what the directories above it were called when it
// was found matters as much as the path.
func (m *model) below(dir *node, name string) (*node, string) {
	for dir.at.node != dir {
		// It has been removed, and its name can be another's by now. All that
		// is left of it is the way up.
		rest, up := strings.CutPrefix(name, "..")
		if !up || rest != "" && rest[0] != '/' || dir.isLeaf() {
			return m.names.nowhere(), name
		}
		dir, name = dir.at.dir, strings.TrimLeft(rest, "/")
	}
	if !m.order.alone {
		for at := dir.at; at.dir != nil; at = at.dir.at {
			m.trail = append(m.trail, at)
		}
	}
	return dir, name
}

// resolveFDs finds the descriptors of an event, the one at position i and the
// one that it writes to. Of two, one that is a file is enough: the other is
// marked as none by -1.
func (m *model) resolveFDs(s *step, i int) reason {
	d, why := m.descriptor(s, s.out.Args[i])
	if k := layouts[s.out.Op].outfd; k >= 0 {
		other, no := m.descriptor(s, s.out.Args[k])
		switch {
		case why != reasonNone && no != reasonNone:
			return why
		case why != reasonNone:
			s.out.Args[i] = -1
		case no != reasonNone:
			s.out.Args[k] = -1
		}
		s.d, s.other = d, other
		return reasonNone
	}
	if s.d = d; why != reasonNone {
		return why
	}
	if s.out.Op == format.OpIoctl && (s.out.Args[1] == format.Ficlone || s.out.Args[1] == format.Ficlonerange || s.out.Args[1] == format.Fideduperange) {
		if _, why := m.descriptor(s, s.out.Args[2]); why != reasonNone {
			return why
		}
	}
	m.place(s)
	m.mapStrings(s)
	return reasonNone
}

// descriptor returns what a number stands for, nil with a reason where it is no
// file of the trace.
func (m *model) descriptor(s *step, fd int64) (*descriptor, reason) {
	files := s.t.files
	d := files.fds[int32(fd)]
	if s.out.Op == format.OpClose && files.late[int32(fd)] != nil {
		d = files.late[int32(fd)]
	}
	switch {
	case d == nil:
		return nil, reasonUnknown
	case d.file.node != nil && d.file.node.pseudo:
		return nil, reasonPseudo
	case !d.file.isFile():
		return nil, reasonNoFile
	}
	m.order.after(d.opened)
	d.used = m.order.use(d.used)
	return d, reasonNone
}

// follows reports whether the call follows a link in the last component.
func follows(s *step, arg string) bool {
	switch s.out.Op {
	case format.OpOpen, format.OpOpenm:
		flags := s.out.Args[1]
		return flags&format.NOFOLLOW == 0 && flags&(format.CREAT|format.EXCL) != format.CREAT|format.EXCL
	case format.OpStat, format.OpTruncate, format.OpChdir, format.OpChroot, format.OpExecve, format.OpStatfs,
		format.OpSetxattr, format.OpGetxattr, format.OpListxattr, format.OpRemovexattr, format.OpChown:
		return true
	case format.OpStatx:
		return s.out.Args[1]&format.AtSymlinkNofollow == 0
	case format.OpUtimens:
		return s.out.Args[2]&format.AtSymlinkNofollow == 0
	case format.OpChmod:
		return s.e.Op != format.OpFchmodat2 || s.e.Args[3]&format.AtSymlinkNofollow == 0
	case format.OpAccess:
		return s.e.Op != format.OpFaccessat2 || s.e.Args[3]&format.AtSymlinkNofollow == 0
	case format.OpLink:
		return arg == "old" && s.e.Op == format.OpLinkat && s.e.Args[4]&format.AtSymlinkFollow != 0
	}
	return false
}

// mapStrings sets the event's string arguments to names below the root.
func (m *model) mapStrings(s *step) {
	info, n := s.out.Op.Info(), 0
	for i, a := range info.Args {
		var mapped string
		switch {
		case a.Kind == format.Text && a.Name == "target":
			// In every pass, for looking a target up mentions names.
			mapped = m.target(s.at[0], string(s.e.Str[0]))
		case a.Kind == format.Text:
			mapped = m.hideText(stringArg(s.e, a.Name), true)
		case a.Kind != format.Path:
			continue
		case s.at[n] != nil && m.out != nil:
			mapped = m.names.mappedPath(s.at[n], m.options.Paths)
			if dir, rest := m.relativeTo(s.from[n], mapped); rest != "" {
				mapped = dir + "//" + rest
			}
			if s.slash[n] {
				mapped += "/"
			}
			n++
		}
		if m.out != nil && mapped != "" {
			s.out.Str[info.StringIndex(i)] = m.text(mapped)
		}
	}
}

// relativeTo splits a mapped path where the application's path began: what the
// kernel looks up costs time by the component. A replay has such a directory
// open from the start, so it must stay what it is. The rest is empty for a path
// that isn't to be split.
func (m *model) relativeTo(from *entry, mapped string) (dir, rest string) {
	if from == nil || from.dir == nil || m.options.Paths == Flat || !m.names.plan.stays[from.id] {
		return "", ""
	}
	dir = m.names.mappedPath(from, m.options.Paths)
	if rest, ok := strings.CutPrefix(mapped, dir+"/"); ok {
		return dir, rest
	}
	return "", ""
}

// stringArg returns the string argument of that name.
func stringArg(e *format.Event, name string) string {
	info := e.Op.Info()
	return string(e.Str[info.StringIndex(info.ArgIndex(name))])
}

// target returns what a symbolic link at an entry must hold to lead, below the
// root, to what the application's link led to.
func (m *model) target(link *entry, text string) string {
	if link == nil || link.dir == nil || text == "" {
		return m.hideText(text, false)
	}
	at, _ := m.names.walk(m.names.root, link.dir, text, false, nil)
	if at == nil || at.node != nil && at.node.pseudo {
		return m.hideText(text, false)
	}
	return relative(m.names.mappedPath(link, m.options.Paths), m.names.mappedPath(at, m.options.Paths))
}

// relative returns the path from the directory of a link to a name, both below
// the root.
func relative(link, name string) string {
	from, to := strings.Split(link, "/"), strings.Split(name, "/")
	from = from[:len(from)-1]
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}

// place sets where in the replay's memory the data of a read or write lie.
func (m *model) place(s *step) {
	c, i := s.out.Op.Info().Class, layouts[s.e.Op].buf
	if c != format.ClassRead && c != format.ClassWrite || i < 0 || m.options.Bare {
		return
	}
	if m.out == nil {
		s.t.process.buffers.add(s.e.Args[i], s.e.Args[layouts[s.e.Op].size])
	} else {
		place := s.t.process.buffers.place(s.e.Args[i])
		if place != 0 && fresh(s.e) {
			place |= format.FreshBuffer
		}
		s.out.Args[layouts[s.out.Op].buf] = place
	}
}

// fresh reports whether a call took a page fault for most of the pages that it
// moved data to or from.
func fresh(e *format.Event) bool {
	return e.Ret > 0 && e.Faults*2 >= (e.Ret+pageSize-1)/pageSize
}
