package ptrace

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/recordkit"
)

const nobody = 65534

// status returns the exit status of a command that ran.
func status(t *testing.T, err error) int {
	t.Helper()
	var e *exec.ExitError
	if err == nil {
		return 0
	}
	require.True(t, errors.As(err, &e), "%v", err)
	return e.ExitCode()
}

func TestWithoutPrivileges(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("all other tests run without privileges")
	}
	cmd, dir := recorder(t, "/bin/sh", "-c", "id -u > id; grep NoNewPrivs /proc/self/status >> id; exit 5")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	require.Equal(t, 5, status(t, cmd.Run()))
	text, err := os.ReadFile(filepath.Join(dir, "id"))
	require.NoError(t, err)
	require.Equal(t, "65534\nNoNewPrivs:\t1\n", string(text))
	var opened int
	for _, e := range recordkit.ReadScript(t, filepath.Join(dir, "script")) {
		if string(e.Str[0]) == "id" && e.Op == format.OpOpenat && recordkit.Note(e, "type") == "reg" {
			opened++
		}
	}
	require.Equal(t, 2, opened)
}

// startRecorder starts a recorder of a script of a shell that reads from its
// input, and returns when it has said its process id.
func startRecorder(t *testing.T, script string) (cmd *exec.Cmd, command int) {
	t.Helper()
	cmd, _ = recorder(t, "/bin/sh", "-c", script)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	t.Cleanup(func() { in.Close() })
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	command, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return cmd, command
}

func TestSignals(t *testing.T) {
	const caught = "trap 'exit 5' TERM; trap 'exit 6' HUP; echo $$; while :; do read x; done"
	for _, test := range []struct {
		signal unix.Signal
		status int
	}{{unix.SIGTERM, 5}, {unix.SIGHUP, 6}} {
		t.Run(unix.SignalName(test.signal), func(t *testing.T) {
			cmd, _ := startRecorder(t, caught)
			require.NoError(t, cmd.Process.Signal(test.signal))
			require.Equal(t, test.status, status(t, cmd.Wait()), "it is passed on")
		})
	}
	t.Run("an interrupt is left to the command", func(t *testing.T) {
		cmd, command := startRecorder(t, "trap 'exit 7' INT; echo $$; while :; do read x; done")
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		require.NoError(t, unix.Kill(command, unix.SIGINT))
		require.Equal(t, 7, status(t, cmd.Wait()))
	})
	t.Run("what outlives the command ends with the recording", func(t *testing.T) {
		cmd, command := startRecorder(t, "trap '' TERM; tail -f /dev/null & echo $!; exit 8")
		pidfd, err := unix.PidfdOpen(command, 0)
		require.NoError(t, err)
		defer unix.Close(pidfd)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// A signal that comes before the command has ended is passed on.
		for !gone(t, pidfd, 1) {
			_ = cmd.Process.Signal(unix.SIGTERM)
		}
		require.Equal(t, 8, status(t, <-ended))
	})
}

// gone reports whether a process has ended, and waits for it for some time.
func gone(t *testing.T, pidfd, milliseconds int) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, milliseconds)
	require.True(t, err == nil || err == unix.EINTR, "%v", err)
	return n > 0
}

func TestKilledRecorderTakesTheCommandAlong(t *testing.T) {
	cmd, command := startRecorder(t, "trap '' TERM HUP; echo $$; while :; do read x; done")
	pidfd, err := unix.PidfdOpen(command, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	for !gone(t, pidfd, 1000) {
	}
}
