package replay

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// outside is a directory with a file that no replay may find, change or remove.
func outside(t *testing.T) (base, secret string) {
	base = t.TempDir()
	secret = filepath.Join(base, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(base, "dir"), 0o755))
	return base, secret
}

// unharmed wants nothing of it to have changed.
func unharmed(t *testing.T, base string, before os.FileInfo) {
	t.Helper()
	secret := filepath.Join(base, "secret")
	b, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "canary", string(b))
	after, err := os.Lstat(secret)
	require.NoError(t, err)
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	require.Equal(t, was.Ctim, is.Ctim) // of any change of the file
	require.Equal(t, was.Nlink, is.Nlink)
}

// No way leads out of the root: each that would names nothing, or something
// inside.
func TestGuard(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		base, secret := outside(t)
		r := newRoll(1)
		r.file(format.File{Path: "in", Type: format.TypeDir, Mode: 0o755})
		for name, target := range map[string]string{
			"absolute": secret, "up": "../secret", "far": "../../../../../../../.." + secret,
			"outer": base, "magic": "/proc/self/root" + secret, "fd": "/proc/self/fd/0",
		} {
			r.file(format.File{Path: "in/" + name, Type: format.TypeLnk, Target: target})
		}
		paths := []string{
			secret, "../secret", "in/../../secret", "/../secret", "in/absolute", "in/up", "in/far", "in/outer/secret", "in/outer/./secret",
			"in/magic", "in/fd", "in/outer/", "in/outer/..//secret", "/proc/self/root" + secret, "//" + secret, "in/absolute/", "in/up/",
		}
		const enoent = -int64(unix.ENOENT)
		for _, p := range paths {
			r.add(1, format.OpOpen, enoent, p, format.RDONLY)
			r.add(1, format.OpOpen, enoent, p, format.WRONLY|format.TRUNC)
			r.add(1, format.OpOpen, enoent, p, format.RDONLY|format.PATH)
			r.add(1, format.OpStat, enoent, p, 0)
			r.add(1, format.OpStatx, enoent, format.AtFDCWD, p, 0, 0xfff, 0)
			r.add(1, format.OpAccess, enoent, p, 0)
			r.add(1, format.OpTruncate, enoent, p, 0)
			r.add(1, format.OpChmod, enoent, p, 0o777)
			r.add(1, format.OpChown, enoent, p, 4711, 4711)
			r.add(1, format.OpUtimens, enoent, p, 0, 0)
			r.add(1, format.OpStatfs, enoent, p, 0)
			r.add(1, format.OpSetxattr, enoent, p, "user.a", 0, 10, 0)
			r.add(1, format.OpGetxattr, enoent, p, "user.a", 0, 10)
			r.add(1, format.OpListxattr, enoent, p, 0, 10)
			r.add(1, format.OpRemovexattr, enoent, p, "user.a")
			r.add(1, format.OpSetxattr, 0, p, "trusted.a", 0, 10, 0)
		}
		for _, p := range []string{secret, "../secret", "in/../../secret", "/../secret", "in/outer/secret", "in/outer/../secret", "//" + secret} {
			r.add(1, format.OpLstat, enoent, p, 0)
			r.add(1, format.OpUnlink, enoent, p)
			r.add(1, format.OpRmdir, enoent, p)
			r.add(1, format.OpReadlink, enoent, p, 0, 100)
			r.add(1, format.OpLchown, enoent, p, 4711, 4711)
			r.add(1, format.OpUtimens, enoent, p, 0, format.AtSymlinkNofollow)
			r.add(1, format.OpLsetxattr, enoent, p, "user.a", 0, 10, 0)
			r.add(1, format.OpLgetxattr, enoent, p, "user.a", 0, 10)
			r.add(1, format.OpLlistxattr, enoent, p, 0, 10)
			r.add(1, format.OpLremovexattr, enoent, p, "user.a")
			r.add(1, format.OpRename, enoent, p, "in/taken")
			r.add(1, format.OpLink, enoent, p, "in/taken")
			r.add(1, format.OpRenameat2, enoent, format.AtFDCWD, "in/up", format.AtFDCWD, p, format.RenameExchange)
		}
		// What makes something makes it inside, or nowhere.
		for i, p := range []string{"../new", "in/../../new", "/new", "..", "."} {
			ret := -int64(unix.EEXIST)
			if i == 0 {
				ret = 0
			}
			r.add(1, format.OpMkdir, ret, p, 0o755)
		}
		r.add(1, format.OpOpenm, 5, "../made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpWrite, 4, 5, 0, 4)
		r.add(1, format.OpMknod, 0, "../node", unix.S_IFREG|0o644, 0)
		r.add(1, format.OpBind, 0, 3, "../socket", 110)
		r.add(1, format.OpRmdir, 0, "new")
		info, err := os.Lstat(secret)
		require.NoError(t, err)

		root := filepath.Join(base, "root")
		res, err := p.run(t.Context(), t, r, Options{Root: root, Timing: AFAP, Keep: true})
		require.NoError(t, err)
		faultless(t, r, res)
		unharmed(t, base, info)
		names, err := filepath.Glob(base + "/*")
		require.NoError(t, err)
		require.Equal(t, []string{base + "/dir", root, secret}, names)
		require.FileExists(t, filepath.Join(root, "made"))
		require.FileExists(t, filepath.Join(root, "node"))
	})
}

