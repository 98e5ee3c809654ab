package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

const enoent, eexist, ebadf, einval = -int(unix.ENOENT), -int(unix.EEXIST), -int(unix.EBADF), -int(unix.EINVAL)

// Each operation has the result of the recording.
func TestResults(t *testing.T) {
	const rdwr, rdonly, creat = format.RDWR, format.RDONLY, format.CREAT
	results(t, []resultTest{
		{"open and close", []step{
			ev(format.OpOpen, 7, "d/f", rdwr), ev(format.OpClose, 0, 7), ev(format.OpClose, ebadf, 7),
			ev(format.OpOpen, enoent, "d/none", rdonly), ev(format.OpOpenm, eexist, "d/f", rdwr|creat|format.EXCL, 0o600),
			ev(format.OpOpenm, 3, "d/new", rdwr|creat|format.CLOEXEC, 0o640), ev(format.OpOpen, -int(unix.ELOOP), "l", rdonly|format.NOFOLLOW),
			ev(format.OpOpen, 900, "d", rdonly|format.DIRECTORY), ev(format.OpOpenm, 4, "d", rdwr|format.TMPFILE|format.DIRECTORY, 0o600),
		}},
		{"close_range", []step{
			ev(format.OpOpen, 3, "d/f", rdwr), ev(format.OpOpen, 5, "d/f", rdwr), ev(format.OpOpen, 9, "d/f", rdwr),
			ev(format.OpCloseRange, 0, 4, 8, 0), ev(format.OpFstat, ebadf, 5, 0), ev(format.OpFstat, 0, 3, 0), ev(format.OpFstat, 0, 9, 0),
			ev(format.OpCloseRange, 0, 3, 1<<31, format.CloseRangeCloexec), ev(format.OpExecve, 0, "d/f"), ev(format.OpFstat, ebadf, 9, 0),
			ev(format.OpCloseRange, einval, 4, 3, 0),
		}},
		{"read and write", []step{
			ev(format.OpOpen, 3, "d/f", rdwr),
			ev(format.OpRead, 4096, 3, 4096, 4096), ev(format.OpRead, 904, 3, 0, 4096), ev(format.OpRead, 0, 3, 0, 4096),
			ev(format.OpWrite, 100, 3, 16, 100), ev(format.OpPread64, 10, 3, 5, 10, 5090), ev(format.OpPwrite64, 3, 3, 0, 3, 0),
			ev(format.OpLseek, 5100, 3, 0, format.SeekCur), ev(format.OpLseek, 10, 3, 10, format.SeekSet), ev(format.OpLseek, einval, 3, -1, format.SeekSet),
			ev(format.OpReadv, 300, 3, 64, 3, 300), ev(format.OpWritev, 31, 3, 64, 4, 31), ev(format.OpPreadv, 7, 3, 0, 2, 0, 7),
			ev(format.OpPwritev, 5, 3, 0, 1, 20, 5), ev(format.OpPreadv2, 8, 3, 0, 3, 0, 8, 0), ev(format.OpPwritev2, 8, 3, 0, 3, 0, 8, 2),
			ev(format.OpReadv, 0, 3, 0, 0, 0), ev(format.OpReadv, einval, 3, 0, 1025, 10), ev(format.OpRead, einval, 3, 0, -1),
			ev(format.OpFsync, 0, 3), ev(format.OpFdatasync, 0, 3), ev(format.OpFtruncate, 0, 3, 1000), ev(format.OpTruncate, 0, "l", 2000),
			ev(format.OpLseek, 2000, 3, 0, format.SeekEnd), ev(format.OpFallocate, 0, 3, 0, 0, 8192), ev(format.OpLseek, 8192, 3, 0, format.SeekEnd),
			ev(format.OpFtruncate, einval, 3, -1), ev(format.OpWrite, ebadf, 4, 0, 1), ev(format.OpPread64, ebadf, 1, 0, 1, 0),
			// Larger than the pool that writes come from.
			ev(format.OpPwrite64, 3*1<<20/2, 3, 0, 3*1<<20/2, 0), ev(format.OpPread64, 3*1<<20/2, 3, 0, 2*1<<20, 0),
		}},
		{"stat", []step{
			ev(format.OpStat, 0, "d/f", 0), ev(format.OpStat, enoent, "dangling", 0), ev(format.OpLstat, 0, "dangling", 0), ev(format.OpStat, 0, ".", 0),
			ev(format.OpStatx, 0, format.AtFDCWD, "l", 0, 0xfff, 0), ev(format.OpStatx, enoent, format.AtFDCWD, "dangling", 0, 0xfff, 0),
			ev(format.OpStatx, 0, format.AtFDCWD, "dangling", format.AtSymlinkNofollow, 0xfff, 0), ev(format.OpStat, -int(unix.ENOTDIR), "d/f/x", 0),
			ev(format.OpOpen, 3, "d", rdonly), ev(format.OpFstat, 0, 3, 0), ev(format.OpFstatx, 0, 3, format.AtEmptyPath, 0xfff, 0),
			ev(format.OpAccess, 0, "l", 4), ev(format.OpAccess, enoent, "x", 0), ev(format.OpStat, -int(unix.EFAULT), -1, 0),
			ev(format.OpStat, enoent, "", 0), ev(format.OpReadlink, 3, "l", 0, 100), ev(format.OpReadlink, einval, "d/f", 0, 100),
			ev(format.OpReadlink, einval, "l", 0, 0),
			ev(format.OpGetdents64, einval, 3, 0, 8), ev(format.OpGetdents64, 96, 3, 0, 32768), ev(format.OpGetdents64, 0, 3, 0, 32768),
		}},
		{"names", []step{
			ev(format.OpMkdir, 0, "n", 0o700), ev(format.OpMkdir, eexist, "n", 0o700), ev(format.OpRename, 0, "d/f", "n/g"), ev(format.OpRename, enoent, "d/f", "n/g"),
			ev(format.OpLink, 0, "n/g", "h"), ev(format.OpLink, eexist, "n/g", "h"), ev(format.OpSymlink, 0, "n/g", "s"), ev(format.OpStat, 0, "s", 0),
			ev(format.OpRenameat2, eexist, format.AtFDCWD, "h", format.AtFDCWD, "s", format.RenameNoreplace),
			ev(format.OpRenameat2, 0, format.AtFDCWD, "h", format.AtFDCWD, "s", format.RenameExchange), ev(format.OpReadlink, 3, "h", 0, 64),
			ev(format.OpRenameat2, einval, format.AtFDCWD, "h", format.AtFDCWD, "w", format.RenameWhiteout|format.RenameExchange),
			ev(format.OpRenameat2, 0, format.AtFDCWD, "h", format.AtFDCWD, "w", format.RenameWhiteout), ev(format.OpReadlink, 3, "w", 0, 64), ev(format.OpReadlink, einval, "h", 0, 64),
			ev(format.OpLink, 0, "n/g", "h2"), ev(format.OpRenameat2, 0, format.AtFDCWD, "n/g", format.AtFDCWD, "h2", format.RenameWhiteout), ev(format.OpUnlink, 0, "h2"),
			ev(format.OpRmdir, -int(unix.ENOTEMPTY), "n"), ev(format.OpUnlink, 0, "n/g"), ev(format.OpRmdir, 0, "n"), ev(format.OpUnlink, -int(unix.EISDIR), "d"),
			ev(format.OpUnlink, 0, "h"), ev(format.OpUnlink, enoent, "h"),
		}},
		{"slashes", []step{
			ev(format.OpMkdir, 0, "new/", 0o700), ev(format.OpMkdir, eexist, "new/", 0o700), ev(format.OpLink, enoent, "d/f", "none/"), ev(format.OpSymlink, enoent, "d", "none/"),
			ev(format.OpMknod, enoent, "none/", unix.S_IFREG|0o600, 0), ev(format.OpUnlink, -int(unix.ENOTDIR), "d/f/"), ev(format.OpUnlink, -int(unix.ENOTDIR), "l/"),
			ev(format.OpLink, enoent, "none", "d/f/x"), ev(format.OpLink, -int(unix.ENOTDIR), "d/f", "d/f/x"), ev(format.OpLink, -int(unix.ENOTDIR), "d/f/", "d/f"), ev(format.OpLstat, -int(unix.ENOTDIR), "d/f/", 0), ev(format.OpLstat, 0, "d/", 0), ev(format.OpLstat, enoent, "none/", 0), ev(format.OpLstat, -int(unix.ENOTDIR), "l/", 0),
			ev(format.OpSymlink, 0, "d", "toDir"), ev(format.OpReadlink, einval, "toDir/", 0, 64), ev(format.OpReadlink, -int(unix.ENOTDIR), "d/f/", 0, 64), ev(format.OpReadlink, enoent, "dangling/", 0, 64),
			ev(format.OpFchmodat2, -int(unix.ENOTDIR), format.AtFDCWD, "d/f/", 0o600, format.AtSymlinkNofollow), ev(format.OpFaccessat2, -int(unix.ENOTDIR), format.AtFDCWD, "d/f/", 4, format.AtSymlinkNofollow),
			ev(format.OpRename, -int(unix.ENOTDIR), "d/f/", "none"), ev(format.OpRename, -int(unix.ENOTDIR), "d/f", "none/"), ev(format.OpRename, 0, "new/", "renamed/"), ev(format.OpRmdir, 0, "renamed/"),
		}},
		{"files of descriptors", []step{
			ev(format.OpOpenm, 3, "d", rdwr|format.TMPFILE, 0o600), ev(format.OpWrite, 10, 3, 0, 10), ev(format.OpReopen, 4, 3, rdonly|creat|format.EXCL), ev(format.OpRead, 10, 4, 0, 20),
			ev(format.OpWrite, ebadf, 4, 0, 20), ev(format.OpReopen, 5, 3, format.PATH), ev(format.OpReopen, ebadf, 9, rdonly), ev(format.OpFaccess, 0, 5, 4), ev(format.OpFaccess, ebadf, 9, 4),
			ev(format.OpLinkat, 0, 3, "", format.AtFDCWD, "d/named", format.AtEmptyPath), ev(format.OpLinkat, eexist, 5, "", format.AtFDCWD, "d/named", format.AtEmptyPath),
			ev(format.OpLinkat, ebadf, 9, "", format.AtFDCWD, "d/new", format.AtEmptyPath), ev(format.OpLinkat, enoent, 3, "", format.AtFDCWD, "none/new", format.AtEmptyPath),
			ev(format.OpReopen, 6, 4, rdwr|format.TRUNC), ev(format.OpPread64, 0, 3, 0, 5, 0), ev(format.OpStat, 0, "d/named", 0),
			ev(format.OpUnlink, 0, "d/named"), ev(format.OpReopen, 7, 6, rdwr), ev(format.OpWrite, 3, 7, 0, 3), ev(format.OpPread64, 3, 3, 0, 5, 0),
			ev(format.OpBind, 0, 900, "bound", 110), ev(format.OpOpen, -int(unix.ENXIO), "bound", rdwr), ev(format.OpTruncate, einval, "bound", 5),
			ev(format.OpFaccessat2, 0, format.AtFDCWD, "bound", 1, 0), ev(format.OpFchmodat2, 0, format.AtFDCWD, "bound", 0o600, 0), ev(format.OpFaccessat2, -int(unix.EACCES), format.AtFDCWD, "bound", 1, 0),
			ev(format.OpRenameat2, 0, format.AtFDCWD, "bound", format.AtFDCWD, "gone", format.RenameWhiteout), ev(format.OpAccess, 0, "bound", 4),
			ev(format.OpFchmodat2, -int(unix.EOPNOTSUPP), format.AtFDCWD, "l", 0o600, format.AtSymlinkNofollow), ev(format.OpFchmodat2, 0, format.AtFDCWD, "d/f", 0o600, format.AtSymlinkNofollow),
			ev(format.OpFaccessat2, 0, format.AtFDCWD, "dangling", 4, format.AtSymlinkNofollow), ev(format.OpFaccessat2, enoent, format.AtFDCWD, "dangling", 4, 0x200), ev(format.OpFaccessat2, 0, format.AtFDCWD, "l", 4, 0x200),
		}},
		{"dup", []step{
			ev(format.OpOpen, 3, "d/f", rdwr|format.CLOEXEC), ev(format.OpDup, 4, 3), ev(format.OpDup2, 9, 3, 9), ev(format.OpDup3, 10, 3, 10, format.CLOEXEC),
			ev(format.OpLseek, 77, 9, 77, format.SeekSet), ev(format.OpLseek, 77, 4, 0, format.SeekCur), ev(format.OpDup3, einval, 3, 3, 0),
			ev(format.OpDup2, 3, 3, 3), ev(format.OpDup2, ebadf, 50, 50), ev(format.OpDup, ebadf, 51),
			ev(format.OpFcntl, 20, 3, format.FDupfd, 20), ev(format.OpFcntl, 21, 3, format.FDupfdCloexec, 20), ev(format.OpFcntl, 1, 21, unix.F_GETFD, 0),
			ev(format.OpExecve, enoent, "d/none"), ev(format.OpFstat, 0, 3, 0),
			ev(format.OpExecve, 0, "d/f"), ev(format.OpFstat, ebadf, 3, 0), ev(format.OpFstat, 0, 4, 0), ev(format.OpFstat, 0, 9, 0), ev(format.OpFstat, ebadf, 10, 0),
			ev(format.OpFstat, 0, 20, 0), ev(format.OpFstat, ebadf, 21, 0),
			ev(format.OpFcntl, 0, 4, format.FSetfd, 1), ev(format.OpFcntl, 0, 20, format.FSetfd, 1), ev(format.OpFcntl, 0, 20, format.FSetfd, 0),
			ev(format.OpExecve, 0, "d/f"), ev(format.OpFstat, ebadf, 4, 0), ev(format.OpFstat, 0, 20, 0),
		}},
		{"fcntl", []step{
			ev(format.OpOpen, 3, "d/f", rdwr), ev(format.OpOpen, 4, "d/f", rdwr),
			ev(format.OpFcntl, 0, 3, format.FOfdSetlk, 0, unix.F_WRLCK, 0, 10), ev(format.OpFcntl, -int(unix.EAGAIN), 4, format.FOfdSetlk, 0, unix.F_WRLCK, 5, 10),
			ev(format.OpFcntl, 0, 4, format.FOfdSetlkw, 0, unix.F_RDLCK, 10, 10), ev(format.OpFcntl, 0, 4, format.FOfdGetlk, 0, unix.F_WRLCK, 0, 0),
			ev(format.OpFcntl, -int(unix.EDEADLK), 4, format.FOfdSetlkw, 0, unix.F_WRLCK, 0, 0), ev(format.OpFcntl, einval, 4, format.FSetlk, 0, 9, 0, 0),
			ev(format.OpFcntl, 0, 3, format.FSetfl, format.APPEND|format.ASYNC), ev(format.OpWrite, 1, 3, 0, 1), ev(format.OpLseek, 5001, 3, 0, format.SeekCur),
			ev(format.OpFcntl, unix.O_APPEND, 3, unix.F_GETFL, 0), ev(format.OpFcntl, 0, 3, 8 /* F_SETOWN */, 1), ev(format.OpFcntl, ebadf, 5, unix.F_GETFL, 0),
		}},
		{"processes", []step{
			ev(format.OpWait4, 99, 1, 0, 0, 0), ev(format.OpClone, -int(unix.EAGAIN), 0), ev(format.OpExitGroup, int(noResult), 0),
		}},
	})
}

