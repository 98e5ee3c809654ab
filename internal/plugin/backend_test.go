package plugin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// texts is a trace with only a header and strings.
type texts struct {
	format.Trace
	header  format.Header
	strings []string
}

func (t *texts) Header() *format.Header { return &t.header }
func (t *texts) Strings() []string      { return t.strings }

func trace(threads int) *texts {
	t := &texts{strings: []string{"a b", "c"}}
	for range threads {
		t.header.Threads = append(t.header.Threads, format.Thread{Process: 1})
	}
	return t
}

func open(t testing.TB, ctx context.Context, command string, threads int) *Backend {
	t.Helper()
	return run(t, ctx, shell(t, command), threads)
}

// failing is output of a program that is to end with an error.
func failing(t *testing.T, command string) *Backend {
	t.Helper()
	p := shell(t, command)
	p.Timeout = patience(command)
	return run(t, t.Context(), p, 1)
}

func run(t testing.TB, ctx context.Context, p *Program, threads int) *Backend {
	t.Helper()
	o, err := p.Backend(ctx, trace(threads))
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
	return o
}

var (
	openm = &format.Record{Op: format.OpOpenm, Ret: 3, Args: [format.MaxArgs]int64{0, format.RDWR | format.CREAT, 0o600}}
	pread = &format.Record{Op: format.OpPread64, Ret: 4096, Args: [format.MaxArgs]int64{3, 0x1000, 4096, 8192}}
	fails = &format.Record{Op: format.OpRename, Ret: -2, Args: [format.MaxArgs]int64{1, -1}}
	exits = &format.Record{Op: format.OpExit, Ret: format.NoResult}
)

// echo answers with the recorded result.
const echo = `sed -un '/^#/d; s/^\([0-9]* \)\?[a-z].* = /\1/p'`

func TestOutputLines(t *testing.T) {
	for _, test := range []struct {
		threads int
		want    string
	}{
		{1, "# pianola intermediate 1\nopenm ( \"a b\" 36 384 ) = 3\npread64 ( 3 4096 8192 ) = 4096\nrename ( c NULL ) = -1 ENOENT (No such file or directory)\nexit ( 0 ) = ?\n"},
		{2, "# pianola intermediate 1\n# thread: 1 process=1 parent=0 start=0.000000000\n# thread: 2 process=1 parent=0 start=0.000000000\n" +
			"2 openm ( \"a b\" 36 384 ) = 3\n2 pread64 ( 3 4096 8192 ) = 4096\n2 rename ( c NULL ) = -1 ENOENT (No such file or directory)\n2 exit ( 0 ) = ?\n"},
	} {
		file := filepath.Join(t.TempDir(), "lines")
		o := open(t, t.Context(), "tee "+file+" | "+echo, test.threads)
		for _, r := range []*format.Record{openm, pread, fails, exits} {
			got, err := o.Play(int32(test.threads), r)
			require.NoError(t, err)
			require.Equal(t, r.Ret, got)
		}
		require.NoError(t, o.Close())
		lines, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, test.want, string(lines))
	}
}

func TestOutputAnswers(t *testing.T) {
	for answer, want := range map[string]int64{
		"0": 0, "17": 17, " 17 ": 17, "17\\r": 17, "?": format.NoResult, "-2": -2, "-1 ENOENT": -2, "-1 EIO (Input/output error)": -5,
	} {
		o := open(t, t.Context(), "read header; read x; printf -- \""+answer+"\\n\"; cat", 1)
		got, err := o.Play(1, pread)
		require.NoError(t, err, answer)
		require.Equal(t, want, got, answer)
		require.NoError(t, o.Close())
	}
	for _, answer := range []string{"", "x", "1 2", "-", "-1 ENOSUCH", "-2 ENOENT", "-4096", "-1 EIO x", "-1 EIO (", "9999999999999999999", "0x10"} {
		o := open(t, t.Context(), "read header; read x; echo \""+answer+"\"; echo sorry >&2; cat", 1)
		_, err := o.Play(1, pread)
		require.ErrorIs(t, err, errAnswer, answer)
		require.ErrorContains(t, err, fmt.Sprintf("exec:test: answer %q: ", answer))
		_, again := o.Play(1, pread)
		require.Equal(t, err, again)
		require.Equal(t, err, o.Close())
	}
}

