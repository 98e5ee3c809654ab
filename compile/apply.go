package compile

import (
	"math"
	"strconv"
	"strings"

	"pianola/format"
)

// The errors that say something about what exists.
const (
	enoent    = -2
	eintr     = -4
	ebadf     = -9
	efault    = -14
	eexist    = -17
	enotdir   = -20
	eisdir    = -21
	einval    = -22
	enosys    = -38
	enotempty = -39
	restarted = -512 // and below: the kernel's own, shown to tracers only
)

// step is the event in hand with what its arguments lead to.
type step struct {
	e, out *format.Event
	t      *thread
	d      *descriptor // of the argument fd, nil where it is none
	other  *descriptor // of the argument outfd, where it is a file
	made   *openFile   // what an open made
	at     [format.MaxStrings]*entry
}

// handlers say what a call's result means for files and names. They run for
// calls on files of the trace only.
var handlers [format.NumOps]func(*model, *step)

func init() {
	for op, h := range map[format.Op]func(*model, *step){
		format.OpStat: (*model).looked, format.OpLstat: (*model).looked, format.OpStatx: (*model).looked, format.OpAccess: (*model).looked,
		format.OpStatfs: (*model).looked, format.OpChmod: (*model).looked, format.OpChown: (*model).looked, format.OpLchown: (*model).looked,
		format.OpUtimens: (*model).looked, format.OpNameToHandleAt: (*model).looked,
		format.OpListxattr: (*model).looked, format.OpLlistxattr: (*model).looked,
		format.OpSetxattr: (*model).attribute, format.OpLsetxattr: (*model).attribute, format.OpFsetxattr: (*model).attribute,
		format.OpGetxattr: (*model).attribute, format.OpLgetxattr: (*model).attribute, format.OpFgetxattr: (*model).attribute,
		format.OpRemovexattr: (*model).attribute, format.OpLremovexattr: (*model).attribute, format.OpFremovexattr: (*model).attribute,
		format.OpMknod:         (*model).mknod,
		format.OpCopyFileRange: (*model).copied, format.OpSendfile: (*model).copied, format.OpSplice: (*model).copied, format.OpIoctl: (*model).cloned,
		format.OpFstat: (*model).fstat, format.OpFstatx: (*model).fstat,
		format.OpReadlink: (*model).readlink,
		format.OpMkdir:    (*model).mkdir,
		format.OpRmdir:    (*model).removed, format.OpUnlink: (*model).removed,
		format.OpRename: (*model).rename, format.OpRenameat2: (*model).rename,
		format.OpLink: (*model).link, format.OpSymlink: (*model).symlink,
		format.OpTruncate: (*model).truncate, format.OpFtruncate: (*model).truncate,
		format.OpFallocate: (*model).fallocate, format.OpLseek: (*model).lseek, format.OpGetdents64: (*model).getdents,
		format.OpRead: (*model).read, format.OpReadv: (*model).read, format.OpPread64: (*model).read,
		format.OpPreadv: (*model).read, format.OpPreadv2: (*model).read,
		format.OpWrite: (*model).write, format.OpWritev: (*model).write, format.OpPwrite64: (*model).write,
		format.OpPwritev: (*model).write, format.OpPwritev2: (*model).write,
	} {
		handlers[op] = h
	}
}

