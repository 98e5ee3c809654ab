package script

import (
	"bytes"

	"pianola/format"
)

// fields is a set of arguments, by position.
type fields uint8

func (f fields) has(k int) bool { return f>>k&1 != 0 }

// fieldNames are the arguments that strace shows as fields of other names.
var fieldNames = map[string]string{"l_type": "lock", "l_whence": "arg", "l_start": "start", "l_len": "len",
	"src_fd": "arg", "dest_fd": "arg", "src_offset": "inoffset", "src_length": "size", "dest_offset": "outoffset"}

// foreign are the names that strace has for flags of other names, for words
// without bits, and for bits that the table does not know.
var foreign = map[string]string{
	"AT_STATX_SYNC_AS_STAT": "0", "FASYNC": "O_ASYNC", "O_ACCMODE": "0x3", "O_NDELAY": "O_NONBLOCK", "O_RSYNC": "O_SYNC",
	"MAP_32BIT": "0x40", "MAP_FILE": "0", "MAP_DROPPABLE": "0x8", "MAP_UNINITIALIZED": "0x4000000",
	"MADV_DONTNEED_LOCKED": "24", "MADV_HWPOISON": "100", "MADV_SOFT_OFFLINE": "101", "MADV_GUARD_INSTALL": "102", "MADV_GUARD_REMOVE": "103",
	"WSTOPPED": "WUNTRACED", "__WNOTHREAD": "0x20000000", "__WALL": "0x40000000", "__WCLONE": "0x80000000",
}

// foreignFlags returns a flag word with the names of the table.
func foreignFlags(text []byte) []byte {
	words := bytes.Split(text, []byte{'|'})
	for i, w := range words {
		if name, ok := foreign[string(w)]; ok {
			words[i] = []byte(name)
		} else if bits, ok := shifted(w); ok {
			words[i] = bits
		}
	}
	return bytes.Join(words, []byte{'|'})
}

// parseStruct parses the arguments that strace shows as fields: in a struct,
// {flags=O_RDONLY, mode=0600, resolve=0}, or by name to the end of the call,
// child_stack=NULL, flags=SIGCHLD. It reports false, and parses nothing, where
// argument k is not shown so. The fields that it found are done, and with a
// struct all arguments that the recorder would read from it.
func (r *Reader) parseStruct(e *format.Event, info *format.Info, k int) (done fields, ok bool) {
	c := &r.cursor
	if r.dialect == Intermediate {
		return 0, false
	}
	if c.peek() == '{' {
		c.i++
		done = r.parseFields(e, info) | fields(info.Synthetic)&^(1<<k-1)
		c.expect('}')
		c.spaces()
		if c.take("=>") { // what the kernel has written into it
			c.value()
		}
		return done | 1<<k, true
	}
	start := c.i
	named := len(c.name()) > 0 && c.peek() == '='
	c.i = start
	if !named {
		return 0, false
	}
	return r.parseFields(e, info), true
}

// parseFields parses "name=value, …" up to a closing bracket.
func (r *Reader) parseFields(e *format.Event, info *format.Info) (done fields) {
	c := &r.cursor
	for {
		name := c.name()
		if own, ok := fieldNames[string(name)]; ok {
			name = []byte(own)
		}
		k := info.ArgIndex(string(name))
		switch {
		case info.Reads == format.ReadRange && c.take("=[{"): // of the ranges the first
			done |= r.parseFields(e, info)
			c.expect('}')
			for c.peek() == ',' {
				c.i++
				c.value()
			}
			c.expect(']')
		case !c.take("="), k < 0, info.Args[k].Kind.IsString(), info.Args[k].Kind == format.Addr:
			c.value()
		default:
			r.parseNumber(e, info, k)
			done |= 1 << k
		}
		if c.peek() != ',' {
			return done
		}
		c.i++
		c.spaces()
	}
}

