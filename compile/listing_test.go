package compile_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// A listing of a directory in which the trace makes names is compared as a whole: it
// must have those that were there from its start to its end.
func TestListing(t *testing.T) {
	const made = `# pianola script 1
10 0.000010000 mkdir("/w", 0700) = 0 <0.000001000>
10 0.000010000 mkdir("/w/d", 0700) = 0 <0.000001000>
10 0.000010000 mknod("/w/a", 0100600, 0) = 0 <0.000001000>
10 0.000010000 mknod("/w/b", 0100600, 0) = 0 <0.000001000>
10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
10 0.000010000 getdents64(3, 0x1000, 32768) = 72 <0.000001000>
`
	const end = "10 0.000010000 getdents64(3, 0x1000, 32768) = 0 <0.000001000>\n"
	call := func(ret, note string) string { return "getdents64 ( 3 32768 ) = " + ret + note + "\n" }
	const start, on = " {buf=0x6000000000000000}", " {buf=0x4000000000000000}"
	for _, test := range []struct {
		name, input string
		paths       compile.Paths
		want        string
	}{
		{"all stay", made + end, compile.Tree, call("72", start) + call("0", " {buf=0x4000000000000003}")},
		{"one goes", made + "10 0.000010000 unlink(\"/w/a\") = 0 <0.000001000>\n" + end, compile.Tree, call("72", start) + call("0", " {buf=0x4000000000000002}")},
		{"one comes", made + "10 0.000010000 mknod(\"/w/c\", 0100600, 0) = 0 <0.000001000>\n" + end, compile.Tree, call("72", start) + call("0", " {buf=0x4000000000000003}")},
		{"one comes and goes", made + "10 0.000010000 mknod(\"/w/c\", 0100600, 0) = 0 <0.000001000>\n10 0.000010000 unlink(\"/w/c\") = 0 <0.000001000>\n" + end, compile.Tree,
			call("72", start) + call("0", " {buf=0x4000000000000002}")},
		{"one is replaced", made + "10 0.000010000 rename(\"/w/a\", \"/w/b\") = 0 <0.000001000>\n" + end, compile.Tree, call("72", start) + call("0", " {buf=0x4000000000000001}")},
		{"flat has none", made + end, compile.Flat, call("72", start) + call("0", on)},
		{"after its end", made + end + end, compile.Tree, call("72", start) + call("0", " {buf=0x4000000000000003}") + call("0", on)},
		{"again", made + end + "10 0.000010000 lseek(3, 0, SEEK_SET) = 0 <0.000001000>\n" + end, compile.Tree,
			call("72", start) + call("0", " {buf=0x4000000000000003}") + call("0", " {buf=0x6000000000000003}")},
		{"from elsewhere", made + "10 0.000010000 lseek(3, 77, SEEK_SET) = 77 <0.000001000>\n" + end, compile.Tree, call("72", start) + call("0", on)},
		{"by another thread", made + "10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>\n11 0.000010000 getdents64(3, 0x1000, 32768) = 0 <0.000001000>\n", compile.Tree,
			call("72", start) + call("0", " {buf=0x4000000000000000 after=1:6:birth}")},
		{"names change after it began", "# pianola script 1\n" + `10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
10 0.000010000 getdents64(3, 0x1000, 32768) = 72 <0.000001000>
10 0.000010000 mknod("/w/c", 0100600, 0) = 0 <0.000001000>
` + end, compile.Tree, call("72", "") + call("0", on)},
		{"names never change", "# pianola script 1\n" + `10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
10 0.000010000 getdents64(3, 0x1000, 32768) = 72 <0.000001000>
` + end, compile.Tree, call("72", "") + call("0", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, r := compiled(t, test.input, compile.Options{Paths: test.paths})
			require.Zero(t, r.Unexplained)
			require.Equal(t, test.want, s.listings())
		})
	}
}

// A name that another thread makes or removes after a listing comes after it in a
// replay, too, or the listing would lack it.
func TestListingBeforeChanges(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
10 0.000010000 mknod("/w/a", 0100600, 0) = 0 <0.000001000>
10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>
11 0.000010000 stat("/w", 0x1) = 0 <0.000001000>
10 0.000010000 getdents64(3, 0x1000, 32768) = 72 <0.000001000>
11 0.000010000 unlink("/w/a") = 0 <0.000001000>
`, compile.Options{})
	require.Contains(t, got.String(), "unlink ( w/pianola_tmp1 ) = 0 <0.000001000> {after=1:3:name}")
}

var getdents = regexp.MustCompile(`(getdents64 .*) <.*>(.*\n)`)

// listings returns the calls of getdents64, with their notes.
func (s *text) listings() (lines string) {
	for _, call := range getdents.FindAllStringSubmatch(s.String(), -1) {
		lines += call[1] + call[2]
	}
	return lines
}

// The size of a listed directory at the start is at least that of its listing, minus
// the names that the trace had added, plus those that it had removed. A replay creates
// empty files for it.
func TestSizeOfChangedDirectories(t *testing.T) {
	const open = `10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
`
	const end = `10 0.000010000 getdents64(3, 0x1000, 32768) = 0 <0.000001000>
`
	list := func(bytes int) string {
		return fmt.Sprintf("10 0.000010000 getdents64(3, 0x1000, 32768) = %d <0.000001000>\n", bytes)
	}
	for _, test := range []struct {
		name, input string
		want        int64
	}{
		{"unchanged", open + list(240) + list(240) + end, 480},
		{"twice", open + list(240) + "10 0.000010000 lseek(3, 0, SEEK_SET) = 0 <0.000001000>\n" + list(240) + end, 240},
		{"by two descriptors", open + strings.ReplaceAll(open+list(240), "3", "4") + list(240) + end, 240},
		{"one made before", `10 0.000010000 mknod("/w/made", 0100600, 0) = 0 <0.000001000>` + "\n" + open + list(240) + end, 216},
		{"one made while", open + list(120) + `10 0.000010000 mknod("/w/made", 0100600, 0) = 0 <0.000001000>` + "\n" + list(120) + end, 216},
		{"one removed before", `10 0.000010000 unlink("/w/gone") = 0 <0.000001000>` + "\n" + open + list(240) + end, 264},
		{"one removed after", open + list(240) + end + `10 0.000010000 unlink("/w/gone") = 0 <0.000001000>` + "\n", 240},
		{"one renamed", `10 0.000010000 rename("/w/gone", "/w/a longer name, in 32") = 0 <0.000001000>` + "\n" + open + list(240) + end, 224},
		{"one made and removed", `10 0.000010000 mknod("/w/made", 0100600, 0) = 0 <0.000001000>` + "\n" + `10 0.000010000 unlink("/w/made") = 0 <0.000001000>` + "\n" + open + list(240) + end, 240},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, r := compiled(t, "# pianola script 1\n"+test.input, compile.Options{})
			require.Zero(t, r.Unexplained)
			require.Equal(t, "w", s.header.Files[0].Path)
			require.Equal(t, test.want, s.header.Files[0].Size)
		})
	}
}
