package ptrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format/script"
	"pianola/record"
	"pianola/record/recordkit"
)

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
	recordkit.ReadMain()
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
