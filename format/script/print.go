package script

import (
	"strconv"

	"pianola/format"
)

// failures holds what a script shows for a failed call, by errno.
var failures = func() (t [1024]string) {
	for n := range t {
		if name := format.ErrnoName(n); name[0] == 'E' {
			t[n] = "-1 " + name + " (" + format.ErrnoText(n) + ")"
		}
	}
	return t
}()

// AppendEvent appends the line of an event in the Recorded dialect, with its
// newline. Delta is in nanoseconds, from the start of the event on the
// preceding line. The event is a span or its operation is valid; addresses are printed
// as arguments, Compute and Edges are not printed.
func AppendEvent(dst []byte, e *format.Event, delta int64) []byte {
	if e.Enters != nil {
		return e.Enters.Append(dst)
	}
	dst = append(format.AppendInt(dst, int64(e.TID)), ' ')
	dst = append(format.AppendSeconds(dst, delta), ' ')
	if e.Span != nil {
		return appendSpan(dst, e, nil)
	}
	dst = AppendCall(dst, e)
	start := len(dst)
	dst = inBraces(appendNotes(append(dst, ' '), e), start)
	return append(dst, '\n')
}

// AppendCall appends the call of an event, its result and its duration, as AppendEvent does.
func AppendCall(dst []byte, e *format.Event) []byte {
	info := e.Op.Info()
	if e.Via != format.ViaCall {
		dst = append(append(dst, e.Via.String()...), ':')
	}
	dst = append(append(dst, info.Name...), '(')
	str := 0
	for k := range numArgs(e, info) {
		if k > 0 {
			dst = append(dst, ',', ' ')
		}
		a, v := &info.Args[k], e.Args[k]
		switch a.Kind {
		case format.Path, format.Text:
			if e.Str[str] == nil {
				dst = append(dst, "NULL"...)
			} else {
				dst = format.AppendQuoted(dst, e.Str[str])
			}
			str++
		case format.Items:
			dst = e.List.AppendQuoted(dst)
		case format.Mode, format.OptMode:
			dst = appendMode(dst, v)
		case format.Addr:
			dst = appendAddr(dst, v)
		default:
			if set := info.FlagsOf(e, k); set != nil {
				dst = set.Append(dst, v)
			} else {
				dst = appendNumber(dst, a.Kind, v)
			}
		}
	}
	return appendResult(append(dst, ')'), e)
}

// numArgs returns how many arguments are shown: those at the end that say
// nothing are not.
func numArgs(e *format.Event, info *format.Info) int {
	n := len(info.Args)
	for n > 0 {
		switch a := &info.Args[n-1]; {
		case a.Opt && e.Args[n-1] == 0:
		case a.Kind == format.OptMode && !format.HasMode(e.Args[n-2]):
		default:
			return n
		}
		n--
	}
	return 0
}

// appendNumber appends an argument whose text is the same in all dialects.
func appendNumber(dst []byte, kind format.Kind, v int64) []byte {
	switch {
	case kind == format.DirFD && v == format.AtFDCWD:
		return append(dst, "AT_FDCWD"...)
	case kind == format.FDPair:
		dst = format.AppendInt(append(dst, '['), int64(int32(v)))
		dst = format.AppendInt(append(dst, ", "...), v>>32)
		return append(dst, ']')
	}
	return format.AppendInt(dst, v)
}

// appendMode appends permissions as strace does: in octal, with a leading 0,
// of three digits at least.
func appendMode(dst []byte, v int64) []byte {
	if uint64(v) < 0o10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(append(dst, '0'), uint64(v), 8)
}

func appendAddr(dst []byte, v int64) []byte {
	if v == 0 {
		return append(dst, "NULL"...)
	}
	return format.AppendHex(append(dst, "0x"...), uint64(v))
}

// appendResult appends " = result <duration>".
func appendResult(dst []byte, e *format.Event) []byte {
	dst = append(dst, " = "...)
	switch ret := e.Ret; {
	case ret == format.NoResult:
		dst = append(dst, '?')
	case ret < 0 && ret > -int64(len(failures)) && failures[-ret] != "":
		dst = append(dst, failures[-ret]...)
	case e.Op.Info().Result == format.ResultMode:
		dst = appendMode(dst, ret)
	default:
		dst = format.AppendInt(dst, ret)
	}
	if e.Dur >= 0 {
		dst = append(format.AppendSeconds(append(dst, " <"...), e.Dur), '>')
	}
	return dst
}
