package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	scripts "pianola/format/script"
)

// Requests count for what they ask for, without the time in flight: a thread spends only
// that of the calls which submit and wait. A registered file is the one that was
// registered.
func TestRequests(t *testing.T) {
	const text = `# pianola script 1
# cwd: "/w"
1 0.000000000 openat(AT_FDCWD, "data", O_RDWR, 0) = 3 <0.000010000> {type=reg mode=0600 size=0}
1 0.000010000 io_uring_setup(8, 0, 16, 0) = 4 <0.000010000> {ring=1}
1 0.000010000 io_uring_register(4, IORING_REGISTER_FILES, 0x10, 2, "-1,3") = 0 <0.000005000> {ring=1}
1 0.000010000 io_uring_enter(4, 2, 0, 0, NULL, 0) = 2 <0.000004000> {ring=1 batch=1}
1 -0.000002000 io_uring:pwrite64(1, 0x20, 4096, 0) = 4096 <0.000100000> {ring=1 batch=1 reaped=0 submitted=0.000001000 flags=fixed}
1 0.000000000 io_uring:pread64(3, 0x20, 4096, 0) = 4096 <0.000300000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
1 0.000012000 io_uring_enter(4, 0, 2, IORING_ENTER_GETEVENTS, NULL, 0) = 0 <0.000300000> {ring=1 batch=2}
1 0.000320000 io_uring:fsync(0) = -5 <0.000001000> {ring=1 batch=3 reaped=2 flags=fixed}
`
	p, err := Read(scripts.NewReader(strings.NewReader(text), "trace.txt"))
	require.NoError(t, err)
	require.Equal(t, Total{Calls: 1, Bytes: 4096, Flight: 300_000}, p.Categories[Reads])
	require.Equal(t, Total{Calls: 1, Bytes: 4096, Flight: 100_000}, p.Categories[Writes])
	require.Equal(t, Total{Calls: 1, Errors: 1, Flight: 1_000}, p.Categories[Syncs])
	require.Equal(t, Total{Calls: 4, Nanos: 319_000}, p.Categories[Submitting])
	require.EqualValues(t, 319_000, p.Times.Submit)
	require.EqualValues(t, 10_000, p.Times.IO, "the open")
	require.EqualValues(t, 300_000, p.Latency[Reads].Max)
	require.Equal(t, []int64{p.RunTime - 301_000, 201_000, 100_000}, p.Depth)
	io := p.IO()
	require.EqualValues(t, 10_000, io.Nanos)
	require.InDelta(t, 401e-6, *p.Measure(Reads).Flight+*p.Measure(Writes).Flight+*p.Measure(Syncs).Flight, 1e-12)
	require.Nil(t, p.Measure(Metadata).Flight)
	var flight int64
	for i := range p.Intervals.List {
		flight += p.Intervals.List[i].IO().Flight
	}
	require.EqualValues(t, 401_000, flight)

	byName := map[string]*File{}
	for i := range p.Files {
		byName[p.Files[i].Name] = &p.Files[i]
	}
	data := byName["/w/data"]
	require.NotNil(t, data)
	require.Equal(t, []int64{1, 1}, []int64{data.Categories[Reads].Calls, data.Categories[Writes].Calls})
	require.Contains(t, byName, "registered file 0?")

	var out strings.Builder
	require.NoError(t, p.WriteText(&out, TextOptions{}))
	require.Contains(t, out.String(), "in flight µs")
	require.Contains(t, out.String(), "\nrequests in flight: 1.33 on average while there were any, 2 at most\n")
	require.Regexp(t, `(?m)^submit and wait +319\.000`, out.String())
	require.Equal(t, Submitting, CategoryOf(format.OpIOGetevents))
}
