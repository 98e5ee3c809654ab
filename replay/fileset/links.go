package fileset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// ErrLinked is wrapped by the error for a file that has a hard link outside the root and
// cannot be replaced: because the root must stay as it is, or because the link was made
// during the preparation. A write to the file would change it outside, too.
var ErrLinked = errors.New("it has a hard link outside the root")

// inode identifies a file.
type inode struct {
	device, number uint64
}

// links are the names of a file that has several.
type links struct {
	names, all uint32 // in the root, and in the file's link count
	claimed    atomic.Bool
	example    string // the first in order of those in the root
}

// outside reports whether the file has names outside the root.
func (l *links) outside() bool { return l.all > l.names }

// noteLinks reports whether a file has several names, and then notes this one. A directory
// has one name.
func (p *preparation) noteLinks(it *item, st *unix.Statx_t) bool {
	if st.Nlink < 2 || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return false
	}
	it.inode = inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.linked[it.inode]
	if l == nil {
		l = &links{example: it.path}
		p.linked[it.inode] = l
	}
	l.names++
	l.all = max(l.all, st.Nlink)
	l.example = min(l.example, it.path)
	return true
}

// recheckLinks returns an error for an open file that has got a hard link since it
// was checked.
func (p *preparation) recheckLinks(w *worker, fd int64, it *item) error {
	names := uint32(1)
	p.mu.Lock()
	if l := p.linked[it.inode]; l != nil {
		names = l.names
	}
	p.mu.Unlock()
	st := (*unix.Stat_t)(unsafe.Pointer(&w.buffer[0]))
	if err := sandbox.Error(w.guard.Kernel.Call(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)); err != nil {
		return err
	}
	if uint64(st.Nlink) > uint64(names) {
		return ErrLinked
	}
	return nil
}

// checkLinks returns an error for a root in which some file, of the fileset or not,
// has a hard link outside. It notes which files of the fileset exist.
func (p *preparation) checkLinks(ctx context.Context) error {
	for level := p.set.dirs[0]; len(level) > 0; {
		var next []*item
		if err := p.workers.each(ctx, level, func(w *worker, dir *item) error {
			return w.list(dir.path, func(name string) error {
				path := filepath.Join(dir.path, name)
				st, err := w.stat(path)
				if err != nil {
					return fmt.Errorf("look at %q: %w", path, err)
				}
				it := p.set.names[path]
				if it == nil {
					it = &item{path: path}
				}
				it.exists = true
				if st.Mode&unix.S_IFMT == unix.S_IFDIR {
					p.mu.Lock()
					defer p.mu.Unlock()
					next = append(next, it)
				}
				p.noteLinks(it, st)
				return nil
			})
		}); err != nil {
			return err
		}
		level = next
	}
	example := ""
	for _, l := range p.linked {
		if l.outside() && (example == "" || l.example < example) {
			example = l.example
		}
	}
	if example != "" {
		return fmt.Errorf("file %q: %w", example, ErrLinked)
	}
	return nil
}

// list calls a function with each name in a directory.
func (w *worker) list(path string, each func(name string) error) error {
	fd, err := w.open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("list %q: %w", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	return eachName(dir, each)
}

// eachName calls a function with each name in an open directory.
func eachName(dir *os.File, each func(name string) error) error {
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if err := each(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