// apply takes one event through the simulation and, in the last pass, into the
// trace.
func (m *model) apply(e *format.Event) error {
	if was := renamed(e); m.threads[was] != nil {
		m.threads[e.TID] = m.threads[was]
		delete(m.threads, was)
	}
	t := m.threads[e.TID]
	if t == nil {
		t = m.orphan(e.TID, max(e.Start, 0))
	}
	if err := m.repair(t, e); err != nil {
		return err
	}
	// The event is made in its place in the batch, which the next one takes
	// if this one is left out.
	out := &m.batch[:len(m.batch)+1][len(m.batch)]
	m.args.canonical(e, out)
	m.step = step{e: e, out: out, t: t}
	s := &m.step
	m.order.begin(t, len(m.table) == 1)
	m.order.after(t.born)
	m.trail = m.trail[:0]

	why := m.resolve(s)
	if out.Op == format.OpMsync {
		why = reasonMapped
	}
	if why == reasonNone && unrepeatable(e) {
		why = reasonResult
	}
	if why == reasonNone && impossible(s) {
		why = reasonResult
		m.unexplained(e, s.at[0], "not possible")
	}
	wanted := m.wants(s, why)
	if why == reasonNone {
		m.order.named(m.trail)
		if h := handlers[out.Op]; h != nil {
			h(m, s)
		}
	}
	why = m.effect(s, why)
	if why == reasonNone && out.Op.Info().Dropped {
		why = reasonTable
	}
	if why == reasonNone && !wanted && !m.needed(s) {
		why = reasonFilter
	}
	t.seen, t.owed = m.order.seen, t.owed[:0]
	if why != reasonNone {
		t.owed = append(t.owed, m.order.edges...)
		m.leaveOut(t, e, why)
		return nil
	}
	return m.emit(t, e, out)
}

// unrepeatable reports whether a replay can't bring about the event's result.
func unrepeatable(e *format.Event) bool {
	if e.Op.Info().Class == format.ClassProcess {
		return false
	}
	return e.Ret == format.NoResult || e.Ret == eintr || e.Ret == efault || e.Ret == enosys || e.Ret <= restarted && e.Ret >= -format.MaxErrno
}

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
		if len(name) == 0 {
			return reasonPath
		}
		if _, spoilt := format.Note(s.e.Notes, a.Name); spoilt { // "path=cut"
			return reasonPath
		}
		if name[0] != '/' {
			dir = m.below(dir)
		}
		at, trail := m.names.walk(s.t.dir.root, dir, string(name), follows(s, a.Name), m.trail)
		m.trail = trail
		if at == nil {
			return reasonPath
		}
		if at.node != nil && at.node.pseudo {
			s.at[n] = at
			return reasonPseudo
		}
		at.direct = true
		s.at[n] = at
		n++
	}
	m.mapStrings(s)
	return reasonNone
}

