package pattern

import "pianola/format"

// The permissions of what a pattern makes, or finds.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// openFlags are the flags of the step open.
var openFlags = map[string]int64{
	"read": format.RDONLY, "write": format.WRONLY, "both": format.RDWR,
	"append": format.APPEND, "create": format.CREAT, "direct": format.DIRECT, "dsync": format.DSYNC, "exclusive": format.CREAT | format.EXCL,
	"noatime": format.NOATIME, "sync": format.SYNC, "truncate": format.TRUNC,
}

func (a *open) run(t *thread, line int) error {
	flags := openFlags[string(a.Access)]
	for _, f := range a.Flags {
		flags |= openFlags[f]
	}
	path, err := t.path(&a.Path)
	if err != nil {
		return err
	}
	if t.handles[a.As] != nil {
		return fault(line, "%q is already open", a.As)
	}
	tree := t.reader.tree
	dir, base, n, err := tree.find(path)
	fresh := n == nil
	switch {
	case err != nil:
		return fault(line, "open %q: %v", path, err)
	case dir == nil:
		return fault(line, "open %q: no such directory; make it with mkdir, or list it in directories", path)
	case fresh && flags&format.CREAT == 0:
		return fault(line, "open %q: no such file; list it in files, or create it", path)
	case fresh:
		n = &node{}
		if err := tree.add(dir, base, n); err != nil {
			return fault(line, "%v", err)
		}
	case n.dir:
		return fault(line, "open %q: %v", path, errDir)
	case flags&format.EXCL != 0:
		return fault(line, "open %q: the file exists, but the flag exclusive requires a new one", path)
	}
	if flags&format.TRUNC != 0 {
		n.size = 0
	}
	d := &descriptor{fd: t.process.take(), node: n, append: flags&format.APPEND != 0, direct: flags&format.DIRECT != 0}
	if d.fd >= maxFDs {
		return fault(line, "a process opens more than %d files at a time", maxFDs)
	}
	if t.reader.open > maxOpen {
		return fault(line, "%v", errOpen)
	}
	t.handles[a.As] = d
	t.openat(path, flags, d.fd, t.attributes(n, fresh))
	return nil
}

// openat puts a successful open into the queue.
func (t *thread) openat(path []byte, flags, fd int64, notes *format.Notes) {
	e := format.Event{Op: format.OpOpenat, Dur: format.Unknown, Ret: fd, Args: [format.MaxArgs]int64{format.AtFDCWD, 0, flags}, Notes: notes}
	e.Str[0] = path
	if flags&format.CREAT != 0 {
		e.Args[3] = fileMode
	}
	t.event(e)
}

// attributes returns the notes that say what a file is.
func (t *thread) attributes(n *node, fresh bool) *format.Notes {
	if n.dir {
		return &format.Notes{Has: format.NotedType | format.NotedMode, Type: format.TypeDir, Mode: 0o755}
	}
	notes := &format.Notes{Has: format.NotedType | format.NotedMode | format.NotedSize, Type: format.TypeReg, Mode: 0o644, Size: n.size}
	if fresh {
		notes.Has |= format.NotedNew
	}
	return notes
}

func (a *closing) run(t *thread, line int) error {
	d, err := t.file(a.File, line)
	if err != nil {
		return err
	}
	delete(t.handles, a.File)
	t.process.free(d.fd)
	t.call(format.OpClose, 0, d.fd)
	return nil
}

func (a *seek) run(t *thread, line int) error {
	d, err := t.file(a.File, line)
	if err != nil {
		return err
	}
	to, err := a.To.within(&t.env, -maxOffset, maxOffset)
	if err != nil {
		return err
	}
	pos, whence := to, int64(format.SeekSet)
	switch a.From {
	case "current":
		pos, whence = d.pos+to, format.SeekCur
	case "end":
		pos, whence = d.node.size+to, format.SeekEnd
	}
	if pos < 0 || pos > maxOffset {
		return fault(line, "offset %[2]d of %[1]q is negative or too large", a.File, pos)
	}
	d.pos = pos
	t.call(format.OpLseek, pos, d.fd, to, whence)
	return nil
}

func (a *fsync) run(t *thread, line int) error {
	d, err := t.file(a.File, line)
	if err != nil {
		return err
	}
	op := format.OpFsync
	if a.data {
		op = format.OpFdatasync
	}
	t.call(op, 0, d.fd)
	return nil
}

func (a *truncate) run(t *thread, line int) error {
	size, err := a.Size.within(&t.env, 0, maxOffset)
	if err != nil {
		return err
	}
	if len(a.Path.parts) == 0 {
		d, err := t.file(a.File, line)
		if err != nil {
			return err
		}
		d.node.size = size
		t.call(format.OpFtruncate, 0, d.fd, size)
		return nil
	}
	path, n, ret, err := t.look(&a.Path)
	if err != nil {
		return err
	}
	if n != nil && n.dir {
		return fault(line, "truncate %q: %v", path, errDir)
	} else if n != nil {
		n.size = size
	}
	t.call(format.OpTruncate, ret, 0, size).Str[0] = path
	return nil
}

