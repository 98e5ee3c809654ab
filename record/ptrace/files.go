package ptrace

import (
	"path"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

func readStat(arg int8) reader {
	return func(_ *tracer, t *thread) {
		var st unix.Stat_t
		if readStruct(t, t.Args[arg], &st) {
			t.details.Mode, t.details.Size = st.Mode, uint64(st.Size)
			t.Flags |= bpf.CFlagFLAG_STAT
		}
	}
}

func readStatx(arg int8) reader {
	return func(_ *tracer, t *thread) {
		var st unix.Statx_t
		if readStruct(t, t.Args[arg], &st) {
			t.details.Mode, t.details.Size = uint32(st.Mode), st.Size
			t.Flags |= bpf.CFlagFLAG_STAT
		}
	}
}

// readTarget reads the bytes that readlink gave.
func readTarget(arg int8) reader {
	return func(_ *tracer, t *thread) {
		n := min(int(t.Ret), unix.PathMax)
		from := len(t.Text)
		t.Text = append(t.Text, zeroes[:n]...)
		if t.peek(t.Args[arg], t.Text[from:]) != n {
			t.Text = t.Text[:from]
			return
		}
		t.details.Len[1], t.details.State[1] = uint16(n), bpf.CStringStateSTRING_WHOLE
		t.Flags |= bpf.CFlagFLAG_TARGET
	}
}

// readOpened describes the file behind the resulting descriptor.
func readOpened(tr *tracer, t *thread) {
	var own unix.Statx_t
	st, d := &own, &t.details
	if w := t.written; w != nil {
		if !w.file {
			return
		}
		st, d.Cached = &w.opened, w.cached
		tr.learnMinor(t, t.Ret, st)
		if n := int(t.details.Len[0]); isOfLibC(path.Base(string(t.Text[:n]))) {
			tr.fileOf(st).program = true // where it is mapped, its name is not known
		}
	} else {
		if !tr.statDescriptor(t.TID, t.Ret, unix.STATX_BASIC_STATS, st) {
			return // it may be closed again
		}
		d.Cached = cachedPages(t.TID, t.Ret, st.Mode)
		t.process.setType(t.Ret, tr.fileType(t.TID, st))
	}
	d.Mode, d.Size, d.Blocks, d.Ino, d.Nlink = uint32(st.Mode), st.Size, st.Blocks, st.Ino, st.Nlink
	d.Dev = st.Dev_major<<20 | st.Dev_minor
	t.Flags |= bpf.CFlagFLAG_STAT | bpf.CFlagFLAG_FILE
	if t.absent {
		d.Created = 1
	}
}

// learnMinor has the tracer know the device of a file that was opened in the process, if the
// descriptor still leads there.
func (tr *tracer) learnMinor(t *thread, fd int64, opened *unix.Statx_t) {
	var st unix.Statx_t
	if _, known := tr.storages[opened.Dev_minor]; known || opened.Dev_major != 0 || opened.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	if tr.statDescriptor(t.TID, fd, unix.STATX_TYPE, &st) && st.Dev_major == 0 && st.Dev_minor == opened.Dev_minor {
		tr.storageOf(t.TID, &st)
	}
}

// lookFor returns the reader that finds out whether the file is there that an
// open may create; nil if it opens no path.
func lookFor(at *format.Layout) reader {
	place := at.Paths[0]
	if place.Arg < 0 {
		return nil
	}
	return func(tr *tracer, t *thread) {
		if t.written != nil { // the record says it
			return
		}
		if at.OpenFlags >= 0 && t.Args[at.OpenFlags]&unix.O_CREAT == 0 {
			return
		}
		dirfd := int32(format.AtFDCWD)
		if place.Dir >= 0 {
			dirfd = int32(t.Args[place.Dir])
		}
		t.absent = tr.isAbsent(t, dirfd)
	}
}

// openHow is struct open_how.
type openHow struct{ flags, mode, resolve uint64 }

func readOpenHow(tr *tracer, t *thread) {
	var how openHow
	t.unreadable(readStruct(t, t.Args[2], &how))
	t.Args[2], t.Args[3], t.Args[4] = how.flags, how.mode, how.resolve
	if how.flags&unix.O_CREAT != 0 {
		t.absent = tr.isAbsent(t, int32(t.Args[0]))
	}
}

// isAbsent reports whether the name of a thread's call names nothing yet.
func (tr *tracer) isAbsent(t *thread, dirfd int32) bool {
	if t.details.State[0] != bpf.CStringStateSTRING_WHOLE {
		return false
	}
	name := t.Text[:t.details.Len[0]]
	path := tr.path[:0]
	switch {
	case len(name) > 0 && name[0] == '/':
		path = append(procPath(path, t.TID, "/root", -1), name...)
	case dirfd == format.AtFDCWD:
		path = append(append(procPath(path, t.TID, "/cwd", -1), '/'), name...)
	default:
		path = append(append(procPath(path, t.TID, "/fd/", int64(dirfd)), '/'), name...)
	}
	var st unix.Statx_t
	return statx(append(path, 0), 0, &st) == unix.ENOENT
}

// statDescriptor asks what a descriptor of a thread leads to, whose name in /proc
// stands in tr.path then.
func (tr *tracer) statDescriptor(tid int32, fd int64, mask int, st *unix.Statx_t) bool {
	tr.path = append(procPath(tr.path[:0], tid, "/fd/", fd), 0)
	return statx(tr.path, mask, st) == 0
}

// statx asks what a path, which ends with a zero byte, leads to. It does not ask
// a server on a network.
func statx(path []byte, mask int, st *unix.Statx_t) unix.Errno {
	at := format.AtFDCWD
	_, _, e := unix.Syscall6(unix.SYS_STATX, uintptr(at), uintptr(unsafe.Pointer(&path[0])),
		unix.AT_STATX_DONT_SYNC, uintptr(mask), uintptr(unsafe.Pointer(st)), 0)
	return e
}

// procPath appends /proc/TID and what, and a number unless that is below 0.
func procPath(dst []byte, tid int32, what string, n int64) []byte {
	dst = strconv.AppendInt(append(dst, "/proc/"...), int64(tid), 10)
	dst = append(dst, what...)
	if n >= 0 {
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst
}

// cachedPages returns how many pages of a thread's file are in the page cache,
// record.UnknownCached where the kernel does not say (before Linux 6.5).
func cachedPages(tid int32, fd int64, mode uint16) uint64 {
	if mode&unix.S_IFMT != unix.S_IFREG {
		return record.UnknownCached
	}
	file, ok := record.Borrow(tid, fd)
	if !ok {
		return record.UnknownCached
	}
	defer unix.Close(file)
	n, _ := record.CachedPages(file)
	return n
}
