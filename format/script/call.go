package script

import (
	"bytes"
	"fmt"
	"strconv"

	"pianola/format"
)

// parseRecorded parses a line of the Recorded or the Older dialect.
func (r *Reader) parseRecorded(e *format.Event) bool {
	c := &r.cursor
	r.parseColumns(e)
	e.Start = r.clock
	switch c.peek() {
	case '+':
		return r.parseEnd(e)
	case '-':
		return r.parseSignal()
	case '<':
		if !r.resume(e) {
			return false
		}
	default:
		if r.suspend(e) {
			return false
		}
	}
	return r.parseCall(e)
}

// thread reads the id or the number of a thread.
func (c *cursor) thread() int32 {
	if !isDigit(c.peek()) {
		c.fail("expected a thread id")
	}
	tid := c.int()
	if tid < 0 || tid > 1<<31-1 {
		c.fail("thread id out of range")
	}
	return int32(tid)
}

// parseCall parses "name(arguments) = result" and what follows.
func (r *Reader) parseCall(e *format.Event) bool {
	c := &r.cursor
	name := c.name()
	if c.peek() == ':' && r.dialect == Recorded {
		name = r.parseVia(e, name)
	}
	if c.peek() == ':' && r.Own() {
		return r.parseSpan(e, name)
	}
	op, known := format.Lookup(name)
	if c.peek() != '(' || len(name) == 0 || len(name) > 64 {
		c.fail("expected a call")
		return false
	}
	if !known {
		if e.Via == format.ViaCall && r.parseWait(e, name) {
			return true
		}
		r.skip(name)
		return false
	}
	c.i++
	if op.Info().Class == format.ClassSubmit && !r.Own() {
		r.skip(name) // strace shows no requests
		return false
	}
	if reads := op.Info().Reads; r.dialect == Recorded && (reads == format.ReadRange && r.foreignRequest() || reads == format.ReadAddress && r.foreignAddress()) {
		r.skip(name)
		return false
	}
	e.Op = op
	r.parseArgs(e)
	c.expect(')')
	r.parseResult(e)
	r.parentage(e)
	if op.Info().Result == format.ResultNone {
		r.ended.add(e.TID)
	}
	return true
}

// parseVia takes the word before a colon as the way in which an operation is asked
// for, and returns the name of the operation. A name of another word stays whole.
func (r *Reader) parseVia(e *format.Event, word []byte) (name []byte) {
	c := &r.cursor
	via, ok := format.ParseVia(word)
	if !ok {
		return word
	}
	c.i++
	e.Via = via
	return c.name()
}

// parseArgs parses the arguments of a call, up to the closing parenthesis.
func (r *Reader) parseArgs(e *format.Event) {
	c, info := &r.cursor, e.Op.Info()
	var done fields // what strace showed within a struct
	first := true
	for k := range info.Args {
		if done.has(k) {
			continue
		}
		if c.peek() == ')' {
			if !canMiss(e, info, k) && !r.canMiss(e, info, k) {
				c.missing(info, k)
				return
			}
			continue
		}
		if !first {
			c.expect(',')
			c.spaces()
		}
		first = false
		done |= r.parseArg(e, info, k)
		if c.msg != "" {
			c.msg = fmt.Sprintf("%s: %s: %s", info.Name, info.Args[k].Name, c.msg)
			return
		}
	}
	if k := info.At.Flags; k >= 0 && info.Args[k].Flags == format.OpenFlags && e.Args[k] == 0 {
		e.Args[k] = format.RDONLY // as the kernel sees it, and as the printed 0 is read
	}
	// strace names the size of a struct that Pianola takes apart.
	for done != 0 && c.peek() == ',' {
		c.i++
		c.value()
	}
	if c.peek() == ',' {
		c.fail(info.Name + ": too many arguments")
	}
}

// canMiss reports whether a call can end before its argument k, because it is left
// out where it says nothing.
func canMiss(e *format.Event, info *format.Info, k int) bool {
	a := &info.Args[k]
	return a.Opt || a.Kind == format.OptMode && !format.HasMode(e.Args[k-1])
}

