package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/coverage"
	"pianola/format"
)

// A trace holds no requests, nor the calls for them, and its account says so. What
// they did to descriptors and names is not known to the rest of the trace.
func TestRequestsAreLeftOut(t *testing.T) {
	const recording = `# pianola script 1
# cwd: "/w"
1 0.000000000 openat(AT_FDCWD, "data", O_RDWR, 0) = 3 <0.000010000> {type=reg mode=0600 size=100000}
1 0.000020000 io_uring_setup(8, 0, 16, 0) = 4 <0.000010000> {ring=1}
1 0.000020000 io_uring_enter(4, 2, 0, 0, NULL, 0) = 2 <0.000004000> {ring=1 batch=1}
1 -0.000002000 io_uring:pwrite64(3, 0x20, 4096, 0) = 4096 <0.000100000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000000000 io_uring:openat(AT_FDCWD, "other", O_RDWR|O_CREAT, 0600) = 5 <0.000300000> {new ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000012000 pread64(3, 0x20, 100, 0) = 100 <0.000300000>
1 0.000012000 aio:pread64(3, 0x20, 100, 0) = 100 <0.000300000> {ring=2 batch=1 reaped=0 submitted=0.000001000}
1 0.000320000 close(4) = 0 <0.000001000>
# exit: 0
# elapsed: 0.001
# coverage: bytes=4296 seconds=0.001000000
# requests: io_uring calls=2 writes=1 bytes=4096 seconds=0.000400000; libaio calls=1 reads=1 bytes=100 seconds=0.000000000
# unsupported: mount calls=1 bytes=0 seconds=0.000000000
`
	out, report := compiled(t, recording, compile.Options{})
	missing := []coverage.Missing{
		{Kind: coverage.Uring, Calls: 2, Writes: 1, Amount: coverage.Amount{Bytes: 4096, Nanos: 400_000}},
		{Kind: coverage.AIO, Calls: 1, Reads: 1, Amount: coverage.Amount{Bytes: 100}},
		{Kind: coverage.Mount, Calls: 1},
	}
	want := coverage.Account{Known: true, Recorded: coverage.Amount{Bytes: 100, Nanos: 600_000}, Missing: missing}
	require.Equal(t, want, report.Coverage)
	text := out.String()
	require.NotContains(t, text, "pwrite64")
	require.NotContains(t, text, "other")
	require.NotContains(t, text, "io_uring_enter (")
	require.NotContains(t, text, "# "+format.MetaRequests)
	require.Contains(t, text, "# unsupported: io_uring calls=2 writes=1 bytes=4096 seconds=0.000400000; libaio calls=1 reads=1 bytes=100 seconds=0.000000000; mount calls=1")
	require.Equal(t, 1, strings.Count(text, "pread64 ("), text)
	require.Equal(t, 1, strings.Count(text, "# "+format.MetaUnsupported))
}
