package replay

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

func TestInodes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	const eperm, nofollow = -int(unix.EPERM), format.AtSymlinkNofollow
	results(t, []resultTest{
		{"chmod", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpOpen, 4, "d/f", format.RDONLY|format.PATH),
			ev(format.OpChmod, 0, "l", 0o600), ev(format.OpChmod, enoent, "dangling", 0o600), ev(format.OpChmod, efault, -1, 0), ev(format.OpChmod, 0, "d", 0o700),
			ev(format.OpFchmod, 0, 3, 0o4777), ev(format.OpFchmod, ebadf, 4, 0), ev(format.OpFchmod, ebadf, 9, 0),
		}},
		{"chown", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpOpen, 4, "d/f", format.RDONLY|format.PATH),
			ev(format.OpChown, 0, "l", 4711, 4712), ev(format.OpChown, eperm, "l", 0, 0), ev(format.OpChown, enoent, "dangling", 0, 0), ev(format.OpChown, efault, -1, 0, 0),
			ev(format.OpLchown, 0, "dangling", 0, 0), ev(format.OpLchown, eperm, "dangling", 0, 0), ev(format.OpLchown, enoent, "none", 0, 0),
			ev(format.OpFchown, 0, 3, 1, 1), ev(format.OpFchown, eperm, 3, 1, 1), ev(format.OpFchown, ebadf, 4, 1, 1), ev(format.OpFchown, ebadf, 9, 1, 1),
		}},
		{"times", []step{
			ev(format.OpOpen, 3, "d/f", format.RDONLY), ev(format.OpUtimens, 0, "l", 0, 0), ev(format.OpUtimens, 0, "d", 77, 0),
			ev(format.OpUtimens, enoent, "dangling", 0, 0), ev(format.OpUtimens, 0, "dangling", 0, nofollow), ev(format.OpUtimens, enoent, "none", 0, nofollow),
			ev(format.OpUtimens, efault, -1, 0, 0), ev(format.OpUtimens, efault, -1, 0, nofollow), ev(format.OpFutimens, 0, 3, 0), ev(format.OpFutimens, ebadf, 9, 0),
		}},
		{"mknod", []step{
			ev(format.OpMknod, 0, "reg", unix.S_IFREG|0o640, 0), ev(format.OpMknod, eexist, "reg", 0o640, 0), ev(format.OpMknod, 0, "zero", 0o640, 0),
			ev(format.OpMknod, 0, "chr", unix.S_IFCHR|0o600, 0x103), ev(format.OpMknod, eperm, "denied", unix.S_IFBLK|0o600, 0x103), ev(format.OpLstat, enoent, "denied", 0),
			ev(format.OpMknod, 0, "fifo", unix.S_IFIFO|0o600, 0), ev(format.OpOpen, 3, "fifo", format.RDONLY), ev(format.OpMknod, 0, "sock", unix.S_IFSOCK|0o600, 0),
			ev(format.OpMknod, eperm, "dir", unix.S_IFDIR|0o600, 0), ev(format.OpMknod, einval, "lnk", unix.S_IFLNK|0o600, 0), ev(format.OpMknod, enoent, "none/a", 0, 0),
			ev(format.OpUnlink, 0, "fifo"), ev(format.OpMknod, efault, -1, 0, 0),
			ev(format.OpBind, 0, 900, "bound", 110), ev(format.OpBind, -int(unix.EADDRINUSE), 900, "bound", 110), ev(format.OpLstat, 0, "bound", 0),
			ev(format.OpBind, enoent, 900, "none/a", 110), ev(format.OpBind, efault, 900, -1, 110), ev(format.OpUnlink, 0, "bound"),
		}},
		{"file systems", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), ev(format.OpStatfs, 0, "l", 0), ev(format.OpStatfs, enoent, "dangling", 0), ev(format.OpStatfs, efault, -1, 0),
			ev(format.OpFstatfs, 0, 3, 0), ev(format.OpFstatfs, ebadf, 9, 0),
			ev(format.OpSync, 0), ev(format.OpSyncfs, 0, 3), ev(format.OpSyncfs, ebadf, 9), ev(format.OpSyncFileRange, 0, 3, 0, 4096, 7), ev(format.OpSyncFileRange, einval, 3, -1, 4096, 7),
			ev(format.OpMsync, 0, 0, 4096, 4), ev(format.OpMsync, -int(unix.ENOMEM), 0, 4096, 4), ev(format.OpSyncFileRange, ebadf, 9, 0, 4096, 7),
			ev(format.OpFadvise64, 0, 3, 0, 0, 4), ev(format.OpFadvise64, einval, 3, 0, 0, 77), ev(format.OpFadvise64, einval, 3, 0, -1, 0), ev(format.OpFadvise64, ebadf, 9, 0, 0, 4),
			ev(format.OpReadahead, 0, 3, 0, 1<<40), ev(format.OpReadahead, ebadf, 9, 0, 4096),
		}},
		{"flock", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), ev(format.OpOpen, 4, "d/f", format.RDONLY), ev(format.OpDup, 5, 3),
			ev(format.OpFlock, 0, 3, unix.LOCK_EX), ev(format.OpFlock, 0, 5, unix.LOCK_EX), ev(format.OpFlock, -int(unix.EAGAIN), 4, unix.LOCK_SH|unix.LOCK_NB),
			ev(format.OpFlock, -int(unix.EDEADLK), 4, unix.LOCK_SH), ev(format.OpFlock, 0, 5, unix.LOCK_UN), ev(format.OpFlock, 0, 4, unix.LOCK_SH), ev(format.OpFlock, 0, 3, unix.LOCK_SH),
			ev(format.OpFlock, -int(unix.EAGAIN), 3, unix.LOCK_EX|unix.LOCK_NB), ev(format.OpFlock, einval, 3, 99), ev(format.OpFlock, einval, 3, -1), ev(format.OpFlock, ebadf, 9, unix.LOCK_SH),
		}},
		{"memory", []step{
			ev(format.OpBrk, 1<<30, 0), ev(format.OpMmap, 1<<33, 0, 1<<50, 3, format.MapAnonymous|2, -1, 0), ev(format.OpMunmap, 0, 0, 1<<50), ev(format.OpMremap, -int(unix.ENOMEM), 0, 1, 1<<60, 1, 0),
			ev(format.OpMadvise, einval, 0, 4096, 99), ev(format.OpUnshare, eperm, format.CloneFiles), ev(format.OpUnshare, 0, format.CloneFS|format.CloneFiles),
		}},
	})
}

