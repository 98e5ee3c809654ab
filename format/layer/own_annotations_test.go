package layer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Annotations of a file become C of the player.
func TestOwnAnnotations(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	const lines = `# Calls are counted and said.
placeholder calls %par1_calls
define counted static long %calls;
initialize counted %calls = 100;
before counted %calls++;
after counted fprintf(stderr, "%name %d %lld %ld %rline\n", \
	(int)%result, %struct.%par2, %calls);
function filled %par1 -> data(%par2)
`
	const header = `//layer own "libown.so"
//annotations "own.annotations"
#include <lib.h>
int twice(int n, const void *bytes); //span setup //counted calls n here //filled bytes 16
int thrice(int n); //span setup //counted calls n there
`
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	write("lib.h", "int twice(int n, const void *bytes);\nint thrice(int n);\n")
	lib := write("lib.c", "int twice(int n, const void *bytes) { return bytes ? 2 * n : 0; }\nint thrice(int n) { return 3 * n; }\n")
	generate := func(header, lines string) (string, error) {
		write("own.annotations", lines)
		out, err := exec.Command("go", "run", "-C", "generate", ".", "-I", dir, "-o", dir, write("own.h", header)).CombinedOutput()
		return string(out), err
	}
	out, err := generate(header, lines)
	if strings.Contains(out, "dial tcp") || strings.Contains(out, "module lookup disabled") {
		t.Skip("the C parser can't be downloaded")
	}
	require.NoError(t, err, out)
	l, err := Load(filepath.Join(dir, "own.json"))
	require.NoError(t, err)
	var source bytes.Buffer
	require.NoError(t, l.Player(&source))
	program := filepath.Join(dir, "player")
	said, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits", "-Wno-unused-function", "-I", dir, "-o", program, write("player.c", source.String()), lib).CombinedOutput()
	require.NoError(t, err, "%s", said)
	answers, text, err := feed(t, program, dir, "own:twice(3, 0x10) = 6 {span=setup}\nown:thrice(3) = 9 {span=setup}\n")
	require.NoError(t, err, text)
	require.Equal(t, "6 <>\n9 <>\n", answers)
	require.Equal(t, "twice 6 3 101 here\nthrice 9 3 102 there\n", text)

	for _, test := range []struct{ from, to, want string }{
		{"before counted", "during counted", `own.annotations:5: "during" is not a place: [define initialize before function after], placeholder`},
		{"before counted", "before span", "own.annotations:5: //span has a meaning already"},
		{"placeholder calls", "placeholder name", "own.annotations:2: %name has a meaning already"},
		{"before counted %calls++;", "before counted", "own.annotations:5: want PLACE NAME TEXT"},
		{"data(%par2)", "data(%par3)", "line 4: twice: %par3: the annotation has 2 words"},
		{"%struct.%par2", "%struct.m", "line 4: twice: %struct.m: twice has no such argument"},
		{"function filled %par1 ->", "function filled %par1", "want ARG -> CALL"},
	} {
		out, err := generate(header, strings.Replace(lines, test.from, test.to, 1))
		require.Error(t, err, test.to)
		require.Contains(t, out, test.want)
	}
}
