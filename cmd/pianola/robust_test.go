package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

const (
	waitLimit = 5 * time.Minute // only ever reached where something is broken
	waitTick  = 5 * time.Millisecond
)

// recorder is a recorder under way, in a directory and process group of its
// own. Its command is a shell script that says "ready" and then waits for a
// line of its input.
type recorder struct {
	*exec.Cmd
	dir    string
	in     *os.File // the command's input
	out    *bufio.Reader
	stderr *os.File // no pipe: the command has it, too, and can outlive the recorder
}

func startRecorder(t *testing.T, output, script string, options ...string) *recorder {
	t.Helper()
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	r := &recorder{dir: t.TempDir()}
	args := append(append([]string{"record", "-o", output}, options...), "--", "sh", "-c", script)
	r.Cmd = exec.Command("pianola", args...)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	r.Dir, r.Stderr, r.stderr = r.dir, stderr, stderr
	r.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, theirs, err := os.Pipe()
	require.NoError(t, err)
	out, written, err := os.Pipe()
	require.NoError(t, err)
	r.Stdin, r.in = in, theirs
	r.Stdout, r.out = written, bufio.NewReader(out)
	t.Cleanup(func() { theirs.Close(); out.Close(); stderr.Close() })
	require.NoError(t, r.Start())
	require.NoError(t, in.Close())
	require.NoError(t, written.Close())
	return r
}

func (r *recorder) says(t *testing.T, want string) {
	t.Helper()
	line, err := r.out.ReadString('\n')
	require.NoError(t, err, r.said(t))
	require.Equal(t, want+"\n", line)
}

// said returns the standard error of both.
func (r *recorder) said(t *testing.T) string {
	text, err := os.ReadFile(r.stderr.Name())
	require.NoError(t, err)
	return string(text)
}

func (r *recorder) tell(t *testing.T, line string) {
	t.Helper()
	_, err := r.in.WriteString(line + "\n")
	require.NoError(t, err)
}

// status waits for the recorder.
func (r *recorder) status(t *testing.T) int {
	t.Helper()
	err := r.Wait()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(t, err)
	}
	return r.ProcessState.ExitCode()
}

func (r *recorder) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	require.NoError(t, err)
	return string(text)
}

// compile returns what compiling the script says.
func (r *recorder) compile(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("pianola", append([]string{"compile", "-o", "t.bin"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// TestInterrupt is Ctrl-C: the terminal sends the signal to recorder and command. The
// command's reaction decides.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		status       int
	}{
		{"the command dies", "echo ready; read x; exit 3", 130},
		{"the command cleans up", "trap 'echo bye >clean; exit 4' INT; echo ready; read x; read x; exit 3", 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := startRecorder(t, "t.txt", test.script)
			r.says(t, "ready")
			require.NoError(t, unix.Kill(-r.Process.Pid, unix.SIGINT))
			require.Equal(t, test.status, r.status(t), r.said(t))
			require.Contains(t, r.read(t, "t.txt"), fmt.Sprintf("\n# lost: 0\n# exit: %d\n", test.status))
			require.NotContains(t, r.compile(t, "--strict", "t.txt"), "warning")
		})
	}
}

// TestSignalsOfOthers sends a signal to one of the two only.
func TestSignalsOfOthers(t *testing.T) {
	t.Parallel()
	const script = "echo $$ >pid; echo ready; read x; exit 3"
	t.Run("terminate the recorder", func(t *testing.T) {
		r := startRecorder(t, "t.txt", script)
		r.says(t, "ready")
		require.NoError(t, r.Process.Signal(unix.SIGTERM))
		require.Equal(t, 143, r.status(t), r.said(t))
		require.Contains(t, r.read(t, "t.txt"), "signal=SIGTERM")
	})
	t.Run("terminate the command", func(t *testing.T) {
		r := startRecorder(t, "t.txt", script)
		r.says(t, "ready")
		var pid int
		_, err := fmt.Sscan(r.read(t, "pid"), &pid)
		require.NoError(t, err)
		require.NoError(t, unix.Kill(pid, unix.SIGTERM))
		require.Equal(t, 143, r.status(t), r.said(t))
		require.NotContains(t, r.compile(t, "--strict", "t.txt"), "warning")
	})
}

// TestKilledRecorder kills the recorder and nothing else: the command goes on,
// and what was written compiles.
func TestKilledRecorder(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"t.txt", "t.txt.zst"} {
		t.Run(output, func(t *testing.T) {
			// Enough events that some are written without a flush.
			r := startRecorder(t, output, "dd if=/dev/zero of=f bs=1 count=60000 2>&-; echo ready; read x; echo alive >f; cat f")
			r.says(t, "ready")
			script := filepath.Join(r.dir, output)
			require.Eventually(t, func() bool {
				info, err := os.Stat(script)
				return err == nil && info.Size() > 4096
			}, waitLimit, waitTick)
			require.NoError(t, r.Process.Kill())
			require.Equal(t, -1, r.status(t))
			r.tell(t, "go on")
			r.says(t, "alive")
			said := r.compile(t, "--script", "events.txt", output)
			require.Contains(t, said, "warning: the recording has no end")
			require.Greater(t, strings.Count(r.read(t, "events.txt"), "write ("), 100)
		})
	}
}

