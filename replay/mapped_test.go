package replay

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// on is a place among the mapped files.
func on(page int) int { return page*pageSize | format.MappedFile }

// mapEv is an mmap of a file at a page.
func mapEv(page, size, prot, flags, fd, offset int) step {
	return ev(format.OpMmap, on(page), 0, size, prot, flags, fd, offset)
}

const (
	shared, private = 1, 2
	read, write     = 1, 2
	readWrite       = 3
	anyError        = 1
	enomem          = -int(unix.ENOMEM)
)

// Calls on mapped files and their faults have the results that they had, on each
// backend, and never end the program.
func TestMappedFiles(t *testing.T) {
	touch := func(ret, page int) step { return ev(format.OpMapRead, ret, on(page), 4096, 0) }
	dirty := func(ret, page int) step { return ev(format.OpMapWrite, ret, on(page), 4096, 0) }
	tests := []resultTest{
		{"read and write", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), mapEv(1, 8192, readWrite|4, shared, 3, 0), ev(format.OpClose, 0, 3),
			touch(4096, 1), touch(65536, 2), dirty(4096, 1), ev(format.OpMsync, 0, on(1), 8192, 4),
			ev(format.OpMadvise, 0, on(1), 8192, unix.MADV_RANDOM), ev(format.OpMadvise, 0, on(1), 8192, unix.MADV_WILLNEED),
			ev(format.OpMadvise, 0, on(1), 8192, unix.MADV_DONTNEED), ev(format.OpMadvise, 0, on(1), 8192, unix.MADV_POPULATE_READ),
			ev(format.OpMadvise, 0, on(1), 8192, unix.MADV_HWPOISON), ev(format.OpMunmap, 0, on(1), 8192),
		}},
		{"truncated", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), mapEv(1, 8192, readWrite, shared, 3, 0), touch(4096, 2), ev(format.OpFtruncate, 0, 3, 4096),
			touch(efault, 2), dirty(efault, 2), touch(4096, 1), ev(format.OpFtruncate, 0, 3, 8192), touch(4096, 2), dirty(4096, 2),
		}},
		{"unlinked", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), mapEv(1, 8192, read, shared, 3, 0), ev(format.OpClose, 0, 3), ev(format.OpUnlink, 0, "d/f"),
			touch(4096, 1), ev(format.OpMsync, 0, on(1), 4096, 1),
		}},
		{"private", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), mapEv(1, 8192, readWrite, private, 3, 0), touch(4096, 1), dirty(4096, 1), dirty(4096, 2),
			ev(format.OpFstat, 0, 3, 0), ev(format.OpLseek, 5000, 3, 0, format.SeekEnd),
		}},
		{"only written", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), mapEv(1, 8192, write, shared, 3, 0), touch(4096, 1), dirty(4096, 1), touch(4096, 2),
			mapEv(3, 8192, write, private, 3, 0), touch(4096, 3), dirty(4096, 4), ev(format.OpMadvise, einval, on(3), 4096, unix.MADV_POPULATE_READ),
			mapEv(5, 4096, read, shared, 3, 0), ev(format.OpMprotect, 0, on(5), 4096, write), touch(4096, 5), dirty(4096, 5),
		}},
		{"moved", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), ev(format.OpFtruncate, 0, 3, 40960), mapEv(1, 8192, readWrite, shared, 3, 0),
			ev(format.OpMremap, on(1), on(1), 8192, 16384, 0), touch(4096, 4), ev(format.OpMremap, on(1), on(1), 16384, 4096, 0), touch(4096, 1),
			ev(format.OpMremap, on(10), on(1), 4096, 20480, 1), dirty(4096, 14),
			ev(format.OpMunmap, 0, on(11), 4096), touch(4096, 10), touch(4096, 12), touch(4096, 14),
			mapEv(12, 4096, read, shared, 3, 0), touch(4096, 12), touch(4096, 13),
		}},
		{"a child", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), mapEv(1, 8192, readWrite, shared, 3, 0),
			ev(format.OpExecve, 0, "d/f"), mapEv(1, 8192, readWrite, shared, 3, 0), touch(4096, 1),
		}},
	}
	results(t, tests)
	t.Run("old kernel", func(t *testing.T) {
		resultsOn(t, func(nr, a, b, c, d, e, f uintptr) int64 {
			if nr == unix.SYS_MADVISE && (c == unix.MADV_POPULATE_READ || c == unix.MADV_POPULATE_WRITE) {
				return -int64(unix.EINVAL)
			}
			return sandbox.Linux(nr, a, b, c, d, e, f)
		}, tests)
	})
}