func TestOutputErrors(t *testing.T) {
	for _, test := range []struct{ name, command, want string }{
		{"dies", "read header; read x; echo why >&2; exit 3", "exec:test: after 0 lines: exit status 3; its last line on stderr: why"},
		{"ends", "read x", "exec:test: closed its output before the replay had ended"},
		{"hangs", "read header; read x; echo busy >&2; sleep 1000", "exec:test: after 0 lines: no progress for 2s; its last line on stderr: busy"},
		{"reads nothing", "sleep 1000", "exec:test: after 0 lines: no progress for 2s"},
		{"closes its output", "read header; read x; exec >&-; sleep 1000", "exec:test: closed its output before the replay had ended"},
		{"has no end of an answer", "read header; read x; seq -s- 1 4000; cat", "exec:test: an answer is longer than 4096 bytes"},
		{"answers another thread", "read header; read x; echo 2 1; cat", `exec:test: answer "2 1": expected a thread number before the result`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := failing(t, test.command)
			if test.name == "answers another thread" {
				o.several = true
			}
			_, err := o.Play(1, pread)
			require.EqualError(t, err, test.want)
		})
	}
}

func TestOutputIsClosed(t *testing.T) {
	for _, test := range []struct{ name, command, want string }{
		{"well", echo, ""},
		{"with a failure", echo + "; echo why >&2; exit 3", "exec:test: after 1 lines: exit status 3; its last line on stderr: why"},
		{"with an answer too many", echo + "; echo 7", `exec:test: answer "7" matches no pending event`},
		{"not at all", echo + "; sleep 1000", "exec:test: after 1 lines: no progress for 2s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := failing(t, test.command)
			_, err := o.Play(1, pread)
			require.NoError(t, err)
			if err = o.Close(); test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

func TestOutputIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "lines")
	o := open(t, ctx, "tee "+file+" >/dev/null", 2)
	o.run.Timeout = 0
	go func() {
		defer cancel()
		for text, err := os.ReadFile(file); err != nil || bytes.Count(text, []byte("pread64")) < 2; text, err = os.ReadFile(file) {
			time.Sleep(time.Millisecond)
		}
	}()
	var all sync.WaitGroup
	for n := range int32(2) {
		all.Go(func() {
			_, err := o.Play(n+1, pread)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	all.Wait()
	require.ErrorIs(t, o.Close(), context.Canceled)
}

// Many threads ask at a time, and are answered in another order than they asked.
func TestOutputThreads(t *testing.T) {
	const threads, calls = 8, 200
	o := open(t, t.Context(), `while read n rest; do [ "$n" = "#" ] && continue; eval c=\${c$n:-0}; echo $n $((n * 1000 + c)); eval c$n=$((c + 1)); done`, threads)
	var all sync.WaitGroup
	for n := range int32(threads) {
		all.Go(func() {
			for i := range int64(calls) {
				got, err := o.Play(n+1, pread)
				require.NoError(t, err)
				require.Equal(t, int64(n+1)*1000+i, got)
			}
		})
	}
	all.Wait()
	require.NoError(t, o.Close())
}

func TestOutputAnswersInAnyOrder(t *testing.T) {
	o := open(t, t.Context(), `while read n rest; do [ "$n" = "#" ] && continue; if [ "$first" ]; then echo ${n} ${n}0; echo $first ${first}0; first=; else first=$n; fi; done`, 2)
	var all sync.WaitGroup
	for n := range int32(2) {
		all.Go(func() {
			for range 50 {
				got, err := o.Play(n+1, pread)
				require.NoError(t, err)
				require.Equal(t, int64(n+1)*10, got)
			}
		})
	}
	all.Wait()
	require.NoError(t, o.Close())
}

func TestPlayAllocatesNothing(t *testing.T) {
	o := run(t, t.Context(), answering(t), 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := o.Play(1, pread); err != nil {
			panic(err)
		}
		if _, err := o.Play(1, openm); err != nil {
			panic(err)
		}
	}))
}

// The error names the cause of a program's end even if the program read nothing.
func TestOutputThatReadsNothing(t *testing.T) {
	p, err := Parse("exec:sh -c 'echo why >&2; exit 3'")
	require.NoError(t, err)
	long := trace(2)
	for i := range 10_000 {
		long.header.Files = append(long.header.Files, format.File{Path: fmt.Sprint("a long name ", i), Type: format.TypeReg})
	}
	o, err := p.Backend(t.Context(), long)
	require.NoError(t, err)
	_, err = o.Play(1, pread)
	require.ErrorContains(t, err, ": after 0 lines: exit status 3; its last line on stderr: why")
	require.Equal(t, err, o.Close())
}
