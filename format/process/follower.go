// Package process follows what the threads, the descriptors and the names of a
// recording, or of a compiled trace, lead to: of an event the thread and its
// process, the file and the open file description that it is about, and the
// bytes that it moves. What a recording does not show is taken to be the usual.
//
//	t := f.Thread(e)
//	file, d := f.About(t, e)
//	from, to, ok := f.Move(e, d) // of reads and writes
//	f.Apply(t, e, file, d)
//
// Events come in an order in which a thread is created before its first one
// (format.Causal). Memory is bounded: threads, names and descriptors beyond a
// number are not told apart.
package process

import (
	"math"

	"pianola/format"
)

// Follower follows the events of a recording. It belongs to one goroutine.
type Follower struct {
	// Added is called for each thread that comes to be, before its first
	// event. It can be nil.
	Added func(*Thread)

	// Dropped is called for each description that no descriptor leads to any
	// more, as it was. It can be nil.
	Dropped func(*Description)

	threads
	descriptors
	files

	home    string // working directory at the start, empty where it is not known
	command string
	initial []format.Descriptor // open at the start
	running []format.Running    // not taken up yet
	path    []byte              // memory

	replayed bool // a replay's log, in which no thread ends another
}

// maxOffset bounds the offsets that are followed, in bytes.
const maxOffset = 1 << 61

// New returns a Follower of the recording with that header, as it is before the
// first event. It tells so many files apart, besides the one that stands for all
// others.
func New(h *format.Header, files int) *Follower {
	f := &Follower{threads: newThreads(h.Threads), files: newFiles(files), initial: h.Descriptors, running: h.Running()}
	f.command, _ = h.Value(format.MetaCommand)
	_, f.replayed = h.Value(format.MetaReplay)
	if quoted, ok := h.Value(format.MetaCwd); ok {
		if cwd, _, err := format.Unquote(nil, []byte(quoted)); err == nil {
			f.home = string(cwd)
		}
	}
	return f
}

// resume sets up the processes that ran already.
func (fl *Follower) resume() {
	for _, r := range fl.running {
		p, tab, dir := fl.newProcess(r.Process, r.Command), &Table{}, &workDir{r.Cwd}
		for _, tid := range r.Threads {
			if fl.alive[tid] == nil {
				if t := fl.add(tid, p, 0); t != fl.stray {
					t.Table, t.dir = tab, dir
					tab.users++
				}
			}
		}
		fl.inherit(tab, r.Process)
	}
	fl.running = nil
}

// inherit opens the descriptors that a process had at the start, and returns
// how many there are.
func (fl *Follower) inherit(t *Table, process int32) (n int) {
	for _, d := range fl.initial {
		if d.Process != process {
			continue
		}
		at := fl.open(fl.of([]byte(d.Path)))
		at.Offset, at.Flags = d.Offset, d.Flags
		fl.set(t, int64(d.FD), at, d.Flags&format.CLOEXEC != 0)
		n++
	}
	return n
}

// Thread returns the thread of an event. One whose creation the recording does
// not show begins a process, or joins that of which a trace says it is.
func (fl *Follower) Thread(e *format.Event) *Thread {
	if fl.running != nil {
		fl.resume()
	}
	if t := fl.find(e); t != nil {
		return t
	}
	first, command := !fl.met, ""
	if first {
		command = fl.command
	}
	p := fl.newProcess(e.TID, command)
	t := fl.add(e.TID, p, fl.created(e.TID, max(e.Start, 0)))
	if t == fl.stray {
		return t
	}
	if mate := p.threads[0]; mate != t {
		t.Table, t.dir = mate.Table, mate.dir
		t.Table.users++
		return t
	}
	t.Table, t.dir = &Table{users: 1}, &workDir{fl.home}
	if fl.inherit(t.Table, p.ID) == 0 && first && len(fl.initial) > 0 {
		fl.inherit(t.Table, fl.initial[0].Process)
	}
	return t
}