// canMiss is the function canMiss for recordings of others. strace shows system
// calls as they are, and some arguments only where they count. The older Pianola
// shows no permissions.
func (r *Reader) canMiss(e *format.Event, info *format.Info, k int) bool {
	a := &info.Args[k]
	return info.Synthetic>>k&1 != 0 || maybe[a.Name] || a.Kind == format.OptMode && r.dialect == Older ||
		info.Effect == format.EffectFcntl && a.Name == "arg" && !numbered[e.Args[k-1]]
}

// missing fails because of argument k.
func (c *cursor) missing(info *format.Info, k int) {
	c.fail(fmt.Sprintf("%s: missing argument %s", info.Name, info.Args[k].Name))
}

// parseArg parses argument k, and returns which others it found on the way.
func (r *Reader) parseArg(e *format.Event, info *format.Info, k int) fields {
	c := &r.cursor
	switch info.Args[k].Kind {
	case format.Path, format.Text:
		address := info.Reads == format.ReadAddress && takeAddress(c)
		e.Str[info.StringIndex(k)] = r.parseString()
		if address {
			c.expect('}')
		}
		return 0
	case format.Items:
		e.List = r.parseList()
		return 0
	case format.Addr:
		return r.parseAddr(e, info, k)
	case format.Flags:
		if info.Reads == format.ReadRange && r.dialect == Recorded {
			e.Args[k] = c.request()
			return 0
		}
		if info.Synthetic != 0 || info.Effect == format.EffectFork {
			if done, ok := r.parseStruct(e, info, k); ok {
				return done
			}
		}
	case format.Offset:
		if info.Synthetic>>k&1 != 0 {
			e.Args[k] = c.parsePointed()
			return 0
		}
	case format.Int:
		if b := c.peek(); b == '{' || info.FlagsOf(e, k) == nil && !isDigit(b) && b != '-' {
			return r.parseSymbol(e, info, k)
		}
	}
	r.parseNumber(e, info, k)
	return 0
}

// parseNumber parses argument k, which is a number of some kind.
func (r *Reader) parseNumber(e *format.Event, info *format.Info, k int) {
	c, a, v := &r.cursor, &info.Args[k], &e.Args[k]
	switch a.Kind {
	case format.FD, format.DirFD:
		if c.take("AT_FDCWD") {
			*v = format.AtFDCWD
		} else {
			*v = c.int()
		}
		c.annotation()
	case format.FDPair:
		*v = c.pair()
	case format.Flags:
		*v = r.parseFlags(a.Flags)
		if info.Effect == format.EffectSeek {
			r.parseOldLseek(e, k)
		}
	case format.Mode:
		*v = c.fileMode()
	case format.OptMode:
		// The kernel ignores it where the flags do not ask for it.
		if *v = c.mode(); !format.HasMode(e.Args[k-1]) {
			*v = 0
		}
	case format.Count:
		*v = c.device()
		c.annotation()
	default:
		if set := info.FlagsOf(e, k); set != nil && r.dialect != Intermediate {
			*v = r.parseWord(set)
			return
		}
		*v = c.int()
		c.annotation()
	}
}

// parseString parses a path or a text.
func (r *Reader) parseString() []byte {
	c := &r.cursor
	switch b := c.peek(); {
	case b == '"':
		s := c.quoted(&r.arena)
		if c.take("...") {
			c.fail("truncated string: run strace with a larger -s")
		}
		return s
	case r.dialect == Intermediate:
		start := c.i
		for c.i < len(c.b) && isBare(c.b[c.i]) {
			c.i++
		}
		if s := c.b[start:c.i:c.i]; string(s) == "NULL" {
			return nil
		} else if len(s) > 0 {
			return s
		}
	case c.take("NULL"):
		return nil
	case b == '0' && r.dialect == Recorded:
		c.int() // strace shows the address of a string that cannot be read
		return nil
	}
	c.fail("malformed string")
	return nil
}

// parseList parses what is registered, which is between quotes.
func (r *Reader) parseList() *format.List {
	text, m := r.parseString(), &r.spans
	if text == nil {
		return nil
	}
	var l format.List
	var ok bool
	if l, m.Numbers, ok = format.ParseList(text, m.Numbers); !ok {
		r.cursor.fail("malformed list")
	}
	return m.AddList(l)
}

