package ebpf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

func TestExitStatus(t *testing.T) { recordkit.ExitStatus(t, resultOf(recordLong)) }

func TestStartError(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	recordkit.RequireEBPF(t, MeasureCost)
	recordkit.StartError(t, Run)
}

func TestBegin(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	recordkit.Begin(t, Run)
}

// resultOf is recordOne or recordLong without what was written to standard output.
func resultOf(run func(*testing.T, record.Options, record.Sink) (record.Result, string)) recordkit.Recorded {
	return func(t *testing.T, o record.Options, s record.Sink) record.Result {
		t.Helper()
		r, _ := run(t, o, s)
		return r
	}
}

func TestStreamsAreUntouched(t *testing.T) {
	in, err := os.CreateTemp(t.TempDir(), "stdin")
	require.NoError(t, err)
	defer in.Close()
	_, err = in.WriteString("from the input\n")
	require.NoError(t, err)
	_, err = in.Seek(5, 0)
	require.NoError(t, err)

	var c recordkit.Collect
	o := recordkit.Shell("cat; echo to stderr >&2")
	o.Stdin = in
	o.Stderr, err = os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	defer o.Stderr.Close()
	_, out := recordLong(t, o, &c)
	require.Equal(t, "the input\n", out)
	text, err := os.ReadFile(o.Stderr.Name())
	require.NoError(t, err)
	require.Equal(t, "to stderr\n", string(text))

	var stdin format.Descriptor
	for _, d := range c.Headers[0].Descriptors {
		if d.FD == 0 {
			stdin = d
		}
	}
	require.Equal(t, c.Events[0].TID, stdin.Process)
	require.Equal(t, in.Name(), stdin.Path)
	require.Equal(t, int64(5), stdin.Offset)
	require.NotZero(t, stdin.Flags&format.RDWR)
}

func TestHeader(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Shell("exit 3")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	require.Len(t, c.Headers, 2)
	start, end := c.Headers[0], c.Headers[1]
	for key, value := range map[string]string{
		format.MetaCommand: "/bin/sh -c 'exit 3'",
		format.MetaTool:    "ebpf",
		format.MetaCwd:     strconv.Quote(o.Dir),
		format.MetaArch:    format.HostArch.String(),
	} {
		got, _ := start.Value(key)
		require.Equal(t, value, got, key)
	}
	cost, _ := start.Value(format.MetaCost)
	require.Regexp(t, `^inside=-?\d+ outside=-?\d+ rich=\d+( call=\d+)?$`, cost)
	for _, key := range []string{format.MetaStart, format.MetaKernel} {
		got, _ := start.Value(key)
		require.NotEmpty(t, got, key)
	}
	lost, _ := end.Value(format.MetaLost)
	require.Equal(t, "0", lost)
	exit, _ := end.Value(format.MetaExit)
	require.Equal(t, "3", exit)
}

func TestHeaderNamesFileSystems(t *testing.T) {
	var c recordkit.Collect
	recordLong(t, recordkit.Shell(": < /proc/self/status"), &c)
	fs, _ := c.Headers[1].Value(format.MetaFileSystems)
	require.Contains(t, fs, `"/proc"=proc`)
}

func TestDescendantsAndThreads(t *testing.T) {
	t.Run("a pipeline", func(t *testing.T) {
		var c recordkit.Collect
		recordOne(t, recordkit.Shell("echo one | cat; (exec cat /dev/null)"), &c)
		parents := map[int32]bool{c.Events[0].TID: true}
		threads := map[int32]bool{}
		for _, e := range c.Events {
			if e.Op.Info().Effect == format.EffectFork && !e.Failed() {
				parents[int32(e.Ret)] = true
			}
			threads[e.TID] = true
		}
		require.Equal(t, parents, threads, "every thread has events, and a line that creates it")
		require.GreaterOrEqual(t, len(threads), 3)
	})
	t.Run("an orphan", func(t *testing.T) {
		var c recordkit.Collect
		o := recordkit.Shell("(read line; echo $line > late) < gate & echo go > gate")
		o.Dir = t.TempDir()
		require.NoError(t, mkfifo(filepath.Join(o.Dir, "gate")))
		recordOne(t, o, &c)
		require.Equal(t, "go\n", readFile(t, o.Dir, "late"))
		require.Equal(t, int64(3), c.One(t, format.OpOpenat, "late").Ret, "what outlives the command is recorded too")
	})
	t.Run("threads", func(t *testing.T) {
		var c recordkit.Collect
		recordOne(t, recordkit.Python(t, "import os, threading",
			"def f(n): os.access('/thread%d' % n, 0)",
			"ts = [threading.Thread(target=f, args=(n,)) for n in range(4)]",
			"[t.start() for t in ts]; [t.join() for t in ts]"), &c)
		threads := map[int32]bool{}
		for n := range 4 {
			threads[c.One(t, format.OpAccess, "/thread"+strconv.Itoa(n)).TID] = true
		}
		require.Len(t, threads, 4)
		for tid := range threads {
			require.NotEqual(t, c.Events[0].TID, tid)
		}
	})
	t.Run("killed threads", func(t *testing.T) { recordkit.KilledThread(t, resultOf(recordOne)) })
	t.Run("execve in a thread", func(t *testing.T) { recordkit.ThreadExecs(t, resultOf(recordOne)) })
}

func TestCancelKillsTheCommand(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	ctx, cancel := context.WithCancel(context.Background())
	o := recordkit.Shell("read line")
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	o.Stdin = in
	r, err := Run(ctx, o, recordkit.SinkFunc(func([]format.Event) error { cancel(); return nil }))
	require.NoError(t, err)
	require.Equal(t, 137, r.Status)
}

func TestSinkErrorLeavesTheCommandAlone(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	full := errors.New("no space left")
	o := recordkit.Shell("cat /dev/null; exit 9")
	r, err := Run(context.Background(), o, recordkit.SinkFunc(func([]format.Event) error { return full }))
	require.ErrorIs(t, err, full)
	require.Equal(t, 9, r.Status)
}

func TestOptions(t *testing.T) {
	_, err := Run(context.Background(), record.Options{}, &recordkit.Collect{})
	require.EqualError(t, err, "no command to record")
	_, err = Run(context.Background(), record.Options{Command: []string{"true"}, RingBytes: -1}, &recordkit.Collect{})
	require.EqualError(t, err, "a ring buffer of -1 bytes is not possible")
	o := record.Options{RingBytes: 100_000}
	require.NoError(t, completeRing(&o))
	require.Equal(t, 131072, o.RingBytes)
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// A command with the set-user-ID bit has it also when it runs as another user.
func TestSetUserID(t *testing.T) {
	dir := storage(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &fs))
	if os.Getuid() != 0 || fs.Flags&unix.ST_NOSUID != 0 {
		t.Skip("needs root, and a file system without nosuid")
	}
	text, err := os.ReadFile("/usr/bin/id")
	require.NoError(t, err)
	program := filepath.Join(dir, "id")
	require.NoError(t, os.WriteFile(program, text, 0o755))
	for mode, want := range map[os.FileMode]string{0o755: "65534\n", 0o755 | os.ModeSetuid: "0\n"} {
		require.NoError(t, os.Chmod(program, mode))
		var c recordkit.Collect
		o := record.Options{Command: []string{program, "-u"}, Dir: dir, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		r, out := recordOne(t, o, &c)
		require.Zero(t, r.Status)
		require.Equal(t, want, out, mode)
		require.Len(t, c.Of(format.OpExitGroup), 1)
	}
}
