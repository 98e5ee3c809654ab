package ptrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format/script"
	"pianola/record"
)

// childVariable makes the test binary play the part of the application: it
// reads 4 KiB from the page cache as often as the variable says and prints the
// nanoseconds that a read took.
const childVariable = "PIANOLA_TEST_READS"

// recorderVariable makes the test binary record the command that its arguments
// are to the file that the variable names.
const recorderVariable = "PIANOLA_TEST_RECORDER"

func TestMain(m *testing.M) {
	Main()
	if file, ok := os.LookupEnv(recorderVariable); ok {
		os.Unsetenv(recorderVariable)
		status, err := recordTo(file, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		os.Exit(status)
	}
	if reads, ok := os.LookupEnv(childVariable); ok {
		if err := readLoop(reads); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func recordTo(file string, command []string) (int, error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	r, err := Run(context.Background(), record.Options{Command: command}, script.NewWriter(f))
	return r.Status, errors.Join(err, f.Close())
}

// recorder returns a command that records another one to a file, in a
// directory that anyone may use.
func recorder(tb testing.TB, command ...string) (cmd *exec.Cmd, dir string) {
	tb.Helper()
	dir = tb.TempDir()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		require.NoError(tb, os.Chmod(d, 0o777))
	}
	own, err := os.ReadFile("/proc/self/exe")
	require.NoError(tb, err)
	exe := filepath.Join(dir, "recorder")
	require.NoError(tb, os.WriteFile(exe, own, 0o755))
	cmd = exec.Command(exe, command...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), recorderVariable+"="+filepath.Join(dir, "script"))
	cmd.Stderr = os.Stderr
	return cmd, dir
}

func readLoop(reads string) error {
	n, err := strconv.Atoi(reads)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	fd, err := unix.MemfdCreate("child", 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	if _, err := unix.Pwrite(fd, buf, 0); err != nil {
		return err
	}
	start := time.Now()
	for range n {
		if _, err := unix.Pread(fd, buf, 0); err != nil {
			return err
		}
	}
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(n))
	return nil
}
