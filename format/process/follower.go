package process

import (
	"pianola/format"
)

// Follower follows the processes of a recording, and the files that its events
// are about by name. It belongs to one goroutine.
type Follower struct {
	State
	files

	started bool
	path    []byte // memory
	fixed   map[slot]registered
}

// slot is an index into the files that a ring has registered. Copies of an application,
// which a transform makes, have rings of the same numbers.
type slot struct {
	process int32
	ring    int32
	index   int64
}

// registered is a registered file, and the descriptor by which it was registered, if
// it was.
type registered struct {
	file   *File
	of     *Description
	serial int64 // of that
	fd     int64
}

// maxFixed bounds the files that rings have registered.
const maxFixed = 1 << 16

// MaxThreads is how many threads a Follower tells apart at a time. One more
// stands for all others.
const MaxThreads = 1 << 15

// maxTables bounds the memory of the tables of a Follower, in bytes.
const maxTables = 32 << 20

// New returns a Follower of the recording with header h, in its state before
// the first event. It tells a limited number of files apart; one more stands
// for all others.
func New(h *format.Header, files int) *Follower {
	f := &Follower{State: *NewState(h), files: newFiles(h, files)}
	f.threads.most, f.tables.most = MaxThreads, maxTables
	_, f.ExitsAlone = h.Value(format.MetaReplay) // in a replay's log no thread ends another
	return f
}

// Thread is State.Thread.
func (fl *Follower) Thread(e *format.Event) *Thread {
	fl.begin()
	return fl.State.Thread(e)
}

// begin adds what there was before the first event.
func (fl *Follower) begin() {
	if fl.started {
		return
	}
	fl.started = true
	fl.Start(func(d *format.Descriptor) *Description {
		at := fl.Open(fl.at([]byte(d.Path)), d.Flags)
		at.Kind = kindOf(at.File, format.TypeUnknown)
		return at
	})
}

// About returns the file that a call is about, and its description if it is
// open. Both are nil if the call is not about a file.
func (fl *Follower) About(t *Thread, e *format.Event) (*File, *Description) {
	info := e.Op.Info()
	fd := subject(e)
	switch acts := info.Acts; {
	case !acts.Any(format.InMemory | format.Maps): // most calls
	case acts.Any(format.Faults | format.Syncs):
		return fl.mapped(t, e), nil
	case acts.Any(format.Maps) && !e.MapsFile():
		return nil, nil
	}
	if e.OnRegistered() {
		at := fl.fixed[slot{t.Process.ID, e.Notes.Request.Ring, fd}]
		if at.file == nil {
			fl.path = append(format.AppendInt(append(fl.path[:0], "registered file "...), fd), '?')
			at.file = fl.of(fl.path)
		}
		if fl.Descriptor(t, e) < 0 {
			at.of = nil
		}
		return at.file, at.of
	}
	if p := info.At.Paths[0]; p.Arg >= 0 {
		name := e.Path(0)
		if len(name) > 0 || p.Dir < 0 && name != nil {
			return fl.at(fl.Path(t, e, 0)), nil
		}
		if p.Dir >= 0 {
			fd = e.Args[p.Dir]
		}
	}
	if fd < 0 || e.Ret == -ebadf {
		return nil, nil
	}
	at := t.Table.Find(fd)
	if info.Acts.Any(format.Closes) {
		at = t.Table.Closing(fd)
	}
	if at == nil {
		fl.path = unknownName(fl.path[:0], fd, e.FileType())
		f := fl.of(fl.path)
		fl.Put(t.Table, fd, Descriptor{Description: fl.Open(f, 0)})
		if at = t.Table.Find(fd); at == nil {
			return f, nil
		}
	}
	return at.File, at.Description
}

// Descriptor returns the descriptor that an event is about, -1 for none. For a request
// on a registered file, it is the descriptor by which the file was registered, while
// that is open.
func (fl *Follower) Descriptor(t *Thread, e *format.Event) int64 {
	fd := subject(e)
	if !e.OnRegistered() {
		return fd
	}
	at := fl.fixed[slot{t.Process.ID, e.Notes.Request.Ring, fd}]
	if d := t.Table.At(at.fd); at.of == nil || d != at.of || d.Serial != at.serial {
		return -1
	}
	return at.fd
}

// mapped returns the file of a fault, or the first one that a call on memory is
// about; nil for none.
func (fl *Follower) mapped(t *Thread, e *format.Event) *File {
	for m := range t.Process.Space.Within(e.Args[0], e.Size()) {
		return m.File
	}
	switch {
	case !e.Acts().Any(format.Faults):
		return nil
	case e.Notes.Known(format.NotedPath):
		return fl.of(e.Notes.Path)
	}
	return fl.of([]byte("mapped file"))
}

