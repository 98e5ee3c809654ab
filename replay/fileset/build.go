package fileset

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// chunk is how much of a file is read at once.
const chunk = 1 << 20

// piece is how much of a file one call writes. The kernel can put the data of one call
// into one folio of the page cache, and writes a folio back as a whole. With folios of
// 1 MiB, the first sync_file_range of 8 KiB also wrote the data of later ones, and each
// write of 8 KiB took twice as long. Programs that copy files write as much per call;
// programs that generate files write less.
const piece = 64 << 10

// build creates missing files: directories before their contents, hard links after
// their files. It sets the permissions of directories last, because they may forbid
// adding files.
func (p *preparation) build(ctx context.Context) error {
	for _, level := range p.set.dirs {
		if err := p.workers.each(ctx, level, p.makeDir); err != nil {
			return err
		}
	}
	makeFile := func(w *worker, it *item) error { return p.makeFile(ctx, w, it) }
	if err := p.workers.each(ctx, p.set.files, makeFile); err != nil {
		return err
	}
	if err := p.workers.each(ctx, p.set.links, p.makeLink); err != nil {
		return err
	}
	for i := len(p.set.dirs) - 1; i > 0; i-- {
		if err := p.workers.each(ctx, p.set.dirs[i], p.closeDir); err != nil {
			return err
		}
	}
	return nil
}

// workMode is the mode of a directory during the preparation.
func workMode(f *format.File) uint32 { return f.Mode&sandbox.ModeMask | 0o700 }

func (p *preparation) makeDir(w *worker, it *item) error {
	if !it.exists && it.parent != nil {
		err := w.at(it.path, func(dir int64, last uintptr) int64 {
			return w.guard.Kernel.Call(unix.SYS_MKDIRAT, uintptr(dir), last, uintptr(workMode(it.File)))
		})
		if err != nil {
			return fmt.Errorf("make %s %q: %w", it.Type, it.path, err)
		}
	}
	if !it.exists && len(it.Attrs) > 0 {
		if fd, err := w.open(it.path, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
			w.setAttributes(fd, it)
			w.guard.CloseFD(fd)
		}
	}
	p.countMade(it)
	return nil
}

func (p *preparation) closeDir(w *worker, it *item) error {
	if mode := it.Mode & sandbox.ModeMask; mode != workMode(it.File) {
		return w.chmod(it.path, mode)
	}
	return nil
}

func (p *preparation) makeFile(ctx context.Context, w *worker, it *item) error {
	var err error
	switch {
	case it.exists && it.kept == it.length() && !it.reallocate:
	case it.Type == format.TypeLnk:
		target := sandbox.CString(it.Target)
		err = w.at(it.path, func(dir int64, last uintptr) int64 {
			return w.guard.Kernel.Call(unix.SYS_SYMLINKAT, sandbox.Pointer(target), uintptr(dir), last)
		})
	default:
		err = p.write(ctx, w, it)
	}
	if err != nil {
		return fmt.Errorf("make %s %q: %w", it.Type, it.path, err)
	}
	p.countMade(it)
	return nil
}

func (p *preparation) makeLink(w *worker, it *item) error {
	if !it.exists {
		old := sandbox.NewName(it.target.path)
		from, last := w.guard.Parent(&old)
		err := sandbox.Error(min(from, 0))
		if !sandbox.Unresolved(from) {
			err = w.at(it.path, func(dir int64, name uintptr) int64 {
				return w.guard.Kernel(unix.SYS_LINKAT, uintptr(from), last, uintptr(dir), name, 0, 0)
			})
			w.guard.Release(from)
		}
		if err != nil {
			return fmt.Errorf("make %s %q: %w", it.Type, it.path, err)
		}
	}
	p.countMade(it)
	return nil
}

// write creates a regular file, with blocks of random bytes, without blocks, or with
// its recorded allocation. It also completes an existing file.
func (p *preparation) write(ctx context.Context, w *worker, it *item) error {
	flags := uintptr(unix.O_WRONLY)
	if !it.exists {
		flags |= unix.O_CREAT | unix.O_EXCL
	}
	fd, err := w.open(it.path, flags, uintptr(it.Mode)&sandbox.ModeMask)
	if err != nil {
		return err
	}
	defer w.guard.CloseFD(fd)
	if !it.exists {
		w.setAttributes(fd, it)
	} else if err := p.recheckLinks(w, fd, it); err != nil {
		return err
	}
	from, size := it.kept, it.length()
	if len(it.Blocks) > 0 {
		return p.allocate(ctx, w, fd, it)
	}
	if it.Sparse {
		return sandbox.Error(w.guard.Kernel.Call(unix.SYS_FTRUNCATE, uintptr(fd), uintptr(size), 0))
	}
	if size-from > chunk {
		// Its blocks are allocated at once, so that they are contiguous, and a
		// full disk is noticed early. The length grows with the writes, so an
		// incomplete file has a smaller size.
		if err := w.reserve(fd, from, size); err != nil {
			return err
		}
	}
	return p.fill(ctx, w, fd, from, size)
}

