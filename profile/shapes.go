package profile

import "pianola/format"

// shape says where the arguments of an operation stand that tell what it is
// about, -1 for none.
type shape struct {
	fd, dirFD, offset, size, flags int8
	path, text                     int8 // places in Event.Str
}

// shapes holds the shape of every operation, by the names and kinds of its
// arguments.
var shapes = func() (all [format.NumOps]shape) {
	for op := range all {
		s := shape{-1, -1, -1, -1, -1, -1, -1}
		if format.Op(op).Valid() {
			s.of(format.Op(op).Info())
		}
		all[op] = s
	}
	return all
}()

func (s *shape) of(info *format.Info) {
	for i, a := range info.Args {
		at := int8(i)
		switch {
		case a.Kind == format.FD && s.fd < 0:
			s.fd = at
		case a.Kind == format.Path && s.path < 0:
			s.path = int8(info.StringIndex(i))
			if i > 0 && info.Args[i-1].Kind == format.DirFD {
				s.dirFD = at - 1
			}
		case a.Kind == format.Text && s.text < 0:
			s.text = int8(info.StringIndex(i))
		case a.Kind == format.Offset && s.offset < 0:
			s.offset = at
		case a.Kind == format.Size:
			s.size = at
		case a.Kind == format.Flags && a.Name == "flags":
			s.flags = at
		}
	}
	// With two descriptors, the one of its category: what is read from, or
	// what is written to.
	source, sink := info.ArgIndex("fd"), info.ArgIndex("outfd")
	if sink < 0 {
		return
	}
	s.fd, s.offset = int8(source), int8(info.ArgIndex("inoffset"))
	if info.Class == format.ClassWrite {
		s.fd, s.offset = int8(sink), int8(info.ArgIndex("outoffset"))
	}
}
