package ebpf

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
)

const globalsLibrary = `
long native_int_g = -1;
int other_g = -1;
static long hidden_g = 9;
void start(void) { native_int_g = 5; }
void initialize(void) { native_int_g = 216172782113783820; other_g = 77 + 0 * hidden_g; }
`

const globalsProgram = `
#include <stdio.h>
extern long native_int_g;
void initialize(void), start(void);
int main(void)
{
	for (int c; (c = getchar()) != EOF;) {
		if (c == 'i')
			initialize();
		if (c == 's')
			start();
		printf("%d\n", native_int_g > 0);
		fflush(stdout);
	}
	return 0;
}
`

// The values of a library's variables are read in a process: in the copies that the program
// has of some, and in a program that has the library in it. There are none before the
// library is initialised, and none of a process that has ended.
func TestGlobals(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	build := func(args ...string) {
		out, err := exec.Command(cc, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	source, main := file("globals.c", globalsLibrary), file("main.c", globalsProgram)
	library := filepath.Join(dir, "libglobals.so.1")
	build("-shared", "-fPIC", "-o", library, source)
	build("-o", filepath.Join(dir, "shared"), main, library, "-Wl,-rpath,"+dir)
	build("-no-pie", "-o", filepath.Join(dir, "fixed"), main, library, "-Wl,-rpath,"+dir)
	build("-static", "-o", filepath.Join(dir, "static"), main, source)
	l, err := layer.Load(file("globals.json", `{"layer": "own", "libraries": ["libglobals.so*"], "includes": [],
		"globals": [{"type": "id", "c": "int", "name": "other_g"}, {"type": "id", "c": "long", "name": "native_int_g"},
			{"type": "id", "c": "long", "name": "missing_g"}],
		"functions": [{"name": "initialize", "result": {"c": "void", "kind": "void"}, "args": [], "span": "setup"}]}`))
	require.NoError(t, err)
	want := []format.Meta{{Key: format.MetaGlobal, Value: "own other_g 77"}, {Key: format.MetaGlobal, Value: "own native_int_g 216172782113783820"}}

	for _, name := range []string{"shared", "fixed", "static"} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command(filepath.Join(dir, name))
			in, err := c.StdinPipe()
			require.NoError(t, err)
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			answers := bufio.NewScanner(out)
			ask := func(text string) {
				_, err := in.Write([]byte(text))
				require.NoError(t, err)
				require.True(t, answers.Scan())
			}
			p := planSpans(&record.Options{Layers: []*layer.Layer{l}})
			read := func() {
				p.called(&record.Span{CSpan: &bpf.CSpan{Tid: uint32(c.Process.Pid)}, Probe: &record.SpanProbe{Layer: "own"}})
				p.readGlobals()
			}
			ask("-")
			read()
			require.Empty(t, p.values(), "not initialised")
			ask("s")
			read()
			require.Empty(t, p.values(), "initialised in part")
			ask("i")
			p.readGlobals()
			require.Empty(t, p.values(), "nothing was called")
			read()
			require.Equal(t, want, p.values())
			require.NoError(t, in.Close())
			require.NoError(t, c.Wait())
			read()
			require.Equal(t, want, p.values(), "they are read once")
			_, err = p.globals[0].of(int32(c.Process.Pid))
			require.ErrorIs(t, err, os.ErrNotExist)
		})
	}
}

// A library that is damaged, or that a process has only in part, says nothing.
func TestGlobalsOfDamagedLibrary(t *testing.T) {
	l, err := layer.Load("hdf5")
	require.NoError(t, err)
	whole, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "libhdf5.so")
	for _, n := range []int{0, 10, 64, 1000, 100_000, len(whole) / 2} {
		require.NoError(t, os.WriteFile(name, whole[:n], 0o600))
		_, _, _, err = l.Variables(name)
		require.Error(t, err)
	}
}
