package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// A name that is too long fails in a replay as it did in the recording, with
// either mapping, and leaves nothing of itself in the trace.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 256)
	path := strings.Repeat("/d", 60000)
	for _, paths := range []compile.Paths{compile.Tree, compile.Flat} {
		for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
			got, r := compiled(t, `# pianola script 1
# cwd: "/w"
1 0.1 stat("`+path+`", 0x1) = -1 ENAMETOOLONG (File name too long) <0.1>
1 0.1 open("sub/`+long+`/x", O_RDONLY) = -1 ENAMETOOLONG (File name too long) <0.1>
1 0.1 rename("a", "`+long+`") = -1 ENAMETOOLONG (File name too long) <0.1>
1 0.1 symlink("`+path+`", "l") = -1 ENAMETOOLONG (File name too long) <0.1>
`, compile.Options{Paths: paths, Key: key})
			require.Len(t, got.events, 4)
			for _, i := range []int{0, 1} {
				require.Len(t, got.events[i].Str[0], 256)
			}
			require.Len(t, got.events[2].Str[1], 256)
			require.Greater(t, len(got.events[3].Str[0]), 4095)
			require.Less(t, len(got.events[3].Str[0]), 8192)
			for _, e := range got.events {
				require.Equal(t, int64(-36), e.Ret)
			}
			require.LessOrEqual(t, len(got.header.Files), 1, "the working directory")
			require.Zero(t, r.Unexplained)
		}
	}
}

// A recorder keeps the beginning of what is too long for it.
func TestLongNameCut(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.1 stat("/w/abc", 0x1) = -1 ENAMETOOLONG (File name too long) <0.1> {path=cut}
1 0.1 stat("/w/abc", 0x1) = 0 <0.1> {path=cut}
`, compile.Options{})
	require.Len(t, got.events, 1)
	require.Len(t, got.events[0].Str[0], 256)
}

// If a call failed before the kernel looked at the long name, the path up to that point
// is kept.
func TestLongNameNotReached(t *testing.T) {
	got, r := compiled(t, `# pianola script 1
1 0.1 stat("/w/f", 0x1) = 0 <0.1> {type=reg size=1}
1 0.1 stat("/w/f/`+strings.Repeat("n", 300)+`/x", 0x1) = -1 ENOTDIR (Not a directory) <0.1>
1 0.1 stat("/w/none/`+strings.Repeat("n", 300)+`/x", 0x1) = -1 ENOENT (No such file or directory) <0.1>
`, compile.Options{})
	require.Len(t, got.events, 3)
	for i, prefix := range []string{"w/f/", "w/none/"} {
		name := string(got.events[i+1].Str[0])
		require.True(t, strings.HasPrefix(name, prefix), name)
		require.Len(t, name, len(prefix)+256)
	}
	require.Len(t, got.header.Files, 2)
	require.Zero(t, r.Unexplained)

	// Without directories it is a name that isn't there.
	got, _ = compiled(t, `# pianola script 1
1 0.1 stat("/w/none/`+strings.Repeat("n", 300)+`/x", 0x1) = -1 ENOENT (No such file or directory) <0.1>
`, compile.Options{Paths: compile.Flat})
	require.Equal(t, "pianola_gone", string(got.events[0].Str[0]))
	require.Empty(t, got.header.Files)
}

// No call succeeds on a name that is too long: it is left out, and reported.
func TestLongNameThatSucceeded(t *testing.T) {
	long := strings.Repeat("n", 256)
	got, r := compiled(t, `# pianola script 1
1 0.1 stat("/w/`+long+`", 0x1) = 0 <0.1>
1 0.1 stat("`+strings.Repeat("/d", 2048)+`", 0x1) = 0 <0.1>
1 0.1 symlink("`+strings.Repeat("d", 4096)+`", "/w/l") = 0 <0.1>
1 0.1 stat("/w/`+long[1:]+`", 0x1) = 0 <0.1>
1 0.1 stat("`+strings.Repeat("/d", 2047)+`", 0x1) = -1 ENOENT (No such file or directory) <0.1>
`, compile.Options{})
	require.Len(t, got.events, 2, "those of the greatest length")
	require.EqualValues(t, 3, r.Unexplained)
	var b strings.Builder
	_, err := r.WriteTo(&b)
	require.NoError(t, err)
	require.Contains(t, b.String(), "  3: name or path longer than the kernel accepts\n")
}

// Where relative names lead farther than any path does, a replay can't follow,
// but it goes on where the application comes back.
func TestPathsBeyondAnyName(t *testing.T) {
	name := strings.Repeat("n", 250)
	text := "# pianola script 1\n"
	for range 20 {
		text += `1 0.1 mkdir("` + name + `", 0700) = 0 <0.1>` + "\n" + `1 0.1 chdir("` + name + `") = 0 <0.1>` + "\n"
	}
	for range 20 {
		text += `1 0.1 chdir("..") = 0 <0.1>` + "\n" + `1 0.1 rmdir("` + name + `") = 0 <0.1>` + "\n"
	}
	got, r := compiled(t, text, compile.Options{})
	require.Len(t, got.events, 2*16, "of 16 directories the paths fit")
	require.Zero(t, r.Unexplained)
	require.Empty(t, got.header.Files)
}
