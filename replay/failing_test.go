package replay

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/internal/spin"
	"pianola/replay/sandbox"
)

// failing is a kernel that refuses one call: the nth of a number, or all if n is 0. Pinned
// workers make the calls, so it waits for nothing in Go.
type failing struct {
	under sandbox.Kernel
	nr    uintptr
	n     int
	errno unix.Errno

	spin.Lock
	calls [1024]int   // by number
	where [12]uintptr // the functions that made the refused call
}

func (f *failing) call(nr, a, b, c, d, e, g uintptr) int64 {
	f.Take()
	f.calls[nr]++
	refused := nr == f.nr && (f.n == 0 || f.calls[nr] == f.n)
	if refused {
		runtime.Callers(2, f.where[:])
	}
	f.Give()
	if refused && nr != unix.SYS_CLOSE { // a failed close has closed
		return -int64(f.errno)
	}
	got := f.under(nr, a, b, c, d, e, g)
	if refused {
		return -int64(f.errno)
	}
	return got
}

// callers names the functions that made the refused call.
func (f *failing) callers() string {
	var names []string
	frames := runtime.CallersFrames(f.where[:])
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		names = append(names, path.Base(frame.Function))
	}
	return strings.Join(names, " < ")
}

// errorsRoll is a trace of processes that open, lock and map files, and fork.
func errorsRoll(sharing bool) *roll {
	threads := 1
	if sharing {
		threads = 2
	}
	r := newRoll(threads)
	if sharing {
		r.header.Set(format.MetaSharing, "1")
	}
	r.file(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
	r.file(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o644, Size: 40960, Cached: -1})
	r.header.Descriptors = []format.Descriptor{{Process: 1, FD: 9, Path: "d/f", Flags: format.RDWR, Offset: 10}, {Process: 1, FD: 8, Path: "d/f", Flags: format.RDWR, Offset: 10}}
	child := r.child(2, 1)
	if sharing {
		r.child(2, child)
	}
	r.add(1, format.OpOpen, 3, "d//f", format.RDWR)
	r.add(1, format.OpDup, 4, 3)
	r.add(1, format.OpOpen, 5, "d/f", format.RDONLY|format.CLOEXEC)
	r.add(1, format.OpMmap, int64(on(1)), 0, 40960, readWrite, private, 3, 0)
	r.add(1, format.OpMapRead, 4096, on(2), 4096, 0)
	r.add(1, format.OpMapWrite, 4096, on(3), 4096, 0)
	r.add(1, format.OpMunmap, 0, on(5), 4096)
	r.add(1, format.OpMapRead, 4096, on(6), 4096, 0)
	r.add(1, format.OpMprotect, 0, on(7), 4096, read)
	r.add(1, format.OpMadvise, 0, on(8), 4096, unix.MADV_RANDOM)
	r.add(1, format.OpMmap, int64(on(20)), 0, 8192, readWrite, shared, 3, 0)
	r.add(1, format.OpMremap, int64(on(20)), on(20), 8192, 16384, 0)
	r.add(1, format.OpMremap, int64(on(30)), on(20), 16384, 8192, 1)
	r.add(1, format.OpMsync, 0, on(30), 4096, 4)
	r.add(1, format.OpFcntl, 0, 3, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.add(1, format.OpFcntl, 0, 3, format.FSetlk, format.SeekCur, unix.F_WRLCK, 20, 10)
	forked := r.add(1, format.OpClone, int64(child), 0)
	r.wait(child, 1, forked)
	r.add(child, format.OpPread64, 100, 4, 0, 100, 0)
	r.add(child, format.OpMapRead, 4096, on(30), 4096, 0)
	r.add(child, format.OpMunmap, 0, on(30), 4096)
	r.add(child, format.OpOpen, 6, "d/f", format.RDWR)
	r.add(child, format.OpFcntl, -int64(unix.EAGAIN), 6, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.add(child, format.OpExecve, 0, "d/f")
	r.add(child, format.OpMmap, int64(on(1)), 0, 4096, read, shared, 4, 0)
	r.add(child, format.OpMapRead, 4096, on(1), 4096, 0)
	exit := r.add(child, format.OpExitGroup, 0, 0)
	if sharing {
		r.add(child+1, format.OpExit, 0, 0)
		r.wait(1, child+1, 0)
	}
	r.wait(1, child, exit)
	r.add(1, format.OpClose, 0, 3)
	r.add(1, format.OpCloseRange, 0, 4, 5, 0)
	r.add(1, format.OpFcntl, 0, 9, format.FSetlk, format.SeekSet, unix.F_WRLCK, 0, 10)
	r.add(1, format.OpExitGroup, 0, 0)
	return r
}

// silent are the functions that go on without a call, with the reason why the replay is
// right.
var silent = map[string]string{
	"inMemory": "files count as in memory, which lowers limits",
}

// isSilent reports whether the replay is right without the refused call.
func (f *failing) isSilent() bool {
	if f.nr == unix.SYS_CLOSE { // the descriptor is closed, and an event's result differs
		return true
	}
	for name := range silent {
		if strings.Contains(f.callers(), name) {
			return true
		}
	}
	return false
}

// Whichever call of a replay fails, the replay says so, by an error, a difference or a
// note. It ends, and leaves no descriptor open.
func TestEachFailureShows(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of replays")
	}
	for _, sharing := range []bool{false, true} {
		t.Run(fmt.Sprintf("sharing=%v", sharing), func(t *testing.T) {
			eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
				r := errorsRoll(sharing)
				play := func(t *testing.T, f *failing) (*Result, error) {
					f.under = sandbox.Linux
					dir, err := os.MkdirTemp(t.TempDir(), "")
					require.NoError(t, err)
					return run(t.Context(), r, Options{Root: filepath.Join(dir, "root"), Timing: AFAP, faulty: f.call}, bind)
				}
				whole := new(failing)
				res, err := play(t, whole)
				require.NoError(t, err)
				faultless(t, r, res)
				usual, before := res.Notes, roottest.OpenFiles(t)
				for nr, calls := range whole.calls {
					for n := 1; n <= calls; n++ {
						t.Run(fmt.Sprintf("call=%d/n=%d", nr, n), func(t *testing.T) {
							f := &failing{nr: uintptr(nr), n: n, errno: unix.EIO}
							res, err := play(t, f)
							require.LessOrEqual(t, roottest.OpenFiles(t), before, "descriptors stay open")
							switch {
							case f.calls[nr] < n || err != nil:
							case f.isSilent():
							default:
								require.True(t, res.Differed+res.Failed > 0 || !slices.Equal(res.Notes, usual), "nothing shows the failure of %s", f.callers())
							}
						})
					}
				}
			})
		})
	}
}
