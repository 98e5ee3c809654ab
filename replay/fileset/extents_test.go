package fileset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/replay/sandbox"
)

// stretches returns how a file is allocated. It ends the test if the file
// system does not report it.
func stretches(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	w := &worker{guard: sandbox.Guard{Kernel: sandbox.Linux}, buffer: make([]byte, chunk)}
	all, ok := w.stretches(int64(f.Fd()))
	if !ok {
		t.Skip("the file system does not report extents")
	}
	return string(format.AppendBlocks(nil, all))
}

// A file is allocated as recorded, and keeps its length.
func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		name, blocks string
		size         int64
		want         string
		bytes        int64 // that are written
	}{
		{"reserved", "reserved:4194304", 4 << 20, "", 0},
		{"reserved beyond the end", "data:8192,reserved:65536", 5000, "", 5000},
		{"reserved, and empty", "reserved:1048576", 0, "", 0},
		{"a hole at the end", "data:65536,hole:65536", 128 << 10, "data:65536", 65536},
		{"all of a hole", "hole:65536", 64 << 10, "", 0},
		{"of all kinds", "hole:65536,data:2097152,reserved:65536,data:65536,hole:131072,reserved:65536,data:65536", 2<<20 + 447<<10, "", 2<<20 + 127<<10},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
				blocks, ok := format.ParseBlocks([]byte(test.blocks))
				require.True(t, ok)
				files := []format.File{{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: test.size, Cached: -1, Blocks: blocks}}
				dir := filepath.Join(t.TempDir(), "root")
				name := filepath.Join(dir, "f")
				done, err := prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				require.Equal(t, test.bytes, done.Bytes)
				want := test.want
				if want == "" && test.blocks != "hole:65536" {
					want = test.blocks
				}
				require.Equal(t, want, stretches(t, name))
				info, err := os.Stat(name)
				require.NoError(t, err)
				require.Equal(t, test.size, info.Size())

				done, err = prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				require.Zero(t, done.Bytes, "it was as it had to be")
				again, err := os.Stat(name)
				require.NoError(t, err)
				require.Equal(t, info.ModTime(), again.ModTime())

				require.NoError(t, allocate(name, 0, 0, 8<<20))
				require.NoError(t, os.Truncate(name, test.size))
				require.NoError(t, allocate(name, unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, 0, max(test.size, 1)))
				_, err = prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				require.Equal(t, want, stretches(t, name))
			})
		})
	}
}

// Reserved blocks count, as written ones do.
func TestBlocksAreLimited(t *testing.T) {
	files := []format.File{{Path: "f", Type: format.TypeReg, Sparse: true, Blocks: []format.Stretch{{Allocation: format.Reserved, Bytes: 1 << 20}}}}
	_, err := NewPlan(files, 1<<20-1, 10)
	require.ErrorIs(t, err, limit.Err)
	p, err := NewPlan(files, 1<<20, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, p.Bytes)
}