// Missing or forbidden mappings return the kernel's errors, and so do hostile numbers.
func TestMappedFilesThatAreNot(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 5000, Cached: -1})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	r.Add(1, format.OpOpen, 4, "f", format.RDONLY)
	want := []int{3, 4}
	add := func(got int, op format.Op, ret int, args ...any) {
		r.Add(1, op, int64(ret), args...)
		want = append(want, got)
	}
	add(efault, format.OpMapRead, 4096, on(1), 4096, 0) // nothing is mapped yet
	add(enomem, format.OpMsync, 0, on(1), 4096, 4)
	add(einval, format.OpMunmap, 0, on(1), 4096)
	add(ebadf, format.OpMmap, on(1), 0, 4096, read, shared, 9, 0)
	add(enomem, format.OpMmap, on(1), 0, math.MaxInt, read, shared, 3, 0)
	add(enomem, format.OpMmap, on(1), 0, -1, read, shared, 3, 0)
	add(enomem, format.OpMmap, on(1)+1, 0, 4096, read, shared, 3, 0)
	add(enomem, format.OpMmap, on(1<<40), 0, 4096, read, shared, 3, 0)
	add(einval, format.OpMmap, on(1), 0, 4096, read, shared, 3, 7)
	add(-int(unix.EACCES), format.OpMmap, on(1), 0, 4096, readWrite, shared, 4, 0)
	add(-int(unix.EACCES), format.OpMmap, -int(unix.EACCES), 0, 4096, readWrite, shared, 4, 0)
	add(on(2), format.OpMmap, on(2), 0, 4096, read|4, shared, 3, 1<<40)
	for _, op := range []format.Op{format.OpMapRead, format.OpMapWrite} {
		for _, place := range []int{on(0), on(1), on(2), on(3), on(1 << 40), on(1) + 5, math.MaxInt} {
			for _, size := range []int{4096, math.MaxInt, 0, -1} {
				add(anyError, op, 4096, place, size, 0)
			}
		}
	}
	add(einval, format.OpMunmap, 0, on(2), math.MaxInt)
	add(enomem, format.OpMprotect, 0, on(2), -4096, 7)
	add(enomem, format.OpMadvise, 0, on(1<<40), 4096, unix.MADV_REMOVE)
	add(enomem, format.OpMremap, on(1), on(2), 4096, math.MaxInt, 1)
	add(4096, format.OpMapRead, 4096, 4096, 4096, 0) // no place
	_, res := play(t, r, byOpenat2)
	for i, e := range readAll(t, res.Events()) {
		if want[i] == anyError {
			require.True(t, e.Failed(), "event %d: %s %x", i, e.Op, e.Args)
			continue
		}
		require.EqualValues(t, want[i], e.Ret, "event %d: %s %x", i, e.Op, e.Args)
	}
}

// A child finds what its parent has mapped, until it maps or unmaps something there
// itself, or execs; the parent's mappings stay what they are.
func TestMappedFilesOfChildren(t *testing.T) {
	for _, backend := range []Backend{Posix, Memory} {
		t.Run(backend.String(), func(t *testing.T) {
			r := replaykit.New(1)
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 40960, Cached: -1})
			r.File(format.File{Path: "g", Type: format.TypeReg, Mode: 0o644, Size: 4096, Cached: -1})
			child := r.Child(2, 1)
			grandchild := r.Child(3, child)
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			r.Add(1, format.OpOpen, 4, "g", format.RDWR)
			r.Add(1, format.OpMmap, int64(on(1)), 0, 40960, readWrite, shared, 3, 0)
			forked := r.Add(1, format.OpClone, int64(child), 0x40)
			r.Wait(1, child, 8)
			r.Add(1, format.OpMapRead, 4096, on(10), 4096, 0)
			r.Add(1, format.OpExecve, 0, "f")
			r.Add(1, format.OpMapRead, int64(einval), on(10), 4096, 0)
			r.Wait(child, 1, forked)
			r.Add(child, format.OpMapWrite, 4096, on(10), 4096, 0)
			r.Add(child, format.OpMsync, 0, on(1), 40960, 4)
			r.Add(child, format.OpMmap, int64(on(9)), 0, 8192, read, shared, 4, 0)
			r.Add(child, format.OpMapRead, 4096, on(9), 4096, 0)
			r.Add(child, format.OpMapRead, int64(efault), on(10), 4096, 0) // beyond the end of g
			r.Add(child, format.OpMunmap, 0, on(8), 4096)
			r.Add(child, format.OpMapRead, 4096, on(7), 4096, 0)
			born := r.Add(child, format.OpClone, int64(grandchild), 0x40)
			r.Add(child, format.OpClose, 0, 4)
			r.Wait(child, grandchild, 3)
			r.Add(child, format.OpMapRead, int64(efault), on(10), 4096, 0)
			r.Wait(grandchild, child, born)
			r.Add(grandchild, format.OpMapRead, 4096, on(9), 4096, 0)
			r.Add(grandchild, format.OpMapRead, 4096, on(1), 4096, 0)
			r.Add(grandchild, format.OpExecve, 0, "f")
			r.Add(grandchild, format.OpMsync, int64(enomem), on(1), 4096, 4)
			res, err := run(t.Context(), r, Options{Root: t.TempDir(), Backend: backend, Timing: AFAP}, (*sandbox.Guard).Probe)
			require.NoError(t, err)
			for _, d := range res.Differences {
				require.True(t, d.Op == format.OpMapRead && d.Recorded == int64(einval), "%+v", d)
			}
		})
	}
}

