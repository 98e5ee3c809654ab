package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// lines returns the names in a header.
func lines(h *format.Header) (all []string) {
	for _, n := range h.Names {
		all = append(all, n.Path+" "+n.Name)
	}
	return all
}

const made = `# pianola script 1
# cwd: "/home/me"
# fd: 1 2 O_WRONLY 0 "/var/log/err"
1 0.1 mkdir("new", 0700) = 0 <0.1>
1 0.1 openat(AT_FDCWD, "new/wal", O_WRONLY|O_CREAT, 0600) = 3 <0.1> {type=reg mode=0600 size=0 new}
1 0.1 rename("new", "db") = 0 <0.1>
1 0.1 truncate("db/wal", 4096) = 0 <0.1>
1 0.1 truncate("/home/me/db/../db/wal", 8192) = 0 <0.1>
1 0.1 stat("/usr/lib/x.so", 0x1) = 0 <0.1> {type=reg mode=0644 size=10}
1 0.1 stat("/opt/../srv/x.so", 0x1) = 0 <0.1> {type=reg mode=0644 size=10}
1 0.1 openat(AT_FDCWD, "/proc/self/status", O_RDONLY) = 4 <0.1>
1 0.1 unlink("db/wal") = -1 EACCES (Permission denied) <0.1>
1 0.1 openat(AT_FDCWD, "never", O_WRONLY|O_CREAT, 0600) = -1 EINTR (Interrupted system call) <0.1>
1 0.1 unlink("db/wal") = 0 <0.1>
1 0.1 mkdir("db/wal", 0700) = 0 <0.1>
1 0.1 stat("db/wal/below", 0x1) = -1 ENOENT (No such file or directory) <0.1>
`

// Each path of the trace has the application's name, in a directory that is renamed
// under both of its names, and nothing else has one.
func TestNames(t *testing.T) {
	tree, _ := compiled(t, made, compile.Options{Names: true})
	require.Equal(t, []string{
		". /",
		"home/me/db/pianola_tmp1 /home/me/db/wal",
		"home/me/db/pianola_tmp1/below /home/me/db/wal/below",
		"home/me/new/pianola_tmp1 /home/me/new/wal",
	}, lines(tree.header))
	flat, _ := compiled(t, made, compile.Options{Names: true, Paths: compile.Flat})
	require.Equal(t, []string{
		". /",
		"below /home/me/db/wal/below",
		"db /home/me/db",
		"err /var/log/err",
		"new /home/me/new",
		"pianola_tmp1 /home/me/new/wal",
		"x.so /srv/x.so",
	}, lines(flat.header))
	for _, o := range []compile.Options{{}, {Names: true, Key: []byte("0123456789abcdef")}, {Names: true, Bare: true}} {
		none, _ := compiled(t, made, o)
		require.Empty(t, none.header.Names, "%+v", o)
	}
}

// The names change nothing else in the trace, and a trace that is printed compiles to the
// same bytes.
func TestNamesAreApart(t *testing.T) {
	for _, paths := range []compile.Paths{compile.Tree, compile.Flat} {
		with, _ := compiled(t, made, compile.Options{Names: true, Paths: paths})
		without, _ := compiled(t, made, compile.Options{Paths: paths})
		var other strings.Builder
		for line := range strings.Lines(with.String()) {
			if !strings.HasPrefix(line, "# name: ") {
				other.WriteString(line)
			}
		}
		require.Equal(t, without.String(), other.String())

		first := binary(t, script.NewReader(strings.NewReader(with.String()), "with.int"))
		tr, err := bin.Open(bytes.NewReader(first), int64(len(first)), bin.DefaultLimit)
		require.NoError(t, err)
		require.Equal(t, with.header.Names, tr.Header().Names)
		again, err := testkit.ReadAll(tr.Events(), 16)
		require.NoError(t, err)
		printed := (&text{events: again, header: tr.Header()}).String()
		require.Equal(t, with.String(), printed)
		require.Equal(t, first, binary(t, script.NewReader(strings.NewReader(printed), "again.int")))
	}
}

// binary returns the trace of an intermediate script.
func binary(t *testing.T, r format.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, compile.Copy(r, bin.NewWriter(&out, new(testkit.Spool))))
	return out.Bytes()
}

// Names count against the limit of memory. A directory that is renamed again and again
// gives its files many.
func TestNamesAreBounded(t *testing.T) {
	dir := func(round int) string { return fmt.Sprint("/", strings.Repeat("x", 200), round) }
	var b strings.Builder
	b.WriteString("# pianola script 1\n")
	for i := range 100 {
		fmt.Fprintf(&b, "1 0.1 openat(AT_FDCWD, \"%s/%d\", O_WRONLY|O_CREAT, 0600) = 3 <0.1> {type=reg mode=0600 size=0 new}\n1 0.1 close(3) = 0 <0.1>\n", dir(0), i)
	}
	for round := range 100 {
		fmt.Fprintf(&b, "1 0.1 rename(\"%s\", \"%s\") = 0 <0.1>\n", dir(round), dir(round+1))
		for i := range 100 {
			fmt.Fprintf(&b, "1 0.1 truncate(\"%s/%d\", %d) = 0 <0.1>\n", dir(round+1), i, round)
		}
	}
	run := func(o compile.Options) error {
		_, err := compile.Compile(script.NewReader(strings.NewReader(b.String()), "r"), new(testkit.Spool), new(text), o)
		return err
	}
	const memory = 1 << 20
	require.NoError(t, run(compile.Options{Memory: memory}))
	err := run(compile.Options{Memory: memory, Names: true})
	limit, ok := errors.AsType[*compile.LimitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "names", limit.What)
	require.NotZero(t, limit.Line)
	require.NoError(t, run(compile.Options{Memory: 8 * memory, Names: true}))
}
