package mounts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const text = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:5 / /proc rw - proc proc rw
24 22 8:2 / /a\040b rw,noatime - xfs /dev/sda2 rw,attr2
odd line
26 22 x:y / /odd rw - odd odd rw
27 22 8:3 / /data rw - ext4 /dev/sda3 rw
28 22 8:4 / /data ro - ext4 /dev/sda4 rw
`

func TestParse(t *testing.T) {
	all := Parse(text)
	require.Len(t, all, 5)
	require.Equal(t, Mount{24, 22, 8, 2, "/", "/a b", "xfs", "/dev/sda2", []string{"rw", "noatime", "attr2"}}, all[2])
	require.Equal(t, []string{"rw", "relatime", "errors=remount-ro"}, all[0].Options)
}

func TestOver(t *testing.T) {
	all := Parse(text)
	for path, source := range map[string]string{
		"/": "/dev/sda1", "/home/x": "/dev/sda1", "/a b": "/dev/sda2", "/a b/c": "/dev/sda2", "/a bc": "/dev/sda1",
		"/data/x": "/dev/sda4", // it covers the one before
	} {
		m, ok := Over(all, path)
		require.True(t, ok, path)
		require.Equal(t, source, m.Source, path)
	}
	_, ok := Over(all[1:], "/home")
	require.False(t, ok, "no mount above it")
}
