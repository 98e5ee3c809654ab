package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

const namedScript = `# pianola intermediate 1
# fd: 1 2 1 0 "log"
# file: "dir/sub/found" reg mode=0644 size=0 cached=-1
# name: "." "/"
# name: "w/pianola_tmp1" "/w/wal"
# name: "log" "/var/log"
# name: "dir/sub" "/export/sub"
# name: "b/c" "/b/see"
# name: "to/pianola_tmp2" "/to/x"
# name: "slash" "/s"
rename ( w/pianola_tmp1 to//pianola_tmp2 ) = 0
stat ( b/c/d ) = 0
stat ( slash/ ) = 0
symlink ( target from ) = 0
`

func TestNames(t *testing.T) {
	events, r := parse(t, namedScript)
	require.Len(t, events, 4)
	require.Equal(t, []format.AppName{
		{Path: ".", Name: "/"}, {Path: "w/pianola_tmp1", Name: "/w/wal"}, {Path: "log", Name: "/var/log"}, {Path: "dir/sub", Name: "/export/sub"},
		{Path: "b/c", Name: "/b/see"}, {Path: "to/pianola_tmp2", Name: "/to/x"}, {Path: "slash", Name: "/s"},
	}, r.Header().Names)
}

// A name that fits no path is an error at its line, and so is a second one.
func TestWrongNames(t *testing.T) {
	for line, want := range map[string]string{
		`# name: "w/pianola_tmp" "/x"`:    `t:8: name for "w/pianola_tmp", which is not a path of the script`,
		`# name: "w/pianola_tmp1/x" "/x"`: `t:8: name for "w/pianola_tmp1/x", which is not a path of the script`,
		`# name: "target" "/x"`:           `t:8: name for "target", which is not a path of the script`, // a text
		`# name: "" "/x"`:                 `t:8: malformed header line: name: the path is not below the root`,
		`# name: "a"`:                     `t:8: malformed header line: name`,
		`# name: "log" "/x"`:              `t:8: line 6 already names this path`,
		`# name: "." "/x"`:                `t:8: line 4 already names this path`,
	} {
		text := strings.Replace(namedScript, "# name: \"b/c\"", line+"\n# name: \"b/c\"", 1)
		_, err := readAll(NewReader(strings.NewReader(text), "t"), 7)
		require.EqualError(t, err, want, line)
	}
	text := strings.Replace(namedScript, "# name: \"b/c\"", "# name: \"one\" \"/1\"\n# name: \"two\" \"/2\"\n# name: \"b/c\"", 1)
	_, err := readAll(NewReader(strings.NewReader(text), "t"), 7)
	require.EqualError(t, err, `t:8: name for "one", which is not a path of the script`, "the first")

	r := NewReader(strings.NewReader(text), "t")
	r.Partial = true
	_, err = readAll(r, 7)
	require.NoError(t, err)
	require.Len(t, r.Header().Names, 9)
	r.Settle()
	require.Len(t, r.Header().Names, 7)
	for _, n := range r.Header().Names {
		require.NotContains(t, []string{"one", "two"}, n.Path)
	}
}

// The log of a replay that was interrupted lacks paths that have names.
func TestNamesOfALog(t *testing.T) {
	_, r := parse(t, "# pianola script 1\n# replay: x\n# name: \".\" \"/\"\n# name: \"a\" \"/b\"\n1 0.1 close(3) = 0\n")
	require.Len(t, r.Header().Names, 2)
	_, err := readAll(NewReader(strings.NewReader("# pianola script 1\n# name: \"a\" \"/b\"\n# name: \"a\" \"/c\"\n"), "t"), 1)
	require.EqualError(t, err, "t:3: line 2 already names this path")
}
