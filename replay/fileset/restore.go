package fileset

import (
	"context"
	"errors"
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
// directory is removed before names below it are looked up. Files with several names
// come last, when all names in the root are known.
func (p *preparation) restore(ctx context.Context) error {
	for _, level := range p.set.dirs {
		if err := p.workers.each(ctx, level, p.restoreDir); err != nil {
			return err
		}
	}
	if err := p.workers.each(ctx, p.set.files, p.restoreFile); err != nil {
		return err
	}
	if err := p.workers.each(ctx, p.set.links, p.findLink); err != nil {
		return err
	}
	var several []*item
	for _, it := range p.set.files {
		if it.inode != (inode{}) {
			several = append(several, it)
		}
	}
	if err := p.workers.each(ctx, several, p.restoreLinked); err != nil {
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
	it.exists = true
	return eachName(dir, func(name string) error {
		path := filepath.Join(it.path, name)
		if p.set.names[path] != nil || path == sandbox.Marker {
			return nil
		}
		return p.remove(path)
	})
}

// find returns what exists at the path of an item, nil for nothing.
func (p *preparation) find(w *worker, it *item) (*unix.Statx_t, error) {
	if !it.parent.exists {
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

// restoreFile restores a file that has one name, and notes one that has several.
func (p *preparation) restoreFile(w *worker, it *item) error {
	st, err := p.find(w, it)
	if st == nil || p.noteLinks(it, st) {
		return err
	}
	return p.restoreOrRemove(w, it, st)
}

// restoreLinked restores a file that has several names.
func (p *preparation) restoreLinked(w *worker, it *item) error {
	st, err := p.find(w, it)
	if st == nil {
		return err
	}
	if l := p.linked[it.inode]; l.outside() || st.Nlink > l.names || l.claimed.Swap(true) {
		return p.remove(it.path)
	}
	return p.restoreOrRemove(w, it, st)
}

func (p *preparation) restoreOrRemove(w *worker, it *item, st *unix.Statx_t) error {
	if it.Type == format.TypeLnk {
		it.exists = st.Mode&unix.S_IFMT == unix.S_IFLNK && w.pointsTo(it)
	} else {
		it.exists = st.Mode&unix.S_IFMT == unix.S_IFREG && p.restoreRegular(w, it, st)
	}
	if !it.exists {
		it.kept = 0
		return p.remove(it.path)
	}
	return nil
}

// findLink notes which file the name of a hard link has, and removes a file that has no
// other name.
func (p *preparation) findLink(w *worker, it *item) error {
	st, err := p.find(w, it)
	if st == nil || p.noteLinks(it, st) {
		return err
	}
	return p.remove(it.path)
}

func (p *preparation) restoreLink(_ *worker, it *item) error {
	if it.inode == (inode{}) {
		return nil
	}
	if it.exists = it.target.exists && it.inode == it.target.inode; !it.exists {
		return p.remove(it.path)
	}
	return nil
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
// again, also if it has got a hard link since it was checked, which may lie outside the
// root.
func (p *preparation) restoreRegular(w *worker, it *item, st *unix.Statx_t) bool {
	fd, err := w.open(it.path, unix.O_RDWR, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = w.open(it.path, unix.O_RDONLY, 0)
	}
	if err != nil {
		return false
	}
	defer w.guard.CloseFD(fd)
	if p.recheckLinks(w, fd, it) != nil {
		return false
	}
	mode := it.Mode & sandbox.ModeMask
	if uint32(st.Mode)&^unix.S_IFMT != mode && w.guard.Kernel.Call(unix.SYS_FCHMOD, uintptr(fd), uintptr(mode), 0) != 0 {
		return false
	}
	w.removeAttributes(fd, it)
	w.setAttributes(fd, it)

	size := it.length()
	if len(it.Blocks) > 0 {
		it.kept = size
		if it.reallocate = !w.sameAllocation(fd, st, it); it.reallocate {
			it.kept = 0
		}
		return !it.reallocate || w.truncate(fd, 0)
	}
	whole, end := w.blocks(fd, st)
	if it.Sparse {
		it.kept = size
		return int64(st.Size) == size && end == 0 || w.truncate(fd, 0) && w.truncate(fd, size)
	}
	it.kept = min(whole, size)
	// Truncating the file to its size frees blocks beyond the end, reserved by
	// fallocate.
	cluster := max(int64(st.Blksize), 1)
	if int64(st.Size) != it.kept || end > (it.kept+cluster-1)/cluster*cluster {
		return w.truncate(fd, it.kept)
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
