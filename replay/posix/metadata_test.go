package posix

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

// A file open for writing is not a directory, and so not the root: no call has to
// check. That also holds for copies of the descriptor.
func TestFchmodAsksOfWhatCanBeTheRoot(t *testing.T) {
	m, err := newRegion(pageSize)
	require.NoError(t, err)
	defer m.free()
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	g := sandbox.Guard{Kernel: sandbox.Linux, Root: dir.Fd()}
	require.NoError(t, sandbox.OnThread(func() error { return g.Enter(false) }))
	defer g.Close()
	var made []uintptr
	ask := sandbox.Kernel(func(nr, a, b, c, d, e, f uintptr) int64 {
		made = append(made, nr)
		return 9
	})
	g.Kernel = ask
	p := &process{}
	p.files.Store(newTable(ask, m, 16))
	w := &worker{Worker: &engine.Worker{}, slotState: &slotState{sys: ask, guard: g}, process: p, e: &Executor{names: []sandbox.Name{sandbox.NewName("f")}}}
	w.e.kernel.left.Store(1 << 20) // no call makes the worker count again, which unpins it
	open := func(fd, flags int64) {
		require.Equal(t, fd, w.opened(&format.Record{Op: format.OpOpen, Ret: fd}, 9, 0, openMarks(flags)))
	}
	open(3, format.RDONLY)
	open(4, format.WRONLY|format.CREAT)
	open(5, format.RDWR|format.CLOEXEC)
	require.EqualValues(t, 6, w.dup(&format.Record{Op: format.OpDup, Ret: 6, Args: [format.MaxArgs]int64{5}}, false))
	for fd, want := range map[int64][]uintptr{
		3: {unix.SYS_FSTAT, unix.SYS_FCHMOD},
		4: {unix.SYS_FCHMOD},
		5: {unix.SYS_FCHMOD},
		6: {unix.SYS_FCHMOD},
	} {
		made = nil
		onDescriptor(callFchmod)(w, &format.Record{Op: format.OpFchmod, Args: [format.MaxArgs]int64{fd, 0o644}})
		require.Equal(t, want, made, "descriptor %d", fd)
	}
}
