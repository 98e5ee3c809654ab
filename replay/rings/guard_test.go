package rings

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// Only what the table has reaches the kernel.
func TestOnlyTable(t *testing.T) {
	each(t, kinds, Config{Entries: 4}, func(t *testing.T, k kind, q Queue) {
		fd, mem := file(t, 100), mapping(t, 4096)
		_, dir := directory(t)
		allowed := make(map[Op]bool)
		for op := range operationCases {
			allowed[op] = true
		}
		for i := range 256 {
			if op := Op(i); !allowed[op] {
				require.Equal(t, unix.EINVAL, q.Prepare(&Request{Op: op, FD: fd, Addr: addr(mem), Length: 1}), op)
			}
		}
		for _, c := range []struct {
			name string
			r    Request
			want unix.Errno
		}{
			{"selected buffer", Request{Op: OpRead, Flags: 1 << 5, FD: fd, Addr: addr(mem), Length: 1}, unix.EINVAL},
			{"no completion", Request{Op: OpNop, Flags: 1 << 6}, unix.EINVAL},
			{"flags of a read", Request{Op: OpRead, OpFlags: 1 << 20, FD: fd, Addr: addr(mem), Length: 1}, unix.EINVAL},
			{"whiteout", Request{Op: OpRenameat, OpFlags: unix.RENAME_WHITEOUT, FD: dir, Path: name("a"), NewFD: dir, NewPath: name("b")}, unix.EINVAL},
			{"no descriptor", Request{Op: OpFsync, FD: -1}, unix.EBADF},
			{"working directory", Request{Op: OpFsync, FD: unix.AT_FDCWD}, unix.EBADF},
			{"long vector", Request{Op: OpReadv, FD: fd, Vector: make([]unix.Iovec, 1025)}, unix.EINVAL},
			{"no path", Request{Op: OpUnlinkat, FD: dir}, unix.ENAMETOOLONG},
			{"long path", Request{Op: OpUnlinkat, FD: dir, Path: name(strings.Repeat("x", 4096))}, unix.ENAMETOOLONG},
			{"registered directory", Request{Op: OpUnlinkat, Flags: FixedFile, FD: 0, Path: name("x")}, unix.EINVAL},
			{"open in the working directory", Request{Op: OpOpenat, FD: unix.AT_FDCWD, Path: name("x")}, unix.EBADF},
			{"to the working directory", Request{Op: OpRenameat, FD: dir, Path: name("a"), NewFD: unix.AT_FDCWD, NewPath: name("b")}, unix.EBADF},
			{"absolute path", Request{Op: OpUnlinkat, FD: dir, Path: name("/x")}, unix.EXDEV},
			{"parent", Request{Op: OpStatx, FD: dir, Path: name(".."), OpFlags: unix.AT_SYMLINK_NOFOLLOW}, unix.EXDEV},
			{"path in a directory", Request{Op: OpMkdirat, FD: dir, Path: name("a/b")}, unix.EXDEV},
			{"new path in a directory", Request{Op: OpRenameat, FD: dir, Path: name("a"), NewFD: dir, NewPath: name("../b")}, unix.EXDEV},
			{"place of a link", Request{Op: OpSymlinkat, FD: dir, Path: name("x"), NewPath: name("../b")}, unix.EXDEV},
			{"followed by statx", Request{Op: OpStatx, FD: dir, Path: name("x")}, unix.EXDEV},
			{"followed by linkat", Request{Op: OpLinkat, FD: dir, Path: name("a"), OpFlags: unix.AT_SYMLINK_FOLLOW, NewFD: dir, NewPath: name("b")}, unix.EXDEV},
		} {
			if !k.plays(c.r.Op, c.r.Flags) {
				c.want = unix.EINVAL
			}
			require.Equal(t, c.want, q.Prepare(&c.r), c.name)
		}
		n, err := q.Submit(1)
		require.NoError(t, err)
		require.Zero(t, n)
		// A descriptor itself has an empty path.
		if k.plays(OpStatx, 0) {
			require.Zero(t, one(t, q, Request{Op: OpStatx, FD: fd, Path: name(""), OpFlags: unix.AT_EMPTY_PATH}))
		}
	})
}

// ways are those in which a ring executes a request: at once, by a thread of the
// kernel, by the thread that polls; and a pool does.
var ways = []struct {
	name  string
	flags Flags
	kind  kind
}{
	{"at once", 0, kinds[0]},
	{"by io-wq", Async, kinds[0]},
	{"polled", 0, kinds[3]},
	{"threads", 0, kinds[5]},
}