// below prepares for a path that begins in a directory: what the directories
// above it were called when it was found matters as much as the path.
func (m *model) below(dir *node) *node {
	if dir.at.node != dir {
		// It has been removed, and its name can be another's by now.
		return m.names.nowhere()
	}
	if !m.order.alone {
		for at := dir.at; at.dir != nil; at = at.dir.at {
			m.trail = append(m.trail, at)
		}
	}
	return dir
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
			mapped = m.hideText(string(s.e.Str[s.e.Op.Info().StringIndex(s.e.Op.Info().ArgIndex(a.Name))]), true)
		case a.Kind != format.Path:
			continue
		case s.at[n] != nil && m.out != nil:
			mapped = m.names.mappedPath(s.at[n], m.options.Paths)
			n++
		}
		if m.out != nil && mapped != "" {
			s.out.Str[info.StringIndex(i)] = m.text(mapped)
		}
	}
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
	if len(e.Notes) == 0 || e.Ret <= 0 {
		return false
	}
	v, ok := format.Note(e.Notes, "faults")
	faults, err := strconv.ParseInt(string(v), 10, 32)
	return ok && err == nil && faults*2 >= (e.Ret+pageSize-1)/pageSize
}

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
		}
		if why == reasonNone {
			files.freed[int32(e.Args[0])] = m.order.here
		}
	case format.EffectCloseRange:
		if !ok {
			return reasonTable
		}
		if !files.holdsFile(e.Args[0], e.Args[1]) {
			why = reasonNoFile
		}
		for fd, d := range files.fds {
			if int64(fd) < e.Args[0] || int64(fd) > e.Args[1] {
				continue
			}
			if d.cloexec = true; out.Args[2]&format.CloseRangeCloexec == 0 {
				delete(files.fds, fd)
				if d.file.isFile() {
					files.freed[fd] = m.order.here
				}
			}
		}
	case format.EffectDup:
		if ok {
			return m.dup(s, why, out.Op == format.OpDup3 && out.Args[2]&format.CLOEXEC != 0)
		}
	case format.EffectFcntl:
		switch cmd := e.Args[1]; {
		case ok && (cmd == format.FDupfd || cmd == format.FDupfdCloexec):
			return m.dup(s, why, cmd == format.FDupfdCloexec)
		case ok && cmd == format.FSetfd && files.fds[int32(e.Args[0])] != nil:
			files.fds[int32(e.Args[0])].cloexec = e.Args[2]&1 != 0
		case cmd == format.FSetfl:
			// The one flag word whose meaning hangs on another argument.
			out.Args[2] = format.PipeFlags.FromNative(m.arch, uint64(uint32(e.Args[2])))
			if ok && s.d != nil {
				s.d.file.append = out.Args[2]&format.APPEND != 0
			}
		}
	case format.EffectPipe:
		if ok {
			cloexec := len(e.Op.Info().Args) > 1 && e.Args[1]&format.CLOEXEC != 0
			for _, fd := range [2]int32{int32(e.Args[0]), int32(e.Args[0] >> 32)} {
				files.set(fd, &descriptor{file: m.newFile(0), cloexec: cloexec})
			}
		}
	case format.EffectFork:
		if e.Ret > 0 {
			m.fork(s.t, e, out)
		}
	case format.EffectExec:
		if ok {
			files.exec()
			s.t.process.command = baseName(string(s.e.Str[0]))
		}
		return reasonNone
	case format.EffectExit, format.EffectExitGroup:
		m.ended(s.t, e)
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
	child := s.e.Ret
	if s.e.Op == format.OpWaitid && s.e.Ret == 0 {
		child = s.e.Args[5]
	}
	s.out.Args[0] = number(s.out.Args[0])
	p := m.byPID[int32(child)]
	if child <= 0 || p == nil {
		return
	}
	m.order.after(p.ended)
	s.out.Ret = int64(p.num)
	if s.e.Dur >= 0 {
		s.e.Dur = min(s.e.Dur, max(p.endTime-s.e.Start, 0))
		s.out.Dur = s.e.Dur
	}
	if p.threads <= 0 {
		delete(m.byPID, p.pid)
	}
}

// opened puts the descriptor that an open made into the table.
func (m *model) opened(s *step, why reason) reason {
	e, flags, at := s.e, s.out.Args[1], s.at[0]
	if at == nil && why == reasonNone {
		// memfd_create and the like: what they open has no name.
		flags, why = 0, reasonNoFile
		if s.out.Op == format.OpMemfdCreate && s.out.Args[1]&format.MfdCloexec != 0 || s.out.Args[2]&format.CLOEXEC != 0 {
			flags = format.CLOEXEC
		}
	}
	if e.Ret < 0 {
		if why == reasonNone {
			m.order.named(s.at[:1])
			m.failed(s, at)
		}
		return why
	}
	d := &descriptor{file: m.newFile(flags), cloexec: flags&format.CLOEXEC != 0, opened: place{s.t.num, s.t.events}}
	s.made = d.file
	m.order.after(s.t.files.set(int32(e.Ret), d))
	if at != nil && why == reasonPseudo {
		d.file.node = at.node
	}
	if why != reasonNone {
		d.opened = place{}
		return why
	}
	f := noted(e.Notes)
	switch f.typ {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypeBlk:
		d.opened = place{}
		return reasonNoFile
	}
	switch {
	case flags&format.TMPFILE != 0:
		m.there(e, at)
		d.file.node = &node{typ: format.TypeReg, created: true, cached: -1}
		// It has no name; an entry that no lookup finds stands for one.
		d.file.node.at = &entry{dir: at.node, comp: tempPrefix, mapped: tempPrefix, state: present, node: d.file.node}
		return why
	case m.creates(e, at, flags, &f):
		if at.state == present {
			m.unexplained(e, at, "created although it was there")
		}
		m.order.renamed(at)
		m.names.create(at, format.TypeReg)
		if m.options.Filter != nil {
			m.used[d.file.id] = true // whatever it wants: names are made here
		}
	default:
		m.there(e, at)
		m.order.named(s.at[:1])
		m.learn(at, &f)
	}
	nd := at.node
	d.file.node = nd
	if flags&format.DIRECTORY != 0 && nd.typ == format.TypeUnknown {
		nd.typ = format.TypeDir
	}
	if flags&format.TRUNC != 0 && flags&(format.WRONLY|format.RDWR) != 0 {
		nd.now, nd.changed = 0, true
		m.order.wrote(nd, 0, math.MaxInt64)
		m.order.sized(nd, true)
	}
	nd.listing = 0
	return why
}