// parseFlags parses a flag word: names and native numbers in the Recorded
// dialect, a canonical number in the others.
func (r *Reader) parseFlags(set *format.FlagSet) int64 {
	c := &r.cursor
	if b := c.peek(); r.dialect != Recorded && (isDigit(b) || b == '-') {
		return c.int()
	}
	start := c.i
	for c.i < len(c.b) && !isFlagEnd[c.b[c.i]] {
		c.i++
	}
	text := c.b[start:c.i]
	if len(text) == 0 {
		c.fail("expected flags")
		return 0
	}
	if isDigit(text[0]) { // strace -X raw
		if native, err := strconv.ParseUint(string(text), 0, 64); err == nil {
			c.comment()
			return set.FromNative(r.arch(), native)
		}
	}
	v, err := set.Parse(text)
	if err != nil {
		if v, err = set.Parse(foreignFlags(text)); err != nil {
			c.fail(fmt.Sprintf("%s in %s", err, text))
		}
	}
	c.comment()
	return v
}

// parseWord parses an argument that is a word of flags in this call and a number
// in others. A number is the native word, as strace shows the argument where it
// does not know better, and Pianola did before.
func (r *Reader) parseWord(set *format.FlagSet) int64 {
	c := &r.cursor
	a, native := r.arch(), uint64(0)
	if b := c.peek(); isDigit(b) || b == '-' {
		native = uint64(c.int())
		c.comment()
	} else {
		native, _ = set.ToNative(a, r.parseFlags(set))
	}
	if !set.Enum {
		native = uint64(uint32(native))
	}
	return set.FromNative(a, native)
}

var isFlagEnd = [256]bool{',': true, ')': true, '}': true, ' ': true}

// arch returns the architecture of the recording.
func (r *Reader) arch() format.Arch {
	name, _ := r.header.Value(format.MetaArch)
	return format.ParseArch(name)
}

// parseOldLseek parses the form of the older Pianola: the resulting offset before the
// whence, and a result of 0. The number parsed as the whence is that offset.
func (r *Reader) parseOldLseek(e *format.Event, k int) {
	c := &r.cursor
	if c.peek() != ',' || r.dialect == Intermediate {
		return
	}
	result := e.Args[k]
	c.i++
	c.spaces()
	if e.Args[k] = r.parseFlags(format.Whence); result > 0 {
		e.Ret = result
	}
}

// pair parses two descriptors.
func (c *cursor) pair() int64 {
	if c.peek() != '[' {
		c.int() // the address, where the call failed
		return 0
	}
	c.i++
	first := c.descriptor()
	c.expect(',')
	c.spaces()
	second := c.descriptor()
	c.expect(']')
	return second<<32 | first&(1<<32-1)
}

func (c *cursor) descriptor() int64 {
	v := c.int()
	if v != int64(int32(v)) {
		c.fail("descriptor out of range")
	}
	c.annotation()
	return v
}

// parseResult parses "= result <duration> {notes}" to the end of the line.
func (r *Reader) parseResult(e *format.Event) {
	c := &r.cursor
	c.spaces()
	c.expect('=')
	c.spaces()
	old := e.Ret // of the older lseek
	if c.peek() == '?' {
		c.i++
		e.Ret = format.NoResult
	} else if e.Op.Info().Result == format.ResultMode {
		e.Ret = c.mode()
	} else if e.Ret = c.int(); e.Ret == 0 {
		e.Ret = old
	}
	c.annotation()
	c.spaces()
	if c.peek() == 'E' && (e.Ret == -1 || e.Ret == format.NoResult) {
		name := c.name()
		n, ok := format.ErrnoNumber(name)
		if !ok {
			c.fail("unknown error " + string(name))
		}
		e.Ret = -int64(n)
		c.spaces()
	}
	if c.peek() == '(' {
		text := c.b[c.i:]
		if e.Ret == -1 && bytes.HasPrefix(text, []byte("(errno ")) {
			c.i += len("(errno ")
			e.Ret = -c.int()
		}
		c.upTo(')')
		c.spaces()
	}
	if c.peek() == '<' {
		c.i++
		if e.Dur = c.seconds(); e.Dur < 0 {
			c.fail("negative duration")
		}
		c.expect('>')
		c.spaces()
	}
	if c.peek() == '{' {
		text := c.braces()
		if r.dialect == Intermediate {
			r.parseEdges(e, text)
		} else {
			r.parseNotes(e, text)
		}
		c.spaces()
	}
	if c.i < len(c.b) {
		c.fail("unexpected text after the result")
	}
}
