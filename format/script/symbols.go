package script

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// orWord separates the names that strace knows for one request of ioctl.
var orWord = []byte(" or ")

// foreignAddress reports whether the bind whose arguments come next is not one to
// a path.
func (r *Reader) foreignAddress() bool {
	c := r.cursor
	c.value() // the descriptor
	if !c.take(",") {
		return false
	}
	c.spaces()
	if c.peek() == '{' {
		return !takeAddress(&c) || c.peek() != '"'
	}
	return c.take("0x") // which can't be read
}

// takeAddress skips what strace shows before the path of a socket's address.
func takeAddress(c *cursor) bool {
	return c.take("{sa_family=AF_UNIX, sun_path=") || c.take("{sa_family=AF_LOCAL, sun_path=") || c.take("{sa_family=AF_FILE, sun_path=")
}

// foreignRequest reports whether the ioctl whose arguments come next is one
// that concerns no files, and so is not in the table. Pianola itself writes
// what has no name in decimal.
func (r *Reader) foreignRequest() bool {
	c := r.cursor
	c.value() // the descriptor
	if c.peek() != ',' {
		return false
	}
	c.i++
	c.spaces()
	text := c.value()
	_, ok := request(text)
	return !ok && c.msg == "" && (len(text) == 0 || bytes.HasPrefix(text, []byte("0x")) || !isDigit(text[0]) && text[0] != '-')
}

// request returns the request of ioctl of one of the names in a text.
func request(text []byte) (int64, bool) {
	for len(text) > 0 {
		var name []byte
		name, text, _ = bytes.Cut(text, orWord)
		v, err := format.IoctlRequest.Parse(name)
		if err != nil {
			continue
		}
		for i := range format.IoctlRequest.Flags {
			if format.IoctlRequest.Flags[i].Canon == uint64(v) {
				return v, true
			}
		}
	}
	return 0, false
}

// request parses a request that foreignRequest has let pass.
func (c *cursor) request() int64 {
	if b := c.peek(); isDigit(b) || b == '-' {
		return c.int()
	}
	text := c.value()
	v, ok := request(text)
	if !ok {
		c.fail("unknown request " + string(text))
	}
	return v
}

// maybe are the arguments that strace shows only where they count.
var maybe = map[string]bool{"dev": true, "newaddr": true}

// numbered are the commands of fcntl that always have a number or flags.
var numbered = map[int64]bool{format.FDupfd: true, format.FSetfd: true, format.FSetfl: true, format.FDupfdCloexec: true}

// parsePointed parses an offset that the call takes through a pointer: NULL,
// or [100], or [0] => [100] where the call has moved it.
func (c *cursor) parsePointed() int64 {
	if c.take("NULL") {
		return -1
	}
	if c.peek() != '[' {
		return c.int()
	}
	c.i++
	v := c.int()
	c.expect(']')
	// A call that was resumed here has lost the space.
	if c.spaces(); c.take("=>") {
		c.spaces()
		c.value()
	}
	return v
}

// modeWords are the words that strace has in a mode.
var modeWords = map[string]int64{"S_IFREG": 0o100000, "S_IFDIR": 0o040000, "S_IFCHR": 0o020000, "S_IFBLK": 0o060000, "S_IFIFO": 0o010000,
	"S_IFSOCK": 0o140000, "S_IFLNK": 0o120000, "S_ISUID": 0o4000, "S_ISGID": 0o2000, "S_ISVTX": 0o1000}

// fileMode reads permissions, and the type of a file before them:
// S_IFCHR|0666.
func (c *cursor) fileMode() (v int64) {
	for c.peek() == 'S' {
		name := c.name()
		bits, ok := modeWords[string(name)]
		if !ok {
			c.fail("unknown mode " + string(name))
		}
		v |= bits
		if c.peek() != '|' {
			return v
		}
		c.i++
	}
	return v | c.mode()
}

// device reads a device number: makedev(0x1, 0x3), or as the kernel takes it.
func (c *cursor) device() int64 {
	if !c.take("makedev(") {
		return c.int()
	}
	major := c.int()
	c.expect(',')
	c.spaces()
	minor := c.int()
	c.expect(')')
	return minor&0xff | major&0xfff<<8 | minor&^0xff<<12
}

// pidField is what strace shows in a siginfo.
var pidField = []byte("si_pid=")

// parseChild takes the process that waitid found from what strace shows of its
// siginfo.
func parseChild(e *format.Event, info *format.Info, text []byte) (done fields) {
	child := info.At.Child
	if child < 0 {
		return 0
	}
	if n := bytes.Index(text, pidField); n >= 0 {
		c := cursor{b: text, i: n + len(pidField)}
		e.Args[child] = c.int()
	}
	return 1 << child
}

// shifted returns the native bits of 21<<MAP_HUGE_SHIFT, the size of huge
// pages.
func shifted(word []byte) (text []byte, ok bool) {
	n, name, ok := bytes.Cut(word, []byte("<<"))
	if !ok || string(name) != "MAP_HUGE_SHIFT" && string(name) != "MFD_HUGE_SHIFT" {
		return nil, false
	}
	v, err := strconv.ParseUint(string(n), 10, 6)
	return strconv.AppendUint([]byte("0x"), v<<26, 16), err == nil
}
