package replay

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/fiemap"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// Requests have the same results as outside of a replay, on any file system.
func TestIoctl(t *testing.T) {
	base := t.TempDir()
	var fds [2]int
	for i, name := range []string{"a", "b"} {
		f, err := os.Create(filepath.Join(base, name))
		require.NoError(t, err)
		defer f.Close()
		_, err = f.Write(make([]byte, 5000))
		require.NoError(t, err)
		fds[i] = int(f.Fd())
	}
	errno := func(err error) int {
		if e, ok := err.(unix.Errno); ok {
			return -int(e)
		}
		require.NoError(t, err)
		return 0
	}
	clone := errno(unix.IoctlFileClone(fds[1], fds[0]))
	cloneRange := errno(unix.IoctlFileCloneRange(fds[1], &unix.FileCloneRange{Src_fd: int64(fds[0]), Src_length: 4096}))
	dedupe := errno(unix.IoctlFileDedupeRange(fds[0], &unix.FileDedupeRange{Src_length: 4096, Info: []unix.FileDedupeRangeInfo{{Dest_fd: int64(fds[1])}}}))
	read := func(request uintptr) int {
		var b [pageSize]byte
		b[8] = 1
		return int(sandbox.Kernel(sandbox.Linux).Call(unix.SYS_IOCTL, uintptr(fds[0]), request, uintptr(unsafe.Pointer(&b))))
	}
	results(t, []resultTest{
		{"clone", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), ev(format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600), ev(format.OpFtruncate, 0, 4, 5000),
			ev(format.OpIoctl, clone, 4, unix.FICLONE, 3), ev(format.OpIoctl, cloneRange, 4, unix.FICLONERANGE, 3, 0, 4096, 0), ev(format.OpIoctl, dedupe, 3, unix.FIDEDUPERANGE, 4, 0, 4096, 0),
			ev(format.OpIoctl, 0, 4, unix.FICLONE, -1), ev(format.OpIoctl, ebadf, 4, unix.FICLONE, 9), ev(format.OpIoctl, ebadf, 9, unix.FICLONE, 3),
			ev(format.OpIoctl, einval, 4, unix.FICLONERANGE, 3, -1, 1, 0), ev(format.OpIoctl, einval, 4, unix.FICLONERANGE, 3, 0, 1<<62, 1<<62), ev(format.OpIoctl, einval, 3, unix.FIDEDUPERANGE, 4, 0, -1, 0),
		}},
		{"flags", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR),
			ev(format.OpIoctl, read(unix.FS_IOC_GETFLAGS), 3, unix.FS_IOC_GETFLAGS, 0), ev(format.OpIoctl, read(0x801c581f), 3, 0x801c581f, 0),
			ev(format.OpIoctl, read(0x80087601), 3, 0x80087601, 0), ev(format.OpIoctl, read(fiemap.Request), 3, fiemap.Request, 0),
			ev(format.OpIoctl, 77, 3, 0x5401, 0), ev(format.OpIoctl, ebadf, 9, unix.FS_IOC_GETFLAGS, 0),
		}},
	})
}

// Flags are never set: an immutable file could not be removed.
func TestIoctlSetsNothing(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o644)
		for _, request := range []int{unix.FS_IOC_SETFLAGS, 0x401c5820, 0x40087602} {
			r.Add(1, format.OpIoctl, 0, 3, request, 0x10)
		}
		r.Add(1, format.OpWrite, 1, 3, 0, 1)
		r.Add(1, format.OpUnlink, 0, "f")
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A range beyond the maximum length of a file is not cloned.
func TestCloneLimit(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o644)
	r.Add(1, format.OpIoctl, 0, 3, unix.FICLONERANGE, 3, 0, 1<<20, 1)
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Limits: Limits{Bytes: 1 << 20}})
	require.ErrorIs(t, err, ErrLimit)
}
