package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	from "pianola/format/script"
)

// Faults of mapped files are categories of their own, and count for their file,
// which can be closed, in its heat map, too.
func TestMappedFiles(t *testing.T) {
	p, err := Read(from.NewReader(strings.NewReader(`# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/a", O_RDWR) = 3 <0.000001000> {type=reg size=100000}
1 0.000010000 pread64(3, 0x1000, 100, 0) = 100 <0.000002000>
1 0.000010000 mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 8192) = 0x7f0000100000 <0.000001000>
1 0.000010000 close(3) = 0 <0.000001000>
1 0.000010000 map_read(0x7f0000108000, 4096, 40960) = 8192 <0.000100000>
1 0.000110000 map_write(0x7f0000108000, 4096, 40960) = 4096 <0.000010000>
1 0.000110000 map_read(0x7f0000109000, 4096, 45056) = -1 EFAULT (Bad address) <0.000000000>
1 0.000010000 msync(0x7f0000100000, 65536, MS_SYNC) = 0 <0.001000000>
1 0.001100000 map_read(0x550000100000, 4096, 8192) = 4096 <0.000100000> {path="/bin/b"}
`), "test.txt"))
	require.NoError(t, err)
	require.Equal(t, Total{Calls: 3, Errors: 1, Bytes: 12288, Nanos: 200_000}, p.Categories[MappedReads])
	require.Equal(t, Total{Calls: 1, Bytes: 4096, Nanos: 10_000}, p.Categories[MappedWrites])
	require.EqualValues(t, 1, p.Categories[Reads].Calls)
	require.EqualValues(t, 12388, p.Fetched())
	require.EqualValues(t, 4096, p.Stored())
	require.Equal(t, "/a", p.Files[0].Name)
	a := &p.Files[0]
	require.EqualValues(t, 2, a.Categories[MappedReads].Calls)
	require.EqualValues(t, 1_000_000, a.Categories[Syncs].Nanos)
	require.Equal(t, "/bin/b", p.Files[1].Name)
	var read, written int64
	for i := range a.Heat.Read {
		read, written = read+a.Heat.Read[i], written+a.Heat.Written[i]
	}
	require.EqualValues(t, 8292, read)
	require.EqualValues(t, 4096, written)
	require.EqualValues(t, 12, a.Heat.Rows, "up to the offset of the last byte")
	var text strings.Builder
	require.NoError(t, p.WriteText(&text, TextOptions{All: true, Wide: true}))
	require.Regexp(t, `mapped read +0.200 +\S+ % +3 +1`, text.String())
	require.Regexp(t, `(?m)^/a +\S+ +1 +0 +3 `, text.String())
}
