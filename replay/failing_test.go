package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// errorsRoll is a trace of processes that open, lock and map files, and fork.
func errorsRoll(sharing bool) *replaykit.Trace {
	threads := 1
	if sharing {
		threads = 2
	}
	r := replaykit.New(threads)
	if sharing {
		r.Head.Set(format.MetaSharing, "1")
	}
	r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
	r.File(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o644, Size: 40960, Cached: -1})
	r.Head.Descriptors = []format.Descriptor{{Process: 1, FD: 9, Path: "d/f", Flags: format.RDWR, Offset: 10}, {Process: 1, FD: 8, Path: "d/f", Flags: format.RDWR, Offset: 10}}
	child := r.Child(2, 1)
	if sharing {
		r.Child(2, child)
	}
	r.Add(1, format.OpOpen, 3, "d//f", format.RDWR)
	r.Add(1, format.OpDup, 4, 3)
	r.Add(1, format.OpOpen, 5, "d/f", format.RDONLY|format.CLOEXEC)
	r.Add(1, format.OpMmap, int64(on(1)), 0, 40960, readWrite, private, 3, 0)
	r.Add(1, format.OpMapRead, 4096, on(2), 4096, 0)
	r.Add(1, format.OpMapWrite, 4096, on(3), 4096, 0)
	r.Add(1, format.OpMunmap, 0, on(5), 4096)
	r.Add(1, format.OpMapRead, 4096, on(6), 4096, 0)
	r.Add(1, format.OpMprotect, 0, on(7), 4096, read)
	r.Add(1, format.OpMadvise, 0, on(8), 4096, unix.MADV_RANDOM)
	r.Add(1, format.OpMmap, int64(on(20)), 0, 8192, readWrite, shared, 3, 0)
	r.Add(1, format.OpMremap, int64(on(20)), on(20), 8192, 16384, 0)
	r.Add(1, format.OpMremap, int64(on(30)), on(20), 16384, 8192, 1)
	r.Add(1, format.OpMsync, 0, on(30), 4096, 4)
	r.Add(1, format.OpFcntl, 0, 3, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.Add(1, format.OpFcntl, 0, 3, format.FSetlk, format.SeekCur, unix.F_WRLCK, 20, 10)
	forked := r.Add(1, format.OpClone, int64(child), 0)
	r.Wait(child, 1, forked)
	r.Add(child, format.OpPread64, 100, 4, 0, 100, 0)
	r.Add(child, format.OpMapRead, 4096, on(30), 4096, 0)
	r.Add(child, format.OpMunmap, 0, on(30), 4096)
	r.Add(child, format.OpOpen, 6, "d/f", format.RDWR)
	r.Add(child, format.OpFcntl, -int64(unix.EAGAIN), 6, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.Add(child, format.OpExecve, 0, "d/f")
	r.Add(child, format.OpMmap, int64(on(1)), 0, 4096, read, shared, 4, 0)
	r.Add(child, format.OpMapRead, 4096, on(1), 4096, 0)
	exit := r.Add(child, format.OpExitGroup, 0, 0)
	if sharing {
		r.Add(child+1, format.OpExit, 0, 0)
		r.Wait(1, child+1, 0)
	}
	r.Wait(1, child, exit)
	r.Add(1, format.OpClose, 0, 3)
	r.Add(1, format.OpCloseRange, 0, 4, 5, 0)
	r.Add(1, format.OpFcntl, 0, 9, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.Add(1, format.OpExitGroup, 0, 0)
	return r
}

// silent are the functions that continue without a call, with the reason why the replay is
// correct.
var silent = map[string]string{
	"inMemory":    "files count as in memory, which lowers limits",
	"canPopulate": "pages are read and written instead",
}

// isSilent reports whether the replay is correct without the refused call.
func isSilent(f *replaykit.Failing) bool {
	if f.Nr == unix.SYS_CLOSE { // the descriptor is closed, and an event's result differs
		return true
	}
	for name := range silent {
		if strings.Contains(f.Callers(), name) {
			return true
		}
	}
	return false
}

// If any call of a replay fails, the replay shows it by an error, a difference or a
// note. It ends, and leaves no descriptor open.
func TestEachFailureShows(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of replays")
	}
	for _, sharing := range []bool{false, true} {
		t.Run(fmt.Sprintf("sharing=%v", sharing), func(t *testing.T) {
			eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
				r := errorsRoll(sharing)
				play := func(t *testing.T, f *replaykit.Failing) (*Result, error) {
					f.Under = sandbox.Linux
					dir, err := os.MkdirTemp(t.TempDir(), "")
					require.NoError(t, err)
					return run(t.Context(), r, Options{Root: filepath.Join(dir, "root"), Timing: AFAP, faulty: f.Call}, bind)
				}
				whole := new(replaykit.Failing)
				res, err := play(t, whole)
				require.NoError(t, err)
				faultless(t, r, res)
				usual, before := res.Notes, roottest.OpenFiles(t)
				for nr, calls := range whole.Calls {
					for n := 1; n <= calls; n++ {
						t.Run(fmt.Sprintf("call=%d/n=%d", nr, n), func(t *testing.T) {
							f := &replaykit.Failing{Nr: uintptr(nr), N: n, Errno: unix.EIO}
							res, err := play(t, f)
							require.LessOrEqual(t, roottest.OpenFiles(t), before, "descriptors stay open")
							switch {
							case f.Calls[nr] < n || err != nil:
							case isSilent(f):
							default:
								require.True(t, res.Differed+res.Failed > 0 || !slices.Equal(res.Notes, usual), "nothing shows the failure of %s", f.Callers())
							}
						})
					}
				}
			})
		})
	}
}