// allocate reserves the blocks of a new or empty file, and writes those that had been
// written. On a file system that cannot reserve blocks, holes remain.
func (p *preparation) allocate(ctx context.Context, w *worker, fd int64, it *item) error {
	size := it.length()
	if !w.truncate(fd, size) {
		return unix.EIO
	}
	for i, at := 0, int64(0); i < len(it.Blocks); {
		// Blocks up to the next hole are allocated at once, so that they are
		// contiguous.
		to, reserved, k := at, false, i
		for ; k < len(it.Blocks) && it.Blocks[k].Allocation != format.Hole; k++ {
			to += it.Blocks[k].Bytes
			reserved = reserved || it.Blocks[k].Allocation == format.Reserved
		}
		if reserved || to-at > chunk {
			if err := w.reserve(fd, at, to); err != nil {
				return err
			}
		}
		for ; i < k; i++ {
			end := at + it.Blocks[i].Bytes
			if it.Blocks[i].Allocation == format.Data {
				if err := p.fill(ctx, w, fd, at, min(end, size)); err != nil {
					return err
				}
			}
			at = end
		}
		if i < len(it.Blocks) {
			at += it.Blocks[i].Bytes
			i++
		}
	}
	return nil
}

// reserve reserves blocks. It returns an error only if there is no space.
func (w *worker) reserve(fd, from, to int64) error {
	err := sandbox.Error(w.guard.Kernel(unix.SYS_FALLOCATE, uintptr(fd), unix.FALLOC_FL_KEEP_SIZE, uintptr(from), uintptr(to-from), 0, 0))
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return err
	}
	return nil
}

// fill writes random bytes to a part of a file.
func (p *preparation) fill(ctx context.Context, w *worker, fd, from, to int64) error {
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := w.buffer[:min(to-from, piece)]
		p.vary(w, b)
		got := w.guard.Kernel(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(from), 0, 0)
		switch {
		case got == -int64(unix.EINTR):
			continue
		case got < 0:
			return unix.Errno(-got)
		}
		from += got
		p.countWritten(got)
	}
	return nil
}

// vary makes the blocks in memory unique, so that storage cannot deduplicate them: it
// changes blocks of the pool by random values. Generating all of the data randomly
// would take longer than some disks take to write it.
func (p *preparation) vary(w *worker, b []byte) {
	var key [grain]byte
	Fill(w.random, key[:], p.Compressibility)
	from := p.Data[w.random.Uint64()%uint64(len(p.Data)/piece)*piece:]
	for i := 0; i < len(b); i += grain {
		subtle.XORBytes(b[i:], from[i:min(i+grain, len(b))], key[:])
	}
}

// setAttributes gives a file the missing extended attributes that the trace reads, with
// random values of their sizes. Like the calls of a trace, it only sets attributes in
// the namespace of users. If that fails, the reads will differ and be counted.
func (w *worker) setAttributes(fd int64, it *item) {
	for _, a := range it.Attrs {
		if !settable(&a) {
			continue
		}
		name := sandbox.CString(a.Name)
		if w.guard.Kernel(unix.SYS_FGETXATTR, uintptr(fd), sandbox.Pointer(name), 0, 0, 0, 0) == a.Size {
			continue
		}
		value := w.buffer[:max(a.Size, 1)]
		Fill(w.random, value, 0)
		w.guard.Kernel(unix.SYS_FSETXATTR, uintptr(fd), sandbox.Pointer(name), uintptr(unsafe.Pointer(&value[0])), uintptr(a.Size), 0, 0)
	}
}

func settable(a *format.Attr) bool {
	return sandbox.MayChange(a.Name) && strings.IndexByte(a.Name, 0) < 0 && a.Size >= 0 && a.Size <= sandbox.MaxAttribute
}
