package profile

import (
	"math"

	"pianola/format"
)

// tracker follows what the threads, the descriptors and the names of a
// recording lead to. What a recording does not show it takes to be the usual.
type tracker struct {
	threads
	descriptors
	files

	home    string // working directory at the start, empty where it is not known
	command string
	initial []format.Descriptor // open at the start
	heats   heats
	path    []byte // memory
}

// maxOffset bounds the offsets that are followed, in bytes.
const maxOffset = 1 << 61

func newTracker(h *format.Header) *tracker {
	tr := &tracker{threads: newThreads(h.Threads), files: newFiles(), initial: h.Descriptors}
	tr.command, _ = h.Value(format.MetaCommand)
	if quoted, ok := h.Value(format.MetaCwd); ok {
		if cwd, _, err := format.Unquote(nil, []byte(quoted)); err == nil {
			tr.home = string(cwd)
		}
	}
	tr.resume(h.Running())
	return tr
}

// resume sets up the processes that ran already.
func (tr *tracker) resume(processes []format.Running) {
	for _, r := range processes {
		p, tab, dir := tr.newProcess(r.Process, r.Command), &table{}, &workDir{r.Cwd}
		for _, tid := range r.Threads {
			if tr.alive[tid] == nil {
				t := tr.add(tid, p, 0)
				t.table, t.dir = tab, dir
				tab.users++
			}
		}
		tr.inherit(tab, r.Process)
	}
}

// inherit opens the descriptors that a process had at the start, and returns
// how many there are.
func (tr *tracker) inherit(t *table, process int32) (n int) {
	for _, d := range tr.initial {
		if d.Process != process {
			continue
		}
		at := tr.open(tr.of([]byte(d.Path)))
		at.offset, at.append = d.Offset, d.Flags&format.APPEND != 0
		tr.set(t, int64(d.FD), at, d.Flags&format.CLOEXEC != 0)
		n++
	}
	return n
}

// thread returns the thread of an event. One whose creation the recording does
// not show begins a process, or joins that of which a trace says it is.
func (tr *tracker) thread(e *format.Event, start int64) *thread {
	if t := tr.find(e); t != nil {
		return t
	}
	first, command := len(tr.rows) == 0, ""
	if first {
		command = tr.command
	}
	p := tr.newProcess(e.TID, command)
	t := tr.add(e.TID, p, tr.created(e.TID, start))
	if t == tr.stray {
		return t
	}
	if mate := p.threads[0]; mate != t {
		t.table, t.dir = mate.table, mate.dir
		t.table.users++
		return t
	}
	t.table, t.dir = &table{users: 1}, &workDir{tr.home}
	if tr.inherit(t.table, p.row.ID) == 0 && first && len(tr.initial) > 0 {
		tr.inherit(t.table, tr.initial[0].Process)
	}
	return t
}

// about returns the file that a call is about, and its description if it is
// open. Both are nil for a call that is about none.
func (tr *tracker) about(t *thread, e *format.Event) (*file, *description) {
	sh := &shapes[e.Op]
	fd := int64(-1)
	if sh.fd >= 0 {
		fd = e.Args[sh.fd]
	}
	if sh.path >= 0 {
		name := e.Str[sh.path]
		if len(name) > 0 || sh.dirFD < 0 && name != nil {
			return tr.of(tr.resolve(t, sh, e, name)), nil
		}
		if sh.dirFD >= 0 {
			fd = e.Args[sh.dirFD]
		}
	}
	if fd < 0 || e.Ret == -ebadf {
		return nil, nil
	}
	d := t.table.at(fd)
	if e.Op == format.OpClose {
		d = t.table.closing(fd)
	}
	if d == nil {
		tr.path = unknownName(tr.path[:0], fd, e.Notes)
		f := tr.of(tr.path)
		tr.set(t.table, fd, tr.open(f), false)
		if d = t.table.at(fd); d == nil {
			return f, nil
		}
	}
	return d.file, d
}

// ebadf is the error of a descriptor that is not open.
const ebadf = 9

// resolve returns the path of a name, which is overwritten by the next.
func (tr *tracker) resolve(t *thread, sh *shape, e *format.Event, name []byte) []byte {
	dir := t.dir.path
	if sh.dirFD >= 0 && e.Args[sh.dirFD] != format.AtFDCWD {
		if d := t.table.at(e.Args[sh.dirFD]); d != nil {
			dir = d.file.name
		} else {
			dir = "?"
		}
	}
	tr.path = appendPath(tr.path[:0], dir, name)
	return tr.path
}

// move counts bytes that a read or a write moved in a file.
func (tr *tracker) move(c *call, e *format.Event, d *description) {
	sh, k, n := &shapes[e.Op], c.category, e.Ret
	begin, given := d.offset, false
	if sh.offset >= 0 && e.Args[sh.offset] >= 0 {
		begin, given = e.Args[sh.offset], true
	}
	if k == Writes && d.append {
		begin = d.file.length
	}
	if begin < 0 || begin > maxOffset || n > maxOffset {
		return
	}
	end := begin + n
	if !given {
		d.offset = end
	}
	if k == Writes {
		d.file.length = max(d.file.length, end)
	}
	d.file.accesses[k].count(&d.runs[k], begin, end, asked(sh, e))
	tr.heat(c, d.file, begin, end)
}

// asked returns how many bytes a read or a write asked for.
func asked(sh *shape, e *format.Event) int64 {
	if sh.size < 0 {
		return max(e.Ret, 0)
	}
	return max(e.Args[sh.size], 0)
}