// subject returns the descriptor that an event is about. If there are two, it is the one
// that the event's class reads from or writes to.
func subject(e *format.Event) int64 {
	if info := e.Op.Info(); info.At.OutFD >= 0 && info.Class == format.ClassWrite {
		return e.OutFD()
	}
	return e.FD()
}

// Path returns the n-th path of an event, from 0. It is absolute if the working
// directory is known, and symbolic links are not resolved. If the argument is
// empty or NULL, it is the path of the directory. The next call of any method
// overwrites it.
func (fl *Follower) Path(t *Thread, e *format.Event, n int) []byte {
	dir := t.Dir.Path
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

// Apply updates tables, files and threads by an event. A thread that ends is invalid
// afterwards.
func (fl *Follower) Apply(f *Fact) {
	t, e := f.Thread, f.Event
	if e.Notes.Known(format.NotedRing | format.NotedSlot) {
		fl.slotted(f)
		return
	}
	if f.Did == 0 {
		return
	}
	fl.State.ApplyFact(f)
	switch did := f.Did; {
	case did.Any(format.ReadsBytes | format.WritesBytes): // most calls
	case did.Any(format.Opens):
		fl.opened(f)
	case did.Any(format.MapsFiles) && f.File != nil:
		fl.Map(t, e, Mapping{Offset: e.Offset(), File: f.File})
	case did.Any(format.Channels):
		one, other := f.Made()
		fl.made(t, e, one)
		fl.made(t, e, other)
	case did.Any(format.Registers):
		fl.register(t, e)
	case did.Any(format.Execs) && f.File != nil:
		t.Process.Command = cutCommand(f.File.Name)
	case did.Any(format.Enters) && f.File != nil && len(f.File.Name) > 0:
		t.Dir.Path = f.File.Name
	}
}

// made adds a descriptor of a channel that a call made to the table.
func (fl *Follower) made(t *Thread, e *format.Event, fd int64) {
	if fd < 0 {
		return
	}
	d := fl.Open(fl.Made(e), 0)
	d.Kind = KindChannel
	fl.Put(t.Table, fd, Descriptor{Description: d, Cloexec: e.Cloexec()})
}

// slotted follows a request that opens or closes a registered file.
func (fl *Follower) slotted(f *Fact) {
	e := f.Event
	at := slot{f.Thread.Process.ID, e.Notes.Request.Ring, int64(e.Notes.Request.Slot)}
	switch {
	case e.Failed() || e.Ret == format.NoResult:
	case f.Did.Any(format.Closes):
		delete(fl.fixed, at)
	case f.File != nil:
		fl.fix(at, registered{file: f.File})
	}
}

func (fl *Follower) fix(at slot, f registered) {
	if fl.fixed == nil {
		fl.fixed = make(map[slot]registered)
	}
	if _, known := fl.fixed[at]; known || len(fl.fixed) < maxFixed {
		fl.fixed[at] = f
	}
}

// register follows the files that a ring registers.
func (fl *Follower) register(t *Thread, e *format.Event) {
	if !e.Notes.Known(format.NotedRing) {
		return
	}
	process, ring := t.Process.ID, e.Notes.Request.Ring
	switch e.Args[1] {
	case format.UnregisterFiles:
		for at := range fl.fixed {
			if at.ring == ring && at.process == process {
				delete(fl.fixed, at)
			}
		}
	case format.RegisterFiles, format.RegisterFiles2, format.RegisterFilesUpdate, format.RegisterFilesUpdate2:
		for i := range e.List.Len() {
			at, fd := slot{process, ring, int64(e.List.First() + i)}, e.List.At(i)[0]
			if d := t.Table.At(fd); fd >= 0 && d != nil {
				fl.fix(at, registered{d.File, d, d.Serial, fd})
			} else if fd == -1 {
				delete(fl.fixed, at)
			}
		}
	}
}

// unnamed stands for a file without a name (O_TMPFILE) behind its directory.
const unnamed = "/(unnamed)"

// opened adds the descriptor that an open made to the table.
func (fl *Follower) opened(of *Fact) {
	e, f := of.Event, of.File
	flags, at := e.OpenFlags(), &e.Op.Info().At
	switch {
	case at.Text >= 0: // memfd_create: a name that leads nowhere
		fl.path = append(append(fl.path[:0], "memfd:"...), e.Str[at.Text]...)
		f = fl.of(fl.path)
	case f == nil: // open_by_handle_at
		f = fl.of([]byte("by handle"))
	case flags&format.TMPFILE != 0: // a file without a name in the directory f
		fl.path = append(append(fl.path[:0], f.Name...), unnamed...)
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
	d := fl.Open(f, flags)
	d.Type = e.FileType()
	d.Kind = kindOf(f, d.Type)
	fl.Put(of.Thread.Table, e.Ret, Descriptor{Description: d, Cloexec: e.Cloexec()})
}
