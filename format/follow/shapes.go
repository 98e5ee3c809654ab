package follow

import "pianola/format"

// Shape says where the arguments of an operation stand that tell what it is
// about, -1 for none.
type Shape struct {
	FD, DirFD, Offset, Size, Flags int8
	Path, Text                     int8 // places in Event.Str
}

// Shapes holds the shape of every operation, by the names and kinds of its
// arguments. It must not be changed.
var Shapes = func() (all [format.NumOps]Shape) {
	for op := range all {
		s := Shape{-1, -1, -1, -1, -1, -1, -1}
		if format.Op(op).Valid() {
			s.of(format.Op(op).Info())
		}
		all[op] = s
	}
	return all
}()

func (s *Shape) of(info *format.Info) {
	for i, a := range info.Args {
		at := int8(i)
		switch {
		case a.Kind == format.FD && s.FD < 0:
			s.FD = at
		case a.Kind == format.Path && s.Path < 0:
			s.Path = int8(info.StringIndex(i))
			if i > 0 && info.Args[i-1].Kind == format.DirFD {
				s.DirFD = at - 1
			}
		case a.Kind == format.Text && s.Text < 0:
			s.Text = int8(info.StringIndex(i))
		case a.Kind == format.Offset && s.Offset < 0:
			s.Offset = at
		case a.Kind == format.Size:
			s.Size = at
		case a.Kind == format.Flags && a.Name == "flags":
			s.Flags = at
		}
	}
	// With two descriptors, the one of its category: what is read from, or
	// what is written to.
	source, sink := info.ArgIndex("fd"), info.ArgIndex("outfd")
	if sink < 0 {
		return
	}
	s.FD, s.Offset = int8(source), int8(info.ArgIndex("inoffset"))
	if info.Class == format.ClassWrite {
		s.FD, s.Offset = int8(sink), int8(info.ArgIndex("outoffset"))
	}
}