// step is an event with its recorded result, which a replay must have too.
type step struct {
	op   format.Op
	ret  int
	args []any
}

func ev(op format.Op, ret int, args ...any) step { return step{op, ret, args} }

type resultTest struct {
	name   string
	events []step
}

// results checks that each event of the tests has its result, with both ways of
// binding to the root, as any user. They start with a file d/f of 5000 bytes, a
// link l to it, and a link to nothing.
func results(t *testing.T, tests []resultTest) { resultsOn(t, nil, tests) }

// resultsOn is results on a kernel, nil for Linux.
func resultsOn(t *testing.T, k sandbox.Kernel, tests []resultTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) {
				r := replaykit.New(1)
				r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
				r.File(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o644, Size: 5000, Cached: -1})
				r.File(format.File{Path: "l", Type: format.TypeLnk, Target: "d/f"})
				r.File(format.File{Path: "dangling", Type: format.TypeLnk, Target: "nothing"})
				for _, e := range test.events {
					ret := int64(e.ret)
					if e.ret == noResult {
						ret = format.NoResult
					}
					r.Add(1, e.op, ret, e.args...)
				}
				before := roottest.OpenFiles(t)
				p.kernel = k
				_, res := p.play(t, r)
				faultless(t, r, res)
				require.LessOrEqual(t, roottest.OpenFiles(t), before, "descriptors left open")
			})
		})
	}
}

