package sides

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/source"
	"pianola/experiment"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
)

// textOf returns a script with one event, whose remarks are "key=value" each.
func textOf(t *testing.T, remarks string) []byte {
	t.Helper()
	h := &format.Header{}
	for word := range strings.SplitSeq(remarks, ";") {
		key, value, _ := strings.Cut(word, "=")
		h.Set(key, value)
	}
	var b bytes.Buffer
	w := script.NewWriter(&b)
	require.NoError(t, w.WriteHeader(h))
	require.NoError(t, w.Write([]format.Event{{Op: format.OpFsync, TID: 1, Dur: 1000}}))
	require.NoError(t, w.Flush())
	return b.Bytes()
}

// made makes scripts in the working directory, and compiled traces where the names end in
// ".bin". It returns a reader of them.
func made(t *testing.T, content map[string]string) *source.Reader {
	t.Helper()
	t.Chdir(t.TempDir())
	r := &source.Reader{Console: new(console.Console), Files: new(files.Set)}
	for name, remarks := range content {
		text := textOf(t, remarks)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		if filepath.Ext(name) != ".bin" {
			continue
		}
		s, err := r.Open(name)
		require.NoError(t, err)
		var trace bytes.Buffer
		_, err = s.CompileTo(&trace, nil, s.Options())
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, os.WriteFile(name, trace.Bytes(), 0o600))
	}
	return r
}

// logs are those of replays, at another speed where the name begins with "fast".
func logs(t *testing.T) *source.Reader {
	content := map[string]string{"app.txt": "start=0", "app.bin": "start=0", "other.txt": "start=00"}
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2"} {
		content[name+".log"] = "replay=timing=precise;start=" + name
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
		s, err := Find(logs(t), &Request{Operands: strings.Fields(test.operands)})
		require.NoError(t, err, test.operands)
		require.Equal(t, test.names, s.Both[0].Name+" "+s.Both[1].Name, test.operands)
		require.False(t, s.Alone())
	}
	s, err := Find(logs(t), &Request{Operands: []string{"a1.log", "b1.log"}, Names: [2]string{"x", "y"}})
	require.NoError(t, err)
	require.Equal(t, "x y", s.Both[0].Name+" "+s.Both[1].Name)
	s, err = Find(logs(t), &Request{Operands: []string{"a1.log", "a2.log"}, Save: true})
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
		{Request{Operands: []string{"a1.log", "a2.log", "a3.log", "b1.log", "b2.log"}}, "5 operands are neither a recording and logs of its replays nor two groups", "-- separates two groups: pianola compare a1.log a2.log a3.log -- b1.log b2.log"},
		{Request{Operands: []string{"app.txt", "a1.log"}, Save: true}, "--save: app.txt is not the log of a replay, unlike the others", "to compare with it and save the replays put -- after it"},
	} {
		_, err := Find(logs(t), &test.q)
		var wrong *Misuse
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, test.want)
		require.Equal(t, test.hint, wrong.Hint)
	}
}

// ofRank is the recording of the only node of a run.
const ofRank = `# pianola script 1
# ranks: 1 run=r machine=m begun=1000
# rank: 0 process=1 node=n
1 0.000001000 fsync(3) = 0 <0.000001000>
# lost: 0
`

// A run counts once on a side, even if several files hold it.
func TestSameRun(t *testing.T) {
	for operands, want := range map[string]string{
		"a1.log -- b1.log b1.log":       "b1.log is given twice, and is one run",
		"app.txt -- a1.log ./a1.log":    "a1.log and ./a1.log are the same run",
		"app.bin -- fast1.log copy.log": "fast1.log and copy.log are the same run",
		"app.txt a1.log -- b1.log":      "",
		"app.txt fast1.log a1.log":      "fast1.log and a1.log were replayed at different speeds",
		"a2.log -- fast1.log a1.log":    "",
		"dir1 -- dir2":                  "", // of one size
		"app.txt missing.log":           "missing.log: no such file",
	} {
		r := logs(t)
		content, err := os.ReadFile("fast1.log")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("copy.log", content, 0o600))
		for _, dir := range []string{"dir1", "dir2"} {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(dir+"/node.txt", []byte(ofRank), 0o600))
		}
		_, err = Find(r, &Request{Operands: strings.Fields(operands)})
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

// Directories of recordings of nodes have no content of their own, whatever their size.
func TestSameDirectory(t *testing.T) {
	s := &Sides{reader: logs(t), files: [2][]string{{"dir1"}, {"dir2", "empty1.log"}}}
	require.NoError(t, os.Mkdir("dir1", 0o700))
	require.NoError(t, os.Mkdir("dir2", 0o700))
	require.NoError(t, os.WriteFile("empty1.log", nil, 0o600))
	require.NoError(t, s.checkRepeated())
	s.files[1] = append(s.files[1], "empty2.log")
	require.NoError(t, os.WriteFile("empty2.log", nil, 0o600))
	require.ErrorContains(t, s.checkRepeated(), "empty1.log and empty2.log are the same run")
}

func TestRead(t *testing.T) {
	r := logs(t)
	compared := func(operands string) (experiment.Pair, error) {
		s, err := Find(r, &Request{Operands: strings.Fields(operands)})
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
	require.NoError(t, os.WriteFile("again.log", textOf(t, "replay=timing=precise;start=a1;kernel=6.1"), 0o600))
	p, err = compared("a1.log -- again.log")
	require.NoError(t, err)
	require.Equal(t, "the same replay is on both sides, and is compared with itself", p.Itself)
	_, err = compared("b1.log -- a1.log again.log")
	require.ErrorContains(t, err, "a1.log and again.log are the same run")

	p, err = compared("app.txt a1.log")
	require.NoError(t, err)
	require.Len(t, p.Base.Runs, 1, "a recording is compiled")
	p, err = compared("app.bin fast1.log")
	require.NoError(t, err)
	require.Equal(t, 2.0, p.Paced.Speed, "it is read at the pace of the replay")

	// Runs that were saved are a side.
	s, err := Find(r, &Request{Operands: []string{"a1.log"}, Save: true})
	require.NoError(t, err)
	require.NoError(t, s.Read())
	var text strings.Builder
	require.NoError(t, s.Both[1].WriteBaseline(&text))
	require.NoError(t, os.WriteFile("base.json", []byte(text.String()), 0o600))
	s, err = Find(r, &Request{Operands: []string{"b1.log"}, Baseline: "base.json"})
	require.NoError(t, err)
	require.NoError(t, s.Read())
	p = s.Compare()
	require.Equal(t, [2]string{"a1", "b1"}, p.Names)
	require.Len(t, p.Base.Runs, 1)
	s, err = Find(r, &Request{Operands: []string{"a1.log"}, Baseline: "base.json"})
	require.NoError(t, err)
	require.Equal(t, "baseline", s.Both[0].Name, "not the name of the other side")
}
