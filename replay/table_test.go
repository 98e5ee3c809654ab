package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
)

// The descriptors of a child depend on how it was created.
func TestFork(t *testing.T) {
	const ebadf = -int64(unix.EBADF)
	tests := []struct {
		name          string
		flags         int
		process       int32
		parentsClosed int64 // fstat, in the child, of what the parent has closed since
		childsOpened  int64 // fstat, in the parent, of what the child has opened
	}{
		{"fork", 17, 2, 0, ebadf},
		{"vfork", format.CloneVfork | 0x100, 2, 0, ebadf},
		{"shared files", format.CloneFiles, 2, ebadf, 0},
		{"thread", format.CloneFiles | format.CloneThread, 1, ebadf, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := replaykit.New(1)
			if test.flags&format.CloneFiles != 0 && test.process != 1 {
				r.Head.Set(format.MetaSharing, "1")
			}
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			r.Add(1, format.OpLseek, 40, 3, 40, format.SeekSet)
			child := r.Child(test.process, 1)
			r.Add(1, format.OpClone, int64(child), test.flags)
			closed := r.Add(1, format.OpClose, 0, 3)

			r.Wait(child, 1, closed)
			r.Add(child, format.OpFstat, test.parentsClosed, 3, 0)
			if test.parentsClosed == 0 {
				// The offset belongs to both.
				r.Add(child, format.OpLseek, 40, 3, 0, format.SeekCur)
			}
			opened := r.Add(child, format.OpOpen, 8, "f", format.RDONLY)
			r.Wait(1, child, opened)
			fstat := r.Add(1, format.OpFstat, test.childsOpened, 8, 0)
			r.Wait(child, 1, fstat)
			ended := r.Add(child, format.OpExit, format.NoResult, 0)
			r.Wait(1, child, ended)
			r.Add(1, format.OpWait4, int64(child), -1, 0, 0, 0)
			r.Add(1, format.OpFstat, test.childsOpened, 8, 0)
			r.Add(1, format.OpExitGroup, format.NoResult, 0)
			before := roottest.OpenFiles(t)
			_, res := play(t, r, byOpenat2)
			faultless(t, r, res)
			require.LessOrEqual(t, roottest.OpenFiles(t), before)
		})
	}
}

// An exec in a process that shares its descriptors ends the sharing.
func TestExecUnshares(t *testing.T) {
	r := replaykit.New(1)
	r.Head.Set(format.MetaSharing, "1")
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR|format.CLOEXEC)
	r.Add(1, format.OpOpen, 4, "f", format.RDWR)
	child := r.Child(2, 1)
	r.Add(1, format.OpClone, int64(child), format.CloneFiles)
	exec := r.Add(child, format.OpExecve, 0, "f")
	r.Add(child, format.OpFstat, -int64(unix.EBADF), 3, 0)
	r.Add(child, format.OpFstat, 0, 4, 0)
	r.Add(child, format.OpClose, 0, 4)
	r.Wait(1, child, exec+3)
	r.Add(1, format.OpFstat, 0, 3, 0)
	r.Add(1, format.OpFstat, 0, 4, 0)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

