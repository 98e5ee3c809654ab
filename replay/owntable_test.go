package replay

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// Descriptors come to a process from a parent with and without a table of its
// own, and what a process has open is closed with it: the lock that it held is
// free, whatever other process was there when it started.
func TestPrivate(t *testing.T) {
	for _, sharing := range []bool{false, true} {
		r := newRoll(1)
		if sharing {
			r.header.Set(format.MetaSharing, "0")
		}
		r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
		r.header.Descriptors = []format.Descriptor{{Process: 1, FD: 0, Flags: format.RDWR, Path: "f", Offset: 40}}
		thread, child, grandchild := r.child(1, 1), r.child(2, 1), r.child(3, 3)
		bystander := r.child(4, 1)
		r.add(1, format.OpClone, int64(thread), format.CloneThread|format.CloneFiles)
		r.add(1, format.OpOpen, 3, "f", format.RDWR)
		r.add(1, format.OpFlock, 0, 3, unix.LOCK_EX|unix.LOCK_NB)
		r.add(1, format.OpClone, int64(child), 0)
		created := r.add(1, format.OpClone, int64(bystander), 0)
		closed := r.add(1, format.OpClose, 0, 3)
		r.add(bystander, format.OpCloseRange, 0, 0, 99, 0)
		gone := r.add(bystander, format.OpExit, format.NoResult, 0)

		r.wait(thread, 1, created)
		r.add(thread, format.OpLseek, 40, 0, 0, format.SeekCur)
		r.wait(child, 1, closed)
		r.wait(child, bystander, gone)
		r.add(child, format.OpOpen, 4, "f", format.RDWR)
		r.add(child, format.OpFlock, -int64(unix.EAGAIN), 4, unix.LOCK_EX|unix.LOCK_NB)
		r.add(child, format.OpClone, int64(grandchild), 0)
		closed = r.add(child, format.OpClose, 0, 3)

		r.wait(grandchild, child, closed)
		r.add(grandchild, format.OpFlock, -int64(unix.EAGAIN), 4, unix.LOCK_EX|unix.LOCK_NB)
		r.add(grandchild, format.OpClose, 0, 3)
		r.add(grandchild, format.OpFlock, 0, 4, unix.LOCK_EX|unix.LOCK_NB)
		r.add(grandchild, format.OpLseek, 40, 0, 0, format.SeekCur)

		before := roottest.OpenFiles(t)
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
	}
}

// A process that shares descriptors can't have its own, which the header is to
// say.
func TestUnannouncedSharing(t *testing.T) {
	r := newRoll(1)
	child := r.child(2, 1)
	r.add(1, format.OpClone, int64(child), format.CloneFiles)
	r.add(child, format.OpExit, format.NoResult, 0)
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP})
	require.ErrorContains(t, err, "creates a process that shares descriptors")
}

// Where a filter forbids what a table of one's own takes, processes share one.
func TestPrivateFiltered(t *testing.T) {
	for _, denied := range []uint32{unix.SYS_UNSHARE, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD} {
		e := bare(Options{})
		e.Trace, e.processes = newRoll(1), map[int32]*process{1: {}, 2: {}}
		for _, p := range e.processes {
			p.threads.Store(1)
		}
		private := func() bool { return e.processes[1].private || e.processes[2].private }
		require.NoError(t, sandbox.OnThread(func() error {
			defer e.separate()
			return roottest.Deny(unix.EPERM, []uint32{denied})
		}))
		require.False(t, private())
		e.separate()
		require.True(t, private())
	}
}

// Seats with a table of their own close what is not kept, so a run that can't find out which
// descriptors are open ends.
func TestKeepDescriptors(t *testing.T) {
	for _, errno := range []unix.Errno{0, unix.EPERM} {
		e := built(t, newRoll(1))
		e.processes[1].private = true
		f := &failing{errno: errno, under: sandbox.Linux}
		if errno != 0 {
			f.nr = unix.SYS_FCNTL
		}
		e.guard.Kernel = f.call
		err := e.stock.keepDescriptors(e, true)
		e.processes[1].private = false
		if errno != 0 {
			require.ErrorIs(t, err, errno)
			continue
		}
		require.NoError(t, err)
		require.Subset(t, e.stock.kept, []uintptr{0, 1, 2, math.MaxUint32})
	}
}