// apply follows what a call did to tables, files and threads.
func (tr *tracker) apply(t *thread, c *call, e *format.Event, f *file, d *description) {
	switch e.Op.Info().Effect {
	case format.EffectClose:
		if d != nil { // even where it failed
			tr.close(t.table, e.Args[0])
		}
		return
	case format.EffectExit:
		tr.end(t)
		return
	case format.EffectExitGroup:
		for i := len(t.process.threads) - 1; i >= 0 && t != tr.stray; i-- {
			tr.end(t.process.threads[i])
		}
		return
	}
	if e.Failed() || e.Ret == format.NoResult {
		return
	}
	switch sh := &shapes[e.Op]; e.Op.Info().Effect {
	case format.EffectNone:
		tr.change(e, f, d)
	case format.EffectOpen:
		tr.opened(t, sh, e, f)
	case format.EffectCloseRange:
		tr.closeRange(t.table, e.Args[0], e.Args[1], e.Args[2]&format.CloseRangeCloexec != 0)
	case format.EffectDup, format.EffectFcntl:
		if d != nil {
			tr.copyTo(t.table, e, d)
		}
	case format.EffectPipe:
		cloexec := sh.flags >= 0 && e.Args[sh.flags]&format.CLOEXEC != 0
		for _, fd := range [2]int64{int64(int32(e.Args[0])), e.Args[0] >> 32} {
			tr.set(t.table, fd, tr.open(tr.of([]byte("pipe"))), cloexec)
		}
	case format.EffectFork:
		tr.fork(t, c, sh, e)
	case format.EffectExec:
		t.table = tr.own(t.table)
		tr.exec(t.table)
		if f != nil {
			t.process.row.Command = cutCommand(f.name)
		}
	case format.EffectUnshare:
		if e.Args[0]&format.CloneFiles != 0 {
			t.table = tr.own(t.table)
		}
		if e.Args[0]&(format.CloneFS|format.CloneNewns) != 0 {
			t.dir = &workDir{t.dir.path}
		}
	case format.EffectChdir:
		if f != nil && len(f.name) > 0 {
			t.dir.path = f.name
		}
	}
}

// change follows the calls that change offsets and lengths.
func (tr *tracker) change(e *format.Event, f *file, d *description) {
	switch e.Op {
	case format.OpLseek:
		if d != nil {
			d.offset = e.Ret
		}
	case format.OpFtruncate, format.OpTruncate:
		if f != nil {
			f.length = e.Args[1]
		}
	}
}

// opened puts the descriptor that an open made into the table.
func (tr *tracker) opened(t *thread, sh *shape, e *format.Event, f *file) {
	flags := int64(0)
	if sh.flags >= 0 && e.Op != format.OpMemfdCreate {
		flags = e.Args[sh.flags]
	}
	switch {
	case sh.text >= 0: // memfd_create: a name that leads nowhere
		tr.path = append(append(tr.path[:0], "memfd:"...), e.Str[sh.text]...)
		f = tr.of(tr.path)
	case sh.path < 0 || f == nil: // open_by_handle_at
		f = tr.of([]byte("by handle"))
	case flags&format.TMPFILE != 0: // a file without a name in the directory f
		tr.path = append(append(tr.path[:0], f.name...), "/(unnamed)"...)
		f = tr.of(tr.path)
	}
	if flags&format.TRUNC != 0 || e.Op == format.OpCreat {
		f.length = 0
	}
	d := tr.open(f)
	if d.append = flags&format.APPEND != 0; d.append {
		if size, ok := format.Note(e.Notes, "size"); ok {
			f.length = max(f.length, digits(size))
		}
	}
	tr.set(t.table, e.Ret, d, flags&format.CLOEXEC != 0 || e.Op == format.OpMemfdCreate && e.Args[1]&format.MfdCloexec != 0)
}

// fork adds the thread that a call made.
func (tr *tracker) fork(t *thread, c *call, sh *shape, e *format.Event) {
	if e.Ret <= 0 || e.Ret > math.MaxInt32 {
		return
	}
	child := int32(e.Ret)
	if old := tr.alive[child]; old == t {
		return
	} else if old != nil {
		tr.end(old) // its end is not in the recording
	}
	flags := int64(0)
	if sh.flags >= 0 {
		flags = e.Args[sh.flags]
	}
	p := t.process
	if flags&format.CloneThread == 0 {
		p = tr.newProcess(child, p.row.Command)
	}
	n := tr.add(child, p, c.start)
	if n == tr.stray {
		return
	}
	if n.table = t.table; flags&format.CloneFiles == 0 {
		n.table = tr.descriptors.fork(t.table)
	} else {
		n.table.users++
	}
	if n.dir = t.dir; flags&format.CloneFS == 0 {
		n.dir = &workDir{t.dir.path}
	}
}

// end ends a thread.
func (tr *tracker) end(t *thread) {
	if t == tr.stray {
		return
	}
	tr.remove(t)
	tr.leave(t.table)
}

// heat puts a move into the file's heat map, if it has one.
func (tr *tracker) heat(c *call, f *file, begin, end int64) {
	if f.id == othersID {
		return
	}
	before := f.weight
	f.weight = min(before+c.total.Nanos+1, maxTime)
	if f.heat == nil {
		if tr.heats.give(f, before); f.heat == nil {
			return
		}
	}
	f.heat.add(c.category, c.start, begin, end)
}

// digits returns a number of a note, 0 for what is none.
func digits(text []byte) (n int64) {
	for _, d := range text {
		if d < '0' || d > '9' || n > maxOffset {
			return 0
		}
		n = 10*n + int64(d-'0')
	}
	return n
}