// An unshare ends the sharing for the process that calls it only, whichever process
// made the table.
func TestUnshare(t *testing.T) {
	const ebadf = -int64(unix.EBADF)
	for _, byParent := range []bool{true, false} {
		r := replaykit.New(1)
		r.Head.Set(format.MetaSharing, "2")
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR|format.CLOEXEC)
		r.Add(1, format.OpLseek, 40, 3, 40, format.SeekSet)
		child, other := r.Child(2, 1), r.Child(3, 1)
		r.Add(1, format.OpClone, int64(child), format.CloneFiles)
		created := r.Add(1, format.OpClone, int64(other), format.CloneFiles)
		caller, rest := int32(1), child
		if !byParent {
			caller, rest = child, 1
		}
		if caller != 1 {
			r.Wait(caller, 1, created)
		}
		r.Add(caller, format.OpUnshare, 0, format.CloneFS) // leaves descriptors alone
		r.Add(caller, format.OpOpen, 4, "f", format.RDONLY)
		r.Add(caller, format.OpUnshare, 0, format.CloneFiles)
		r.Add(caller, format.OpUnshare, 0, format.CloneFiles)
		r.Add(caller, format.OpLseek, 40, 3, 0, format.SeekCur)
		r.Add(caller, format.OpClose, 0, 3)
		last := r.Add(caller, format.OpOpen, 5, "f", format.RDONLY)
		r.Wait(rest, caller, last)
		r.Add(rest, format.OpFstat, 0, 3, 0)
		r.Add(rest, format.OpFstat, 0, 4, 0)
		r.Add(rest, format.OpFstat, ebadf, 5, 0)
		last = r.Add(rest, format.OpClose, 0, 4)
		r.Wait(other, rest, last)
		r.Add(other, format.OpFstat, 0, 3, 0)
		r.Add(other, format.OpFstat, ebadf, 4, 0)
		// An exec of one that shares closes nothing for the other.
		last = r.Add(other, format.OpExecve, 0, "f")
		r.Add(other, format.OpFstat, ebadf, 3, 0)
		r.Wait(rest, other, last)
		r.Add(rest, format.OpFstat, 0, 3, 0)
		last = r.Add(rest, format.OpFstat, 0, 3, 0)
		r.Wait(caller, rest, last)
		r.Add(caller, format.OpFstat, 0, 4, 0)
		before := roottest.OpenFiles(t)
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
	}
}

// A thread that is created twice, by another's clone, or that never was, is no
// harm.
func TestFalseClones(t *testing.T) {
	r := replaykit.New(2)
	child := r.Child(1, 1)
	for _, ret := range []int64{int64(child), int64(child), 2, 1, 77, -1} {
		r.Add(1, format.OpClone, ret, 0)
		r.Add(2, format.OpClone, ret, 0)
	}
	r.Add(child, format.OpMkdir, 0, "once", 0o700)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

// Descriptors that were open before the first event.
func TestDescriptorsAtTheStart(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.File(format.File{Path: "log", Type: format.TypeReg, Mode: 0o644, Size: 30, Cached: -1})
		r.Head.Descriptors = []format.Descriptor{
			{Process: 1, FD: 0, Flags: format.RDONLY, Path: "log"},
			{Process: 1, FD: 1, Flags: format.WRONLY | format.TRUNC, Offset: 12, Path: "log"},
			{Process: 1, FD: 2, Flags: format.WRONLY | format.TRUNC, Offset: 12, Path: "log"},
		}
		r.Add(1, format.OpRead, 30, 0, 0, 100)
		r.Add(1, format.OpWrite, 5, 1, 0, 5)
		r.Add(1, format.OpLseek, 17, 2, 0, format.SeekCur)
		_, res := p.play(t, r)
		faultless(t, r, res)

		// A difference of a descriptor names its path.
		r.Add(1, format.OpRead, 99, 0, 0, 99)
		_, res = p.play(t, r)
		require.Len(t, res.Differences, 1)
		res.Differences[0].At = 0 // the clock's
		require.Equal(t, []Difference{{Op: format.OpRead, Recorded: 99, Got: 0, Count: 1, Thread: 1, Event: 3, Path: "log", Call: "read(0, NULL, 99) = 0"}}, res.Differences)
		require.Zero(t, res.Failed)
		require.EqualValues(t, 1, res.ByOp[format.OpRead].Differed)
	})
}

// Closing descriptors at the end of a process does not count in the time of its last
// call, as in a recording.
func TestExitTakesNoTime(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	for fd := range 100 {
		r.Add(1, format.OpOpen, int64(3+fd), "f", format.RDONLY)
	}
	r.Add(1, format.OpExitGroup, format.NoResult, 0)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
	events := make([]format.Event, 200)
	n, err := res.Events().Read(events)
	require.NoError(t, err)
	last := events[n-1]
	require.Equal(t, format.OpExitGroup, last.Op)
	require.Zero(t, last.Dur)
	require.EqualValues(t, last.Start, res.Elapsed)
}
