package process

import "pianola/format"

// Follower follows the events of a recording, and the files that they are about by
// name. It belongs to one goroutine.
type Follower struct {
	State
	files

	started bool
	path    []byte // memory
}

// MaxThreads bounds the threads that a Follower tells apart at a time. One stands
// for all beyond.
const MaxThreads = 1 << 15

// maxTables bounds what the tables of a Follower take, in bytes.
const maxTables = 32 << 20

// New returns a Follower of the recording with that header, as it is before the
// first event. It tells so many files apart, besides the one that stands for all
// others.
func New(h *format.Header, files int) *Follower {
	f := &Follower{State: *NewState(h), files: newFiles(files)}
	f.threads.most, f.tables.most = MaxThreads, maxTables
	_, f.ExitsAlone = h.Value(format.MetaReplay) // in a replay's log no thread ends another
	return f
}

// Thread is that of State.
func (fl *Follower) Thread(e *format.Event) *Thread {
	if !fl.started {
		fl.started = true
		fl.Start(func(d *format.Descriptor) *Description { return fl.Open(fl.of([]byte(d.Path)), d.Flags) })
	}
	return fl.State.Thread(e)
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
	at := t.Table.Find(fd)
	if info.Effect == format.EffectClose {
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

// Move returns which bytes of a file a successful read or write moved, and
// follows the offset and the length. It reports false where that is beyond what
// is followed.
func (fl *Follower) Move(e *format.Event, d *Description) (from, to int64, ok bool) {
	_, offset := subject(e)
	return d.Move(e, offset, e.Op.Info().Class == format.ClassWrite)
}

// Apply follows what an event did to tables, files and threads. What is passed
// is what Thread and About returned for it; a thread that ends is of no use any
// more.
func (fl *Follower) Apply(t *Thread, e *format.Event, f *File, d *Description) {
	fl.State.Apply(t, e)
	if e.Failed() || e.Ret == format.NoResult {
		return
	}
	switch info := e.Op.Info(); info.Effect {
	case format.EffectOpen:
		fl.opened(t, e, f)
	case format.EffectPipe:
		for _, fd := range [2]int64{int64(int32(e.Args[0])), e.Args[0] >> 32} {
			fl.Put(t.Table, fd, Descriptor{Description: fl.Open(fl.of([]byte("pipe")), 0), Cloexec: e.Cloexec()})
		}
	case format.EffectExec:
		if f != nil {
			t.Process.Command = cutCommand(f.Name)
		}
	case format.EffectChdir:
		if f != nil && len(f.Name) > 0 {
			t.Dir.Path = f.Name
		}
	case format.EffectCopy: // Move is about the other descriptor
		fd, offset, writes := e.FD(), e.Offset(), false
		if info.Class == format.ClassRead {
			fd, offset, writes = e.OutFD(), e.OutOffset(), true
		}
		if other := t.Table.At(fd); other != nil {
			other.Move(e, offset, writes)
		}
	case format.EffectSeek, format.EffectTruncate, format.EffectAllocate:
		if d != nil {
			d.Adjust(e)
		} else if f != nil && info.Effect == format.EffectTruncate {
			f.Length = e.Size()
		}
	}
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
	d := fl.Open(f, flags)
	d.Type = e.FileType()
	fl.Put(t.Table, e.Ret, Descriptor{Description: d, Cloexec: e.Cloexec()})
}
