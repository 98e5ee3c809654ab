package transform

import (
	"pianola/format"
	"pianola/format/follow"
)

func init() {
	Register(Transform{
		Name:  "direct",
		Doc:   "opens files with O_DIRECT; for what is not aligned to 4 KiB the descriptor is switched back by fcntl",
		Keeps: "everything, on file systems that know O_DIRECT",
		New:   func(string) (Func, error) { return newStaged(0, func() stage { return direct{} }), nil },
	})
	Register(Transform{
		Name:  "buffered",
		Doc:   "takes O_DIRECT off",
		Keeps: "everything",
		New:   func(string) (Func, error) { return Each(buffered), nil },
	})
}

// alignment is that of offsets, sizes and buffers under O_DIRECT, in bytes. No
// file system asks for more.
const alignment = 4096

type direct struct{}

// event implements stage.
func (direct) event(s *staged, e *format.Event) error {
	t := s.Thread(e)
	f, d := s.About(t, e)
	sh, info := &follow.Shapes[e.Op], e.Op.Info()
	class := info.Class
	moves := (class == format.ClassRead || class == format.ClassWrite) && e.Ret != format.NoResult
	switch {
	case moves && info.ArgIndex("outfd") >= 0:
		for i, a := range info.Args {
			if a.Kind == format.FD {
				s.direct(e, e.Args[i], t.Table.At(e.Args[i]), false)
			}
		}
		s.move(e, d)
		s.push(e)
	case moves && d != nil:
		from := d.Offset
		if sh.Offset >= 0 && e.Args[sh.Offset] >= 0 {
			from = e.Args[sh.Offset]
		}
		appends := class == format.ClassWrite && d.Append()
		if appends {
			from = d.File.Length
		}
		// A vector can be cut into segments of any length.
		aligned := plain[e.Op] == e.Op && (from|e.Args[sh.Size])%alignment == 0 && !appends
		s.direct(e, e.Args[sh.FD], d, aligned)
		s.move(e, d)
		if en := s.push(e); d.Flags&format.DIRECT != 0 {
			en.Args[1] &^= alignment - 1
		}
	default:
		en := s.push(e)
		if at := openFlags[e.Op]; at >= 0 && !e.Failed() && opensFile(e, e.Args[at]) {
			en.Args[at] |= format.DIRECT
		}
		s.Apply(t, &en.Event, f, d)
		return nil
	}
	s.Apply(t, e, f, d)
	return nil
}

// direct puts a call in front of an event, where it takes one, that gives O_DIRECT
// to a descriptor of its, or takes it off.
func (s *staged) direct(e *format.Event, fd int64, d *follow.Description, on bool) {
	if d == nil || !isFile(d) || on == (d.Flags&format.DIRECT != 0) {
		return
	}
	d.Flags ^= format.DIRECT
	arch, _ := s.Header().Value(format.MetaArch)
	native, _ := format.PipeFlags.ToNative(format.ParseArch(arch), d.Flags&(format.APPEND|format.ASYNC|format.DIRECT|format.NOATIME|format.NONBLOCK))
	set := format.Event{Op: format.OpFcntl, TID: e.TID, Start: e.Start, Dur: format.Unknown}
	set.Args[0], set.Args[1], set.Args[2] = fd, format.FSetfl, int64(native)
	moveTime(e, &set)
	s.put(&set)
}

func (direct) decide(*staged, *entry) {}

func (direct) end(*staged) {}

// buffered takes O_DIRECT off an event that sets it.
func buffered(h *format.Header, e *format.Event) Verdict {
	if at := openFlags[e.Op]; at >= 0 {
		e.Args[at] &^= format.DIRECT
	}
	if e.Op == format.OpFcntl && e.Args[1] == format.FSetfl {
		arch, _ := h.Value(format.MetaArch)
		flags := format.PipeFlags.FromNative(format.ParseArch(arch), uint64(uint32(e.Args[2])))
		native, _ := format.PipeFlags.ToNative(format.ParseArch(arch), flags&^format.DIRECT)
		e.Args[2] = int64(native)
	}
	return Keep
}
