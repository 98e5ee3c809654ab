package export

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// compiled compiles a program, without its output if it is "".
func compiled(t *testing.T, program []byte, output string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("cc is not installed")
	}
	args := []string{"-Wall", "-Werror", "-pthread", "-x", "c", "-", "-fsyntax-only"}
	if output != "" {
		args = append(args[:len(args)-1], "-o", output)
	}
	c := exec.Command(cc, args...)
	c.Stdin = bytes.NewReader(program)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The call of every operation that programs make is one in C. An operation is made, or left
// out and counted.
func TestProgramOfAllOperations(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	var events []format.Event
	made := 0
	for op := range format.Op(format.NumOps) {
		if !op.Valid() || op.Info().Dropped {
			continue
		}
		if programCalls[op] != "" {
			made++
		}
		e := format.Event{Op: op, TID: 1, Ret: -1, Args: [6]int64{1, 1, 1, 1, 1, 1}, Str: [2][]byte{[]byte("a"), []byte("b")}}
		events = append(events, e)
	}
	w, err := New("c", &bytes.Buffer{}, h)
	require.NoError(t, err)
	require.NoError(t, w.Write(events))
	p := w.(*programWriter)
	require.Equal(t, len(events)-made, len(p.left))
	require.Contains(t, p.LeftOut(), "ioctl=1")
	require.Len(t, p.ops, made)
	compiled(t, exported(t, "c", h, events), "")
}

// Names of strangers are data of the program, and stay below its directory.
func TestProgramOfHostileNames(t *testing.T) {
	name := "a*/\"; system(\"x\"); ??)\n\\ \xff1"
	h := &format.Header{
		Threads: []format.Thread{{Process: 1}},
		Files:   []format.File{{Path: "a*", Type: format.TypeDir, Mode: 0o755}, {Path: name, Type: format.TypeReg}, {Path: "up", Type: format.TypeLnk, Target: "b/../../x"}, {Path: "etc", Type: format.TypeLnk, Target: "/etc"}},
	}
	events := []format.Event{
		{Op: format.OpOpen, TID: 1, Str: [2][]byte{[]byte(name)}, Args: [6]int64{0, format.RDONLY}, Ret: 3},
		{Op: format.OpSymlink, TID: 1, Str: [2][]byte{[]byte("../x"), []byte("l")}},
		{Op: format.OpStat, TID: 1, Str: [2][]byte{[]byte("l")}, Ret: -2},
	}
	text := exported(t, "c", h, events)
	require.Contains(t, string(text), `"a*/\042; system(\042x\042); \077\077)\012\134 \3771"`)
	require.Contains(t, string(text), "Left out: symlink=3 */")
	program := filepath.Join(t.TempDir(), "program")
	compiled(t, text, program)
	out, err := exec.Command(program, program+".d").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, program+".d/"+name)
}

func TestProgramRefuses(t *testing.T) {
	closed := format.Event{Op: format.OpClose, TID: 1}
	stat := func(name string) format.Event {
		return format.Event{Op: format.OpStat, TID: 1, Str: [2][]byte{[]byte(name)}}
	}
	after := func(d format.Edge) format.Event {
		return format.Event{Op: format.OpClose, TID: 1, Edges: []format.Edge{d}}
	}
	for name, test := range map[string]struct {
		header format.Header
		event  format.Event
		want   string
	}{
		"above":           {event: stat("a/../../b"), want: `stat of thread 1 at 0.000000000 s: path "a/../../b" leaves the root`},
		"absolute":        {event: stat("/b"), want: `path "/b" leaves the root`},
		"cut off in C":    {event: stat("..\x00a"), want: `path "..\x00a" leaves the root`},
		"file above":      {header: format.Header{Files: []format.File{{Path: "../a"}}}, event: closed, want: `path "../a" leaves the root`},
		"link above":      {header: format.Header{Files: []format.File{{Path: "a", Link: "/etc/passwd"}}}, event: closed, want: `path "/etc/passwd" leaves the root`},
		"open above":      {header: format.Header{Descriptors: []format.Descriptor{{Process: 1, Path: ".."}}}, event: closed, want: `path ".." leaves the root`},
		"large file":      {header: format.Header{Files: []format.File{{Path: "a", Type: format.TypeReg, Size: 1 << 62}}}, event: closed, want: "a: files of more than 1 TiB"},
		"unknown thread":  {event: format.Event{Op: format.OpClose, TID: 2}, want: "close: thread 2 is not in the trace"},
		"edge of thread":  {event: after(format.Edge{Thread: 3}), want: "edge to event 0 of thread 3"},
		"edge to itself":  {event: after(format.Edge{Thread: 1}), want: "edge to event 0 of thread 1"},
		"edge too far":    {header: format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1}}}, event: after(format.Edge{Thread: 2, Event: 7}), want: "edge to event 7 of thread 2, which has 0"},
		"unknown process": {header: format.Header{Descriptors: []format.Descriptor{{Process: 9, Path: ".."}}}, event: closed},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New("c", &bytes.Buffer{}, &test.header)
			require.NoError(t, err)
			if err = w.Write([]format.Event{test.event}); err == nil {
				err = w.Close()
			}
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

// withoutProgram replaces the fixed parts of a program, each of which it has once, by their names.
func withoutProgram(t *testing.T, program []byte) []byte {
	types, rest, _ := strings.Cut(programText, "/* TABLES */\n")
	middle, end, _ := strings.Cut(rest, "/* CALLS */\n")
	for name, part := range map[string]string{"types": types, "middle": middle, "end": end} {
		require.Equal(t, 1, bytes.Count(program, []byte(part)), name)
		program = bytes.Replace(program, []byte(part), []byte("/* program/main.c: "+name+" */\n"), 1)
	}
	return program
}
