package compile

import (
	"bytes"
	"slices"
	"strings"

	"pianola/format"
)

// resolve finds what the event's paths and descriptor lead to, and maps the
// paths. It returns why the event can't be in the trace, if it can't.
func (m *model) resolve(s *step) reason {
	if info := s.out.Op.Info(); info.At.FD >= 0 {
		why := m.resolveFDs(s)
		if info.Effect == format.EffectMap && why != reasonNone {
			s.out.Args[info.At.FD], why = -1, reasonNone // anonymous, or as good as that
		}
		return why
	}
	from := s.e.Op.Info()
	for n, p := range from.At.Paths {
		if p.Arg < 0 {
			break
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
		if len(name) == 0 || bytes.IndexByte(name, 0) >= 0 { // which no kernel was ever given
			return reasonPath
		}
		// A recorder cuts what is too long.
		state := noted(s.e).Strings[p.Str]
		if state != format.StringWhole && (state != format.StringCut || s.e.Ret != enametoolong) {
			return reasonPath
		}
		if from.Effect == format.EffectSymlink && len(s.e.Str[from.At.Text]) > maxPath && s.e.Ret >= 0 {
			return reasonLong
		}
		if long := tooLong(name); long >= 0 || len(name) > maxPath || state == format.StringCut {
			switch {
			case s.e.Ret == enametoolong:
				s.at[n] = m.names.long()
				m.names.mention(s.at[n])
				continue
			case s.e.Ret >= 0 || len(name) > maxPath:
				return reasonLong
			}
			standIn := longName // the call failed before it
			if m.options.Paths == Flat {
				standIn = goneName // there is no before
			}
			name = append(name[:long:long], standIn...)
		}
		path := string(name)
		follow, slash := s.e.Follows(n), name[len(name)-1] == '/'
		if slash && (s.e.Creates(n) || s.e.Removes(n)) {
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
		at, way := m.names.walk(s.t.dir().root, dir, path, follow, m.trail)
		m.trail = way.trail
		if at == nil {
			return reasonPath
		}
		if at.node != nil && at.node.pseudo {
			s.at[n] = at
			return reasonPseudo
		}
		if m.names.tooFar(at) {
			s.deep = true
		} else {
			m.names.mention(at)
		}
		s.at[n], s.slash[n] = at, (way.slash || slash) && at.dir != nil
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

// resolveFDs finds the descriptors of an event, the one that it is about and the
// one that it writes to. Of two, one that is a file is enough: the other is
// marked as none by -1.
func (m *model) resolveFDs(s *step) reason {
	at := &s.out.Op.Info().At
	d, why := m.descriptor(s, s.out.FD())
	if at.OutFD >= 0 {
		other, no := m.descriptor(s, s.out.OutFD())
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
	switch s.out.Word(format.IoctlRequest) {
	case format.Ficlone, format.Ficlonerange, format.Fideduperange:
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
func (m *model) descriptor(s *step, fd int64) (*openFile, reason) {
	table := s.t.Table
	closes := s.out.Op.Info().Effect == format.EffectClose
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
		m.order.after(of.opened)
	}
	if !m.order.alone && !closes {
		of := m.used(table, fd)
		of.newest = m.order.use(of.newest)
	}
	return f, reasonNone
}

// mapStrings sets the event's string arguments to names below the root.
func (m *model) mapStrings(s *step) {
	info := s.out.Op.Info()
	if info.At.Text >= 0 {
		text, mapped := string(s.e.Str[s.e.Op.Info().At.Text]), ""
		if info.Effect == format.EffectSymlink {
			mapped = m.target(s.at[0], text) // in every pass, for looking a target up mentions names
		} else {
			mapped = m.hideText(text, true)
		}
		if m.out != nil && mapped != "" {
			s.out.Str[info.At.Text] = m.text(mapped)
		}
	}
	for n, p := range info.At.Paths {
		if p.Arg >= 0 && s.at[n] != nil && m.out != nil && !s.deep {
			s.out.Str[p.Str] = m.path(s.at[n], s.from[n], s.slash[n])
		}
	}
}

// path keeps the mapped path of an entry until the batch is written, marked where
// the application's began if that was in a directory, and ended as that was.
func (m *model) path(at, from *entry, slash bool) []byte {
	start := len(m.arena)
	m.arena = m.names.appendMapped(m.arena, at, m.options.Paths)
	if n := m.relativeTo(from, m.arena[start:]); n > 0 {
		m.arena = slices.Insert(m.arena, start+n, '/')
	}
	if slash {
		m.arena = append(m.arena, '/')
	}
	return m.arena[start:len(m.arena):len(m.arena)]
}

// relativeTo returns where a mapped path is to be split because the application's
// path began there: what the kernel looks up costs time by the component. A replay
// has such a directory open from the start, so it must stay what it is. It returns
// 0 for a path that isn't to be split.
func (m *model) relativeTo(from *entry, mapped []byte) int {
	if from == nil || from.dir == nil || m.options.Paths == Flat || !m.names.plan.stays[from.id] {
		return 0
	}
	m.names.scratch = m.names.appendMapped(m.names.scratch[:0], from, m.options.Paths)
	if n := len(m.names.scratch); len(mapped) > n+1 && mapped[n] == '/' && bytes.HasPrefix(mapped, m.names.scratch) {
		return n
	}
	return 0
}

// target returns what a symbolic link at an entry must hold to lead, below the
// root, to what the application's link led to.
func (m *model) target(link *entry, text string) string {
	if len(text) > maxPath {
		return strings.Repeat(longName, maxPath/len(longName)+1) // no link can hold it
	}
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
	info := s.e.Op.Info()
	i := info.At.Buf
	if info.Effect != format.EffectRead && info.Effect != format.EffectWrite || i < 0 || m.options.Bare {
		return
	}
	if m.out == nil {
		b := s.t.proc.buffers
		before := len(b.regions)
		b.add(s.e.Args[i], s.e.Size())
		m.budget.take(forBuffers, max(len(b.regions)-before, 0)*regionBytes)
	} else {
		place := s.t.proc.buffers.place(s.e.Args[i])
		if place != 0 && fresh(s.e) {
			place |= format.FreshBuffer
		}
		s.out.Args[s.out.Op.Info().At.Buf] = place
	}
}

// fresh reports whether a call took a page fault for most of the pages that it
// moved data to or from.
func fresh(e *format.Event) bool {
	return e.Ret > 0 && e.Faults*2 >= (e.Ret+pageSize-1)/pageSize
}
