package fileset

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// restore brings existing files to the state of the fileset, without making new
// ones: it removes extra files and files of the wrong type, sets modes and
// attributes, and cuts files that are too long. It compares only the files
// themselves, so it does not matter where an earlier preparation stopped.
// Directories come first, from the top, so that a link in the place of a
// directory is removed before names below it are looked up.
func (p *preparation) restore(ctx context.Context) error {
	for _, level := range p.set.dirs {
		if err := p.workers.each(ctx, level, p.restoreDir); err != nil {
			return err
		}
	}
	if err := p.workers.each(ctx, p.set.files, p.restoreFile); err != nil {
		return err
	}
	return p.workers.each(ctx, p.set.links, p.restoreLink)
}

func (p *preparation) restoreDir(w *worker, it *item) error {
	if it.parent != nil {
		st, err := p.find(w, it)
		if st == nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return p.remove(it.path)
		}
		if mode := workMode(it.File); uint32(st.Mode)&^unix.S_IFMT != mode {
			if err := w.chmod(it.path, mode); err != nil {
				return err
			}
		}
	}
	fd, err := w.open(it.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), it.path)
	defer dir.Close()
	if it.parent != nil { // the attributes of the root do not belong to Pianola
		w.removeAttributes(fd, it)
	}
	w.setAttributes(fd, it)
	it.there = true
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			path := filepath.Join(it.path, name)
			if p.set.names[path] != nil || path == sandbox.Marker {
				continue
			}
			if err := p.remove(path); err != nil {
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

// find returns what exists at the path of an item, nil for nothing.
func (p *preparation) find(w *worker, it *item) (*unix.Statx_t, error) {
	if !it.parent.there {
		return nil, nil
	}
	st, err := w.stat(it.path)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (p *preparation) restoreFile(w *worker, it *item) error {
	st, err := p.find(w, it)
	if st == nil {
		return err
	}
	if it.Type == format.TypeLnk {
		it.there = st.Mode&unix.S_IFMT == unix.S_IFLNK && p.claim(st) && w.pointsTo(it)
	} else {
		it.there = st.Mode&unix.S_IFMT == unix.S_IFREG && p.claim(st) && w.restoreRegular(it, st)
	}
	if !it.there {
		it.have = 0
		return p.remove(it.path)
	}
	return nil
}

func (p *preparation) restoreLink(w *worker, it *item) error {
	st, err := p.find(w, it)
	if st == nil {
		return err
	}
	if it.target.there {
		to, err := w.stat(it.target.path)
		if err != nil {
			return err
		}
		it.there = st.Ino == to.Ino && st.Mode&unix.S_IFMT != unix.S_IFDIR
	}
	if !it.there {
		return p.remove(it.path)
	}
	return nil
}

// claim reports whether no other file of the fileset is the same file: a
// replay may have put a link in the place of one.
func (p *preparation) claim(st *unix.Statx_t) bool {
	if st.Nlink < 2 {
		return true
	}
	_, taken := p.claimed.LoadOrStore(st.Ino, true)
	return !taken
}

func (w *worker) pointsTo(it *item) bool {
	target := w.buffer[:unix.PathMax]
	n := int64(0)
	err := w.at(it.path, func(dir int64, last uintptr) int64 {
		n = w.guard.Kernel(unix.SYS_READLINKAT, uintptr(dir), last, uintptr(unsafe.Pointer(&target[0])), uintptr(len(target)), 0, 0)
		return n
	})
	return err == nil && string(target[:n]) == it.Target
}

// restoreRegular restores a regular file. It returns false if the file must be created
// again.
func (w *worker) restoreRegular(it *item, st *unix.Statx_t) bool {
	if mode := it.Mode & sandbox.ModeMask; uint32(st.Mode)&^unix.S_IFMT != mode && w.chmod(it.path, mode) != nil {
		return false
	}
	fd, err := w.open(it.path, unix.O_RDWR, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = w.open(it.path, unix.O_RDONLY, 0)
	}
	if err != nil {
		return false
	}
	defer w.guard.Shut(fd)
	w.removeAttributes(fd, it)
	w.setAttributes(fd, it)

	size := it.length()
	if len(it.Blocks) > 0 {
		it.have = size
		if it.anew = !w.laid(fd, st, it); it.anew {
			it.have = 0
		}
		return !it.anew || w.truncate(fd, 0)
	}
	whole, end := w.blocks(fd, st)
	if it.Sparse {
		it.have = size
		return int64(st.Size) == size && end == 0 || w.truncate(fd, 0) && w.truncate(fd, size)
	}
	it.have = min(whole, size)
	// Truncating the file to its size frees blocks beyond the end, reserved by
	// fallocate.
	cluster := max(int64(st.Blksize), 1)
	if int64(st.Size) != it.have || end > (it.have+cluster-1)/cluster*cluster {
		return w.truncate(fd, it.have)
	}
	return true
}

func (w *worker) truncate(fd, size int64) bool {
	return w.guard.Kernel.Call(unix.SYS_FTRUNCATE, uintptr(fd), uintptr(size), 0) == 0
}

// removeAttributes removes attributes in the namespace of users that are not in the
// fileset.
func (w *worker) removeAttributes(fd int64, it *item) {
	list := w.buffer[:sandbox.MaxAttribute]
	n := w.guard.Kernel.Call(unix.SYS_FLISTXATTR, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
	if n <= 0 {
		return
	}
next:
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		if !sandbox.MayChange(name) {
			continue
		}
		for i := range it.Attrs {
			if it.Attrs[i].Name == name {
				continue next
			}
		}
		w.guard.Kernel.Call(unix.SYS_FREMOVEXATTR, uintptr(fd), sandbox.Pointer(sandbox.CString(name)), 0)
	}
}
