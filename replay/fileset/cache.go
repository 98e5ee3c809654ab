package fileset

import (
	"context"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/option"
)

// Cache says how much of the fileset is in the page cache when a replay
// begins.
type Cache uint8

// The states of the page cache.
const (
	CacheRecorded Cache = iota // as many pages of each file as at its first open, if that is known
	CacheWarm                  // all
	CacheCold                  // nothing
	CacheAsIs                  // what the preparation leaves
)

// Caches are the names of the states.
var Caches = option.Names[Cache]{What: "cache", All: []string{CacheRecorded: "recorded", CacheWarm: "warm", CacheCold: "cold", CacheAsIs: "asis"}}

func (c Cache) String() string { return Caches.All[c] }

// pageSize is what format.File.Cached counts, in bytes.
const pageSize = 4096

// pages returns how many pages of a file are to be in the page cache, and false
// to leave them as they are.
func (c Cache) pages(f *format.File) (int64, bool) {
	all := (f.Size + pageSize - 1) / pageSize
	switch {
	case c == CacheCold:
		return 0, true
	case c == CacheWarm:
		return all, true
	case c == CacheRecorded && f.Cached >= 0:
		return min(f.Cached, all), true
	}
	return 0, false
}

// setCache brings the first pages of a file into the page cache, and drops the others. The first
// of these become dirty. The recording has only their numbers. The file must be synced, because the
// kernel drops only clean pages. The kernel treats all this as advice, and a file that its
// owner may not read, or write, is left unchanged, so the only error is that of ctx.
func (p *preparation) setCache(ctx context.Context, w *worker, it *item) error {
	pages, known := p.Cache.pages(it.File)
	if !known || !it.exists || it.length() == 0 {
		return nil
	}
	dirty, access := int64(0), uintptr(unix.O_RDONLY)
	if p.Cache == CacheRecorded && it.Dirty > 0 {
		dirty, access = min(it.Dirty*pageSize, it.Size), unix.O_RDWR
	}
	fd, err := w.open(it.path, access, 0)
	if err != nil {
		return nil
	}
	defer w.guard.CloseFD(fd)
	advise := func(advice uintptr) { w.guard.Kernel(unix.SYS_FADVISE64, uintptr(fd), 0, 0, advice, 0, 0) }
	want := pages * pageSize
	if want < it.Size {
		advise(unix.FADV_DONTNEED)
		advise(unix.FADV_RANDOM) // read no more pages than requested
	}
	for from := int64(0); from < want; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := w.buffer[:min(want-from, chunk)]
		move := func(call uintptr) int64 {
			return w.guard.Kernel(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(from), 0, 0)
		}
		got := move(unix.SYS_PREAD64)
		if got <= 0 {
			return nil
		}
		if b = b[:min(got, max(dirty-from, 0))]; len(b) > 0 {
			move(unix.SYS_PWRITE64) // the same bytes
		}
		from += got
	}
	return nil
}
