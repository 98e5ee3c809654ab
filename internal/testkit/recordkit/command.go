package recordkit

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record"
)

// python is the interpreter itself: a wrapper of the name would do I/O of its
// own.
const python = "/usr/bin/python3"

// Shell returns options for a script of a shell.
func Shell(script string) record.Options {
	return record.Options{Command: []string{"/bin/sh", "-c", script}}
}

// Python returns options for a python3 program, and skips where there is none.
func Python(t *testing.T, lines ...string) record.Options {
	t.Helper()
	if _, err := os.Stat(python); err != nil {
		t.Skip("no python3")
	}
	return record.Options{Command: []string{python, "-S", "-c", strings.Join(lines, "\n")}}
}

// readsVariable makes a test binary read; see ReadMain.
const readsVariable = "PIANOLA_TEST_READS"

// ReadMain makes a test binary that ReadCommand starts read 4 KiB from the page
// cache as often as asked, print the nanoseconds that a read took, and exit.
// TestMain must call it.
func ReadMain() {
	reads, ok := os.LookupEnv(readsVariable)
	if !ok {
		return
	}
	if err := read(reads); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func read(reads string) error {
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

// ReadCommand returns options for this test binary, as ReadMain has it.
func ReadCommand(tb testing.TB, reads int) record.Options {
	tb.Helper()
	exe, err := os.Executable()
	require.NoError(tb, err)
	return record.Options{Command: []string{exe}, Env: append(os.Environ(), readsVariable+"="+strconv.Itoa(reads))}
}

// ReadNanos returns what a read takes that is not recorded, in nanoseconds. The
// command runs as the last arguments of another, if one is given.
func ReadNanos(tb testing.TB, reads int, under ...string) float64 {
	tb.Helper()
	o := ReadCommand(tb, reads)
	command := append(under, o.Command...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = o.Env
	output, err := cmd.Output()
	require.NoError(tb, err)
	return nanos(tb, output)
}

// ReadNanosRecorded returns what a read takes that is recorded to s, in
// nanoseconds.
func ReadNanosRecorded(tb testing.TB, reads int, run record.Recorder, s record.Sink) (float64, record.Result) {
	tb.Helper()
	out, err := os.CreateTemp(tb.TempDir(), "stdout")
	require.NoError(tb, err)
	defer out.Close()
	o := ReadCommand(tb, reads)
	o.Stdout = out
	r, err := run(tb.Context(), o, s)
	require.NoError(tb, err)
	require.Zero(tb, r.Status)
	require.GreaterOrEqual(tb, r.Events+r.Lost, int64(reads))
	output, err := os.ReadFile(out.Name())
	require.NoError(tb, err)
	return nanos(tb, output), r
}

func nanos(tb testing.TB, output []byte) float64 {
	tb.Helper()
	v, err := strconv.ParseFloat(strings.TrimSpace(string(output)), 64)
	require.NoError(tb, err)
	return v
}
