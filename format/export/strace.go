package export

import (
	"io"
	"strconv"
	"time"

	"pianola/format"
)

// unknownStart is the start of a trace whose header has none: the year 2000.
// Small numbers would look like relative times.
const unknownStart = 946684800e9

// straceWriter writes the output that strace -f -ttt -T would have printed, with times
// in nanoseconds as by --absolute-timestamps=precision:ns and --syscall-times=ns.
// Process ids are numbers of threads, and buffers are addresses. Each call is on one
// line, in the order of the starts, even if strace would have split it.
type straceWriter struct {
	out   text
	start int64 // of the recording, ns since 1970
	names *format.AppNames
	paths [format.MaxStrings][]byte // memory
}

func newStrace(w io.Writer, h *format.Header) (Writer, error) {
	s := &straceWriter{out: newText(w), start: unknownStart, names: h.AppNames()}
	if v, ok := h.Value(format.MetaStart); ok {
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil && t.Year() >= 2000 && t.Year() < 2200 {
			s.start = t.UnixNano()
		}
	}
	return s, nil
}

func (s *straceWriter) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if e.Enters != nil {
			continue // strace says nothing of it
		}
		if err := checkOp(e); err != nil {
			return err
		}
		if e.Kind() == format.MadeKind {
			continue // no call
		}
		b := append(format.AppendInt(s.out.b, int64(e.TID)), ' ')
		b = append(format.AppendSeconds(b, s.start+e.Start), ' ')
		b = append(appendCall(b, s.called(e)), " = "...)
		b = appendStraceResult(b, e)
		if e.Dur >= 0 {
			b = append(format.AppendSeconds(append(b, " <"...), e.Dur), '>')
		}
		s.out.b = append(b, '\n')
		if err := s.out.flushFull(); err != nil {
			return err
		}
	}
	return s.out.err
}

// called returns an event with the application's names, if the trace has them. The
// next call overwrites them.
func (s *straceWriter) called(e *format.Event) *format.Event {
	if s.names == nil || e.Path(0) == nil && e.Path(1) == nil {
		return e
	}
	other := *e
	for n, p := range e.Op.Info().At.Paths {
		if path := unmarked(e.Path(n)); path != nil {
			s.paths[n] = s.names.Append(s.paths[n][:0], path)
			other.Str[p.Str] = s.paths[n]
		}
	}
	return &other
}

func (s *straceWriter) Close() error { return s.out.flush() }

func appendStraceResult(dst []byte, e *format.Event) []byte {
	switch {
	case e.Ret == format.NoResult:
		return append(dst, '?')
	case !e.Failed():
		return format.AppendInt(dst, e.Ret)
	}
	name := format.ErrnoName(int(-e.Ret))
	if name[0] != 'E' {
		return append(strconv.AppendInt(append(dst, "-1 (errno "...), -e.Ret, 10), ')')
	}
	dst = append(append(dst, "-1 "...), name...)
	return append(append(append(dst, " ("...), format.ErrnoText(int(-e.Ret))...), ')')
}

// fcntlForms and ioctlForms are strace's forms of calls, by command, which is the
// second argument. %0 is the first argument, and %w says where a lock counts from.
var (
	fcntlForms = map[int64]string{
		1: "fcntl(%0, %1)", 3: "fcntl(%0, %1)",
		format.FGetlk: lockForm, format.FSetlk: lockForm, format.FSetlkw: lockForm,
		format.FOfdGetlk: lockForm, format.FOfdSetlk: lockForm, format.FOfdSetlkw: lockForm,
	}
	ioctlForms = map[int64]string{
		format.Ficlone:      "ioctl(%0, %1, %2)",
		format.Ficlonerange: "ioctl(%0, %1, {src_fd=%2, src_offset=%3, src_length=%4, dest_offset=%5})",
	}
)

const lockForm = "fcntl(%0, %1, {l_type=%3, l_whence=%w, l_start=%4, l_len=%5})"

// formOf returns the form of a call, "" if the row of the table gives it.
func formOf(e *format.Event) string {
	switch info := e.Op.Info(); info.Effect {
	case format.EffectFcntl:
		return fcntlForms[e.Args[1]]
	case format.EffectRange:
		return ioctlForms[e.Args[1]]
	default:
		return info.Strace
	}
}

// appendCall appends the name and the arguments of a call.
func appendCall(dst []byte, e *format.Event) []byte {
	form := formOf(e)
	if form == "" {
		return appendRow(dst, e)
	}
	for i := 0; i < len(form); i++ {
		if form[i] != '%' {
			dst = append(dst, form[i])
			continue
		}
		i++
		if form[i] == 'w' {
			dst = format.Whence.Append(dst, format.LockWhence(e.Args[2]))
		} else {
			dst = appendArg(dst, e, int(form[i]-'0'))
		}
	}
	return dst
}

// appendRow appends a call by its row of the table, without synthetic
// arguments. A vector has one element with the whole size.
func appendRow(dst []byte, e *format.Event) []byte {
	info := e.Op.Info()
	dst = append(append(dst, info.Name...), '(')
	for k := range info.Args {
		a, read := &info.Args[k], info.Synthetic>>k&1 != 0
		switch {
		case a.Opt, a.Kind == format.OptMode && !format.HasMode(e.Args[k-1]), a.Kind == format.Size && read:
			continue
		case k > 0:
			dst = append(dst, ", "...)
		}
		switch v := e.Args[k]; {
		case int8(k) == info.At.Vector:
			dst = appendArg(append(dst, "[{iov_base="...), e, k)
			dst = append(format.AppendInt(append(dst, ", iov_len="...), e.Size()), "}, ...]"...)
		case a.Kind == format.Offset && read && v < 0:
			dst = append(dst, "NULL"...)
		case a.Kind == format.Offset && read:
			dst = append(format.AppendInt(append(dst, '['), v), ']')
		default:
			dst = appendArg(dst, e, k)
		}
	}
	return append(dst, ')')
}

// appendArg appends an argument as its kind is shown.
func appendArg(dst []byte, e *format.Event, k int) []byte {
	info := e.Op.Info()
	a, v := &info.Args[k], e.Args[k]
	switch a.Kind {
	case format.Path, format.Text:
		if s := e.Str[info.StringIndex(k)]; s != nil {
			if a.Kind == format.Path {
				s = unmarked(s)
			}
			return format.AppendQuoted(dst, s)
		}
		return append(dst, "NULL"...)
	case format.Items:
		return e.List.AppendQuoted(dst)
	case format.Flags:
		return a.Flags.Append(dst, v)
	case format.Mode, format.OptMode:
		if v < 0o10 && v >= 0 {
			dst = append(dst, '0')
		}
		return strconv.AppendUint(append(dst, '0'), uint64(v), 8)
	case format.Addr:
		if v == 0 {
			return append(dst, "NULL"...)
		}
		return format.AppendHex(append(dst, "0x"...), uint64(v))
	case format.DirFD:
		if v == format.AtFDCWD {
			return append(dst, "AT_FDCWD"...)
		}
	case format.Int:
		if set := info.FlagsOf(e, k); set != nil {
			return set.Append(dst, v)
		}
	case format.FDPair:
		dst = format.AppendInt(append(dst, '['), int64(int32(v)))
		return append(format.AppendInt(append(dst, ", "...), v>>32), ']')
	}
	return format.AppendInt(dst, v)
}
