// Package roottest helps to test that a replay stays in its root.
package roottest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Outside returns a directory with a file that no replay may find, change or
// remove.
func Outside(t *testing.T) (base, secret string) {
	base = t.TempDir()
	secret = filepath.Join(base, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(base, "dir"), 0o755))
	return base, secret
}

// Unharmed requires that the file of Outside is unchanged.
func Unharmed(t *testing.T, base string, before os.FileInfo) {
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

// EachBinding runs a test with both mechanisms that keep a thread in its root, as far
// as permissions allow: a root directory of the thread, and openat2.
func EachBinding(t *testing.T, test func(t *testing.T, jail bool)) {
	t.Run("jail", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("needs CAP_SYS_CHROOT and CAP_SYS_ADMIN")
		}
		test(t, true)
	})
	t.Run("openat2", func(t *testing.T) { test(t, false) })
}

// OpenFiles counts the descriptors of this process.
func OpenFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	n := 0
	for _, e := range entries {
		// The Go runtime opens epoll and pid descriptors at any time.
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:") {
			n++
		}
	}
	return n
}

// Bury creates nested directories, each with a file. Their full path is longer than the
// kernel accepts.
func Bury(t *testing.T, dir string, depth int) {
	t.Helper()
	for i := range depth {
		next := dir + strconv.Itoa(i)
		require.NoError(t, os.Mkdir(next, 0o700))
		require.NoError(t, os.WriteFile(next+"/f", nil, 0o600))
		if i > 0 {
			require.NoError(t, os.Rename(dir, next+"/d"))
		}
		require.NoError(t, os.Rename(next, dir))
	}
}

// Deny makes system calls of the calling thread fail, with a seccomp filter.
func Deny(answer unix.Errno, numbers []uint32) error {
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
