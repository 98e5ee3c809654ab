package ebpf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

// watched is a record.Sink that signals when an event that it waits for has arrived.
type watched struct {
	recordkit.Collect
	mu    sync.Mutex
	began chan struct{}
	want  func(e *format.Event) bool
	seen  chan struct{}
}

func watch(want func(e *format.Event) bool) *watched {
	return &watched{began: make(chan struct{}), want: want, seen: make(chan struct{})}
}

func (w *watched) WriteHeader(h *format.Header) error {
	if len(w.Headers) == 0 {
		defer close(w.began)
	}
	return w.Collect.WriteHeader(h)
}

func (w *watched) Write(events []format.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		if w.want != nil && w.want(&events[i]) {
			w.want = nil
			close(w.seen)
		}
	}
	return w.Collect.Write(events)
}

// running starts a program that lives until its standard input ends, and
// returns it with the first line that it printed.
func running(t *testing.T, o record.Options) (cmd *exec.Cmd, in *os.File, lines *bufio.Reader, line string) {
	t.Helper()
	recordkit.RequireEBPF(t, MeasureCost)
	r, in, err := os.Pipe()
	require.NoError(t, err)
	cmd = exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = t.TempDir(), r, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, r.Close())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines = bufio.NewReader(out)
	line, err = lines.ReadString('\n')
	require.NoError(t, err)
	return cmd, in, lines, strings.TrimSpace(line)
}

// recordRunning attaches to a running program, lets it read some input, and records it until the sink has
// seen what it waits for.
func recordRunning(t *testing.T, cmd *exec.Cmd, in *os.File, input string, s *watched) record.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r record.Result
	errs := make(chan error, 1)
	go func() {
		var err error
		r, err = Attach(ctx, record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, s)
		errs <- err
	}()
	<-s.began
	_, err := in.WriteString(input)
	require.NoError(t, err)
	<-s.seen
	cancel()
	require.NoError(t, <-errs)
	return r
}

// A thread that sleeps when the recorder comes has waited, not computed, until its first event.
func TestAttachToSleeping(t *testing.T) {
	cmd, in, lines, _ := running(t, recordkit.Python(t, "import os, threading",
		"go = threading.Event()",
		"def work(): go.wait(); os.access('woken', 0)",
		"t = threading.Thread(target=work); t.start()",
		"print('ready', flush=True)",
		"os.read(0, 1); os.access('read', 0); go.set(); t.join(); os.mkdir('last')",
		"os.read(0, 1)"))
	s := watch(func(e *format.Event) bool { return string(e.Str[0]) == "last" })
	recordRunning(t, cmd, in, "a", s)
	for _, name := range []string{"read", "woken"} {
		first := s.One(t, format.OpAccess, name)
		waited := first.Off.Wait
		for _, e := range s.Events {
			if e.Op == format.OpWait && e.TID == first.TID {
				waited += e.Dur
			}
		}
		require.Positive(t, waited, name)
	}
	require.NoError(t, in.Close())
	_, err := io.ReadAll(lines)
	require.NoError(t, err)
}

