package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

func TestParseMapped(t *testing.T) {
	m, ok := parseMapped(`7f5c1a000000-7f5c1a021000 rw-p 00001000 08:01 1234                     /usr/lib/a b\012c.so (deleted)`)
	require.True(t, ok)
	require.Equal(t, Mapped{
		Start: 0x7f5c1a000000, End: 0x7f5c1a021000, Offset: 0x1000, File: format.Inode{Dev: format.Device{Major: 8, Minor: 1}, Ino: 1234},
		Path: "/usr/lib/a b\nc.so", Deleted: true, Private: true, Writable: true,
	}, m)
	for _, line := range []string{"", "7f5c1a000000-7f5c1a021000 rw-p 00000000 00:00 0 ", "7ffd0000-7ffd1000 rw-p 00000000 00:00 0 [stack]", "/x"} {
		_, ok := parseMapped(line)
		require.False(t, ok, line)
	}
}

func TestMappedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 3*pageBytes), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), int64(pageBytes), int(pageBytes), unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))

	files, err := MappedFiles(int32(os.Getpid()))
	require.NoError(t, err)
	var found []Mapped
	for _, m := range files {
		if m.Path == path {
			require.Equal(t, m.Start+pageBytes, m.End)
			require.Equal(t, st.Ino, m.File.Ino)
			m.Start, m.End, m.File = 0, 0, format.Inode{}
			found = append(found, m)
		}
	}
	require.Equal(t, []Mapped{{Offset: pageBytes, Path: path}}, found)

	_, err = MappedFiles(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
}
