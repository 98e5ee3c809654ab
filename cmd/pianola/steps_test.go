package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// everyStep has the tests below go through every step, which takes an hour, and not
// only the first and the last of each kind.
var everyStep = os.Getenv("PIANOLA_EVERY_STEP") != ""

// stepped is a recorder that strace disturbs. Only its first thread is traced, which
// sets everything up, starts the command and ends the recording.
type stepped struct {
	dir    string
	status int
	said   string
	calls  []call // that strace shows
}

// recordStepped records a command that leaves the file ran, under strace with options.
func recordStepped(t *testing.T, options ...string) *stepped {
	t.Helper()
	program, err := exec.LookPath("pianola")
	require.NoError(t, err)
	s := &stepped{dir: t.TempDir()}
	log := filepath.Join(t.TempDir(), "log")
	c := exec.CommandContext(t.Context(), "strace", slices.Concat([]string{"-qqq", "-o", log}, options,
		[]string{program, "record", "--tracer", "ebpf", "-o", "t.txt", "--", "sh", "-c", "echo ran >ran; cat ran"})...)
	c.Dir = s.dir
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	require.NoError(t, err)
	defer said.Close()
	c.Stdout, c.Stderr = said, said // no pipe: a command that is left behind has it, too
	err = c.Run()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(t, err)
	}
	s.status = c.ProcessState.ExitCode()
	text, err := os.ReadFile(said.Name())
	require.NoError(t, err)
	s.said = string(text)
	text, err = os.ReadFile(log)
	require.NoError(t, err)
	counts := map[string]int{}
	for _, m := range straced.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], "syscall_") {
			continue // strace shows all calls that it has no name for
		}
		counts[m[1]]++
		c := call{name: m[1], n: counts[m[1]], kind: m[1], after: m[1] == "exit_group" || m[1] == "write" && m[2] == "2"}
		if c.name == "bpf" || c.name == "write" {
			c.kind += m[2]
		}
		s.calls = append(s.calls, c)
	}
	return s
}

// nothingLeft wants no process and no other file in the directory, and a script that
// compiles as complete only where the recording was.
func (s *stepped) nothingLeft(t *testing.T, complete bool) {
	t.Helper()
	require.Eventually(t, func() bool { return len(processesIn(s.dir)) == 0 }, waitLimit, waitTick, "processes are left behind")
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, []string{"t.txt", "ran"}, e.Name())
	}
	compile := exec.Command("pianola", "compile", "--strict", "-o", filepath.Join(t.TempDir(), "t.bin"), "t.txt")
	compile.Dir = s.dir
	out, err := compile.CombinedOutput()
	if complete {
		require.NoError(t, err, "%s", out)
	} else {
		require.Error(t, err, "half a recording compiles as a whole one: %s", s.said)
	}
}

// processesIn returns the processes whose working directory is dir.
func processesIn(dir string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			pids = append(pids, link)
		}
	}
	return pids
}

// call is the n-th call of a name that the first thread of a recorder makes.
type call struct {
	name  string
	n     int
	kind  string // the name, with the command of bpf and the descriptor of write
	after bool   // it comes after the end of the recording
}

// straced matches a call with the command or the number that it begins with.
var straced = regexp.MustCompile(`(?m)^([a-z0-9_]+)\(([A-Z_]+|\d+)?`)

// callsOf returns the calls of some names, of those of the same kind only the first and the last.
func callsOf(t *testing.T, names string) (calls []call) {
	t.Helper()
	s := recordStepped(t, "-e", "trace="+names)
	require.Zero(t, s.status, s.said)
	last := map[string]int{} // place in calls of a kind
	loads := 0
	for _, c := range s.calls {
		if c.kind == "bpfBPF_PROG_LOAD" {
			loads++
		}
		switch at, seen := last[c.kind]; {
		case seen && !everyStep:
			calls[at] = c
			continue
		case !seen && !everyStep:
			calls = append(calls, c)
		}
		last[c.kind] = len(calls)
		calls = append(calls, c)
	}
	require.Greater(t, loads, 10, "the first thread does not load the programs")
	return slices.Compact(calls)
}