func TestAttach(t *testing.T) {
	cmd, in, lines, line := running(t, recordkit.Python(t, "import os, sys, threading",
		"f = os.open('file', os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600); os.write(f, b'x' * 123)",
		"g = os.open('gone', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600); os.unlink('gone')",
		"os.set_inheritable(f, True)",
		"go = threading.Event(); done = threading.Event()",
		"def work(): go.wait(); os.pread(f, 11, 3); done.set()",
		"t = threading.Thread(target=work); t.start()",
		"r, w = os.pipe()",
		"p = os.fork()",
		"if p == 0:",
		"  os.close(w); os.read(r, 1); os._exit(0)",
		"print(f, g, t.native_id, p, flush=True)",
		"os.read(0, 1)",
		"go.set(); done.wait()",
		"q = os.fork()",
		"if q == 0: os.access('child', 0); os._exit(0)",
		"os.waitpid(q, 0)",
		"os.mkdir('last')",
		"print('recorded', flush=True)",
		"sys.stdin.readline()",
		"print('unharmed', flush=True)"))
	var f, g int32
	var thread, child int
	_, err := fmt.Sscan(line, &f, &g, &thread, &child)
	require.NoError(t, err)

	pid := cmd.Process.Pid
	s := watch(func(e *format.Event) bool { return string(e.Str[0]) == "last" })
	r := recordRunning(t, cmd, in, "abc\n", s)
	require.Zero(t, r.Lost)
	require.Positive(t, r.Elapsed)

	// It goes on.
	require.NoError(t, in.Close())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "recorded\nunharmed\n", string(rest))
	require.NoError(t, cmd.Wait())

	// The state at the start.
	h := s.Headers[0]
	var processes []string
	for _, m := range h.Meta {
		if m.Key == format.MetaProcess {
			processes = append(processes, m.Value)
		}
	}
	require.Len(t, processes, 2)
	quoted := string(format.AppendQuoted(nil, []byte(cmd.Dir)))
	program, umask := string(format.AppendQuoted(nil, []byte(cmd.Path))), record.Umask(os.Getpid()) // inherited
	require.Contains(t, processes, fmt.Sprintf("%d parent=%d threads=%d,%d cwd=%s root=\"/\" umask=%s command=%s", pid, os.Getpid(), pid, thread, quoted, umask, program))
	require.Contains(t, processes, fmt.Sprintf("%d parent=%d threads=%d cwd=%s root=\"/\" umask=%s command=%s", child, pid, child, quoted, umask, program))
	of := func(process int, fd int32) format.Descriptor {
		i := slices.IndexFunc(h.Descriptors, func(d format.Descriptor) bool { return d.Process == int32(process) && d.FD == fd })
		require.GreaterOrEqual(t, i, 0)
		return h.Descriptors[i]
	}
	d := of(pid, f)
	require.Equal(t, filepath.Join(cmd.Dir, "file"), d.Path)
	require.Equal(t, int64(123), d.Offset)
	require.Equal(t, int64(format.RDWR|format.APPEND), d.Flags&^format.LARGEFILE)
	d = of(child, g)
	require.Equal(t, filepath.Join(cmd.Dir, "gone (deleted)"), d.Path)
	require.NotZero(t, d.Flags&format.CLOEXEC)

	// The calls after the start.
	require.NotEmpty(t, c32(s, format.OpPread64, int32(thread)))
	require.Len(t, s.Of(format.OpMkdir), 1)
	forks := append(append(s.Of(format.OpClone), s.Of(format.OpClone3)...), append(s.Of(format.OpFork), s.Of(format.OpVfork)...)...)
	require.Len(t, forks, 1)
	require.Equal(t, "child", string(s.Named("child")[0].Str[0]))
	require.Equal(t, int32(forks[0].Ret), s.Named("child")[0].TID)
	_, ok := s.Headers[1].Value(format.MetaExit)
	require.False(t, ok, "it has not ended")
	for _, e := range s.Events {
		require.GreaterOrEqual(t, e.Start, int64(0))
	}
}

// c32 returns the events of an operation in a thread.
func c32(s *watched, op format.Op, tid int32) []format.Event {
	return slices.DeleteFunc(s.Of(op), func(e format.Event) bool { return e.TID != tid })
}

func TestAttachEndsWithTheProcess(t *testing.T) {
	cmd, in, _, _ := running(t, recordkit.Shell("echo; read x; : > made"))
	s := watch(nil)
	go func() {
		<-s.began
		_ = in.Close()
	}()
	_, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, s)
	require.NoError(t, err)
	require.Len(t, s.Named("made"), 1)
	require.Len(t, s.Of(format.OpExitGroup), 1)
	command, _ := s.Headers[0].Value(format.MetaCommand)
	require.Contains(t, command, "read x")
}

func TestAttachEndsAfterAWhile(t *testing.T) {
	cmd, _, _, _ := running(t, recordkit.Shell("echo; read x"))
	r, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, Duration: time.Millisecond, RingBytes: 1 << 20}, watch(nil))
	require.NoError(t, err)
	require.GreaterOrEqual(t, r.Elapsed, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it lives")
}

// Threads and processes that start while the recorder attaches are followed.
func TestAttachMissesNoThread(t *testing.T) {
	cmd, in, _, _ := running(t, recordkit.Python(t, "import os, threading, sys, select",
		"print(flush=True)",
		"while not select.select([0], [], [], 0)[0]:",
		"  p = os.fork()",
		"  if p == 0:",
		"    t = threading.Thread(target=lambda: os.access('thread', 0)); t.start(); t.join()",
		"    os._exit(0)",
		"  os.waitpid(p, 0)"))
	n := 0
	s := watch(func(e *format.Event) bool {
		if string(e.Str[0]) == "thread" {
			n++
		}
		return n == 20
	})
	go func() {
		<-s.seen
		_ = in.Close()
	}()
	_, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid}, s)
	require.NoError(t, err)
	known := map[int32]bool{}
	for _, m := range s.Headers[0].Meta {
		if m.Key == format.MetaProcess {
			threads, _ := format.Note([]byte(m.Value), "threads")
			for tid := range strings.SplitSeq(string(threads), ",") {
				var n int32
				_, err := fmt.Sscan(tid, &n)
				require.NoError(t, err)
				known[n] = true
			}
		}
	}
	for _, e := range s.Events {
		if e.Op.Info().Effect == format.EffectFork && e.Ret > 0 {
			known[int32(e.Ret)] = true
		}
	}
	unknown := map[int32]bool{}
	for _, e := range s.Events {
		if !known[e.TID] {
			unknown[e.TID] = true
		}
	}
	// A thread whose fork was in progress when the recorder attached.
	require.LessOrEqual(t, len(unknown), 1)
}

