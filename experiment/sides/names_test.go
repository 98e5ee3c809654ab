package sides

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		{strings.Repeat("x", 33), "y", "A B"},
	} {
		split := strings.Fields
		if strings.Contains(test.a, "a b") {
			split = func(s string) []string { return []string{s} }
		}
		names := groupNames([2][]string{split(test.a), split(test.b)})
		require.Equal(t, test.want, strings.Join(names[:], " "), "%s -- %s", test.a, test.b)
	}
}
