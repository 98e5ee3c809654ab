package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
)

// Descriptors come to a process from a parent with and without a table of its
// own, and what a process has open is closed with it: the lock that it held is
// free, whatever other process was there when it started.
func TestPrivate(t *testing.T) {
	for _, sharing := range []bool{false, true} {
		r := replaykit.New(1)
		if sharing {
			r.Head.Set(format.MetaSharing, "0")
		}
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
		r.Head.Descriptors = []format.Descriptor{{Process: 1, FD: 0, Flags: format.RDWR, Path: "f", Offset: 40}}
		thread, child, grandchild := r.Child(1, 1), r.Child(2, 1), r.Child(3, 3)
		bystander := r.Child(4, 1)
		r.Add(1, format.OpClone, int64(thread), format.CloneThread|format.CloneFiles)
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		r.Add(1, format.OpFlock, 0, 3, unix.LOCK_EX|unix.LOCK_NB)
		r.Add(1, format.OpClone, int64(child), 0)
		created := r.Add(1, format.OpClone, int64(bystander), 0)
		closed := r.Add(1, format.OpClose, 0, 3)
		r.Add(bystander, format.OpCloseRange, 0, 0, 99, 0)
		gone := r.Add(bystander, format.OpExit, format.NoResult, 0)

		r.Wait(thread, 1, created)
		r.Add(thread, format.OpLseek, 40, 0, 0, format.SeekCur)
		r.Wait(child, 1, closed)
		r.Wait(child, bystander, gone)
		r.Add(child, format.OpOpen, 4, "f", format.RDWR)
		r.Add(child, format.OpFlock, -int64(unix.EAGAIN), 4, unix.LOCK_EX|unix.LOCK_NB)
		r.Add(child, format.OpClone, int64(grandchild), 0)
		closed = r.Add(child, format.OpClose, 0, 3)

		r.Wait(grandchild, child, closed)
		r.Add(grandchild, format.OpFlock, -int64(unix.EAGAIN), 4, unix.LOCK_EX|unix.LOCK_NB)
		r.Add(grandchild, format.OpClose, 0, 3)
		r.Add(grandchild, format.OpFlock, 0, 4, unix.LOCK_EX|unix.LOCK_NB)
		r.Add(grandchild, format.OpLseek, 40, 0, 0, format.SeekCur)

		before := roottest.OpenFiles(t)
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
	}
}

// A process that shares descriptors can't have its own, which the header is to
// say.
func TestUnannouncedSharing(t *testing.T) {
	r := replaykit.New(1)
	child := r.Child(2, 1)
	r.Add(1, format.OpClone, int64(child), format.CloneFiles)
	r.Add(child, format.OpExit, format.NoResult, 0)
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP})
	require.ErrorContains(t, err, "creates a process that shares descriptors")
}