const noResult = 1 << 40

// A trace can hold anything. None of its events may panic, hang, or reach a descriptor
// that is not its own.
func TestForeignArguments(t *testing.T) {
	own, err := os.Create(filepath.Join(t.TempDir(), "own"))
	require.NoError(t, err)
	defer own.Close()
	values := []int64{-1 << 63, -1, 0, 1, int64(own.Fd()), 1 << 31, 1 << 62, 1<<63 - 1}
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.Str("a")
		r.Str("../../a")
		for op, how := range new(posix.Executor).Operations() {
			if !how.Plays || format.Op(op).Info().Class == format.ClassWrite {
				continue
			}
			switch format.Op(op) {
			case format.OpFtruncate, format.OpTruncate, format.OpFallocate:
				continue // end the run, by their limit
			}
			for _, v := range values {
				for k := range values {
					rec := format.Record{Op: format.Op(op), Ret: v, Args: [format.MaxArgs]int64{v, v, v, v, v, v}}
					rec.Args[k%format.MaxArgs] = values[len(values)-1-k]
					r.Threads[0].Records = append(r.Threads[0].Records, rec)
				}
			}
		}
		_, res := p.play(t, r)
		require.Equal(t, r.Len(1), res.Executed)
		_, err := own.WriteString("still open")
		require.NoError(t, err)
	})
}