// fallocateModes are the modes of the step: of them all but extend keep the size.
var fallocateModes = map[word]int64{"extend": 0, "keep": 1, "punch": 1 | 2} // FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE

func (a *fallocate) run(t *thread, line int) error {
	d, err := t.file(a.File, line)
	if err != nil {
		return err
	}
	size, err := a.Size.within(&t.env, 1, maxOffset)
	if err != nil {
		return err
	}
	start, err := a.Start.within(&t.env, 0, maxOffset-size)
	if err != nil {
		return err
	}
	mode := fallocateModes[a.Mode]
	if mode == 0 {
		d.node.size = max(d.node.size, start+size)
	}
	t.call(format.OpFallocate, 0, d.fd, mode, start, size)
	return nil
}

func (a *fstat) run(t *thread, line int) error {
	d, err := t.file(a.File, line)
	if err != nil {
		return err
	}
	t.event(format.Event{Op: format.OpFstat, Dur: format.Unknown, Args: [format.MaxArgs]int64{d.fd, t.buffer}, Notes: t.attributes(d.node, false)})
	return nil
}

// look returns a name, what goes by it, and the error of a call that finds
// nothing there.
func (t *thread) look(p *template) (path []byte, n *node, ret int64, err error) {
	if path, err = t.path(p); err != nil {
		return nil, nil, 0, err
	}
	if _, _, n, err = t.reader.tree.find(path); err != nil {
		return nil, nil, 0, fault(p.line, "%q: %v", path, err)
	}
	if n == nil {
		ret = enoent
	}
	return path, n, ret, nil
}

func (a *stat) run(t *thread, _ int) error {
	path, n, ret, err := t.look(&a.Path)
	if err != nil {
		return err
	}
	e := format.Event{Op: format.OpNewfstatat, Dur: format.Unknown, Ret: ret, Args: [format.MaxArgs]int64{format.AtFDCWD, 0, t.buffer}}
	if e.Str[0] = path; n != nil {
		e.Notes = t.attributes(n, false)
	}
	t.event(e)
	return nil
}

// listSize is the buffer that the C library lists directories with, bytes.
const listSize = 32768

func (a *readdir) run(t *thread, line int) error {
	path, n, _, err := t.look(&a.Path)
	if err != nil {
		return err
	}
	if n == nil || !n.dir {
		return fault(line, "readdir %q: no such directory", path)
	}
	// Under the names of a replay the directory can take more bytes, so a
	// list that might not fit into the buffer then gets a larger one.
	size := int64(listSize)
	for size < 4*n.listing {
		size *= 2
	}
	fd := t.process.take()
	t.openat(path, format.RDONLY|format.DIRECTORY, fd, t.attributes(n, false))
	t.call(format.OpGetdents64, n.listing+listed([]byte("."))+listed([]byte("..")), fd, t.buffer, size)
	t.call(format.OpGetdents64, 0, fd, t.buffer, size)
	t.process.free(fd)
	t.call(format.OpClose, 0, fd)
	return nil
}

func (a *mkdir) run(t *thread, line int) error {
	path, err := t.path(&a.Path)
	if err != nil {
		return err
	}
	dir, base, n, err := t.reader.tree.find(path)
	ret := int64(0)
	switch {
	case err != nil:
	case dir == nil:
		ret = enoent
	case n != nil:
		ret = eexist
	default:
		err = t.reader.tree.add(dir, base, &node{dir: true})
	}
	if err != nil {
		return fault(line, "mkdir %q: %v", path, err)
	}
	t.call(format.OpMkdirat, ret, format.AtFDCWD, 0, dirMode).Str[0] = path
	return nil
}

func (a *remove) run(t *thread, line int) error {
	path, n, ret, err := t.look(&a.Path)
	if err != nil {
		return err
	}
	flags, name := int64(0), "unlink"
	if a.dir {
		flags, name = format.AtRemovedir, "rmdir"
	}
	switch {
	case n == nil:
	case !a.dir && n.dir:
		return fault(line, "%s %q: %v", name, path, errDir)
	case a.dir && !n.dir:
		return fault(line, "%s %q: %v", name, path, errThrough)
	case len(n.children) > 0:
		return fault(line, "%s %q: %v", name, path, errFull)
	default:
		dir, base, _, _ := t.reader.tree.find(path)
		t.reader.tree.remove(dir, base)
	}
	t.call(format.OpUnlinkat, ret, format.AtFDCWD, 0, flags).Str[0] = path
	return nil
}

func (a *rename) run(t *thread, line int) error {
	from, err := t.path(&a.From)
	if err != nil {
		return err
	}
	to, err := t.path(&a.To)
	if err != nil {
		return err
	}
	ret, err := t.reader.tree.rename(from, to)
	if err != nil {
		return fault(line, "rename %q to %q: %v", from, to, err)
	}
	t.call(format.OpRenameat, ret, format.AtFDCWD, 0, format.AtFDCWD).Str = [format.MaxStrings][]byte{from, to}
	return nil
}