// TestForkStorm: short-lived processes, one after the other.
func TestForkStorm(t *testing.T) {
	t.Parallel()
	forks := 2000
	if testing.Short() {
		forks = 200
	}
	r := startRecorder(t, "t.txt", fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done; (exit 7)", forks))
	require.Equal(t, 7, r.status(t), r.said(t))
	text := r.read(t, "t.txt")
	require.Contains(t, text, "\n# lost: 0\n")
	require.Equal(t, forks, len(regexp.MustCompile(`(?m) execve\("/bin/true"[^\n]* = 0 `).FindAllString(text, -1)))
	ends := regexp.MustCompile(`(?m)^(\d+) \S+ exit_group\(`).FindAllStringSubmatch(text, -1)
	require.Len(t, ends, forks+2)
	require.NotContains(t, r.compile(t, "--strict", "t.txt"), "warning")
}

// TestUser runs the command as another user, who owns the script.
func TestUser(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many recordings of nothing")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can run a command as another user")
	}
	const script = `echo $(id -un) $(id -Gn) $HOME $USER $LOGNAME $KEPT`
	for _, test := range []struct {
		name, sudo string
		options    []string
		want       string
		owner      uint32
	}{
		{"by name", "", []string{"--user", "nobody"}, "nobody nogroup /nonexistent nobody nobody kept", 65534},
		{"by number", "", []string{"--user", "65534"}, "nobody nogroup /nonexistent nobody nobody kept", 65534},
		{"sudo", "65534", nil, "nobody nogroup /nonexistent nobody nobody kept", 65534},
		{"root under sudo", "65534", []string{"--user", "root"}, "root root /root root root kept", 0},
		{"sudo by root", "0", nil, "root root /root root root kept", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for key, value := range map[string]string{"SUDO_UID": test.sudo, "KEPT": "kept", "HOME": "/root", "USER": "root", "LOGNAME": "root"} {
				t.Setenv(key, value)
			}
			r := startRecorder(t, "t.txt", script, test.options...)
			r.says(t, test.want)
			require.Zero(t, r.status(t), r.said(t))
			info, err := os.Stat(filepath.Join(r.dir, "t.txt"))
			require.NoError(t, err)
			require.Equal(t, test.owner, info.Sys().(*syscall.Stat_t).Uid)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			require.Contains(t, r.read(t, "t.txt"), "\n# lost: 0\n")
		})
	}
	t.Run("who is that", func(t *testing.T) {
		r := startRecorder(t, "t.txt", "true", "--user", "no-such-user")
		require.Equal(t, cli.ExitUsage, r.status(t))
		require.Contains(t, r.said(t), "pianola: record: --user: no user no-such-user")
		require.NoFileExists(t, filepath.Join(r.dir, "t.txt"))
	})
}

// TestManyThreads: a thousand threads at once, each with calls of its own.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip("no python3")
	}
	const threads = 1000
	r := startRecorder(t, "t.txt", "exec "+python+` -S -c '
import os, threading
threading.stack_size(65536)
all = threading.Barrier(1000)
def work(n):
    all.wait()
    os.mkdir("d%d" % n)
    for i in range(20):
        os.stat("d%d" % n)
    all.wait()
    os.rmdir("d%d" % n)
each = [threading.Thread(target=work, args=(n,)) for n in range(1000)]
for t in each: t.start()
for t in each: t.join()
print("done")'`)
	r.says(t, "done")
	require.Zero(t, r.status(t), r.said(t))
	text := r.read(t, "t.txt")
	require.Contains(t, text, "\n# lost: 0\n")
	calls := map[string]int{} // by thread
	for _, m := range regexp.MustCompile(`(?m)^(\d+) \S+ (?:mkdir|rmdir|stat|newfstatat)\((?:AT_FDCWD, )?"d\d+"`).FindAllStringSubmatch(text, -1) {
		calls[m[1]]++
	}
	require.Len(t, calls, threads)
	for tid, n := range calls {
		require.Equal(t, 22, n, "thread %s", tid)
	}
	require.NotContains(t, r.compile(t, "--strict", "t.txt"), "warning")
}
