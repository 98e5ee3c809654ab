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

// python is the path of the interpreter, because a wrapper script would do its own I/O.
const python = "/usr/bin/python3"

// Shell returns options that record a shell script.
func Shell(script string) record.Options {
	return record.Options{Command: []string{"/bin/sh", "-c", script}}
}

// Python returns options that record a python3 program. It skips the test if there is
// no python3.
func Python(t *testing.T, lines ...string) record.Options {
	t.Helper()
	if _, err := os.Stat(python); err != nil {
		t.Skip("no python3")
	}
	return record.Options{Command: []string{python, "-S", "-c", strings.Join(lines, "\n")}}
}

// readsVariable makes a test binary read; see ReadMain.
const readsVariable = "PIANOLA_TEST_READS"

// ReadMain handles a test binary that ReadCommand starts: it reads 4 KiB from the page
// cache as often as asked, prints the nanoseconds per read, and exits. TestMain must
// call it.
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

// ReadCommand returns options that record this test binary, which runs ReadMain.
func ReadCommand(tb testing.TB, reads int) record.Options {
	tb.Helper()
	exe, err := os.Executable()
	require.NoError(tb, err)
	return record.Options{Command: []string{exe}, Env: append(os.Environ(), readsVariable+"="+strconv.Itoa(reads))}
}

// ReadNanos returns the duration of an unrecorded read, in nanoseconds. If a wrapper
// command is given, it runs the command as its last arguments.
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

// ReadNanosRecorded returns the duration of a read that is recorded to s, in
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
