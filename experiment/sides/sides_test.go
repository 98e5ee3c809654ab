package sides

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/experiment"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
)

// fake is a log or a recording with one event, whose content is remarks, "key=value" each.
type fake struct {
	name string
	meta []format.Meta
	read bool
}

func openFake(name string) (Recording, error) {
	if strings.HasPrefix(name, "dir") {
		return &fake{name: name + ".txt"}, nil // of several nodes
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &fake{name: name}
	for word := range strings.SplitSeq(string(text), ";") {
		key, value, _ := strings.Cut(word, "=")
		f.meta = append(f.meta, format.Meta{Key: key, Value: value})
	}
	return f, nil
}

func (f *fake) IsLog() bool                             { return strings.HasSuffix(f.name, ".log") }
func (f *fake) IsCompiled() bool                        { return !strings.HasSuffix(f.name, ".txt") }
func (f *fake) Events() (format.Reader, error)          { return f, nil }
func (f *fake) Trace(compile.Options) (*os.File, error) { return nil, io.ErrUnexpectedEOF }
func (f *fake) Close() error                            { return nil }
func (f *fake) Header() *format.Header                  { return &format.Header{Meta: f.meta} }
func (f *fake) Read(events []format.Event) (n int, _ error) {
	if f.read {
		return 0, io.EOF
	}
	f.read = true
	events[0] = format.Event{Op: format.OpFsync, TID: 1, Dur: 1000}
	return 1, nil
}

// made makes files in the working directory, and returns a reader of them.
func made(t *testing.T, content map[string]string) *Reader {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range content {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return &Reader{Open: openFake, Files: new(files.Set), Memory: func() int64 { return 1 << 20 }}
}

// logs are those of replays, at another speed where the name begins with "fast".
func logs(t *testing.T) *Reader {
	content := map[string]string{"app.txt": "start=0", "app.bin": "start=0", "other.txt": "start=0 "}
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2"} {
		content[name+".log"] = "replay=;start=" + name
	}
	content["fast1.log"] = "start=1;replay=timing=compute speed=2"
	return made(t, content)
}

func TestFind(t *testing.T) {
	for _, test := range []struct{ operands, names string }{
		{"app.txt a1.log a2.log", "application replay"},
		{"app.bin a1.log", "application replay"},
		{"app.txt fast1.log", "application replay"},
		{"a1.log b1.log", "a1 b1"},
		{"app.txt other.txt", "app other"},
		{"a1.log a2.log -- b1.log b2.log", "a b"},
		{"app.txt -- app.txt", "A B"},
	} {
		s, err := logs(t).Find(&Request{Operands: strings.Fields(test.operands)})
		require.NoError(t, err, test.operands)
		require.Equal(t, test.names, s.Both[0].Name+" "+s.Both[1].Name, test.operands)
		require.False(t, s.Alone())
	}
	s, err := logs(t).Find(&Request{Operands: []string{"a1.log", "b1.log"}, Names: [2]string{"x", "y"}})
	require.NoError(t, err)
	require.Equal(t, "x y", s.Both[0].Name+" "+s.Both[1].Name)
	s, err = logs(t).Find(&Request{Operands: []string{"a1.log", "a2.log"}, Save: true})
	require.NoError(t, err)
	require.True(t, s.Alone())
	require.Equal(t, "a", s.Both[1].Name)
}

func TestMisuse(t *testing.T) {
	long := strings.Fields(strings.Repeat("a1.log ", 3000))
	for _, test := range []struct {
		q          Request
		want, hint string
	}{
		{Request{}, "want a recording of the application and at least one replay", ""},
		{Request{Operands: []string{"a1.log"}}, "want a recording of the application and at least one replay", ""},
		{Request{Save: true}, "want runs to be compared or saved", ""},
		{Request{Baseline: "b"}, "want runs to be compared or saved", ""},
		{Request{Operands: []string{"a", "--", "b"}, Baseline: "b"}, "--baseline is the first side, and excludes --application and two groups", ""},
		{Request{Operands: []string{"a", "--", "b"}, Applications: []string{"b"}}, "--application and two groups exclude each other", ""},
		{Request{Operands: []string{"a", "--"}}, "want files of the second group after --", ""},
		{Request{Operands: []string{"a", "--", "b", "--", "c"}}, "want two groups of files, got more than one -- between files", ""},
		{Request{Operands: long}, "2999 runs of one side are more than", ""},
		{Request{Operands: []string{"a1.log", "a2.log", "a3.log", "b1.log", "b2.log"}}, "5 operands are neither a recording and logs of its replays nor two groups", "-- parts two groups: pianola compare a1.log a2.log a3.log -- b1.log b2.log"},
		{Request{Operands: []string{"app.txt", "a1.log"}, Save: true}, "--save: app.txt is no log of a replay, as others are", "to compare with it and save the replays put -- after it"},
	} {
		_, err := logs(t).Find(&test.q)
		var wrong *Misuse
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, test.want)
		require.Equal(t, test.hint, wrong.Hint)
	}
}

