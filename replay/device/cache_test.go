package device

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// listed is a reader of a script that has a fileset, as a trace has.
type listed struct {
	format.Reader
	files []format.File
}

func (r listed) Header() *format.Header {
	h := *r.Reader.Header()
	h.Files = r.files
	return &h
}

// asked walks a script whose files existed as listed, and returns what each call
// with a demand asks for.
func asked(t *testing.T, c Cache, files []format.File, lines ...string) (all []string) {
	t.Helper()
	r := script.NewReader(strings.NewReader("# pianola script 1\n"+strings.Join(lines, "\n")+"\n"), "trace.txt")
	err := Walk(listed{r, files}, c, func(e *format.Event, _ int64, d Demand) error {
		if d.Work != NoWork {
			all = append(all, say(e, d))
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

func say(e *format.Event, d Demand) string {
	text := fmt.Sprintf("%s: %s %d of %d", e.Op.Info().Name, [...]string{ReadWork: "read", WriteWork: "write", SubmitWork: "submit", SyncWork: "sync"}[d.Work], d.Requests, d.Bytes)
	if d.Sequential {
		text += " sequential"
	}
	if d.Commit {
		text += fmt.Sprintf(" commit %d", d.Blocks)
	}
	return text
}

const openF = `1 0.001 openat(AT_FDCWD, "/f", O_RDWR) = 3 <0.000001>`

func fileF(size, cached int64) []format.File {
	return []format.File{{Path: "/f", Type: format.TypeReg, Size: size, Cached: cached}}
}

func TestReads(t *testing.T) {
	read := func(size, at int) string {
		return fmt.Sprintf(`1 0.001 pread64(3, 0x1, %d, %d) = %d <0.000001>`, size, at, size)
	}
	for _, test := range []struct {
		name  string
		cache Cache
		pages int64 // that are cached
		calls []string
		want  []string
	}{
		{"cold", Cache{}, 0, []string{read(4096, 40960), read(4096, 40960), read(8192, 36864)}, []string{"pread64: read 1 of 4096", "pread64: read 1 of 4096"}},
		{"warm at its front", Cache{}, 2, []string{read(8192, 0), read(4096, 12288)}, []string{"pread64: read 1 of 4096"}},
		{"unknown", Cache{}, -1, []string{read(4096, 40960)}, []string{"pread64: read 1 of 4096"}},
		{"warm by option", Cache{Start: StartWarm}, 0, []string{read(4096, 40960)}, nil},
		{"cold by option", Cache{Start: StartCold}, 256, []string{read(4096, 40960)}, []string{"pread64: read 1 of 4096"}},
		{"from the front", Cache{Readahead: 65536}, 0, []string{read(4096, 0), read(4096, 4096), read(4096, 65536)}, []string{"pread64: read 1 of 65536 sequential", "pread64: read 1 of 4096"}},
		{"to the end", Cache{}, 0, []string{read(4096, 1<<20), read(4096, 0), read(4096, 4096)}, []string{"pread64: read 1 of 4096", "pread64: read 1 of 131072"}},
		{"two holes", Cache{}, 0, []string{read(4096, 53248), read(16384, 49152)}, []string{"pread64: read 1 of 4096", "pread64: read 2 of 12288"}},
		{"written before", Cache{}, 0, []string{`1 0.001 pwrite64(3, 0x1, 4096, 40960) = 4096 <0.000001>`, read(4096, 40960)}, nil},
		{"dropped", Cache{}, 256, []string{read(4096, 40960), `1 0.001 fadvise64(3, 0, 0, POSIX_FADV_DONTNEED) = 0 <0.000001>`, read(4096, 40960)}, []string{"pread64: read 1 of 4096"}},
		{"failed", Cache{}, 0, []string{`1 0.001 pread64(3, 0x1, 4096, 40960) = -1 EIO (I/O error) <0.000001>`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, asked(t, test.cache, fileF(1<<20, test.pages), append([]string{openF}, test.calls...)...))
		})
	}
}

func TestDirect(t *testing.T) {
	require.Equal(t, []string{
		"pread64: read 1 of 4096 sequential", "pread64: read 1 of 4096", "pwrite64: write 1 of 8192 sequential",
	}, asked(t, Cache{}, fileF(1<<20, 256),
		`1 0.001 openat(AT_FDCWD, "/f", O_RDWR|O_DIRECT) = 3 <0.000001>`,
		`1 0.001 pread64(3, 0x1, 4096, 0) = 4096 <0.000001>`,
		`1 0.001 pread64(3, 0x1, 4096, 40960) = 4096 <0.000001>`,
		`1 0.001 pwrite64(3, 0x1, 8192, 45056) = 8192 <0.000001>`))
}

func TestSyncs(t *testing.T) {
	write := func(size, at int) string {
		return fmt.Sprintf(`1 0.010 pwrite64(3, 0x1, %d, %d) = %d <0.000001>`, size, at, size)
	}
	const (
		fsync = `1 0.001 fsync(3) = 0 <0.000001>`
		fdata = `1 0.001 fdatasync(3) = 0 <0.000001>`
		made  = `1 0.001 openat(AT_FDCWD, "/d/new", O_RDWR|O_CREAT, 0600) = 3 <0.000001>`
	)
	for _, test := range []struct {
		name  string
		open  string
		calls []string
		want  []string
	}{
		{"in place", openF, []string{write(4096, 8192), write(100, 40960), fdata, fdata}, []string{"fdatasync: sync 2 of 8192", "fdatasync: sync 0 of 0"}},
		{"in place, fsync", openF, []string{write(4096, 8192), fsync}, []string{"fsync: sync 1 of 4096 commit 1"}},
		{"beyond the end", openF, []string{write(4096, 1<<20), fdata, write(4096, 1<<20), fdata}, []string{"fdatasync: sync 1 of 4096 commit 3", "fdatasync: sync 1 of 4096 sequential"}},
		{"within its last block", openF, []string{write(100, 1<<20), fdata, write(100, 1<<20+100), fdata}, []string{"fdatasync: sync 1 of 4096 commit 3", "fdatasync: sync 1 of 4096 sequential commit 1"}},
		{"set aside", openF, []string{`1 0.001 fallocate(3, FALLOC_FL_KEEP_SIZE, 1048576, 8192) = 0 <0.000001>`, fsync, write(4096, 1<<20), fdata}, []string{"fsync: sync 0 of 0 commit 3", "fdatasync: sync 1 of 4096 commit 1"}},
		{"one behind the other", openF, []string{write(4096, 8192), fdata, write(4096, 12288), fdata}, []string{"fdatasync: sync 1 of 4096", "fdatasync: sync 1 of 4096 sequential"}},
		{"across a chunk", openF, []string{write(8192, 64*4096-4096), fdata}, []string{"fdatasync: sync 1 of 8192"}},
		{"new", made, []string{write(4096, 0), fsync}, []string{"fsync: sync 1 of 4096 sequential commit 5"}},
		{"removed", made, []string{write(4096, 0), `1 0.001 unlink("/d/new") = 0 <0.000001>`, `1 0.001 sync() = 0 <0.000001>`}, []string{"sync: sync 0 of 0 commit 5"}},
		{"truncated", openF, []string{write(4096, 0), `1 0.001 ftruncate(3, 0) = 0 <0.000001>`, fsync}, []string{"fsync: sync 0 of 0 commit 3"}},
		{"all", openF, []string{write(4096, 0), `1 0.001 sync() = 0 <0.000001>`, fdata}, []string{"sync: sync 1 of 4096 commit 1", "fdatasync: sync 0 of 0"}},
		{"written by the kernel", openF, []string{write(4096, 0), `1 31.0 fdatasync(3) = 0 <0.000001>`}, []string{"fdatasync: sync 0 of 0"}},
		{"early", openF, []string{write(4096, 0), `1 0.001 sync_file_range(3, 0, 0, SYNC_FILE_RANGE_WRITE) = 0 <0.000001>`, fdata}, []string{"sync_file_range: submit 1 of 4096 sequential", "fdatasync: sync 0 of 0"}},
		{"synchronous", `1 0.001 openat(AT_FDCWD, "/f", O_RDWR|O_DSYNC) = 3 <0.000001>`, []string{write(4096, 8192)}, []string{"pwrite64: sync 1 of 4096"}},
		{"renamed", made, []string{write(4096, 0), `1 0.001 rename("/d/new", "/d/other") = 0 <0.000001>`, `1 0.001 openat(AT_FDCWD, "/d/other", O_RDWR) = 4 <0.000001>`, `1 0.001 fsync(4) = 0 <0.000001>`}, []string{"fsync: sync 1 of 4096 sequential commit 5"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, asked(t, Cache{}, fileF(1<<20, 256), append([]string{test.open}, test.calls...)...))
		})
	}
}

// Beyond the dirty limit a write waits for its own bytes, and beyond the capacity the
// file that was used longest ago leaves the cache.
func TestLimits(t *testing.T) {
	require.Equal(t, []string{"pwrite64: write 1 of 8192"}, asked(t, Cache{Dirty: 8192}, fileF(1<<20, 256), openF,
		`1 0.001 pwrite64(3, 0x1, 4096, 0) = 4096 <0.000001>`,
		`1 0.001 pwrite64(3, 0x1, 8192, 40960) = 8192 <0.000001>`))
	files := append(fileF(1<<20, 0), format.File{Path: "/g", Type: format.TypeReg, Size: 1 << 20, Cached: 0})
	require.Equal(t, []string{"pread64: read 1 of 8192", "pread64: read 1 of 8192", "pread64: read 1 of 8192"}, asked(t, Cache{Capacity: 8192}, files, openF,
		`1 0.001 openat(AT_FDCWD, "/g", O_RDWR) = 4 <0.000001>`,
		`1 0.001 pread64(3, 0x1, 8192, 40960) = 8192 <0.000001>`,
		`1 0.001 pread64(4, 0x1, 8192, 40960) = 8192 <0.000001>`,
		`1 0.001 pread64(3, 0x1, 8192, 40960) = 8192 <0.000001>`))
}

// The pages that a trace touches are bounded, and so are the sizes that it asks for.
func TestWalkMemory(t *testing.T) {
	var lines []string
	lines = append(lines, openF)
	for i := range 200 {
		lines = append(lines, fmt.Sprintf(`1 0.001 pwrite64(3, 0x1, 2147479552, %d) = 2147479552 <0.000001>`, int64(i)<<31))
	}
	text := "# pianola script 1\n" + strings.Join(lines, "\n") + "\n"
	r := script.NewReader(strings.NewReader(text), "trace.txt")
	_, err := DemandsOf(r, Cache{}, 1<<30)
	require.ErrorIs(t, err, ErrMemory)

	r = script.NewReader(strings.NewReader("# pianola script 1\n"+openF+"\n"+strings.Repeat("1 0.001 fsync(3) = 0 <0.000001>\n", 100)), "trace.txt")
	_, err = DemandsOf(r, Cache{}, 50*eventDemandBytes)
	require.ErrorIs(t, err, ErrMemory)
}

func TestDemands(t *testing.T) {
	r := script.NewReader(strings.NewReader("# pianola script 1\n"+openF+"\n"+strings.Repeat("1 0.001 fsync(3) = 0 <0.000001>\n", 3)), "trace.txt")
	all, err := DemandsOf(r, Cache{}, 1<<20)
	require.NoError(t, err)
	list := all.Thread(1)
	require.Len(t, list, 3)
	require.Equal(t, NoWork, At(list, 0).Work)
	require.Equal(t, SyncWork, At(list, 3).Work)
	require.Equal(t, NoWork, At(list, 4).Work)
	require.Empty(t, all.Thread(2))
	require.Empty(t, (*Demands)(nil).Thread(1))
}