// A queue stays in the root that its thread is bound to, whichever thread executes a
// request.
func TestStaysInRoot(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			roottest.EachBinding(t, func(t *testing.T, jail bool) {
				base, secret := roottest.Outside(t)
				before, err := os.Lstat(secret)
				require.NoError(t, err)
				root := filepath.Join(base, "root")
				require.NoError(t, os.Mkdir(root, 0o700))
				require.NoError(t, os.Symlink(secret, filepath.Join(root, "absolute")))
				require.NoError(t, os.Symlink("../secret", filepath.Join(root, "relative")))
				require.NoError(t, os.Symlink("/inside", filepath.Join(root, "good")))
				require.NoError(t, os.WriteFile(filepath.Join(root, "inside"), nil, 0o600))
				fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				require.NoError(t, err)
				defer unix.Close(fd)

				defer roottest.Unharmed(t, base, before)
				t.Run("bound", func(t *testing.T) { staysInRoot(t, way.kind, way.flags, int32(fd), secret, jail) })
			})
		})
	}
}

// staysInRoot runs on a thread of its own.
func staysInRoot(t *testing.T, k kind, flags Flags, root int32, secret string, jail bool) {
	runtime.LockOSThread() // for good
	guard := sandbox.Guard{Kernel: scheduled, Root: uintptr(root)}
	require.NoError(t, guard.Enter(jail))
	defer guard.Close()
	q := opened(t, k, Config{Entries: 4, Depth: 1, Jailed: guard.Jailed(), Enter: func() error {
		of := guard
		return of.Enter(jail)
	}})
	dir := root
	if jail {
		dir = unix.AT_FDCWD
	}
	for _, path := range []string{"absolute", "relative", "../secret", "/../secret", secret, "/proc/self/root/" + secret} {
		for _, how := range []uint32{unix.O_RDONLY, unix.O_RDWR | unix.O_TRUNC} {
			got := one(t, q, Request{Op: OpOpenat, Flags: flags, FD: dir, Path: name(path), OpFlags: how})
			require.Equal(t, -int64(unix.ENOENT), got, path)
		}
	}
	for _, path := range []string{"good", "/inside", "../inside"} {
		got := one(t, q, Request{Op: OpOpenat, Flags: flags, FD: dir, Path: name(path)})
		require.Positive(t, got, path)
		require.Zero(t, one(t, q, Request{Op: OpClose, Flags: flags, FD: int32(got)}))
	}
	if jail {
		for _, op := range []Op{OpUnlinkat, OpStatx} {
			got := one(t, q, Request{Op: op, Flags: flags, FD: dir, Path: name("../secret")})
			require.Equal(t, -int64(unix.ENOENT), got, op)
		}
	}
}

// Landlock confines requests, too: it is a second wall where the first fails.
func TestLandlock(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			base, secret := roottest.Outside(t)
			before, err := os.Lstat(secret)
			require.NoError(t, err)
			root := filepath.Join(base, "root")
			require.NoError(t, os.Mkdir(root, 0o700))
			fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(fd)

			defer roottest.Unharmed(t, base, before)
			t.Run("bound", func(t *testing.T) { obeysLandlock(t, way.kind, way.flags, int32(fd), secret) })
		})
	}
}

// obeysLandlock runs on a thread of its own, which has no jail although the
// queue is told so.
func obeysLandlock(t *testing.T, k kind, flags Flags, root int32, secret string) {
	runtime.LockOSThread() // for good
	guard := sandbox.Guard{Kernel: scheduled, Root: uintptr(root), Landlock: true}
	if err := guard.Enter(false); err != nil {
		t.Skip(err)
	}
	defer guard.Close()
	q := opened(t, k, Config{Entries: 4, Depth: 1, Jailed: true, Enter: func() error {
		of := guard
		return of.Enter(false)
	}})
	for op, how := range map[Op]uint32{OpOpenat: unix.O_RDONLY, OpUnlinkat: 0} {
		got := one(t, q, Request{Op: op, Flags: flags, FD: unix.AT_FDCWD, Path: name(secret), OpFlags: how})
		require.Equal(t, -int64(unix.EACCES), got, op)
	}
	got := one(t, q, Request{Op: OpOpenat, Flags: flags, FD: root, Path: name("f"), OpFlags: unix.O_CREAT | unix.O_RDWR, Mode: 0o600})
	require.Positive(t, got)
	require.Zero(t, one(t, q, Request{Op: OpClose, FD: int32(got)}))
}