// creates reports whether a successful open made the file. The recorder says
// so; without its notes a file that was not known to be there is taken to be
// new where the flags allow it, as the original Pianola did.
func (m *model) creates(e *format.Event, at *entry, flags int64, f *facts) bool {
	switch {
	case flags&format.CREAT == 0:
		return false
	case f.typ != format.TypeUnknown:
		return f.fresh
	}
	return flags&format.EXCL != 0 || at.state != present
}

// dup puts a copy of a descriptor into the table.
func (m *model) dup(s *step, why reason, cloexec bool) reason {
	files, fd := s.t.files, int32(s.e.Ret)
	src := files.fds[int32(s.e.Args[0])]
	if s.e.Op != format.OpDup && s.e.Op != format.OpFcntl && s.e.Args[0] == s.e.Ret {
		return why // onto itself
	}
	old := files.fds[fd]
	switch {
	case src == nil:
		delete(files.fds, fd)
	default:
		d := &descriptor{file: src.file, cloexec: cloexec}
		if why == reasonNone {
			d.opened = place{s.t.num, s.t.events}
		}
		files.fds[fd] = d
		m.order.after(files.freed[fd])
		if old != nil {
			m.order.after(old.opened)
			m.order.afterAll(old.used)
		}
		if why == reasonNone {
			files.freed[fd] = m.order.here
		}
	}
	if why != reasonNone && old != nil && old.file.isFile() && s.e.Op != format.OpDup {
		// What is no file takes the place of a file: all that is left of
		// the call is that the file is closed.
		*s.out = format.Event{Op: format.OpClose, Start: s.e.Start, Dur: s.e.Dur, Args: [format.MaxArgs]int64{int64(fd)}}
		return reasonNone
	}
	return why
}

// chdir sets the working directory.
func (m *model) chdir(s *step) {
	if s.out.Op == format.OpFchdir {
		if d := s.t.files.fds[int32(s.e.Args[0])]; d != nil && d.file.node != nil {
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

// impossible reports whether no file system can have behaved like that: changed
// its root, made a second name of a directory, or put one into itself. The
// simulation would not survive it.
func impossible(s *step) bool {
	if s.e.Ret < 0 {
		return false
	}
	switch s.out.Op {
	case format.OpOpenm:
		return s.at[0].dir == nil && s.out.Args[1]&format.TMPFILE == 0
	case format.OpRename, format.OpRenameat2, format.OpLink:
		if s.out.Op == format.OpLink && s.at[0].node != nil && s.at[0].node.typ == format.TypeDir {
			return true
		}
		for _, at := range s.at {
			if at.dir == nil {
				return true
			}
		}
		return within(s.at[1], s.at[0].node) || s.out.Op == format.OpRenameat2 && within(s.at[0], s.at[1].node)
	case format.OpRmdir, format.OpUnlink, format.OpMkdir, format.OpSymlink, format.OpMknod:
		return s.at[0].dir == nil
	}
	return false
}

// within reports whether an entry lies below a directory.
func within(e *entry, dir *node) bool {
	for ; e.dir != nil; e = e.dir.at {
		if e.dir == dir {
			return true
		}
	}
	return false
}