func TestAttachErrors(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	ended := exec.Command("/bin/true")
	require.NoError(t, ended.Run())
	for name, test := range map[string]struct {
		pid  int
		want string
	}{
		"no id":     {0, "0 is not a process id"},
		"negative":  {-1, "-1 is not a process id"},
		"itself":    {os.Getpid(), "a recorder can't record itself"},
		"has ended": {ended.Process.Pid, fmt.Sprintf("attach to process %d: os: process already finished", ended.Process.Pid)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Attach(context.Background(), record.Options{PID: test.pid}, &recordkit.Collect{})
			require.EqualError(t, err, test.want)
		})
	}
	_, err := Attach(context.Background(), record.Options{PID: ended.Process.Pid}, &recordkit.Collect{})
	require.ErrorIs(t, err, os.ErrProcessDone)

	cmd, _, _, line := running(t, recordkit.Python(t, "import threading, sys",
		"t = threading.Thread(target=lambda: sys.stdin.readline()); t.start(); print(t.native_id, flush=True); t.join()"))
	var tid int
	_, err = fmt.Sscan(line, &tid)
	require.NoError(t, err)
	_, err = Attach(context.Background(), record.Options{PID: tid}, &recordkit.Collect{})
	require.EqualError(t, err, fmt.Sprintf("attach to process %d: it is a thread of process %d", tid, cmd.Process.Pid))
}

func TestAttachSinkError(t *testing.T) {
	cmd, _, _, _ := running(t, recordkit.Shell("echo; read x"))
	_, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, failing{})
	require.ErrorIs(t, err, errFailing)
}

// failing is a record.Sink whose writes fail.
type failing struct{ recordkit.Discard }

var errFailing = errors.New("no room")

func (failing) WriteHeader(*format.Header) error { return errFailing }

// The header has the pages in the page cache of the files that are open and mapped when the recorder
// attaches.
func TestCachedAtAttach(t *testing.T) {
	const pages = 64
	dir := storage(t)
	cached := map[string]int64{}
	for name, read := range map[string]int64{"open": 3, "mapped": 5} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		_, err = f.Write(make([]byte, pages*4096))
		require.NoError(t, err)
		evict(t, f.Name())
		require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM))
		for i := range read {
			_, err = f.ReadAt(make([]byte, 4096), 8*i*4096)
			require.NoError(t, err)
		}
		n, _ := record.CachedPages(int(f.Fd()))
		if n == record.UnknownCached {
			t.Skip("the kernel does not say what is in the page cache")
		}
		require.Less(t, n, uint64(pages))
		cached[f.Name()] = int64(n)
	}
	open, mapped := filepath.Join(dir, "open"), filepath.Join(dir, "mapped")
	cmd, in, _, _ := running(t, recordkit.Python(t, "import mmap, os",
		"f = os.open('"+open+"', os.O_RDWR); g = os.open('"+mapped+"', os.O_RDWR)",
		"m = mmap.mmap(g, 0); [os.close(int(fd)) for fd in os.listdir('/proc/self/fd') if int(fd) > f and os.path.exists('/proc/self/fd/' + fd)]",
		"print(flush=True); os.read(0, 1)"))
	s := watch(nil)
	go func() {
		<-s.began
		_ = in.Close()
	}()
	_, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, s)
	require.NoError(t, err)

	i := slices.IndexFunc(s.Headers[0].Descriptors, func(d format.Descriptor) bool { return d.Path == open })
	require.GreaterOrEqual(t, i, 0)
	d := s.Headers[0].Descriptors[i]
	require.Equal(t, &format.Notes{Has: format.NotedType | format.NotedMode | format.NotedSize | format.NotedCached,
		Type: format.TypeReg, Mode: 0o644, Size: pages * 4096, Cached: cached[open]}, d.Notes())
	require.Equal(t, []format.File{{Path: mapped, Type: format.TypeReg, Mode: 0o644, Size: pages * 4096, Cached: cached[mapped]}}, s.Headers[0].Files)
}

// Nothing is written about the process if the recording may not begin.
func TestAttachBegin(t *testing.T) {
	cmd, _, _, _ := running(t, recordkit.Shell("echo ready; read x"))
	var c recordkit.Collect
	refused := errors.New("refused")
	_, err := Attach(t.Context(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20, Begin: func() error { return refused }}, &c)
	require.ErrorIs(t, err, refused)
	require.Empty(t, c.Headers)
}
