package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/compressed"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/plugin"
)

// The forms of one run: each holds an open and an fsync of a file.
var forms = []string{"run.txt", "run.gz", "run.bin", "run.text", "run.log"}

// made makes the forms in the working directory, and returns a reader of them.
func made(t *testing.T) *Reader {
	t.Helper()
	t.Chdir(t.TempDir())
	r := &Reader{Console: new(console.Console), Files: new(files.Set), Transforms: transform.Builtin()}
	events := []format.Event{
		{Op: format.OpOpen, TID: 1, Start: 1000, Dur: 1000, Ret: 3, Str: [format.MaxStrings][]byte{[]byte("/tmp/f")}},
		{Op: format.OpFsync, TID: 1, Start: 4000, Dur: 1000, Args: [format.MaxArgs]int64{3}},
	}
	for name, key := range map[string]string{"run.txt": format.MetaTool, "run.log": format.MetaReplay} {
		var b bytes.Buffer
		w := script.NewWriter(&b)
		h := &format.Header{}
		h.Set(key, "pianola")
		h.Set(format.MetaLost, "0")
		require.NoError(t, w.WriteHeader(h))
		require.NoError(t, w.Write(events))
		require.NoError(t, w.Flush())
		write(t, name, b.Bytes())
	}
	text, err := os.ReadFile("run.txt")
	require.NoError(t, err)
	write(t, "run.gz", gzipped(t, text))

	trace, err := r.OpenTrace("run.txt", bin.DefaultLimit, nil)
	require.NoError(t, err)
	defer trace.Close()
	b, err := io.ReadAll(io.NewSectionReader(trace.file, 0, 1<<20))
	require.NoError(t, err)
	write(t, "run.bin", b)
	var lowered bytes.Buffer
	require.NoError(t, WriteText(&lowered, trace.Trace))
	write(t, "run.text", lowered.Bytes())
	return r
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := compressed.NewGzip(&packed)
	_, err := z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return packed.Bytes()
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, content, 0o600))
}

// opsOf returns the operations of a reader.
func opsOf(t *testing.T, r format.Reader) (ops string) {
	t.Helper()
	require.NoError(t, format.Copy(writer(func(events []format.Event) error {
		for i := range events {
			ops += events[i].Op.String() + " "
		}
		return nil
	}), r))
	return ops
}

type writer func([]format.Event) error

func (w writer) Write(events []format.Event) error { return w(events) }

// Every form of a run is opened, and read as often as one likes.
func TestOpen(t *testing.T) {
	r := made(t)
	for _, name := range forms {
		s, err := r.Open(name)
		require.NoError(t, err, name)
		require.Equal(t, name == "run.log", s.Log, name)
		require.Equal(t, name == "run.bin", s.IsTrace(), name)
		require.Equal(t, name == "run.bin" || name == "run.text", s.IsLowered(), name)
		for range 2 {
			events, err := s.Events()
			require.NoError(t, err, name)
			require.Equal(t, "open fsync ", opsOf(t, events), name)
		}
		require.NoError(t, s.Close())
	}
}

// Every form but a log is a trace, and changed by transforms into others.
func TestTraces(t *testing.T) {
	r := made(t)
	for _, name := range forms[:4] {
		trace, err := r.OpenTrace(name, bin.DefaultLimit, nil)
		require.NoError(t, err, name)
		require.Equal(t, "open fsync ", opsOf(t, trace.Events()), name)
		require.NoError(t, trace.Close())

		s, err := r.OpenAll(importer.Options{}, Operand{Name: name})
		require.NoError(t, err, name)
		for steps, want := range map[string]string{"": "open fsync ", "sync=none": "open "} {
			var with []string
			if steps != "" {
				with = []string{steps}
			}
			f, err := s.Compile(with)
			require.NoError(t, err, name)
			opened, err := r.Within(f, 0)
			require.NoError(t, err)
			require.Equal(t, want, opsOf(t, opened.Events()), "%s %s", name, steps)
			require.NoError(t, f.Close())
		}
		_, err = s.Compile([]string{"nothing"})
		require.ErrorContains(t, err, name+": no transform")
		require.NoError(t, s.Close())
	}
	_, err := r.OpenTrace("run.log", bin.DefaultLimit, nil)
	require.ErrorContains(t, err, "run.log: the log of a replay, not a recording")
	_, err = r.OpenAll(importer.Options{}, Operand{Name: "run.log"})
	require.ErrorContains(t, err, "run.log: the log of a replay, not a recording")
	_, err = r.OpenAll(importer.Options{}, Operand{Name: "run.txt"}, Operand{Name: "run.bin"})
	require.ErrorContains(t, err, "run.bin: already compiled")
}

