package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// Prepared says what was built before a replay.
type Prepared struct {
	Files       int64 // of the fileset, of any type
	Bytes       int64 // written into them
	Fillers     int64 // empty files that give directories their size
	Substituted int64 // pipes, sockets and devices, for which stand empty files
	Elapsed     time.Duration
}

// preparation builds a fileset. Its thread is bound by its guard: a fileset is
// no more to be trusted than events are.
type preparation struct {
	files    []format.File
	want     *wanted
	guard    *guard
	random   *rand.ChaCha8
	progress func(done, total int64)

	compressibility int // of what files hold, in per cent

	done   Prepared
	buffer []byte
}

// chunk is how much of a file is written at once.
const chunk = 1 << 20

// fillerName is the name of a file that only lengthens a directory. They are
// of one length, so that the number of them gives the directory's.
func fillerName(i int64) string { return fmt.Sprintf(".pianola_fill_%08d", i) }

// entryLength returns how many bytes getdents64 returns for a name.
func entryLength(name string) int64 { return int64(19+len(name)+1+7) &^ 7 }

func (p *preparation) run(ctx context.Context) error {
	if err := p.fits(); err != nil {
		return err
	}
	p.buffer = make([]byte, chunk)
	for i := range p.files {
		f := &p.files[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.build(ctx, f); err != nil {
			return fmt.Errorf("make %s %q: %w", f.Type, f.Path, err)
		}
		if len(f.Attrs) > 0 && f.Link == "" && f.Type != format.TypeLnk {
			p.setAttributes(f)
		}
		p.done.Files++
	}
	// Permissions last: a directory may forbid to put anything into it.
	for i := len(p.files) - 1; i >= 0; i-- {
		if f := &p.files[i]; f.Type == format.TypeDir && filepath.Clean(f.Path) != "." {
			if err := p.setMode(f); err != nil {
				return fmt.Errorf("set the mode of %q: %w", f.Path, err)
			}
		}
	}
	if p.done.Files == 0 {
		return nil
	}
	// A page can only be dropped from the cache once it has been written.
	if err := unix.Syncfs(int(p.guard.root)); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	for i := range p.files {
		if f := &p.files[i]; f.Type == format.TypeReg && f.Cached == 0 && f.Size > 0 {
			p.chill(f)
		}
	}
	return nil
}

// fits compares what is to be written with what is free.
func (p *preparation) fits() error {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(p.guard.root), &s); err != nil {
		return fmt.Errorf("find out how much space is free: %w", err)
	}
	if free := s.Bavail * uint64(s.Bsize); uint64(p.want.bytes) > free {
		return fmt.Errorf("the fileset needs %d bytes, %d are free: %w", p.want.bytes, free, unix.ENOSPC)
	}
	return nil
}

func (p *preparation) build(ctx context.Context, f *format.File) error {
	n := newName(f.Path)
	switch {
	case f.Link != "":
		old := newName(f.Link)
		dir, last := p.guard.parent(&n)
		if lost(dir) {
			return unix.Errno(-dir)
		}
		defer p.guard.leave(dir)
		dir2, last2 := p.guard.parent(&old)
		if lost(dir2) {
			return unix.Errno(-dir2)
		}
		defer p.guard.leave(dir2)
		return failure(p.guard.sys(unix.SYS_LINKAT, uintptr(dir2), last2, uintptr(dir), last, 0, 0))
	case f.Type == format.TypeDir:
		if filepath.Clean(f.Path) != "." {
			if err := p.at(&n, func(dir int64, last uintptr) int64 {
				return p.guard.sys.call(unix.SYS_MKDIRAT, uintptr(dir), last, 0o700)
			}); err != nil {
				return err
			}
		}
		return p.fill(ctx, f)
	case f.Type == format.TypeLnk:
		target := cString(f.Target)
		return p.at(&n, func(dir int64, last uintptr) int64 {
			return p.guard.sys.call(unix.SYS_SYMLINKAT, pointer(target), uintptr(dir), last)
		})
	case f.Type != format.TypeReg:
		p.done.Substituted++
		return p.write(ctx, f.Path, f.Mode, 0, false)
	}
	return p.write(ctx, f.Path, f.Mode, f.Size, f.Sparse)
}

// at makes a call that takes a directory and a name in it.
func (p *preparation) at(n *name, call func(dir int64, last uintptr) int64) error {
	dir, last := p.guard.parent(n)
	if lost(dir) {
		return unix.Errno(-dir)
	}
	defer p.guard.leave(dir)
	return failure(call(dir, last))
}

// write makes a regular file with blocks of random bytes, or without blocks.
func (p *preparation) write(ctx context.Context, path string, mode uint32, size int64, sparse bool) error {
	n := newName(path)
	fd := p.guard.open(&n, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uintptr(mode)&modeMask)
	if fd < 0 {
		return unix.Errno(-fd)
	}
	defer p.guard.leave(fd)
	if sparse {
		return failure(p.guard.sys.call(unix.SYS_FTRUNCATE, uintptr(fd), uintptr(size), 0))
	}
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := p.buffer[:min(size, chunk)]
		fill(p.random, b, p.compressibility)
		got := p.guard.sys.call(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if got < 0 {
			return unix.Errno(-got)
		}
		size -= got
		p.done.Bytes += got
		if p.progress != nil {
			p.progress(p.done.Bytes, p.want.bytes)
		}
	}
	return nil
}

// fill gives a directory as many more names as listing it must return.
func (p *preparation) fill(ctx context.Context, f *format.File) error {
	for i := range p.want.fillers[f.Path] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.write(ctx, filepath.Join(f.Path, fillerName(i)), 0o600, 0, false); err != nil {
			return err
		}
		p.done.Fillers++
	}
	return nil
}

func (p *preparation) setMode(f *format.File) error {
	n := newName(f.Path)
	fd := p.guard.open(&n, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return unix.Errno(-fd)
	}
	defer p.guard.leave(fd)
	return failure(p.guard.sys.call(unix.SYS_FCHMOD, uintptr(fd), uintptr(f.Mode&modeMask), 0))
}

// setAttributes gives a file the extended attributes that the trace reads, with
// random values of their sizes. As the calls of a trace it sets those of users
// only. Where that fails the reads will differ, which is counted.
func (p *preparation) setAttributes(f *format.File) {
	n := newName(f.Path)
	fd := p.guard.open(&n, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return
	}
	defer p.guard.leave(fd)
	for _, a := range f.Attrs {
		if !strings.HasPrefix(a.Name, "user.") || a.Size > maxAttribute || a.Size < 0 {
			continue
		}
		value := p.buffer[:a.Size]
		fill(p.random, value, 0)
		_ = unix.Fsetxattr(int(fd), a.Name, value, 0)
	}
}

// maxAttribute is the largest value of an attribute (XATTR_SIZE_MAX).
const maxAttribute = 64 << 10

// chill drops a file from the page cache. The kernel takes it as advice, and a
// file that its owner may not read is left warm, so there is no error.
func (p *preparation) chill(f *format.File) {
	n := newName(f.Path)
	if fd := p.guard.open(&n, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); fd >= 0 {
		p.guard.sys(unix.SYS_FADVISE64, uintptr(fd), 0, 0, unix.FADV_DONTNEED, 0, 0)
		p.guard.leave(fd)
	}
}

// failure makes an error of a system call's result.
func failure(got int64) error {
	if got < 0 {
		return unix.Errno(-got)
	}
	return nil
}
