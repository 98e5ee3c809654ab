package posix

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// Slots with a table of their own close what is not kept, so a run that can't find out which
// descriptors are open ends.
func TestKeepDescriptors(t *testing.T) {
	for _, errno := range []unix.Errno{0, unix.EPERM} {
		e := built(t, replaykit.New(1))
		e.processes[1].private = true
		f := &replaykit.Failing{Errno: errno, Under: sandbox.Linux}
		if errno != 0 {
			f.Nr = unix.SYS_FCNTL
		}
		e.guard.Kernel = f.Call
		err := e.spares.keepDescriptors(e, true)
		e.processes[1].private = false
		if errno != 0 {
			require.ErrorIs(t, err, errno)
			continue
		}
		require.NoError(t, err)
		require.Subset(t, e.spares.kept, []uintptr{0, 1, 2, math.MaxUint32})
	}
}

// Where a filter forbids what a table of one's own takes, processes share one.
func TestPrivateFiltered(t *testing.T) {
	for _, denied := range []uint32{unix.SYS_UNSHARE, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD} {
		e := bare(Options{})
		e.Trace, e.processes = replaykit.New(1), map[int32]*process{1: {}, 2: {}}
		for _, p := range e.processes {
			p.threads.Store(1)
		}
		private := func() bool { return e.processes[1].private || e.processes[2].private }
		require.NoError(t, sandbox.OnThread(func() error {
			defer e.choosePrivateTables()
			return roottest.Deny(unix.EPERM, []uint32{denied})
		}))
		require.False(t, private())
		e.choosePrivateTables()
		require.True(t, private())
	}
}