// A thread with events after its exit, which no recording has, uses no mapping: the last
// thread of its process releases the window.
func TestMappedFilesAfterExit(t *testing.T) {
	r := replaykit.New(2)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 40960, Cached: -1})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	opened := r.Add(1, format.OpMmap, int64(on(1)), 0, 40960, readWrite, shared, 3, 0)
	r.Wait(2, 1, opened)
	r.Add(2, format.OpExit, 0, 0)
	last := int64(0)
	for range 1000 {
		r.Add(2, format.OpMmap, int64(on(2)), 0, 4096, read, shared, 3, 0)
		r.Add(2, format.OpMapRead, 4096, on(2), 4096, 0)
		r.Add(2, format.OpMunmap, 0, on(2), 4096)
		last = r.Add(2, format.OpMremap, int64(on(5)), on(1), 4096, 8192, 1)
	}
	r.Wait(1, 2, last)
	r.Add(1, format.OpExitGroup, 0, 0)
	_, res := play(t, r, byOpenat2)
	faults := 0
	for _, e := range readAll(t, res.Events()) {
		if e.Op == format.OpMapRead {
			require.True(t, e.Failed(), "a mapping is used after the exit")
			faults++
		}
	}
	require.Equal(t, 1000, faults)
}

// Address space, the number of mappings and the memory of private ones are bounded.
func TestMappedFilesAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		events func(r *replaykit.Trace)
	}{
		"address space": {Limits{Mapped: 1 << 30}, func(r *replaykit.Trace) {
			r.Head.Set(format.MetaMapped, "1073741825000")
			r.Add(1, format.OpMmap, int64(on(1)), 0, 4096, read, shared, 3, 0)
		}},
		"written": {Limits{Bytes: 1 << 20}, func(r *replaykit.Trace) {
			r.Add(1, format.OpMmap, int64(on(1)), 0, 1<<30, readWrite, shared, 3, 0)
			for i := range 1000 {
				r.Add(1, format.OpMapWrite, 4096, on(1+i), 4096, 0)
			}
		}},
		"private": {Limits{Memory: 1 << 20}, func(r *replaykit.Trace) {
			r.Add(1, format.OpFtruncate, 0, 3, 1<<30)
			r.Add(1, format.OpMmap, int64(on(1)), 0, 1<<30, readWrite, private, 3, 0)
			for i := range 1000 {
				r.Add(1, format.OpMapWrite, 4096, on(1+i), 4096, 0)
			}
		}},
		"mappings": {Limits{}, func(r *replaykit.Trace) {
			for i := range int(mapLimit(t)) + 1 {
				r.Add(1, format.OpMmap, int64(on(1+2*i)), 0, 4096, read, shared, 3, 0)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 4096, Cached: -1})
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			test.events(r)
			_, err := run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: test.limits}, byOpenat2)
			require.ErrorIs(t, err, ErrLimit)
		})
	}
}

// A call that is not made, because the pages are the parent's or there is no room for more
// mappings, has a note.
func TestMappedFilesNotes(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 40960, Cached: -1})
	child := r.Child(2, 1)
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	r.Add(1, format.OpMmap, int64(on(1)), 0, 40960, readWrite, shared, 3, 0)
	r.Add(1, format.OpMprotect, 0, on(1), 4096, read)
	r.Add(1, format.OpClone, int64(child), 0)
	r.Add(child, format.OpMprotect, 0, on(2), 4096, read)
	r.Add(child, format.OpMunmap, 0, on(3), 4096)
	r.Add(child, format.OpMprotect, 0, on(2), 4096, read)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
	require.Contains(t, res.Notes, "mappings that a process inherits keep the protection that the parent gave them: mprotect of them is not replayed")

	for _, call := range []func(r *replaykit.Trace){
		func(r *replaykit.Trace) { r.Add(1, format.OpMprotect, 0, on(1), 4096, read) },
		func(r *replaykit.Trace) { r.Add(1, format.OpMadvise, 0, on(1), 4096, unix.MADV_RANDOM) },
	} {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 4096, Cached: -1})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		for i := range int(mapLimit(t)) {
			r.Add(1, format.OpMmap, int64(on(1+2*i)), 0, 4096, read, shared, 3, 0)
		}
		call(r)
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.Contains(t, res.Notes, "some mprotect and madvise calls on mapped files are not replayed, because they would split mappings, and there is no room for more")
	}
}

// Ten thousand mappings are not too many.
func TestManyMappings(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 4096, Cached: -1})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	for i := range 10_000 {
		r.Add(1, format.OpMmap, int64(on(1+2*i)), 0, 4096, read, shared, 3, 0)
		r.Add(1, format.OpMapRead, 4096, on(1+2*i), 4096, 0)
	}
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

// mapLimit returns how many mappings a replay may make.
func mapLimit(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	require.NoError(t, err)
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	require.NoError(t, err)
	return n / 4
}
