package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/script"
)

// shell returns a program that is a command of the shell.
func shell(t testing.TB, command string) *Program {
	t.Helper()
	p, err := Parse("exec:sh -c '" + strings.ReplaceAll(command, "'", `'\''`) + "' PLUGIN")
	require.NoError(t, err)
	p.text = "exec:test"
	return p
}

// printed is a Sink that prints what it takes.
type printed struct {
	events []format.Event
	text   bytes.Buffer
}

func (p *printed) Write(events []format.Event) error {
	for i := range events {
		e := events[i].Clone()
		e.Notes = nil // a trace has none
		p.events = append(p.events, e)
	}
	return nil
}

func (p *printed) Close(h *format.Header) error {
	w := script.NewIntermediateWriter(&p.text, h)
	if err := w.Write(p.events); err != nil {
		return err
	}
	return w.Flush()
}

// read returns a reader whose header is complete before the first event.
func read(t *testing.T, text string) format.Reader {
	t.Helper()
	var h format.Header
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			require.NoError(t, h.ParseLine([]byte(strings.TrimSpace(line))))
		}
	}
	return &headed{script.NewReader(strings.NewReader(text), "in"), &h}
}

type headed struct {
	format.Reader
	h *format.Header
}

func (r *headed) Header() *format.Header { return r.h }

func through(t *testing.T, ctx context.Context, p *Program, text string) (string, error) {
	t.Helper()
	spool, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer spool.Close()
	var out printed
	err = p.Filter(ctx, read(t, text), nil, spool, &out)
	return out.text.String(), err
}

const header = `# pianola intermediate 1
# thread: 1 process=1 parent=0 start=0.000000000
# thread: 2 process=1 parent=0 start=0.000000000
`

// threads is a trace whose second thread waits for events 1 and 3 of the first,
// and whose first waits for event 0 of the second.
const threads = header + `1 open ( a 1 ) = 3
1 compute ( 0.000001000 )
1 pread64 ( 3 10 0 ) = 10 <0.000000500>
2 pread64 ( 3 10 10 ) = 10 {after=1:1}
1 pread64 ( 3 10 20 ) = 10 {after=2:0}
1 pread64 ( 3 10 30 ) = 10 {buf=0x1000}
2 pread64 ( 3 10 40 ) = 10 {buf=0x1000 after=1:3}
2 close ( 3 ) = 0
`

// served is a trace of one thread that waits for clients.
const served = header1 + `open ( a 1 ) = 3
read ( 3 10 ) = 10 {after=0:0+0.000000500:arrival}
compute ( 0.000005000 )
fsync ( 3 ) = 0 {after=1:1+0.000004000:reply held=0.000003000}
`

const header1 = `# pianola intermediate 1
# recorder: ebpf
`

const single = "compute ( 0.000001000 )\nopen ( \"a b\" 1 ) = 3\nread ( 3 10 ) = 10 <0.000000500> {buf=0x1000}\nclose ( 3 ) = 0\n"

