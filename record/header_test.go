package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

func TestParseFdinfo(t *testing.T) {
	offset, flags := parseFdinfo("pos:\t42\nflags:\t02002\nmnt_id:\t1\n")
	require.Equal(t, int64(42), offset)
	require.Equal(t, int64(format.RDWR|format.APPEND), flags)
}

func TestNoCommand(t *testing.T) {
	words := []string{"app", "--password", "secret"}
	h := CommonHeader(&Options{}, os.Getpid(), words, "ebpf", format.Cost{})
	v, ok := h.Value(format.MetaCommand)
	require.True(t, ok)
	require.Equal(t, "app --password secret", v)
	_, ok = CommonHeader(&Options{NoCommand: true}, os.Getpid(), words, "ebpf", format.Cost{}).Value(format.MetaCommand)
	require.False(t, ok)
}

func TestProvenance(t *testing.T) {
	remarks := []format.Meta{{Key: format.MetaOptions, Value: "--memory"}}
	h := CommonHeader(&Options{Remarks: remarks}, os.Getpid(), nil, "ebpf", format.Cost{})
	for _, key := range []string{format.MetaOptions, format.MetaStart, format.MetaHost, format.MetaKernel, format.MetaMount} {
		_, ok := h.Value(key)
		require.True(t, ok, key)
	}
	_, ok := CommonHeader(&Options{NoHost: true}, os.Getpid(), nil, "ebpf", format.Cost{}).Value(format.MetaHost)
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
	require.Equal(t, `"/"=ext4 "/a b"=xfs`, fileSystemsIn(&d, mounts))
	require.Empty(t, fileSystemsIn(&devices{}, mounts))

	for i := range uint32(2 * maxDevices) {
		d.add(i)
	}
	require.Len(t, d.all, maxDevices, "memory is bounded")
}

// A named pipe that is open is a pipe, and not a file with a name.
func TestDescriptorsOfPipes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	pipe, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer pipe.Close()
	file, err := os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	defer file.Close()
	paths := map[int32]string{}
	for _, d := range Descriptors(os.Getpid()) {
		paths[d.FD] = d.Path
	}
	require.Regexp(t, `^pipe:\[[0-9]+\]$`, paths[int32(pipe.Fd())])
	require.Equal(t, file.Name(), paths[int32(file.Fd())])
}

// A file that is open is described as its open would be, with those of its pages that are in the
// page cache.
func TestDescriptorsOfFiles(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Chmod(0o640))
	_, err = file.Write(make([]byte, 3*pageBytes+1))
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()

	all := map[int32]format.Descriptor{}
	for _, d := range Descriptors(os.Getpid()) {
		all[d.FD] = d
	}
	d := all[int32(file.Fd())]
	want := &format.Notes{Has: format.NotedType | format.NotedMode | format.NotedSize, Type: format.TypeReg, Mode: 0o640, Size: int64(3*pageBytes + 1)}
	if n, dirty := CachedPages(int(file.Fd())); n != UnknownCached {
		want.Cached, want.Has = 4, want.Has|format.NotedCached
		if dirty > 0 { // not on tmpfs
			want.Dirty, want.Has = 4, want.Has|format.NotedDirty
		}
	}
	require.Equal(t, want, d.Notes())
	require.Zero(t, all[int32(null.Fd())].Has)
}