func needStrace(t *testing.T) {
	t.Helper()
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	if testing.Short() {
		t.Skip("short: dozens of recordings")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
}

// A bpf() that the kernel refuses ends the recording with a message, whichever it is,
// or changes nothing.
func TestRefusedBPF(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for i, c := range callsOf(t, "bpf") {
		errno := []string{"EPERM", "ENOMEM"}[i%2]
		t.Run(fmt.Sprint(c.n, errno), func(t *testing.T) {
			t.Parallel() // a recording mostly waits for the kernel
			s := recordStepped(t, "-e", "trace=bpf", "-e", fmt.Sprintf("inject=bpf:error=%s:when=%d", errno, c.n))
			if s.status != 0 {
				require.Equal(t, cli.ExitRecord, s.status, s.said)
				require.Regexp(t, `^(ran\n)?pianola: record: `, s.said)
			}
			require.NotContains(t, s.said, "goroutine ")
			s.nothingLeft(t, s.status == 0)
		})
	}
}

// A recorder that is killed at any step leaves no process behind, and no recording that
// seems complete. How many calls there are varies: the runtime starts more threads on a busy
// machine. A recording without the step is complete.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for _, c := range callsOf(t, "bpf,clone,wait4,pidfd_open,uname,readlinkat,ftruncate,write,ptrace,exit_group") {
		t.Run(fmt.Sprint(c.name, " ", c.n), func(t *testing.T) {
			t.Parallel()
			s := recordStepped(t, "-e", "trace="+c.name, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", c.name, c.n))
			if len(s.calls) < c.n {
				require.Greater(t, c.n, 1, "no %s at all", c.name)
				require.Zero(t, s.status, s.said)
				s.nothingLeft(t, true)
				return
			}
			require.NotZero(t, s.status, s.said)
			s.nothingLeft(t, s.calls[c.n-1].after)
		})
	}
}

// A signal ends a recorder at any step before its command starts, and leaves nothing.
// The runtime of Go makes clones before the program begins, so pipe2 stands for that of the command.
func TestInterruptedBeforeTheCommand(t *testing.T) {
	t.Parallel()
	needStrace(t)
	for i, at := range []string{"bpf:when=1", "bpf:when=30", "pipe2:when=1", "wait4:when=1", "pidfd_open:when=1"} {
		s := []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP}[i%3]
		t.Run(fmt.Sprint(at, " ", unix.SignalName(s)), func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(at, ":")
			stepped := recordStepped(t, "-e", "trace="+name, "-e", fmt.Sprintf("inject=%s:signal=%d", at, s))
			require.Equal(t, 128+int(s), stepped.status, stepped.said)
			require.Empty(t, stepped.said)
			entries, err := os.ReadDir(stepped.dir)
			require.NoError(t, err)
			require.Empty(t, entries)
			require.Eventually(t, func() bool { return len(processesIn(stepped.dir)) == 0 }, waitLimit, waitTick, "processes are left behind")
		})
	}
}

// A signal ends a rank that waits for the recorder of its node.
func TestInterruptedRank(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	program, err := exec.LookPath("pianola")
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), "strace", "-qqq", "-o", "/dev/null", "-e", "trace=connect", "-e", "inject=connect:signal=TERM:when=1",
		program, "record", "--ranks", "-o", "dir", "--", "touch", "ran")
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "PIANOLA_RANK=1", "PIANOLA_SIZE=2", "PIANOLA_LOCAL_RANK=1", "PIANOLA_LOCAL_SIZE=2")
	said, _ := c.CombinedOutput()
	require.Equal(t, 128+int(unix.SIGTERM), c.ProcessState.ExitCode(), "%s", said)
	require.Empty(t, said)
	entries, err := os.ReadDir(c.Dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
