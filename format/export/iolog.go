package export

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pianola/format"
)

// iolog turns the events of a trace into what fio can do: open, read, write,
// sync and close files with fixed names. A renamed file keeps its first name.
// The name of a removed file is reused.
//
// fio truncates nothing. So a file needs only the size up to which it is read
// before it is written.
type iolog struct {
	files *files
	emit  func(l *logged, action string, offset, bytes int64)

	// Internal state.
	names    map[string]*logged // by the name in the log
	dirs     map[string]bool    // directories of these names
	order    []*logged          // by first use
	numbered int                // number of generated names
	err      error
}

// logged is a file of an iolog.
type logged struct {
	name  string
	owner *file
	size  int64 // size before the replay, in bytes
	end   int64 // lower bound of its current length in the replay
}

// maxLogName is the longest name that fio reads from an iolog, in bytes.
const maxLogName = 255

// maxTransfer is the most bytes that Linux moves in one call (MAX_RW_COUNT).
const maxTransfer = 0x7ffff000

func newIolog(h *format.Header, emit func(*logged, string, int64, int64)) *iolog {
	l := &iolog{files: newFiles(h), emit: emit, names: make(map[string]*logged), dirs: make(map[string]bool)}
	l.files.opened = func(f *file) {
		if !f.dir {
			l.emit(l.logged(f), "open", 0, 0)
		}
	}
	l.files.closed = func(f *file) {
		if !f.dir {
			l.emit(l.logged(f), "close", 0, 0)
		}
	}
	return l
}

// apply emits what fio does for an event.
func (l *iolog) apply(e *format.Event) error {
	if e.Enters != nil {
		l.files.Thread(e)
		return nil
	}
	if err := checkOp(e); err != nil {
		return err
	}
	s := l.files.apply(e)
	if err := l.files.full(e); err != nil {
		return err
	}
	closed := s.file != nil && s.file.opens == 0 && e.Acts().Any(format.Faults) && e.Ret > 0
	if closed { // a mapping outlives the descriptor
		s.file.opens++
		l.files.opened(s.file)
	}
	l.move("read", s.read)
	l.move("write", s.written)
	if closed {
		s.file.opens--
		l.files.closed(s.file)
	}
	if s.file != nil && !s.file.dir && s.file.opens > 0 && e.Ret == 0 {
		switch e.Op {
		case format.OpFsync:
			l.emit(l.logged(s.file), "sync", 0, 0)
		case format.OpFdatasync, format.OpMsync:
			l.emit(l.logged(s.file), "datasync", 0, 0)
		}
	}
	return l.err
}

func (l *iolog) move(action string, m moved) {
	if m.file == nil || m.file.dir || m.file.opens == 0 || m.bytes <= 0 {
		return
	}
	to := l.logged(m.file)
	m.bytes = min(m.bytes, maxTransfer)
	end := m.offset + m.bytes
	if action == "read" && end > to.end {
		to.size = max(to.size, end)
	}
	to.end = max(to.end, end)
	l.emit(to, action, m.offset, m.bytes)
}

// logged returns the state of a file in the log.
func (l *iolog) logged(f *file) *logged {
	if f.log != nil && f.log.owner == f {
		return f.log
	}
	if !filepath.IsLocal(f.Name) && l.err == nil {
		l.err = fmt.Errorf("path %q leaves the root", f.Name)
	}
	name := l.free(string(appendLogName(nil, f.Name)))
	to := l.names[name]
	if to == nil {
		to = &logged{name: name}
		l.names[name] = to
		l.order = append(l.order, to)
		for dir := parent(name); dir != "" && !l.dirs[dir]; dir = parent(dir) {
			l.dirs[dir] = true
		}
		to.size, to.end = f.Length, f.Length
		to.owner, f.log = f, to
		l.emit(to, "add", 0, 0)
		return to
	}
	to.owner, f.log = f, to
	return to
}

// free returns the wanted name, or another one if it is taken.
func (l *iolog) free(want string) string {
	name := want
	for n := 2; ; n++ {
		switch to := l.names[name]; {
		case l.odd(name):
			l.numbered++
			return "%~" + strconv.Itoa(l.numbered)
		case to == nil, to.owner.links == 0 && to.owner.opens == 0:
			return name
		}
		name = want + "%~" + strconv.Itoa(n)
	}
}

// odd reports whether a name cannot be a file's: it is too long, or a directory in
// another place of the log.
func (l *iolog) odd(name string) bool {
	if len(name) > maxLogName || l.dirs[name] {
		return true
	}
	for dir := parent(name); dir != ""; dir = parent(dir) {
		if l.names[dir] != nil {
			return true
		}
	}
	return false
}

func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

// appendLogName appends a name for an iolog, in which white space ends a name and there
// are no escapes. White space and the percent sign become %NN, so different names stay
// different. The name "-" is escaped too, because fio reads it as standard input.
func appendLogName(dst []byte, path string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c == '%' || c == 0x7f || path == "-" {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	if strings.HasSuffix(path, "/") {
		dst = append(dst, "%~tmp"...)
	}
	return dst
}