// A recording is compiled for the outputs that are made of a trace.
func TestOpenEvents(t *testing.T) {
	r := made(t)
	for _, name := range forms {
		for _, kind := range []string{"csv", "script"} {
			e, err := r.OpenEvents(name, kind)
			require.NoError(t, err, name)
			require.Equal(t, "open fsync ", opsOf(t, e), "%s %s", name, kind)
			require.ErrorContains(t, e.Named(io.ErrNoProgress), name+": ")
			require.NoError(t, e.Close())
		}
	}
}

func TestPrograms(t *testing.T) {
	r := made(t)
	p, err := plugin.Parse("exec:cat run.txt")
	require.NoError(t, err)
	s, err := r.OpenAll(importer.Options{}, Operand{p.String(), func(w io.Writer) error { return p.Generate(t.Context(), w) }})
	require.NoError(t, err)
	defer s.Close()
	f, err := s.Compile(nil)
	require.NoError(t, err)
	cat, err := plugin.Parse("exec:cat")
	require.NoError(t, err)
	f, err = r.Through(context.Background(), f, []*plugin.Program{cat, cat})
	require.NoError(t, err)
	defer f.Close()
	trace, err := r.Within(f, 0)
	require.NoError(t, err)
	require.Equal(t, "open fsync ", opsOf(t, trace.Events()))

	f, err = os.Open("run.bin")
	require.NoError(t, err)
	fails, err := plugin.Parse("exec:false")
	require.NoError(t, err)
	_, err = r.Through(context.Background(), f, []*plugin.Program{fails})
	require.Error(t, err)
	require.ErrorIs(t, f.Close(), os.ErrClosed, "it is closed whatever becomes of it")
}

func TestErrors(t *testing.T) {
	r := made(t)
	require.NoError(t, os.Mkdir("empty", 0o700))
	write(t, "garbage", []byte("\x00\x01garbage"))
	write(t, "cut.bin", []byte("x"))
	whole, err := os.ReadFile("run.bin")
	require.NoError(t, err)
	write(t, "cut.bin", whole[:len(whole)-1])
	for name, want := range map[string]string{
		"missing": "missing: no such file", "empty": "empty: no recordings in this directory", "garbage": "garbage", "cut.bin": "cut.bin: ", os.DevNull: "not a regular file",
	} {
		_, err := r.OpenTrace(name, bin.DefaultLimit, nil)
		require.ErrorContains(t, err, want)
	}
	// The script is cut within the recording, which a killed recorder leaves.
	text, err := os.ReadFile("run.txt")
	require.NoError(t, err)
	write(t, "killed.txt", text[:len(text)-3])
	trace, err := r.OpenTrace("killed.txt", bin.DefaultLimit, nil)
	require.NoError(t, err)
	require.Equal(t, "open ", opsOf(t, trace.Events()))
	require.NoError(t, trace.Close())
}

// Limits hold for the text and for the memory of an input.
func TestLimits(t *testing.T) {
	r := made(t)
	require.EqualValues(t, minText, r.Limits.text(1))
	require.EqualValues(t, 100<<30, r.Limits.text(1<<30))
	require.LessOrEqual(t, r.Limits.Reading(), int64(bin.DefaultLimit))
	r.Limits = Limits{Text: 10, Memory: 1000}
	require.EqualValues(t, 10, r.Limits.text(1<<30))
	require.EqualValues(t, 1000, r.Limits.Reading())
	text, err := os.ReadFile("run.txt")
	require.NoError(t, err)
	write(t, "long.gz", gzipped(t, append(text, bytes.Repeat([]byte("# remark\n"), 1<<16)...)))
	s, err := r.Open("long.gz")
	require.NoError(t, err)
	events, err := s.Events()
	require.NoError(t, err)
	require.ErrorIs(t, format.Copy(writer(func([]format.Event) error { return nil }), events), compressed.ErrLimit)
	require.NoError(t, s.Close())

	s, err = r.Open("run.txt")
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Trace(compile.Options{Memory: 1})
	var hint *console.Hint
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.Text, "--limit memory=SIZE")
}

func TestNamed(t *testing.T) {
	require.NoError(t, Named("f", nil))
	require.EqualError(t, Named("f", errors.New("broken")), "f: broken")
	require.EqualError(t, Named("f", &compile.LimitError{Line: 7}), "f:7: "+(&compile.LimitError{Line: 7}).Error())
	syntax := &script.SyntaxError{}
	require.Equal(t, error(syntax), Named("f", syntax))
}