// About returns the file that a call is about, and its description if it is
// open. Both are nil for a call that is about none.
func (fl *Follower) About(t *Thread, e *format.Event) (*File, *Description) {
	info := e.Op.Info()
	fd, _ := subject(e)
	if p := info.At.Paths[0]; p.Arg >= 0 {
		name := e.Path(0)
		if len(name) > 0 || p.Dir < 0 && name != nil {
			return fl.of(fl.Path(t, e, 0)), nil
		}
		if p.Dir >= 0 {
			fd = e.Args[p.Dir]
		}
	}
	if fd < 0 || e.Ret == -ebadf {
		return nil, nil
	}
	d := t.Table.At(fd)
	if info.Effect == format.EffectClose {
		d = t.Table.closing(fd)
	}
	if d == nil {
		fl.path = unknownName(fl.path[:0], fd, e.FileType())
		f := fl.of(fl.path)
		fl.set(t.Table, fd, fl.open(f), false)
		if d = t.Table.At(fd); d == nil {
			return f, nil
		}
	}
	return d.File, d
}

// ebadf is the error of a descriptor that is not open.
const ebadf = 9

// subject returns the descriptor that an event is about, and the offset in its
// file: of two descriptors that of the event's category, which is read from, or
// written to.
func subject(e *format.Event) (fd, offset int64) {
	if info := e.Op.Info(); info.At.OutFD >= 0 && info.Class == format.ClassWrite {
		return e.OutFD(), e.OutOffset()
	}
	return e.FD(), e.Offset()
}

// Path returns where the n-th path of an event, from 0, leads: absolute where
// the working directory is known, symbolic links taken by their names. It is
// overwritten by the next call of any method. The path is that of the directory
// where the argument is empty or NULL.
func (fl *Follower) Path(t *Thread, e *format.Event, n int) []byte {
	dir := t.dir.path
	if fd := e.Dir(n); fd != format.AtFDCWD {
		if d := t.Table.At(fd); d != nil {
			dir = d.File.Name
		} else {
			dir = "?"
		}
	}
	fl.path = appendPath(fl.path[:0], dir, e.Path(n))
	return fl.path
}

// Move returns which bytes of a file a successful read or write moved, and
// follows the offset and the length. It reports false where that is beyond what
// is followed.
func (fl *Follower) Move(e *format.Event, d *Description) (from, to int64, ok bool) {
	n := e.Ret
	_, from = subject(e)
	given := from >= 0
	if !given {
		from = d.Offset
	}
	writes := e.Op.Info().Class == format.ClassWrite
	if writes && d.Append() {
		from = d.File.Length
	}
	if from < 0 || from > maxOffset || n > maxOffset {
		return 0, 0, false
	}
	to = from + n
	if !given {
		d.Offset = to
	}
	if writes {
		d.File.Length = max(d.File.Length, to)
	}
	return from, to, true
}