func TestFilter(t *testing.T) {
	for _, test := range []struct{ name, in, command, want string }{
		{"one thread", single, "cat", single},
		{"threads", threads, "cat", threads},
		{"one thread has no numbers", single, "sed '/at=/d'", single},
		{"all numbers", threads, "sed '/ close /d; s/ = 10.*at=/ = 10 {at=/; s/{.*//'", header + `1 open ( a 1 ) = 3
1 compute ( 0.000001000 )
1 pread64 ( 3 10 0 ) = 10
2 pread64 ( 3 10 10 ) = 10
1 pread64 ( 3 10 20 ) = 10
1 pread64 ( 3 10 30 ) = 10
2 pread64 ( 3 10 40 ) = 10
`},
		{"a line before", threads, "sed '/ open /i 1 sync ( ) = 0'", strings.NewReplacer("after=1:1", "after=1:2", "after=1:3", "after=1:4", "1 open", "1 sync ( ) = 0\n1 open").Replace(threads)},
		{"a line twice", threads, "sed '/ 0 ) = 10/p'", strings.NewReplacer("after=1:1", "after=1:2", "after=1:3", "after=1:4",
			"1 pread64 ( 3 10 0 ) = 10 <0.000000500>\n", "1 pread64 ( 3 10 0 ) = 10 <0.000000500>\n1 pread64 ( 3 10 0 ) = 10 <0.000000500>\n").Replace(threads)},
		{"what is waited for is gone", threads, "sed '/ 30 ) = 10/d'", strings.NewReplacer("after=1:3", "after=1:2", "1 pread64 ( 3 10 30 ) = 10 {buf=0x1000}\n", "").Replace(threads)},
		{"all before it is gone", threads, "sed '/^1 open/d; /^1 .* 0 )/d'", header + `2 pread64 ( 3 10 10 ) = 10
1 compute ( 0.000001000 )
1 pread64 ( 3 10 20 ) = 10 {after=2:0}
1 pread64 ( 3 10 30 ) = 10 {buf=0x1000}
2 pread64 ( 3 10 40 ) = 10 {buf=0x1000 after=1:1}
2 close ( 3 ) = 0
`},
		{"what waits is gone", threads, "sed '/ 40 ) = 10/d'", strings.NewReplacer("2 pread64 ( 3 10 40 ) = 10 {buf=0x1000 after=1:3}\n", "", "close ( 3 ) = 0", "close ( 3 ) = 0 {after=1:3}").Replace(threads)},
		{"a thread is gone", threads, "sed '/^1/d'", header + "2 pread64 ( 3 10 10 ) = 10\n2 pread64 ( 3 10 40 ) = 10 {buf=0x1000}\n2 close ( 3 ) = 0\n"},
		{"a thread more", threads, "awk '{ print } /^# thread: 2/ { print \"# thread: 3 process=2 parent=0 start=0.000000000\" } END { print \"3 sync ( ) = 0 {after=2:0}\"; print \"2 sync ( ) = 0 {after=3:0}\" }'",
			strings.Replace(threads, "1 open", "# thread: 3 process=2 parent=0 start=0.000000000\n1 open", 1) + "3 sync ( ) = 0 {after=2:0}\n2 sync ( ) = 0 {after=3:0}\n"},
		{"a line of one thread before", served, "sed '/^open /i sync ( ) = 0'", header1 + `sync ( ) = 0
open ( a 1 ) = 3
read ( 3 10 ) = 10 {after=0:0+0.000000500:arrival}
compute ( 0.000005000 )
fsync ( 3 ) = 0 {after=1:2+0.000004000:reply held=0.000003000}
`},
		{"what one thread waits for is gone", served, "sed '/^read /d'", header1 + `open ( a 1 ) = 3
compute ( 0.000005000 )
fsync ( 3 ) = 0 {after=1:0+0.000004000:reply after=0:0+0.000000500:arrival held=0.000003000}
`},
		{"what one thread waits for comes later", served, "awk '/^read / { later = $0; next } { print } END { print later }'", header1 + `open ( a 1 ) = 3
compute ( 0.000005000 )
fsync ( 3 ) = 0 {held=0.000003000}
read ( 3 10 ) = 10 {after=0:0+0.000000500:arrival}
`},
		{"not all is read", threads, "head -n 4", header + "1 open ( a 1 ) = 3\n"},
		{"a child goes on", single, "sleep 1000 >/dev/null 2>&1 & cat", single},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := through(t, t.Context(), shell(t, test.command), test.in)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// A program that reads all before it writes, and one that writes much before it
// reads, are fed and read at once, beyond what pipes hold.
func TestFilterStreams(t *testing.T) {
	lines := 50_000
	if testing.Short() {
		lines = 10_000 // 130 KB at least: more than pipes hold, too
	}
	var in strings.Builder
	for i := range lines {
		fmt.Fprintf(&in, "pread64 ( 3 4096 %d ) = 4096\n", i)
	}
	for _, command := range []string{"cat", "x=$(cat); echo \"$x\"", fmt.Sprintf("seq %d | sed \"s/.*/sync ( ) = 0/\" && cat", lines)} {
		got, err := through(t, t.Context(), shell(t, command), in.String())
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(got, in.String()), command)
	}
}

// impatience is how long a program may do nothing that sleeps in the end. What it
// does before takes less, however busy the machine.
const impatience = 2 * time.Second

// patience is how long a program may do nothing.
func patience(command string) time.Duration {
	if strings.Contains(command, "sleep") {
		return impatience
	}
	return time.Minute
}

// holdsOn is the beginning of a program that leaves a child in a process group of
// its own. FILE gets its number.
const holdsOn = "setsid sh -c 'echo $$ >FILE; exec sleep 1000' & while [ ! -s FILE ]; do :; done; "

// leftBehind returns a file for the number of a process that is killed after the
// test.
func leftBehind(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	})
	return file
}