// Numbers of the replay's own descriptors do no harm either: the replay runs to its end
// or reaches a limit.
func TestForeignArgumentsOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	values := []int64{-1 << 63, -1, 0, 1, 1 << 31, 1 << 62, 1<<63 - 1}
	eachBackend(t, func(t *testing.T, p player) {
		for op, how := range new(posix.Executor).Operations() {
			if !how.Plays || format.Op(op).Info().ArgIndex("fd") < 0 {
				continue
			}
			r := replaykit.New(1)
			r.Str("f")
			r.Str("user.a")
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1})
			r.Add(1, format.OpOpen, 0, "f", format.RDWR)
			r.Add(1, format.OpOpen, 1, "f", format.RDWR)
			for i := range format.MaxArgs {
				for _, v := range values {
					n := len(r.Threads[0].Records)
					rec := format.Record{Op: format.Op(op), Ret: values[n%len(values)]}
					for k := range rec.Args {
						rec.Args[k] = int64((n >> k) & 1)
					}
					rec.Args[i] = v
					r.Threads[0].Records = append(r.Threads[0].Records, rec)
				}
			}
			before := roottest.OpenFiles(t)
			res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 1 << 18}})
			if err != nil {
				require.ErrorIs(t, err, ErrLimit, format.Op(op).String())
			} else {
				require.Equal(t, r.Len(1), res.Executed)
			}
			require.LessOrEqual(t, roottest.OpenFiles(t), before, format.Op(op).String())
		}
	})
}