// Apply follows what an event did to tables, files and threads. What is passed
// is what Thread and About returned for it; a thread that ends is of no use any
// more.
func (fl *Follower) Apply(t *Thread, e *format.Event, f *File, d *Description) {
	switch e.Op.Info().Effect {
	case format.EffectClose:
		if d != nil { // even where it failed
			fl.close(t.Table, e.Args[0])
		}
		return
	case format.EffectExit:
		fl.end(t)
		return
	case format.EffectExitGroup:
		if fl.replayed {
			fl.end(t)
			return
		}
		for i := len(t.Process.threads) - 1; i >= 0 && t != fl.stray; i-- {
			fl.end(t.Process.threads[i])
		}
		return
	}
	if e.Failed() || e.Ret == format.NoResult {
		return
	}
	switch info := e.Op.Info(); info.Effect {
	case format.EffectOpen:
		fl.opened(t, e, f)
	case format.EffectCloseRange:
		fl.closeRange(t.Table, e.Args[0], e.Args[1], e.Args[2]&format.CloseRangeCloexec != 0)
	case format.EffectDup, format.EffectFcntl:
		if d != nil {
			fl.copyTo(t.Table, e, d)
		}
	case format.EffectPipe:
		for _, fd := range [2]int64{int64(int32(e.Args[0])), e.Args[0] >> 32} {
			fl.set(t.Table, fd, fl.open(fl.of([]byte("pipe"))), e.Cloexec())
		}
	case format.EffectFork:
		fl.fork(t, e)
	case format.EffectExec:
		t.Table = alone(t.Table)
		fl.exec(t.Table)
		if f != nil {
			t.Process.Command = cutCommand(f.Name)
		}
	case format.EffectUnshare:
		if e.Args[0]&format.CloneFiles != 0 {
			t.Table = alone(t.Table)
		}
		if e.Args[0]&(format.CloneFS|format.CloneNewns) != 0 {
			t.dir = &workDir{t.dir.path}
		}
	case format.EffectChdir:
		if f != nil && len(f.Name) > 0 {
			t.dir.path = f.Name
		}
	case format.EffectCopy: // Move is about the other descriptor
		if info.Class == format.ClassWrite {
			fl.advance(t.Table.At(e.FD()), e.Offset(), e.Ret)
		} else if to := t.Table.At(e.OutFD()); to != nil {
			if from := fl.advance(to, e.OutOffset(), e.Ret); from >= 0 && from <= maxOffset {
				to.File.Length = max(to.File.Length, from+e.Ret)
			}
		}
	case format.EffectSeek:
		if d != nil {
			d.Offset = e.Ret
		}
	case format.EffectTruncate:
		if f != nil {
			f.Length = e.Size()
		}
	}
}

// advance returns where a move of bytes began, below 0 where that is not known,
// and moves the offset of the description where the call gave none.
func (fl *Follower) advance(d *Description, offset, bytes int64) (from int64) {
	if d == nil || bytes <= 0 || bytes > maxOffset {
		return -1
	}
	if offset >= 0 {
		return offset
	}
	from = d.Offset
	if d.Offset = from + bytes; d.Offset > maxOffset {
		d.Offset = from
	}
	return from
}

// opened puts the descriptor that an open made into the table.
func (fl *Follower) opened(t *Thread, e *format.Event, f *File) {
	flags, at := e.OpenFlags(), &e.Op.Info().At
	switch {
	case at.Text >= 0: // memfd_create: a name that leads nowhere
		fl.path = append(append(fl.path[:0], "memfd:"...), e.Str[at.Text]...)
		f = fl.of(fl.path)
	case f == nil: // open_by_handle_at
		f = fl.of([]byte("by handle"))
	case flags&format.TMPFILE != 0: // a file without a name in the directory f
		fl.path = append(append(fl.path[:0], f.Name...), "/(unnamed)"...)
		f = fl.of(fl.path)
	}
	switch sized := e.Notes.Known(format.NotedSize); {
	case flags&format.TRUNC != 0:
		f.Length = 0
	case sized && flags&format.APPEND != 0:
		f.Length = max(f.Length, e.Notes.Size)
	case sized:
		f.Length = e.Notes.Size
	}
	d := fl.open(f)
	d.Flags, d.Type = flags, e.FileType()
	fl.set(t.Table, e.Ret, d, e.Cloexec())
}

// fork adds the thread that a call made.
func (fl *Follower) fork(t *Thread, e *format.Event) {
	if e.Ret <= 0 || e.Ret > math.MaxInt32 {
		return
	}
	child := int32(e.Ret)
	if old := fl.alive[child]; old == t {
		return
	} else if old != nil {
		fl.end(old) // its end is not in the recording
	}
	flags := e.CloneFlags()
	p := t.Process
	if flags&format.CloneThread == 0 {
		p = fl.newProcess(child, p.Command)
	}
	n := fl.add(child, p, max(e.Start, 0))
	if n == fl.stray {
		return
	}
	if n.Table = t.Table; flags&format.CloneFiles == 0 {
		n.Table = fork(t.Table)
	} else {
		n.Table.users++
	}
	if n.dir = t.dir; flags&format.CloneFS == 0 {
		n.dir = &workDir{t.dir.path}
	}
}

// end ends a thread.
func (fl *Follower) end(t *Thread) {
	if t == fl.stray {
		return
	}
	fl.remove(t)
	fl.leave(t.Table)
}
