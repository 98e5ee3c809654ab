package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/coverage"
)

// oneRead is a read of a test: pages and microseconds.
type oneRead struct {
	page, pages, micros int
}

// attached is a recording of reads of a file that was open before.
func attached(head string, list []oneRead) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# recorder: ebpf\n" + head + "# fd: 101 3 O_RDWR 0 \"/w/db\"\n# fd: 101 4 O_RDWR|O_DIRECT 0 \"/w/db\"\n" +
		"101 0.000001000 fstat(3, 0x1) = 0 <0.000001000> {type=reg mode=0644 size=40960000}\n")
	for _, r := range list {
		fmt.Fprintf(&b, "101 0.000100000 pread64(3, 0x1000, %d, %d) = %[1]d <0.%09[3]d>\n", r.pages*4096, r.page*4096, r.micros*1000)
	}
	return b.String()
}

const stated = "# cost: inside=300 outside=100 rich=100\n"

func reads(from, step, n, pages, micros int) (list []oneRead) {
	for i := range n {
		list = append(list, oneRead{from + i*step, pages, micros})
	}
	return list
}

// Reads tell what the page cache held of a file at the start, where the recorder did not
// look.
func TestResidence(t *testing.T) {
	random := func(warm, missing int) (list []oneRead) {
		for i := range warm + missing {
			micros := 3
			if i*missing/(warm+missing) != (i+1)*missing/(warm+missing) {
				micros = 2000
			}
			list = append(list, oneRead{i * 7919 % 9973, 1, micros})
		}
		return list
	}
	for _, test := range []struct {
		name    string
		head    string
		reads   []oneRead
		cached  int64
		unknown coverage.Uncached
	}{
		{"all waited", stated, random(0, 100), 0, coverage.Uncached{}},
		{"none waited", stated, reads(0, 5, 100, 1, 3), 496, coverage.Uncached{}},
		{"again", stated, append(reads(50, 2, 1, 1, 2000), reads(50, 0, 9, 1, 3)...), 0, coverage.Uncached{}},
		{"in sequence", stated, append(reads(0, 8, 1, 8, 900), reads(8, 8, 90, 8, 4)...), 0, coverage.Uncached{}},
		{"large from the cache", stated, reads(0, 256, 10, 256, 300), 2560, coverage.Uncached{}},
		{"the first half is warm", stated, append(reads(0, 2, 50, 1, 3), reads(100, 2, 50, 1, 400)...), 99, coverage.Uncached{}},
		{"unknown cost, long", "", reads(0, 2, 50, 1, 2000), 0, coverage.Uncached{}},
		{"unknown cost, short", "", reads(0, 2, 50, 1, 3), 99, coverage.Uncached{}},
		{"unknown cost, doubtful", "", reads(0, 2, 50, 1, 60), -1, coverage.Uncached{Files: 1, Bytes: 50 * 4096}},
		{"a slow recorder", "# cost: inside=30000 outside=100 rich=100\n", reads(0, 2, 50, 1, 60), 99, coverage.Uncached{}},
		{"no reads", stated, nil, -1, coverage.Uncached{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, report := compiled(t, attached(test.head, test.reads), compile.Options{Compensate: true})
			require.Equal(t, test.cached, fileOf(t, s.header, "w/db").Cached)
			require.Equal(t, test.unknown, report.Coverage.Uncached)
			require.Equal(t, test.unknown, coverage.Of(s.header).Uncached)
		})
	}
	t.Run("a third waited", func(t *testing.T) {
		list := random(600, 300)
		s, _ := compiled(t, attached(stated, list), compile.Options{Compensate: true})
		cached, missing := fileOf(t, s.header, "w/db").Cached, 0
		for _, r := range list {
			if int64(r.page) >= cached {
				missing++
			}
		}
		require.Equal(t, 300, missing, "as many reads miss as waited")
	})
}

// The recorder's own look counts, less what was read before it. Direct I/O, and files
// that the application wrote, tell nothing. A read without a duration leaves its pages
// unknown.
func TestResidenceBesideNotes(t *testing.T) {
	for _, test := range []struct {
		name, lines string
		cached      int64
		unknown     coverage.Uncached
	}{
		{"noted", `101 0.001 openat(AT_FDCWD, "/w/db", O_RDONLY) = 5 <0.000001000> {type=reg size=40960000 cached=77}
101 0.001 pread64(5, 0x1000, 4096, 4096) = 4096 <0.002000000>
`, 77, coverage.Uncached{}},
		{"noted after reads", `101 0.001 pread64(3, 0x1000, 8192, 4096) = 8192 <0.002000000>
101 0.001 openat(AT_FDCWD, "/w/db", O_RDONLY) = 5 <0.000001000> {type=reg size=40960000 cached=77}
`, 75, coverage.Uncached{}},
		{"direct", "101 0.001 pread64(4, 0x1000, 4096, 4096) = 4096 <0.002000000>\n", -1, coverage.Uncached{}},
		{"written", "101 0.001 pwrite64(3, 0x1000, 4096, 4096) = 4096 <0.002000000>\n101 0.001 pread64(3, 0x1000, 4096, 4096) = 4096 <0.000001000>\n", -1, coverage.Uncached{}},
		{"no duration", "101 0.001 pread64(3, 0x1000, 4096, 4096) = 4096\n", -1, coverage.Uncached{Files: 1, Bytes: 4096}},
		{"huge", "101 0.001 copy_file_range(4, 9223372036854771711, 3, 0, 4096, 0) = 4096 <0.000001000>\n", -1, coverage.Uncached{}},
		{"faults", `101 0.001 mmap(NULL, 40960000, PROT_READ, MAP_SHARED, 3, 0) = 1048576 <0.000001000>
101 0.001 map_read(0x100000, 4096, 0) = 4096 <0.000001000>
101 0.001 map_read(0x600000, 4096, 5242880) = 4096 <0.002000000> {filled}
101 0.001 map_read(0x608000, 4096, 5275648) = 4096 <0.000001000>
`, 1, coverage.Uncached{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, report := compiled(t, attached(stated, nil)+test.lines, compile.Options{Compensate: true})
			require.Equal(t, test.cached, fileOf(t, s.header, "w/db").Cached)
			require.Equal(t, test.unknown, report.Coverage.Uncached)
		})
	}
}

func fileOf(t *testing.T, h *format.Header, path string) *format.File {
	t.Helper()
	for i := range h.Files {
		if h.Files[i].Path == path {
			return &h.Files[i]
		}
	}
	require.Fail(t, "no file "+path)
	return nil
}
