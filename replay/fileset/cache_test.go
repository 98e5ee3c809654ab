package fileset

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// cachedPages counts the pages of a file that are in the page cache.
func cachedPages(t *testing.T, name string) (n int) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	size := int(info.Size())
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(m)
	pages := make([]byte, (size+pageSize-1)/pageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0])))
	require.Zero(t, errno)
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.Mkdir(dir, 0o700))
	var s unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &s))
	if s.Type == unix.TMPFS_MAGIC || os.Getpagesize() != pageSize {
		t.Skip("needs files that can leave the page cache, and pages as recorded")
	}
	const pages = 300
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		var files []format.File
		for name, cached := range map[string]int64{"none": 0, "some": 17, "all": pages + 1, "unknown": -1} {
			files = append(files, format.File{Path: name, Type: format.TypeReg, Mode: 0o600, Size: pages*pageSize - 1, Cached: cached})
		}
		// The first builds them, the second finds the files of the first.
		play := func() (want, got [][]int) {
			for _, test := range []struct {
				cache                    Cache
				none, some, all, unknown int
			}{
				{CacheRecorded, 0, 17, pages, pages},
				{CacheCold, 0, 0, 0, 0},
				{CacheRecorded, 0, 17, pages, 0},
				{CacheWarm, pages, pages, pages, pages},
				{CacheRecorded, 0, 17, pages, pages},
				{CacheAsIs, 0, 17, pages, pages},
			} {
				_, err := prepare(t.Context(), dir, files, Options{Cache: test.cache, Bind: bind})
				require.NoError(t, err)
				in := func(name string) int { return cachedPages(t, filepath.Join(dir, name)) }
				want = append(want, []int{test.none, test.some, test.all, test.unknown})
				got = append(got, []int{in("none"), in("some"), in("all"), in("unknown")})
			}
			require.NoError(t, os.RemoveAll(dir))
			return want, got
		}
		want, got := play()
		for try := 0; try < 5 && !slices.EqualFunc(want, got, slices.Equal); try++ {
			want, got = play() // under load the kernel can take single pages out of the cache
		}
		require.Equal(t, want, got)
	})
}

// Pages that were not on storage when the recorder attached are not on storage when a replay begins.
func TestDirtyPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.Mkdir(dir, 0o700))
	var s unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &s))
	if s.Type == unix.TMPFS_MAGIC || os.Getpagesize() != pageSize {
		t.Skip("needs files with dirty pages, and pages as recorded")
	}
	name := filepath.Join(dir, "file")
	dirty := func() int {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		var whole unix.CachestatRange
		var stat unix.Cachestat_t
		_, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, f.Fd(), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&stat)), 0, 0, 0)
		if errno == unix.ENOSYS {
			t.Skip("needs Linux 6.5")
		}
		require.Zero(t, errno)
		return int(stat.Dirty + stat.Writeback)
	}
	files := []format.File{{Path: "file", Type: format.TypeReg, Mode: 0o600, Size: 10*pageSize - 1, Cached: 8, Dirty: 3}}
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		play := func() int {
			_, err := prepare(t.Context(), dir, files, Options{Cache: CacheRecorded, Bind: bind})
			require.NoError(t, err)
			return dirty()
		}
		got := play()
		for try := 0; try < 5 && got != 3; try++ {
			got = play() // under load the kernel can write them
		}
		require.Equal(t, 3, got)
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		_, err = prepare(t.Context(), dir, files, Options{Cache: CacheWarm, Bind: bind})
		require.NoError(t, err)
		require.Zero(t, dirty())
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}
