package roottest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const ownMounts = "PIANOLA_TEST_OWN_MOUNTS"

// OwnMounts runs the calling test once more, in a process with mounts of its own, and
// reports whether this is that process. The other one has nothing else to do.
func OwnMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownMounts) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), ownMounts+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig comes when this thread ends, as one does to which a goroutine was locked that ended
	defer runtime.UnlockOSThread()
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "--- PASS: "+t.Name())
	return false
}

// Bind mounts a file or directory at another one. It may be called by any goroutine,
// and the test calls what it returns.
func Bind(t *testing.T, from, at string) (unmount func()) {
	t.Helper()
	require.NoError(t, unix.Mount(from, at, "", unix.MS_BIND, ""))
	return func() {
		t.Helper()
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	}
}
