package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/coverage"
)

// A trace holds requests, and its account says which it does not hold: here one on a
// descriptor that is not known.
func TestRequestsInTheAccount(t *testing.T) {
	const recording = `# pianola script 1
# cwd: "/w"
1 0.000000000 openat(AT_FDCWD, "data", O_RDWR, 0) = 3 <0.000010000> {type=reg mode=0600 size=100000}
1 0.000020000 io_uring_setup(8, 0, 16, 0) = 4 <0.000010000> {ring=1}
1 0.000020000 io_uring_enter(4, 3, 0, 0, NULL, 0) = 3 <0.000004000> {ring=1 batch=1}
1 0.000001000 io_uring:pwrite64(3, 0x20, 4096, 0) = 4096 <0.000100000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000000000 io_uring:pread64(9, 0x20, 100, 0) = 100 <0.000200000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000000000 io_uring:openat(AT_FDCWD, "other", O_RDWR|O_CREAT, 0600) = 5 <0.000300000> {new ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000012000 pread64(3, 0x20, 100, 0) = 100 <0.000300000>
1 0.000012000 aio:pread64(3, 0x20, 100, 0) = 100 <0.000300000> {ring=2 batch=1 reaped=0 submitted=0.000001000}
1 0.000320000 close(5) = 0 <0.000001000>
# exit: 0
# elapsed: 0.001
# coverage: bytes=4396 seconds=0.001000000
# requests: io_uring calls=3 reads=1 writes=1 bytes=4196 seconds=0.000600000; libaio calls=1 reads=1 bytes=100 seconds=0.000000000
# unsupported: mount calls=1 bytes=0 seconds=0.000000000
`
	out, report := compiled(t, recording, compile.Options{})
	want := coverage.Account{Known: true, Recorded: coverage.Amount{Bytes: 4296, Nanos: 800_000},
		Requests: []coverage.Missing{
			{Kind: coverage.Uring, Calls: 2, Writes: 1, Amount: coverage.Amount{Bytes: 4096, Nanos: 400_000}},
			{Kind: coverage.AIO, Calls: 1, Reads: 1, Amount: coverage.Amount{Bytes: 100}},
		},
		Missing: []coverage.Missing{
			{Kind: coverage.Uring, Calls: 1, Reads: 1, Amount: coverage.Amount{Bytes: 100, Nanos: 200_000}},
			{Kind: coverage.Mount, Calls: 1},
		},
	}
	require.Equal(t, want, report.Coverage)
	text := out.String()
	require.Contains(t, text, "2 pwrite64 ( 3 4096 0 ) = 4096")
	require.Contains(t, text, "2 openm ( w//pianola_tmp1 ")
	require.Contains(t, text, "1 close ( 5 ) = 0 <0.000001000> {after=2:1:descriptor}")
	require.Contains(t, text, "3 pread64 ( 3 100 0 ) = 100")
	require.Equal(t, 1, strings.Count(text, "# "+format.MetaUnsupported))
}

// A request that was in flight at the end of the recording is left out, with the bytes that
// it asked for.
func TestCoverageWithoutRequestsInFlight(t *testing.T) {
	_, report := compiled(t, `# cwd: "/w"
1 0.000000000 openat(AT_FDCWD, "data", O_RDWR, 0) = 3 <0.000010000> {type=reg mode=0600 size=100000}
1 0.000020000 io_uring_setup(8, 0, 16, 0) = 4 <0.000010000> {ring=1}
1 0.000020000 io_uring_enter(4, 2, 0, 0, NULL, 0) = 2 <0.000004000> {ring=1 batch=1}
1 0.000001000 io_uring:pwrite64(3, 0x20, 4096, 0) = 4096 <0.000100000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000001000 io_uring:pwrite64(3, 0x20, 4096, 4096) = ? {ring=1 batch=1 reaped=0 submitted=0.000001000}
# coverage: bytes=8192 seconds=0.001000000
# requests: io_uring calls=2 writes=2 bytes=8192 seconds=0.000600000
`, compile.Options{})
	require.Equal(t, []coverage.Missing{{Kind: coverage.Uring, Calls: 1, Writes: 1, Amount: coverage.Amount{Bytes: 4096, Nanos: 300_000}}}, report.Coverage.Missing)
	require.Equal(t, coverage.Amount{Bytes: 4096, Nanos: 700_000}, report.Coverage.Recorded)
}

// I/O that the trace cannot hold is missing in its coverage: I/O on a block device, and
// in memory that no recorded call mapped. A socket is not a file.
func TestCoverageWithoutWhatIsLeftOut(t *testing.T) {
	const text = `# cwd: "/w"
10 0.000100000 open("/w/a", O_RDWR) = 3 <0.000010000>
10 0.000100000 write(3, 0x1, 100) = 100 <0.000010000>
10 0.000100000 read(8, 0x1, 4000) = 4000 <0.000010000> {type=sock}
10 0.000100000 open("/dev/vda", O_RDONLY) = 4 <0.000010000> {type=blk}
10 0.000100000 read(4, 0x1, 500) = 500 <0.000040000> {type=blk}
10 0.000100000 map_read(0x7f0000000000, 4096, 0) = 4096 <0.000050000>
# coverage: bytes=4696 seconds=0.000120000
`
	_, report := compiled(t, text, compile.Options{})
	require.Equal(t, coverage.Account{
		Known:    true,
		Recorded: coverage.Amount{Bytes: 100, Nanos: 30_000},
		Missing:  []coverage.Missing{{Kind: coverage.LeftOut, Calls: 2, Amount: coverage.Amount{Bytes: 4596, Nanos: 90_000}}},
	}, report.Coverage)
}