// A run is on a side once, whatever file holds it.
func TestSameRun(t *testing.T) {
	for operands, want := range map[string]string{
		"a1.log -- b1.log b1.log":       "b1.log is given twice, and is one run",
		"app.txt -- a1.log ./a1.log":    "a1.log and ./a1.log are the same run",
		"app.bin -- fast1.log copy.log": "fast1.log and copy.log are the same run",
		"app.txt a1.log -- b1.log":      "",
		"app.txt fast1.log a1.log":      "fast1.log and a1.log were replayed at different speeds",
		"a2.log -- fast1.log a1.log":    "",
		"dir1 -- dir2":                  "", // of one size
		"app.txt missing.log":           "missing.log: no such file or directory",
	} {
		r := logs(t)
		content, err := os.ReadFile("fast1.log")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("copy.log", content, 0o600))
		require.NoError(t, os.Mkdir("dir1", 0o700))
		require.NoError(t, os.Mkdir("dir2", 0o700))
		_, err = r.Find(&Request{Operands: strings.Fields(operands)})
		if want == "" {
			require.NoError(t, err, operands)
			continue
		}
		require.ErrorContains(t, err, want)
		if !strings.Contains(want, "missing") {
			var hint *console.Hint
			require.ErrorAs(t, err, &hint)
		}
	}
}

func TestRead(t *testing.T) {
	r := logs(t)
	compared := func(operands string) (experiment.Pair, error) {
		s, err := r.Find(&Request{Operands: strings.Fields(operands)})
		require.NoError(t, err)
		if err := s.Read(); err != nil {
			return experiment.Pair{}, err
		}
		return s.Compare(), nil
	}
	p, err := compared("a1.log a2.log -- b1.log b2.log")
	require.NoError(t, err)
	require.Len(t, p.Base.Runs, 2)
	require.Equal(t, [2]string{"a", "b"}, p.Names)
	require.Empty(t, p.Itself)
	p, err = compared("a1.log a2.log -- a1.log")
	require.NoError(t, err)
	require.Equal(t, "a1.log is on both sides, and is compared with itself", p.Itself)

	// The same run in files of other content.
	require.NoError(t, os.WriteFile("again.log", []byte("replay=;start=a1;kernel=6.1"), 0o600))
	p, err = compared("a1.log -- again.log")
	require.NoError(t, err)
	require.Equal(t, "the same replay is on both sides, and is compared with itself", p.Itself)
	_, err = compared("b1.log -- a1.log again.log")
	require.ErrorContains(t, err, "a1.log and again.log are the same run")

	_, err = compared("app.txt a1.log")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a recording is compiled")

	// Runs that were saved are a side.
	s, err := r.Find(&Request{Operands: []string{"a1.log"}, Save: true})
	require.NoError(t, err)
	require.NoError(t, s.Read())
	var text strings.Builder
	require.NoError(t, s.Both[1].WriteBaseline(&text))
	require.NoError(t, os.WriteFile("base.json", []byte(text.String()), 0o600))
	s, err = r.Find(&Request{Operands: []string{"b1.log"}, Baseline: "base.json"})
	require.NoError(t, err)
	require.NoError(t, s.Read())
	p = s.Compare()
	require.Equal(t, [2]string{"a1", "b1"}, p.Names)
	require.Len(t, p.Base.Runs, 1)
	s, err = r.Find(&Request{Operands: []string{"a1.log"}, Baseline: "base.json"})
	require.NoError(t, err)
	require.Equal(t, "baseline", s.Both[0].Name, "not the name of the other side")
}
