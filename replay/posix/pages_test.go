package posix

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

func TestPageSet(t *testing.T) {
	e := bare(Options{})
	defer e.Free()
	pages, err := e.newPageSet(make(region, 1<<20))
	require.NoError(t, err)
	require.Len(t, pages, 8)
	check := func(first, last uint64, wantAdded int, wantAny bool) {
		t.Helper()
		added, any := pages.mark(first, last)
		require.Equal(t, wantAdded, added)
		require.Equal(t, wantAny, any)
	}
	check(3, 3, 1, false)
	check(3, 3, 0, true)
	check(2, 4, 2, true)
	check(2, 4, 0, true)
	check(30, 70, 41, false)
	check(31, 64, 0, true)
	check(71, 71, 1, false)
	check(0, 255, 256-3-41-1, true)
	check(0, 255, 0, true)
	require.Equal(t, 41, pages.clear(30, 70))
	require.Zero(t, pages.clear(31, 64))
	check(29, 71, 41, true)
	require.Equal(t, 256, pages.clear(0, 255))
	check(0, 255, 256, false)
}

// resident tells which of the first n pages of an arena have memory.
func resident(t *testing.T, arena region, n int) []bool {
	t.Helper()
	state := make([]byte, n)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&arena[0])), uintptr(n*pageSize), uintptr(unsafe.Pointer(&state[0])))
	require.Zero(t, errno)
	out := make([]bool, n)
	for i, s := range state {
		out[i] = s&1 != 0
	}
	return out
}

// A read goes to pages that are in the state in which the application's were.
func TestReadyPages(t *testing.T) {
	e := bare(Options{Limits: defaults})
	e.processes[1] = &process{}
	defer e.Free()
	w := &worker{e: e, process: e.processes[1]}
	var err error
	w.process.memory, err = e.newMemory(1 << 20)
	require.NoError(t, err)
	arena := w.process.arena
	read := func(place, size int64) *format.Record {
		return &format.Record{Op: format.OpRead, Args: [format.MaxArgs]int64{3, place, size}}
	}
	w.readyPages(read(pageSize, pageSize))
	require.Equal(t, []bool{false, true, false, false}, resident(t, arena, 4), "touched where the application's were")
	w.readyPages(read(2*pageSize|format.FreshBuffer, 2*pageSize))
	require.Equal(t, []bool{false, true, false, false}, resident(t, arena, 4), "untouched where they were fresh")
	w.readyPages(read(pageSize|format.FreshBuffer, pageSize))
	require.Equal(t, []bool{false, false, false, false}, resident(t, arena, 4), "fresh again")
	w.readyPages(read(100, 2*pageSize))
	require.Equal(t, []bool{true, true, true, false}, resident(t, arena, 4))
	w.readyPages(read(0, -1))
	w.readyPages(read(-1, 1<<40))
}
