package export

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pianola/format"
)

// iolog turns the events of a trace into what fio can do: opening, reading,
// writing, syncing and closing files that have one name for ever. A file that
// is renamed keeps its first name; a name whose file is gone is used again.
//
// fio truncates nothing, so a file must only be as large as what is read from
// it before it is written.
type iolog struct {
	files *files
	emit  func(l *logged, action string, offset, bytes int64)

	// Internal state.
	names    map[string]*logged // by the name in the log
	dirs     map[string]bool    // directories of these names
	order    []*logged          // by first use
	numbered int                // names that were made up
	err      error
}

// logged is a file of an iolog.
type logged struct {
	name  string
	owner *file
	size  int64 // what must be there before the replay, in bytes
	end   int64 // its length in the replay at this moment, at least
}

// maxLogName is how long a name can be in an iolog: fio reads no more.
const maxLogName = 255

// maxTransfer bounds one read or write, in bytes: Linux moves no more by one
// call (MAX_RW_COUNT).
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
	if err := checkOp(e); err != nil {
		return err
	}
	s := l.files.apply(e)
	if err := l.files.full(e); err != nil {
		return err
	}
	l.move("read", s.read)
	l.move("write", s.written)
	if s.file != nil && !s.file.dir && s.file.opens > 0 && e.Ret == 0 {
		switch e.Op {
		case format.OpFsync:
			l.emit(l.logged(s.file), "sync", 0, 0)
		case format.OpFdatasync:
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

// logged returns what a file is in the log.
func (l *iolog) logged(f *file) *logged {
	if f.log != nil && f.log.owner == f {
		return f.log
	}
	if !filepath.IsLocal(f.Name) && l.err == nil {
		l.err = fmt.Errorf("path %q leads out of the root", f.Name)
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

// free returns the name that a file wants, or another where it is taken.
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

// odd reports whether a name can't be a file's: it is too long, or what is a
// directory elsewhere in the log.
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

// appendLogName appends a name as it can stand in an iolog, which has no
// escapes and ends names at white space: these bytes become %NN, and so does
// the percent sign, so that different names stay different. A name "-" would
// be standard input.
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
