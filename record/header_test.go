package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestParseFdinfo(t *testing.T) {
	offset, flags := parseFdinfo("pos:\t42\nflags:\t02002\nmnt_id:\t1\n")
	require.Equal(t, int64(42), offset)
	require.Equal(t, int64(format.RDWR|format.APPEND), flags)
}

func TestQuoteCommand(t *testing.T) {
	words := []string{"sh", "-c", `echo "it's" $x`, "", "a=b", "ä"}
	require.Equal(t, `sh -c 'echo "it'\''s" $x' '' a=b 'ä'`, quoteCommand(words))
	require.Equal(t, "./app --n 10", quoteCommand(strings.Fields("./app --n 10")))
}

func TestNoCommand(t *testing.T) {
	words := []string{"app", "--password", "secret"}
	h := CommonHeader(&Options{}, words, "ebpf", format.Cost{})
	v, ok := h.Value(format.MetaCommand)
	require.True(t, ok)
	require.Equal(t, "app --password secret", v)
	_, ok = CommonHeader(&Options{NoCommand: true}, words, "ebpf", format.Cost{}).Value(format.MetaCommand)
	require.False(t, ok)
}

func TestFileSystems(t *testing.T) {
	d := devices{}
	for _, dev := range []uint32{8<<20 | 1, 8<<20 | 1, 8<<20 | 2, 8<<20 | 1, 9 << 20} {
		d.add(dev)
	}
	require.Len(t, d.all, 3)
	mounts := `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
24 22 8:1 /x /var/x rw - ext4 /dev/sda1 rw
25 22 8:2 / /a\040b rw,relatime - xfs /dev/sda2 rw
odd line
26 22 x:y / /odd rw - odd odd rw
`
	require.Equal(t, `"/"=ext4 "/a b"=xfs`, fileSystemsIn(&d, []byte(mounts)))
	require.Empty(t, fileSystemsIn(&devices{}, []byte(mounts)))

	for i := range uint32(2 * maxDevices) {
		d.add(i)
	}
	require.Len(t, d.all, maxDevices, "memory is bounded")
}
