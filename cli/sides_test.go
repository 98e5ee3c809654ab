package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The parser wants options first; what follows an operand of compare and "--" is the
// second group.
func TestOptionsFirst(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"compare a b --json", "compare --json -- a b"},
		{"compare a -- b", "compare -- a -- b"},
		{"compare a --names x,y -- --json b --tolerance 5% c", "compare --names x,y --json --tolerance 5% -- a -- b c"},
		{"compare -- a b", "compare -- a b"},
		{"compare --json -- -a -b", "compare --json -- -a -b"},
		{"compare -- -a -- -b", "compare -- -a -- -b"},
		{"compare a -- -- -b", "compare -- a -- -b"},
		{"compare a -- b -- c", "compare -- a -- b -- c"},
		{"compare a --", "compare -- a --"},
		{"compare a --tolerance", "compare --tolerance"},
		{"convert a -- --x --", "convert -- a --x --"},
		{"record --json -- a -- b", "record --json -- a -- b"},
	} {
		args := strings.Fields("pianola " + test.given)
		require.Equal(t, "pianola "+test.want, strings.Join(optionsFirst(args, newApp().Commands), " "), test.given)
	}
}

func TestGroupNames(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"p1.log p2.log", "m1.log m2.log", "p m"},
		{"ext4-10.log ext4-11.log", "xfs-1.log xfs-2.log", "ext4 xfs"},
		{"ext4.1.log ext4.2.log", "xfs.1.log xfs.2.log", "ext4 xfs"},
		{"nvme/1.log nvme/2.log", "sata/1.log sata/2.log", "nvme sata"},
		{"r/nvme/x/1.log", "r/sata/x/1.log", "nvme sata"},
		{"nvme/1.log", "./sata/1.log", "nvme sata"},
		{"r/old.log", "new.log", "old new"},
		{"old/p1.log new/p2.log", "m1.log m2.log", "p m"},
		{"nvme/p1.log", "nvme/x/m1.log", "p1 m1"},
		{"6.1.txt.zst", "6.18.txt", "6.1 6.18"},
		{"a b.log", "c.log", "A B"},
		{"a/b,c/1.log", "a/d/1.log", "A B"},
		{"1.log 2.log", "3.log 4.log", "A B"},
		{"a.log", "a.log", "A B"},
		{strings.Repeat("x", maxSideName+1), "y", "A B"},
	} {
		split := strings.Fields
		if strings.Contains(test.a, "a b") {
			split = func(s string) []string { return []string{s} }
		}
		names := groupNames([2][]string{split(test.a), split(test.b)})
		require.Equal(t, test.want, strings.Join(names[:], " "), "%s -- %s", test.a, test.b)
	}
}

func TestParseNames(t *testing.T) {
	names, err := parseNames("nvme,kernel-6.18+x")
	require.NoError(t, err)
	require.Equal(t, [2]string{"nvme", "kernel-6.18+x"}, names)
	for _, text := range []string{"", "a", "a,", ",b", "a,b,c", "a a,b", "a/b,c", "a\n,b", "\xff,b", `"a,b`, strings.Repeat("x", maxSideName+1) + ",y"} {
		_, err := parseNames(text)
		require.ErrorContains(t, err, "is not two names such as nvme,sata", text)
	}
	_, err = parseNames("a,a")
	require.EqualError(t, err, "both sides are called a")
}