// A trace cannot do this to inodes: use an owner's rights, give files away, create
// files other than regular ones, or give others access to the root.
func TestInodesStayHarmless(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
		r.File(format.File{Path: "up", Type: format.TypeLnk, Target: ".."})
		r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
		r.Add(1, format.OpChmod, 0, "f", 0o6755)
		r.Add(1, format.OpChown, 0, "f", 4711, 4711)
		r.Add(1, format.OpMknod, 0, "null", unix.S_IFCHR|0o4666, 0x103)
		r.Add(1, format.OpOpen, 3, ".", format.RDONLY)
		r.Add(1, format.OpFchmod, 0, 3, 0o777)
		for _, p := range []string{".", "/", "..", "up", "d/..", "d/../up/."} {
			r.Add(1, format.OpChmod, 0, p, 0)
		}
		r.Add(1, format.OpChmod, 0, "d", 0) // and yet it is removed in the end
		dir, res := p.play(t, r)
		faultless(t, r, res)
		stat := func(name string) *syscall.Stat_t {
			info, err := os.Lstat(filepath.Join(dir, name))
			require.NoError(t, err)
			return info.Sys().(*syscall.Stat_t)
		}
		require.EqualValues(t, unix.S_IFREG|0o755, stat("f").Mode)
		require.EqualValues(t, os.Geteuid(), stat("f").Uid)
		require.EqualValues(t, unix.S_IFREG|0o666, stat("null").Mode)
		require.EqualValues(t, unix.S_IFDIR|0o700, stat(".").Mode)
		require.EqualValues(t, unix.S_IFDIR, stat("d").Mode)

		again := filepath.Join(t.TempDir(), "root")
		for _, dir := range []string{dir, again} {
			res, err := p.run(t.Context(), t, r, Options{Root: dir, Timing: AFAP})
			require.NoError(t, err)
			faultless(t, r, res)
		}
		require.NoDirExists(t, again)
	})
}

// A stop ends the wait for a lock.
func TestFlockIsInterrupted(t *testing.T) {
	r := replaykit.New(2)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	locked := r.Add(1, format.OpFlock, 0, 3, unix.LOCK_EX)
	r.Wait(2, 1, locked)
	r.Add(2, format.OpOpen, 4, "f", format.RDWR)
	r.Add(2, format.OpFlock, 0, 4, unix.LOCK_EX)
	r.Add(1, format.OpRmdir, 0, "none") // ends a strict run
	r.Last(1).Compute = 30_000_000
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Strict: true})
	require.ErrorIs(t, err, ErrDiffers)
}

