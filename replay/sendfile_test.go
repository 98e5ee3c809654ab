package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
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
			ev(format.OpSplice, 3*poolSize/2, -1, -1, 4, 0, all, 0), ev(format.OpLseek, 3*poolSize/2, 4, 0, format.SeekEnd),
			ev(format.OpSplice, 5, -1, -1, -1, -1, 10, 0), ev(format.OpSplice, -int(unix.EAGAIN), -1, -1, 4, -1, 10, 2),
			ev(format.OpSplice, einval, 3, 0, 4, 0, 10, 0), ev(format.OpSplice, ebadf, 3, 0, 9, 0, 10, 0),
			ev(format.OpSplice, ebadf, -1, 0, 9, 0, 10, 0), ev(format.OpSplice, ebadf, 9, 0, -1, 0, 10, 0),
		}},
	})
}

// A call that asks for all that there is takes no more from the limit than it
// wrote, a block for the place and the name, but cannot be told from one that was cut short by using all of it.
func TestCopiesWithinTheLimit(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 10})
	r.add(1, format.OpOpen, 3, "f", format.RDONLY)
	r.add(1, format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600)
	for range 50 {
		r.add(1, format.OpCopyFileRange, 10, 3, 0, 4, 0, 1<<62, 0)
		r.add(1, format.OpSendfile, 10, 4, 3, 0, 1<<62)
	}
	run := func(bytes int64) (*Result, error) {
		return Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: bytes}})
	}
	const all = 10 + 100*10 + 50*block + spaceName
	res, err := run(all + 1)
	require.NoError(t, err)
	faultless(t, r, res)
	res, err = run(all)
	require.ErrorIs(t, err, ErrLimit)
	require.EqualValues(t, len(r.threads[0].records), res.Executed, "the last one ends the run")
}

// A byte in a block of its own counts as the block, however it gets there.
func TestBlocksCount(t *testing.T) {
	for name, way := range map[string]func(r *roll, at int){
		"pwrite": func(r *roll, at int) { r.add(1, format.OpPwrite64, 1, 3, 0, 1, at) },
		"lseek": func(r *roll, at int) {
			r.add(1, format.OpLseek, int64(at), 3, at, unix.SEEK_SET)
			r.add(1, format.OpWrite, 1, 3, 0, 1)
		},
		"ftruncate": func(r *roll, at int) {
			r.add(1, format.OpFtruncate, 0, 3, at)
			r.add(1, format.OpWrite, 1, 4, 0, 1)
		},
		"truncate": func(r *roll, at int) {
			r.add(1, format.OpTruncate, 0, "f", at)
			r.add(1, format.OpWrite, 1, 4, 0, 1)
		},
		"fallocate":       func(r *roll, at int) { r.add(1, format.OpFallocate, 0, 3, 0, at, 1) },
		"copy_file_range": func(r *roll, at int) { r.add(1, format.OpCopyFileRange, 1, 5, 0, 3, at, 1, 0) },
		"splice":          func(r *roll, at int) { r.add(1, format.OpSplice, 1, -1, -1, 3, at, 1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoll(1)
			r.file(format.File{Path: "g", Type: format.TypeReg, Mode: 0o600, Size: 1})
			r.add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
			r.add(1, format.OpOpen, 4, "f", format.WRONLY|format.APPEND)
			r.add(1, format.OpOpen, 5, "g", format.RDONLY)
			for i := range 100 {
				way(r, i*block)
			}
			res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 101 * (block + 2)}})
			require.NoError(t, err)
			faultless(t, r, res)
			_, err = Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 99 * block}})
			require.ErrorIs(t, err, ErrLimit)
		})
	}
}

// Reserved bytes that were not used go back to the shared budget.
func TestReserve(t *testing.T) {
	e := bare(Options{})
	a, b := &worker{e: e, seat: &seat{}}, &worker{e: e, seat: &seat{}}
	e.bytes.Store(4 << 30)
	n := a.reserve(1 << 62)
	require.EqualValues(t, maxTransfer, n)
	require.EqualValues(t, 5, a.settle(1<<62, n, 5))
	require.EqualValues(t, lease, a.allowance)
	require.EqualValues(t, 4<<30-5-lease, e.bytes.Load())
	require.EqualValues(t, 100, b.reserve(100))
	require.EqualValues(t, -9, b.settle(100, 100, -9), "an error writes nothing")
	require.EqualValues(t, 4<<30-5-lease-100, e.bytes.Load())
	require.EqualValues(t, 100, b.allowance)
	require.Zero(t, b.reserve(-1))

	e.bytes.Store(50)
	require.EqualValues(t, 150, b.reserve(1000), "what is left")
	require.EqualValues(t, 149, b.settle(1000, 150, 149), "and enough")
	require.False(t, e.Stopped())
}