func TestFilterErrors(t *testing.T) {
	for _, test := range []struct{ name, command, want string }{
		{"dies", "echo one >&2; echo two >&2; exit 3", "exec:test: after 0 lines: exit status 3; its last line on stderr: two"},
		{"dies in mid-line", "head -n 4; printf '1 pread64 ( 3 1'; echo 'a\tb\"' >&2; exit 1", `exec:test: after 4 lines: exit status 1; its last line on stderr: a\tb"`},
		{"is killed", "head -n 4; kill -SEGV $$", "exec:test: after 4 lines: signal: segmentation fault"},
		{"writes nonsense", "head -n 4; echo nonsense; echo what >&2; cat >/dev/null; sleep 1000", "exec:test:5: expected an operation and its arguments in parentheses"},
		{"breaks off", "head -n 4; printf '1 pread64 ( 3 1'", "exec:test:5: cut off in mid-line: pread64: "},
		{"writes nothing", "cat >/dev/null", "exec:test: wrote no events"},
		{"writes no events", "grep \"^#\"", "exec:test: wrote no events"},
		{"writes another dialect", "echo '1 0.000000000 close(3) = 0 <0.000000000>'", "exec:test: wrote a script of the recorded dialect, not an intermediate one"},
		{"makes numbers up", "sed 's/at=1:2/at=1:9/'", "exec:test: at=1:9: no such event"},
		{"makes numbers up without end", "sed 's/at=1:2/at=1:999999999999/'", "exec:test: at=1:999999999999: no such event"},
		{"moves numbers", "sed 's/at=1:2/at=2:0/'", "exec:test: at=2:0 in a line of thread 1"},
		{"spoils numbers", "sed 's/at=1:2/at=1/'", "exec:test: malformed note at=1"},
		{"waits for what is not there", "sed 's/after=1:3/after=1:6/'", "exec:test: after=1:6: no such event"},
		{"numbers a thread of its own", "awk '/1 open/ { print \"# thread: 3 process=2 parent=0 start=0\" } { print } END { print \"3 sync ( ) = 0 {at=3:0}\" }'", "exec:test: at=3:0: no such event"},
		{"has a note of its own", "sed 's/after=/aftr=/'", "exec:test: unknown note in {aftr=1:1 at=2:0}"},
		{"has a note twice", "sed 's/at=1:2/at=1:2 at=1:2/'", "exec:test: unknown note in {at=1:2 at=1:2}"},
		{"hangs", "sleep 1000", "exec:test: after 0 lines: no progress for 2s"},
		{"hangs later", "head -n 4; echo stuck >&2; sleep 1000", "exec:test: after 4 lines: no progress for 2s; its last line on stderr: stuck"},
		{"does not end", "cat; exec >&-; sleep 1000", "exec:test: closed its output, but did not end within 2s"},
		{"leaves a child that holds on", holdsOn + "cat", "exec:test: after 11 lines: it has ended, but a child that left its process group keeps its output open"},
		{"fails and leaves one", holdsOn + "cat; exit 3", "exec:test: after 11 lines: exit status 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := shell(t, strings.ReplaceAll(test.command, "FILE", leftBehind(t)))
			p.Timeout = patience(test.command)
			_, err := through(t, t.Context(), p, threads)
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), test.want), err.Error())
		})
	}
}

func TestFilterWithoutAProgram(t *testing.T) {
	p, err := Parse("exec:/nonexistent/program")
	require.NoError(t, err)
	_, err = through(t, t.Context(), p, single)
	require.ErrorContains(t, err, "exec:/nonexistent/program: ")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// One thread has no numbers to be known by.
func TestFilterOneThread(t *testing.T) {
	for note, want := range map[string]string{"at=1:0": "exec:test: at=1:0: no such event", "by=me": "exec:test: unknown note in {by=me}"} {
		_, err := through(t, t.Context(), shell(t, "echo 'sync ( ) = 0 {"+note+"}'"), single)
		require.EqualError(t, err, want)
	}
}

// stopping is a Sink that stops what it belongs to.
type stopping struct {
	printed
	stop context.CancelFunc
}

func (s *stopping) Write(events []format.Event) error {
	s.stop()
	return s.printed.Write(events)
}

// An interrupt ends the second reading, too.
func TestFilterIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spool, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer spool.Close()
	out := &stopping{stop: cancel}
	err = shell(t, "seq 10000 | sed 's/.*/sync ( ) = 0/'").Filter(ctx, read(t, single), nil, spool, out)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, out.events, batchSize)
}

// Children that a program leaves behind are killed, both if it ends and if it is
// stopped.
func TestChildrenAreKilled(t *testing.T) {
	for _, test := range []struct {
		name, command string
		stop          bool
	}{
		{"after the end", "sleep 1000 & echo $! >FILE; cat", false},
		{"after a failure", "sleep 1000 & echo $! >FILE; exit 1", false},
		{"after nonsense", "sleep 1000 & echo $! >FILE; echo nonsense; wait", false},
		{"at a stop", "sleep 1000 & echo $! >FILE; wait", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.stop {
				go func() {
					for info, err := os.Stat(file); err != nil || info.Size() == 0; info, err = os.Stat(file) {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			}
			p := shell(t, strings.ReplaceAll(test.command, "FILE", file))
			p.Timeout = 0
			_, err := through(t, ctx, p, single)
			if test.stop {
				require.ErrorIs(t, err, context.Canceled)
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return gone(pid) }, time.Minute, time.Millisecond)
		})
	}
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	if unix.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestGenerate(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, shell(t, "cat; echo 'close ( 3 ) = 0'").Generate(t.Context(), &out))
	require.Equal(t, "close ( 3 ) = 0\n", out.String())
	err := shell(t, "echo line; echo why >&2; exit 4").Generate(t.Context(), &out)
	require.EqualError(t, err, "exec:test: after 1 lines: exit status 4; its last line on stderr: why")
}

func TestStderrIsPassedOn(t *testing.T) {
	p := shell(t, "echo one >&2; cat; printf two >&2")
	var said bytes.Buffer
	p.Stderr = &said
	_, err := through(t, t.Context(), p, single)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo", said.String())
}