// A lock that another thread gives back is waited for.
func TestFlockWaits(t *testing.T) {
	r := replaykit.New(2)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	locked := r.Add(1, format.OpFlock, 0, 3, unix.LOCK_EX)
	r.Wait(2, 1, locked)
	r.Add(2, format.OpOpen, 4, "f", format.RDWR)
	r.Add(2, format.OpFlock, 0, 4, unix.LOCK_EX)
	r.Add(1, format.OpClose, 0, 3)
	r.Last(1).Compute = 20_000_000
	res, err := Run(t.Context(), r, Options{Root: t.TempDir()})
	require.NoError(t, err)
	faultless(t, r, res)
}

// A call that got a lock without waiting returned before the call that had
// given it up. It waits for the lock; one that was refused does not.
func TestLocksAreGivenUpLate(t *testing.T) {
	for _, op := range []struct {
		call          format.Op
		take, refused []any
	}{
		{format.OpFlock, []any{4, unix.LOCK_EX | unix.LOCK_NB}, []any{4, unix.LOCK_SH | unix.LOCK_NB}},
		{format.OpFcntl, []any{4, format.FOfdSetlk, 0, unix.F_WRLCK, 0, 0}, []any{4, format.FOfdSetlk, 0, unix.F_RDLCK, 0, 0}},
	} {
		t.Run(op.call.String(), func(t *testing.T) {
			r := replaykit.New(2)
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			taken := append([]any{3}, op.take[1:]...)
			locked := r.Add(1, op.call, 0, taken...)
			r.Wait(2, 1, locked)
			r.Add(2, format.OpOpen, 4, "f", format.RDWR)
			refused := r.Add(2, op.call, -int64(unix.EAGAIN), op.refused...)
			r.Wait(1, 2, refused)
			r.Add(1, format.OpClose, 0, 3)
			r.Last(1).Compute = 20_000_000
			r.Add(2, op.call, 0, op.take...)
			res, err := Run(t.Context(), r, Options{Root: t.TempDir()})
			require.NoError(t, err)
			faultless(t, r, res)
		})
	}
}

// Locks of a process are its own: two descriptors of it don't exclude one
// another, the close of either gives them up, and a child has none of them.
// They exclude other processes.
func TestLocksOfProcesses(t *testing.T) {
	set := func(r *replaykit.Trace, thread int32, ret, fd, kind int) int64 {
		return r.Add(thread, format.OpFcntl, int64(ret), fd, format.FSetlk, 0, kind, 0, 10)
	}
	for _, threads := range []int{1, 2} { // of the first process
		r := replaykit.New(threads)
		for i := range r.Head.Threads {
			r.Head.Threads[i].Process = 1
		}
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		r.Add(1, format.OpOpen, 4, "f", format.RDWR)
		set(r, 1, 0, 3, unix.F_WRLCK)
		set(r, 1, 0, 4, unix.F_WRLCK)
		child := r.Child(2, 1)
		made := r.Add(1, format.OpClone, int64(child), 17)
		r.Wait(child, 1, made)
		refused := set(r, child, -int(unix.EAGAIN), 3, unix.F_RDLCK)
		r.Wait(1, child, refused)
		closed := r.Add(1, format.OpClose, 0, 4)
		r.Wait(child, 1, closed)
		set(r, child, 0, 3, unix.F_WRLCK)
		res, err := Run(t.Context(), r, Options{Root: t.TempDir()})
		require.NoError(t, err)
		faultless(t, r, res)
	}
}

// A link that comes to lead to the root while its mode is being changed changes
// nothing about the root.
func TestRootKeepsItsMode(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(2)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
		r.File(format.File{Path: "self", Type: format.TypeLnk, Target: "."})
		for range 5000 {
			r.Add(1, format.OpRenameat2, 0, format.AtFDCWD, "f", format.AtFDCWD, "self", format.RenameExchange)
			r.Add(2, format.OpChmod, 0, "f", 0o777)
		}
		dir, res := p.play(t, r)
		faultless(t, r, res)
		var s unix.Stat_t
		require.NoError(t, unix.Stat(dir, &s))
		require.EqualValues(t, unix.S_IFDIR|0o700, s.Mode)
	})
}