// A fileset is no more trusted than events: it can't be built outside.
func TestGuardedPreparation(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		base, secret := outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		for _, f := range []format.File{
			{Path: "out/new", Type: format.TypeReg, Size: 1}, {Path: "out/new", Type: format.TypeDir, Mode: 0o777}, {Path: "out/new", Type: format.TypeLnk, Target: "x"},
			{Path: "own", Type: format.TypeReg, Link: "out/secret"}, {Path: "out/dir", Type: format.TypeDir, Mode: 0o777},
		} {
			r := newRoll(1)
			r.file(format.File{Path: "out", Type: format.TypeLnk, Target: base})
			r.file(f)
			_, err := p.run(t.Context(), t, r, Options{Root: filepath.Join(base, "root")})
			require.ErrorIs(t, err, unix.ENOENT)
			require.NoDirExists(t, filepath.Join(base, "root"))
		}
		unharmed(t, base, info)
		names, err := filepath.Glob(base + "/*")
		require.NoError(t, err)
		require.Equal(t, []string{base + "/dir", secret}, names)
	})
}

// A thread that may not have a root directory of its own is told so, and gets
// the other guard.
func TestProbe(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	g := guard{sys: linux, root: dir.Fd()}
	require.NoError(t, onThread(g.probe))
	require.Equal(t, os.Geteuid() == 0, g.jailed)
	defer g.close()

	before := openFiles(t)
	require.NoError(t, onThread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		return g.probe()
	}))
	require.False(t, g.jailed)
	require.Equal(t, before, openFiles(t))
}

// What a container's filter refuses, with either error, is done without where it
// can be, and else said.
func TestProbeFiltered(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	n := newName("..")
	for _, answer := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
		for _, test := range []struct {
			name   string
			denied []uint32
			works  bool
		}{
			{"chroot", []uint32{unix.SYS_CHROOT}, true},
			{"unshare", []uint32{unix.SYS_UNSHARE}, true},
			{"open_tree", []uint32{unix.SYS_OPEN_TREE}, true},
			{"unshare and chroot", []uint32{unix.SYS_UNSHARE, unix.SYS_CHROOT}, true},
			{"chroot and openat2", []uint32{unix.SYS_CHROOT, unix.SYS_OPENAT2}, false},
			{"unshare and openat2", []uint32{unix.SYS_UNSHARE, unix.SYS_OPENAT2}, false},
		} {
			t.Run(test.name+" "+unix.ErrnoName(answer), func(t *testing.T) {
				defer unix.Umask(umask())
				g := guard{sys: linux, root: dir.Fd()}
				err := onThread(func() error {
					if err := deny(answer, test.denied); err != nil {
						return err
					}
					if err := g.probe(); err != nil {
						return err
					}
					var st unix.Stat_t
					fd := g.open(&n, unix.O_PATH|unix.O_CLOEXEC, 0)
					if fd < 0 {
						return unix.Errno(-fd)
					}
					defer g.shut(fd)
					if err := unix.Fstat(int(fd), &st); err != nil || !g.isRoot(&st) {
						return errors.Join(err, errors.New("out of the root"))
					}
					return nil
				})
				if !test.works {
					require.ErrorIs(t, err, answer)
					require.ErrorContains(t, err, "openat2 (Linux 5.6), which keeps a replay in its root")
					return
				}
				require.NoError(t, err)
				require.False(t, g.jailed)
			})
		}
	}
}

// deny lets a filter answer system calls of the calling thread with an error.
func deny(answer unix.Errno, numbers []uint32) error {
	const returns, equals = unix.BPF_RET | unix.BPF_K, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for _, nr := range numbers {
		program = append(program, unix.SockFilter{Code: equals, Jf: 1, K: nr},
			unix.SockFilter{Code: returns, K: unix.SECCOMP_RET_ERRNO | uint32(answer)})
	}
	program = append(program, unix.SockFilter{Code: returns, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0)
}

func TestName(t *testing.T) {
	for _, test := range []struct{ path, parent, last string }{
		{"a", ".", "a"}, {"a/b", "a/", "b"}, {"a/b//", "a/", "b"}, {"/a", "/", "a"}, {"/", "/", "."}, {"///", "/", "."}, {".", ".", "."},
		{"..", "..", "."}, {"a/..", "a/..", "."}, {"a/.", "a/.", "."}, {"", "", "."}, {"a/b/c", "a/b/", "c"}, {"a//b", "a//", "b"}, {"a/a", "a/", "a"},
	} {
		n := newName(test.path)
		require.Equal(t, test.path, n.String())
		require.Equal(t, test.parent, unix.BytePtrToString(n.parent), test.path)
		require.Equal(t, test.last, unix.BytePtrToString(n.last), test.path)
	}
}
