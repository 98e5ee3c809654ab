package record

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// opened returns the call by which this process opened a file for writing, and a
// name for the file, which is closed at the end of the test.
func opened(t *testing.T, name string) (Call, *os.File) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	info, err := f.Stat()
	require.NoError(t, err)
	st := info.Sys().(*syscall.Stat_t)
	return Call{
		TID: int32(os.Getpid()), Nr: uint32(format.OpOpenat.Info().Sys[format.HostArch]), Ret: int64(f.Fd()), Args: [6]uint64{0, 0, unix.O_RDWR}, Flags: bpf.CFlagFLAG_STAT | bpf.CFlagFLAG_FILE,
		Details: &bpf.CDetails{Mode: st.Mode, Size: uint64(st.Size), Ino: st.Ino, Dev: unix.Major(st.Dev)<<20 | unix.Minor(st.Dev), Nlink: 1, Cached: UnknownCached},
	}, f
}

// noted adds calls to a new writer and returns what is noted of their files.
func noted(t *testing.T, calls ...Call) (all []string) {
	t.Helper()
	w := NewWriter(discard{}, 0)
	for i := range calls {
		_, err := w.Add(&calls[i])
		require.NoError(t, err)
		n := w.batch[i].Notes
		require.Equal(t, n.Known(format.NotedBlocks), n.Known(format.NotedLate))
		all = append(all, string(n.Blocks))
	}
	require.NoError(t, w.Write())
	return all
}

func TestBlocksAreNoted(t *testing.T) {
	dir := t.TempDir()
	c, f := opened(t, filepath.Join(dir, "reserved"))
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 1<<20); err != nil {
		t.Skip("the file system sets no blocks aside: ", err)
	}
	c.Details.Size = 1 << 20
	if noted(t, c)[0] == "" {
		t.Skip("the file system does not report extents")
	}
	require.Equal(t, []string{"reserved:1048576", ""}, noted(t, c, c), "each file once")

	made, created := c, *c.Details
	created.Created, made.Details = 1, &created
	require.Equal(t, []string{"", ""}, noted(t, made, c), "the application's work")
	cut := c
	cut.Args[2] |= unix.O_TRUNC
	require.Equal(t, []string{"", ""}, noted(t, cut, c))
	reader := c
	reader.Args[2] = unix.O_RDONLY
	require.Equal(t, []string{"reserved:1048576", ""}, noted(t, reader, c), "fewer blocks than the size needs")
	details := *c.Details
	details.Blocks = 1 << 20 / 512
	reader.Details = &details
	require.Equal(t, []string{"", "reserved:1048576"}, noted(t, reader, c))
	other, _ := opened(t, filepath.Join(dir, "other"))
	other.Ret = c.Ret
	require.Equal(t, []string{""}, noted(t, other), "the number has another file by now")

	whole, g := opened(t, filepath.Join(dir, "whole"))
	_, err := g.Write(make([]byte, 100_000))
	require.NoError(t, err)
	require.NoError(t, g.Sync())
	whole.Details.Size = 100_000
	require.Equal(t, []string{""}, noted(t, whole))
	require.Equal(t, []string{""}, noted(t, func() Call { c, _ := opened(t, filepath.Join(dir, "empty")); return c }()))
}

// The time between the call and the look is noted.
func TestBlocksAreNotedLate(t *testing.T) {
	c, f := opened(t, filepath.Join(t.TempDir(), "f"))
	require.NoError(t, f.Truncate(1<<20))
	c.Details.Size, c.Start, c.Dur = 1<<20, 500, 500
	w := NewWriter(discard{}, 0)
	w.began = time.Now().Add(-time.Hour)
	_, err := w.Add(&c)
	require.NoError(t, err)
	n := w.batch[0].Notes
	if !n.Known(format.NotedBlocks) {
		t.Skip("the file system does not report extents")
	}
	require.Equal(t, "hole:1048576", string(n.Blocks))
	require.GreaterOrEqual(t, n.Late, int64(time.Hour-1000))
}

// Data appended since the open do not count as existing before.
func TestBlocksAreThoseOfTheOpen(t *testing.T) {
	for _, test := range []struct {
		size        int64
		found, want string
	}{
		{100, "data:4096", "data:4096"},
		{100, "data:1048576", "data:100"},
		{1 << 20, "data:2097152", "data:1048576"},
		{0, "data:65536", ""},
		{0, "data:131072,reserved:4096", "reserved:135168"},
		{100, "data:131072,hole:4096,data:4096,reserved:4096", "data:100,reserved:130972,hole:4096,reserved:8192"},
		{1 << 20, "data:4096,hole:1048576,data:1048576", "data:4096,hole:1048576"},
		{8192, "data:4096,reserved:65536", "data:4096,reserved:65536"},
	} {
		var b blocks
		var ok bool
		b.all, ok = format.ParseBlocks([]byte(test.found))
		require.True(t, ok)
		b.trim(test.size)
		require.Equal(t, test.want, string(format.AppendBlocks(nil, b.all)), test.found)
	}
}

// In a file of very many extents, the rest counts as written.
func TestBlocksAreBounded(t *testing.T) {
	const size = format.MaxStretches * 8192
	c, f := opened(t, filepath.Join(t.TempDir(), "f"))
	require.NoError(t, f.Truncate(size))
	for at := int64(0); at < size; at += 8192 {
		_, err := f.WriteAt([]byte("x"), at)
		require.NoError(t, err)
	}
	c.Details.Size = size
	text := noted(t, c)[0]
	if text == "" {
		t.Skip("the file system does not report extents")
	}
	blocks, ok := format.ParseBlocks([]byte(text))
	require.True(t, ok)
	sum := int64(0)
	for _, s := range blocks {
		sum += s.Bytes
	}
	require.EqualValues(t, size, sum)
	require.Greater(t, blocks[len(blocks)-1].Bytes, int64(size/4))
}
