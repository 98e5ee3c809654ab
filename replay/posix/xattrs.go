package posix

import (
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// The calls on extended attributes. For attributes that a trace may not change,
// every call reads the value, which costs nearly the same, and has the recorded
// result, because it depends on the machine and not on the files. An access list
// changes the mode of its file as recorded.

// variants are the numbers of a call by the way in which it names its file.
type variants [3]uintptr

var (
	setxattrs    = variants{follow: unix.SYS_SETXATTR, noFollow: unix.SYS_LSETXATTR, byFD: unix.SYS_FSETXATTR}
	getxattrs    = variants{follow: unix.SYS_GETXATTR, noFollow: unix.SYS_LGETXATTR, byFD: unix.SYS_FGETXATTR}
	listxattrs   = variants{follow: unix.SYS_LISTXATTR, noFollow: unix.SYS_LLISTXATTR, byFD: unix.SYS_FLISTXATTR}
	removexattrs = variants{follow: unix.SYS_REMOVEXATTR, noFollow: unix.SYS_LREMOVEXATTR, byFD: unix.SYS_FREMOVEXATTR}
)

// onFile makes a call whose first argument is the record's file.
func (w *worker) onFile(nrs *variants, h how, r *format.Record, a, b, c, d uintptr) int64 {
	f := w.file(r.Args[0], h)
	if sandbox.Unresolved(f.opened) {
		return f.opened
	}
	return w.release(f.opened, w.sys(nrs[f.how], f.arg, a, b, c, d, 0))
}

// attribute returns the name of an attribute, nil for a NULL pointer, and
// whether a trace may change it.
func (w *worker) attribute(arg int64) (n *sandbox.Name, own bool) {
	if n = w.path(arg); n == nil {
		return nil, false
	}
	return n, sandbox.MayChange(w.e.texts[arg])
}

// queryLength replaces a forbidden call on an attribute by a query of the length of
// its value.
func (w *worker) queryLength(h how, n *sandbox.Name, r *format.Record) int64 {
	w.onFile(&getxattrs, h, r, n.Full(), 0, 0, 0)
	return r.Ret
}

// chmodByACL gives a file the mode that an access list gave it. The list itself is not
// played, because the users and groups that it names are unknown.
func (w *worker) chmodByACL(h how, r *format.Record) int64 {
	c := change{set: uint32(r.Args[5]) & 0o777, kept: 0o7000}
	switch h {
	case follow:
		return w.chmod(r.Args[0], c)
	case noFollow:
		return w.chmodName(r.Args[0], c)
	}
	s := w.lookup(r.Args[0])
	if s == 0 {
		return errBadFD
	}
	return w.chmodOpened(s, c)
}

func setxattr(h how) call {
	return func(w *worker, r *format.Record) int64 {
		n, own := w.attribute(r.Args[1])
		switch {
		case n == nil:
			return errFault
		case r.Ret == 0 && r.Args[5]&format.GivesMode != 0 && w.e.texts[r.Args[1]] == format.AccessList:
			return w.chmodByACL(h, r)
		case !own:
			return w.queryLength(h, n, r)
		case !w.spendAt(max(min(r.Args[3], sandbox.MaxAttribute), 1)): // its name takes space, too
			return errNoSpace
		}
		// One byte too many gives the same result as many.
		size := min(uint64(r.Args[3]), sandbox.MaxAttribute+1)
		return w.onFile(&setxattrs, h, r, n.Full(), w.e.pool.at(uint64(r.Args[2]), size), uintptr(size), uintptr(r.Args[4]))
	}
}

func getxattr(h how) call {
	return func(w *worker, r *format.Record) int64 {
		n, own := w.attribute(r.Args[1])
		if n == nil {
			return errFault
		}
		size := w.attributeSize(r.Args[3])
		got := w.onFile(&getxattrs, h, r, n.Full(), w.process.arena.at(uint64(r.Args[2]), size), uintptr(size), 0)
		if !own {
			return r.Ret
		}
		return got
	}
}

func listxattr(h how) call {
	return func(w *worker, r *format.Record) int64 {
		size := w.attributeSize(r.Args[2])
		return w.onFile(&listxattrs, h, r, w.process.arena.at(uint64(r.Args[1]), size), uintptr(size), 0, 0)
	}
}

func removexattr(h how) call {
	return func(w *worker, r *format.Record) int64 {
		n, own := w.attribute(r.Args[1])
		switch {
		case n == nil:
			return errFault
		case !own:
			return w.queryLength(h, n, r)
		}
		return w.onFile(&removexattrs, h, r, n.Full(), 0, 0, 0)
	}
}

// attributeSize returns how much of a buffer of a size the kernel may fill. The
// kernel takes a size as unsigned, and none above sandbox.MaxAttribute.
func (w *worker) attributeSize(size int64) uint64 {
	return min(uint64(size), sandbox.MaxAttribute, uint64(len(w.process.arena)))
}
