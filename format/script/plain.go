package script

import (
	"bytes"

	"pianola/format"
)

// Most lines of most scripts are calls whose arguments are all numbers, printed
// as record prints them:
//
//	4711 0.000021000 pread64(3, 0x7f0000001000, 4096, 8192) = 4096 <0.000001000>
//
// This file parses them fast. parseLine parses all other lines, and these with
// the same result.

// plainArgs has, by operation, its number of arguments if all are numbers, else
// 0.
var plainArgs = func() (n [format.NumOps]uint8) {
	for op := format.OpNone + 1; op.Valid(); op++ {
		info, plain := op.Info(), true
		for _, a := range info.Args {
			switch a.Kind {
			case format.FD, format.Addr, format.Size, format.Offset, format.Count, format.Int:
			default:
				plain = false
			}
		}
		switch info.Effect {
		case format.EffectFork, format.EffectExit, format.EffectExitGroup:
			plain = false // the line means more than its event
		}
		if plain && info.Synthetic == 0 {
			n[op] = uint8(len(info.Args))
		}
	}
	return n
}()

// maxPlain is the largest number of digits of a decimal number here: any such
// number fits in 63 bits.
const maxPlain = 18

// parsePlain parses a line of the Recorded dialect, a call after a thread and a
// relative time, and advances the clock. If it can't parse the line it returns
// false, and may have changed e only.
func (r *Reader) parsePlain(b []byte, e *format.Event) bool {
	tid, i := plainDecimal(b, 0)
	if i == 0 || i > 9 {
		return false
	}
	start, i := plainSeconds(b, i, ' ')
	clock := r.clock + start
	if i == 0 || clock > maxNanos || i >= len(b) || b[i] != ' ' {
		return false
	}
	i++
	first, via := i, format.ViaCall
	for i < len(b) && isName(b[i]) {
		i++
	}
	if i < len(b) && b[i] == ':' {
		var ok bool
		if via, ok = format.ParseVia(b[first:i]); !ok {
			return false
		}
		i++
		for first = i; i < len(b) && isName(b[i]); {
			i++
		}
	}
	if i == len(b) || b[i] != '(' {
		return false
	}
	op := r.operation(b[first:i])
	args := int(plainArgs[op])
	if args == 0 {
		return false
	}
	*e = format.Event{Op: op, Via: via, TID: int32(tid), Start: clock}
	for k := range args {
		if k > 0 {
			if i+1 >= len(b) || b[i] != ',' {
				return false
			}
			i++
		}
		i++ // the bracket or the space
		var end int
		if i+1 < len(b) && b[i] == '0' && b[i+1] == 'x' {
			e.Args[k], end = plainHex(b, i+2)
		} else {
			e.Args[k], end = plainDecimal(b, i)
		}
		if end == 0 || k > 0 && b[i-1] != ' ' {
			return false
		}
		i = end
	}
	const is = ") = "
	if len(b)-i < len(is) || string(b[i:i+len(is)]) != is {
		return false
	}
	if e.Ret, i = plainDecimal(b, i+len(is)); i == 0 || i == len(b) || b[i] != ' ' {
		return false
	}
	if e.Dur, i = plainSeconds(b, i+1, '<'); i == 0 || i == len(b) || b[i] != '>' {
		return false
	}
	if i++; i < len(b) {
		notes := len(b) - i - len(" {}")
		if notes < 0 || b[i] != ' ' || b[i+1] != '{' {
			return false
		}
		text := b[i+2 : len(b)-1 : len(b)-1]
		if bytes.IndexByte(b[i:], '}') != notes+2 || bytes.IndexByte(text, '"') >= 0 {
			return false
		}
		r.parseNotes(e, text)
	}
	r.clock = clock
	return true
}

// operation returns the operation of that name, OpNone if there is none. It
// remembers some, by the lengths of their names.
func (r *Reader) operation(name []byte) format.Op {
	known := &r.recent[len(name)%len(r.recent)]
	if string(name) != known.String() || *known == format.OpNone {
		*known, _ = format.Lookup(name)
	}
	return *known
}

// plainDecimal returns the number at b[i:] and where it ends, 0 if there is none
// of at most maxPlain digits.
func plainDecimal(b []byte, i int) (v int64, end int) {
	first := i
	for i < len(b) && isDigit(b[i]) {
		v = 10*v + int64(b[i]-'0')
		i++
	}
	if n := i - first; n == 0 || n > maxPlain {
		return 0, 0
	}
	return v, i
}

// plainHex is the same for a hexadecimal number.
func plainHex(b []byte, i int) (v int64, end int) {
	first := i
	for i < len(b) {
		d := digit[b[i]]
		if d == 16 {
			break
		}
		v = v<<4 | int64(d)
		i++
	}
	if n := i - first; n == 0 || n > 16 {
		return 0, 0
	}
	return v, i
}

// plainSeconds reads a time behind a byte as nanoseconds, and returns where it
// ends, 0 if there is no time or a negative one.
func plainSeconds(b []byte, i int, before byte) (nanos int64, end int) {
	if i+1 >= len(b) || b[i] != before || b[i+1] == '-' {
		return 0, 0
	}
	nanos, n, err := format.ScanSeconds(b[i+1:])
	if err != nil {
		return 0, 0
	}
	return nanos, i + 1 + n
}
