package posix

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/replaykit"
)

// A thread that opens a file after the end of its process, in a forged trace, gets no
// descriptor, and the kernel's one is closed.
func TestOpenedAfterTheEnd(t *testing.T) {
	w := built(t, replaykit.New(1)).workers[0]
	real, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	w.process.files.Store(nil)
	engine.Pinned(func() {
		require.EqualValues(t, errBadFD, w.opened(&format.Record{Op: format.OpOpen, Ret: 3}, int64(real), 0, 0))
	})
	_, err = unix.FcntlInt(uintptr(real), unix.F_GETFD, 0)
	require.ErrorIs(t, err, unix.EBADF)
}
