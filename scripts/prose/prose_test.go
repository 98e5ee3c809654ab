package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sentences are examples, each after the rule that finds it, "" if it is right.
var sentences = [][2]string{
	{"Idiom", "It shows what is missing here."},
	{"Idiom", "It shows what the cache holds."},
	{"Idiom", "It compares this with what lab predicts."},
	{"Idiom", "It keeps what programs keep."},
	{"Idiom", "The file is not JSON: want what fio prints."},
	{"", "What is missing here?"},
	{"", "It says what to do."},
	{"Idiom", "It needs as many as there are."},
	{"Idiom", "It waits as long as others wait."},
	{"", "It takes two times as long as before."},
	{"", "It has as many threads as before."},
	{"Idiom", "It is not written to any more."},
	{"", "It has not any more files."},
	{"Idiom", "A job tells anything of a device."},
	{"Idiom", "The page is behind the last one."},
	{"Idiom", "It runs beside other programs."},
	{"Idiom", "The kernel refuses every namespace but one."},
	{"Idiom", "The command goes on alone."},
	{"", "It goes on that list."},
	{"Idiom", "It is compiled in passing."},
	{"Idiom", "The text is not a size such as 8GiB."},
	{"", "The text is not a size (want for example 8GiB)."},
	{"Idiom", "It wants headers, or patterns of such."},
	{"", "The first of such answers is right."},
	{"Idiom", "It is two per cent slower."},
	{"Inversion", "Were the file larger, it would fail."},
	{"Inversion", "Had it ended, others would wait."},
	{"Inversion", "Should a call fail, the others wait."},
	{"Inversion", "It fails, were it larger."},
	{"", "Other programs, or the host, had the processors."},
	{"", "The file should be smaller, and they should end."},
	{"Negation", "The text is no size of files."},
	{"Stands", "The name stands there twice."},
}

// The rules read pages and the texts of Go files. In comments these rules are silent.
func TestRules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Vale")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("Vale needs g++")
	}
	t.Chdir("../..")
	var document, code strings.Builder
	code.WriteString("package source\n\nvar messages = []error{\n")
	var want []string
	for _, s := range sentences {
		document.WriteString(s[1] + "\n\n")
		first, rest, _ := strings.Cut(s[1], " ")
		code.WriteString("\terrors.New(\"" + first + " \" +\n\t\t\"" + rest + "\"),\n")
		if s[0] != "" {
			want = append(want, "Pianola."+s[0]+": "+s[1])
		}
	}
	code.WriteString("}\n\n// It runs beside other programs. The text is no size of files.\nvar _ = 1\n")
	page, source := filepath.Join(t.TempDir(), "page.md"), filepath.Join(t.TempDir(), "source.go")
	require.NoError(t, os.WriteFile(page, []byte(document.String()), 0o600))
	require.NoError(t, os.WriteFile(source, []byte(code.String()), 0o600))
	var messages texts
	require.NoError(t, messages.add(source))
	alerts, err := vale("error", &messages, []string{page, source})
	require.NoError(t, err)
	found := map[string][]string{}
	for _, a := range alerts {
		i := (a.Line - 1) / 2
		if a.file == source {
			i = (a.Line - 4) / 2
		}
		found[a.file] = append(found[a.file], a.Check+": "+sentences[i][1])
	}
	require.Equal(t, want, found[page])
	require.Equal(t, want, found[source])
}
