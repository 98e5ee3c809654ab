package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

func TestCopies(t *testing.T) {
	const all = 1 << 62
	results(t, []resultTest{
		{"copy_file_range", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600),
			ev(format.OpCopyFileRange, 5000, 3, -1, 4, -1, all, 0), ev(format.OpCopyFileRange, 0, 3, -1, 4, -1, all, 0),
			ev(format.OpLseek, 5000, 4, 0, format.SeekCur), ev(format.OpCopyFileRange, 100, 3, 10, 4, 6000, 100, 0),
			ev(format.OpLseek, 6100, 4, 0, format.SeekEnd), ev(format.OpLseek, 5000, 3, 0, format.SeekCur),
			ev(format.OpCopyFileRange, einval, 3, 0, 4, 0, 10, 1), ev(format.OpCopyFileRange, einval, 3, 0, 4, 0, -1, 0),
			ev(format.OpCopyFileRange, ebadf, 4, 0, 3, 0, 10, 0), ev(format.OpCopyFileRange, ebadf, 3, 0, 9, 0, 10, 0),
			ev(format.OpCopyFileRange, 77, -1, 0, 4, 0, 100, 0), ev(format.OpCopyFileRange, -int(unix.EXDEV), 3, 0, -1, 0, 100, 0),
		}},
		{"sendfile", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600),
			ev(format.OpSendfile, 200, 4, 3, 4800, all), ev(format.OpLseek, 200, 4, 0, format.SeekCur), ev(format.OpLseek, 0, 3, 0, format.SeekCur),
			// To a socket, which took no more than 3000 bytes at first.
			ev(format.OpSendfile, 3000, -1, 3, -1, all), ev(format.OpLseek, 3000, 3, 0, format.SeekCur), ev(format.OpSendfile, -int(unix.EAGAIN), -1, 3, -1, all),
			ev(format.OpSendfile, 2000, -1, 3, -1, all), ev(format.OpSendfile, 0, -1, 3, -1, all), ev(format.OpSendfile, noResult, -1, 3, -1, all),
			ev(format.OpSendfile, ebadf, -1, 9, -1, 10), ev(format.OpSendfile, 10, 4, -1, -1, 10), ev(format.OpSendfile, ebadf, 9, 3, 0, 10),
			ev(format.OpSendfile, einval, 4, 3, 0, -1), ev(format.OpSendfile, einval, 4, 3, -7, 1),
		}},
		{"splice", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600),
			ev(format.OpSplice, 4096, 3, -1, -1, -1, 65536, 1), ev(format.OpSplice, 904, 3, -1, -1, -1, 65536, 1), ev(format.OpSplice, 0, 3, -1, -1, -1, 65536, 1),
			ev(format.OpSplice, 10, 3, 100, -1, -1, 10, 0), ev(format.OpLseek, 5000, 3, 0, format.SeekCur),
			ev(format.OpSplice, 1234, -1, -1, 4, -1, 65536, 0), ev(format.OpLseek, 1234, 4, 0, format.SeekCur),
			ev(format.OpSplice, 4096, -1, -1, 4, 8192, 65536, 0), ev(format.OpLseek, 12288, 4, 0, format.SeekEnd), ev(format.OpSplice, 0, -1, -1, 4, -1, 10, 0),
			ev(format.OpSplice, 3*(4<<20)/2, -1, -1, 4, 0, all, 0), ev(format.OpLseek, 3*(4<<20)/2, 4, 0, format.SeekEnd),
			ev(format.OpSplice, 5, -1, -1, -1, -1, 10, 0), ev(format.OpSplice, -int(unix.EAGAIN), -1, -1, 4, -1, 10, 2),
			ev(format.OpSplice, einval, 3, 0, 4, 0, 10, 0), ev(format.OpSplice, ebadf, 3, 0, 9, 0, 10, 0),
			ev(format.OpSplice, ebadf, -1, 0, 9, 0, 10, 0), ev(format.OpSplice, ebadf, 9, 0, -1, 0, 10, 0),
		}},
	})
}

// A call that requests a whole file takes no more from the limit than it wrote, a 4096 for the
// place and the name, but cannot be told from one that was cut short by using all of it.
func TestCopiesWithinTheLimit(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 10})
	r.Add(1, format.OpOpen, 3, "f", format.RDONLY)
	r.Add(1, format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600)
	for range 50 {
		r.Add(1, format.OpCopyFileRange, 10, 3, 0, 4, 0, 1<<62, 0)
		r.Add(1, format.OpSendfile, 10, 4, 3, 0, 1<<62)
	}
	run := func(bytes int64) (*Result, error) {
		return Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: bytes}})
	}
	const all = 10 + 100*10 + 50*4096 + 512
	res, err := run(all + 1)
	require.NoError(t, err)
	faultless(t, r, res)
	res, err = run(all)
	require.ErrorIs(t, err, ErrLimit)
	require.EqualValues(t, len(r.Threads[0].Records), res.Executed, "the last one ends the run")
}

// A byte in a 4096 of its own counts as the 4096, however it gets there.
func TestBlocksCount(t *testing.T) {
	for name, way := range map[string]func(r *replaykit.Trace, at int){
		"pwrite": func(r *replaykit.Trace, at int) { r.Add(1, format.OpPwrite64, 1, 3, 0, 1, at) },
		"lseek": func(r *replaykit.Trace, at int) {
			r.Add(1, format.OpLseek, int64(at), 3, at, unix.SEEK_SET)
			r.Add(1, format.OpWrite, 1, 3, 0, 1)
		},
		"ftruncate": func(r *replaykit.Trace, at int) {
			r.Add(1, format.OpFtruncate, 0, 3, at)
			r.Add(1, format.OpWrite, 1, 4, 0, 1)
		},
		"truncate": func(r *replaykit.Trace, at int) {
			r.Add(1, format.OpTruncate, 0, "f", at)
			r.Add(1, format.OpWrite, 1, 4, 0, 1)
		},
		"fallocate":       func(r *replaykit.Trace, at int) { r.Add(1, format.OpFallocate, 0, 3, 0, at, 1) },
		"copy_file_range": func(r *replaykit.Trace, at int) { r.Add(1, format.OpCopyFileRange, 1, 5, 0, 3, at, 1, 0) },
		"splice":          func(r *replaykit.Trace, at int) { r.Add(1, format.OpSplice, 1, -1, -1, 3, at, 1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			r.File(format.File{Path: "g", Type: format.TypeReg, Mode: 0o600, Size: 1})
			r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
			r.Add(1, format.OpOpen, 4, "f", format.WRONLY|format.APPEND)
			r.Add(1, format.OpOpen, 5, "g", format.RDONLY)
			for i := range 100 {
				way(r, i*4096)
			}
			res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 101 * (4096 + 2)}})
			require.NoError(t, err)
			faultless(t, r, res)
			_, err = Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 99 * 4096}})
			require.ErrorIs(t, err, ErrLimit)
		})
	}
}