// parseAddr parses an address. Where strace shows what is there instead, the
// address is 0; of buffers the sum of their lengths stands for the argument
// that holds it.
func (r *Reader) parseAddr(e *format.Event, info *format.Info, k int) (done fields) {
	c := &r.cursor
	switch b := c.peek(); {
	case isDigit(b), b == '-':
		e.Args[k] = c.int()
		c.comment()
	case c.take("NULL"):
	default:
		text := c.value()
		if len(text) == 0 {
			c.fail("expected an address")
			return 0
		}
		r.noteShown(e, info, text)
		if size := info.At.Size; size >= 0 && info.Synthetic>>size&1 != 0 {
			e.Args[size] = sumLengths(text)
			done |= 1 << size
		}
		done |= parseChild(e, info, text)
	}
	return done
}

// sumLengths adds up the iov_len of [{iov_base="…", iov_len=10}, …].
func sumLengths(text []byte) (sum int64) {
	for c := (cursor{b: text}); c.i < len(text); {
		switch {
		case text[c.i] == '"':
			c.skipQuoted()
		case c.take("iov_len="):
			sum += c.int()
		default:
			c.i++
		}
	}
	return sum
}

// parseSymbol parses strace's text for the last argument of fcntl or ioctl if it is not
// a number. Text without meaning for a replay counts as 0.
func (r *Reader) parseSymbol(e *format.Event, info *format.Info, k int) fields {
	c := &r.cursor
	if info.Reads != format.ReadLock && info.Reads != format.ReadRange {
		c.fail("malformed number")
		return 0
	}
	if c.peek() == '{' {
		done, _ := r.parseStruct(e, info, k)
		return done
	}
	switch text := c.value(); {
	case string(text) == "FD_CLOEXEC":
		e.Args[k] = 1
	case len(text) == 0:
		c.fail("malformed number")
	}
	return 0
}

// parseEnd parses "+++ exited with 0 +++" or "+++ killed by SIGKILL +++", the end of a
// thread. It is an event if there was no call of exit before. The status of a killed
// thread is the one that a shell shows.
func (r *Reader) parseEnd(e *format.Event) bool {
	c := &r.cursor
	e.Op, e.Ret = format.OpExit, format.NoResult
	switch {
	case c.take("+++ exited with "):
		e.Args[0] = c.int()
	case c.take("+++ killed by "):
		name := c.name()
		e.Args[0] = 128
		if n, ok := format.ParseSignal(string(name)); ok {
			e.Args[0] += int64(n)
		}
		if c.take(" (core dumped)"); len(name) == 0 {
			c.fail("expected the name of a signal")
		}
	case c.take("+++ superseded by execve in pid "):
		c.int()
		r.skip([]byte("superseded"))
		r.ended.remove(e.TID)
		return false
	}
	if !c.take(" +++") || c.i < len(c.b) {
		c.fail("expected the end of a thread")
	}
	r.terminal.died(e.TID)
	return !r.ended.remove(e.TID)
}

// parseSignal parses "--- SIGCHLD {si_signo=SIGCHLD, …} ---".
func (r *Reader) parseSignal() bool {
	c := &r.cursor
	if !c.take("--- ") {
		c.fail("expected a call")
		return false
	}
	name := c.name()
	if len(name) == 0 || !bytes.HasSuffix(c.b, []byte(" ---")) {
		c.fail("expected a signal")
		return false
	}
	r.skip(name)
	return false
}

// maxEnded bounds the threads that are remembered at once. What Pianola records
// never says that they are gone, what strace writes says so at once.
const maxEnded = 1 << 16

// ended holds the threads whose call of exit has been read, until strace says
// that they are gone.
type ended map[int32]struct{}

func (s *ended) add(tid int32) {
	if *s == nil {
		*s = make(ended)
	}
	if len(*s) < maxEnded {
		(*s)[tid] = struct{}{}
	}
}

func (s *ended) remove(tid int32) bool {
	_, ok := (*s)[tid]
	delete(*s, tid)
	return ok
}
