package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/profile"
)

// evil is a name that would end the script in which the data stands, and
// begin another.
const evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\xff\u202e"

// recording collects the events of a synthetic program, of two threads that are
// sometimes in I/O at the same time, and wait at a pipe. Times are scaled by slow.
type recording struct {
	*profile.Collector
	t    testing.TB
	now  [3]int64 // of each thread, nanoseconds
	slow float64
}

func (r *recording) call(tid int32, op format.Op, micros float64, ret int64, name string, args ...int64) {
	e := format.Event{Op: op, TID: tid, Start: r.now[tid], Dur: int64(micros * 1e3 * r.slow), Ret: ret, Str: [2][]byte{[]byte(name)}}
	copy(e.Args[:], args)
	r.now[tid] = e.End() + 5e3
	require.NoError(r.t, r.Write([]format.Event{e}))
}

// file opens a file, writes and reads blocks of it and closes it.
func (r *recording) file(tid int32, name string, blocks, micros int) {
	fd := int64(2 + tid)
	r.call(tid, format.OpOpenat, 20, fd, name, format.AtFDCWD, 0, format.RDWR|format.CREAT, 0o600)
	for i := range int64(blocks) {
		r.call(tid, format.OpPwrite64, float64(micros)+float64(i%7), 4096, "", fd, 0, 4096, i*4096)
		r.call(tid, format.OpPread64, float64(micros)/2+float64(i%5), 4096, "", fd, 0, 4096, i*7919%int64(blocks)*4096)
	}
	r.call(tid, format.OpFdatasync, 200, 0, "", fd)
	r.call(tid, format.OpClose, 3, 0, "", fd)
}

func made(t testing.TB, name string, slow float64) Run {
	t.Helper()
	r := &recording{Collector: &profile.Collector{To: math.MaxInt64}, t: t, slow: slow}
	r.file(1, "/data/"+evil, 400, 9)
	for i := range 30 {
		r.file(int32(1+i%2), fmt.Sprintf("/data/%c/part-%02d", 'a'+i%3, i), 20+i, 3+i)
	}
	r.call(1, format.OpUnlink, 12, -2, "/data/none")
	r.call(1, format.OpPipe, 5, 0, "", 8|9<<32)
	r.call(1, format.OpRead, 3000, 10, "", 8, 0, 10)
	return Run{Name: name, Profile: r.Profile(), Meta: []format.Meta{
		{Key: format.MetaCommand, Value: "app --title " + evil},
		{Key: format.MetaHost, Value: "node7"},
		{Key: format.MetaKernel, Value: "6.1"},
		{Key: format.MetaStart, Value: "2026-01-02T03:04:05.678Z"},
	}}
}

// compared returns an application and a replay of it that is slower.
func compared(t testing.TB) ([]Run, *Comparison) {
	t.Helper()
	runs := []Run{made(t, "application", 1), made(t, "replay", 1.3)}
	c := compare.Profiles([]*profile.Profile{runs[0].Profile}, []*profile.Profile{runs[1].Profile})
	return runs, &Comparison{Comparison: c, Tolerance: 0.1}
}

// write returns a page as it is written.
func write(t testing.TB, runs []Run, c *Comparison) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, runs, c))
	return b.Bytes()
}

// parsed is the data of a page.
type parsed struct {
	Runs []struct {
		Name     string
		Coverage string
		Facts    []fact
		Profile  parsedProfile
	}
	Comparison map[string]any
}

// parsedProfile is what tests read of a profile's document.
type parsedProfile struct {
	RunTime float64 `json:"run_time_seconds"`
	Events  int64
	Classes []struct {
		Name    string
		Seconds float64
	}
	Diagnosis   []profile.Finding
	Concurrency []float64               `json:"io_concurrency_seconds"`
	Latency     []struct{ Name string } `json:"latency_by_operation"`
	Files       []struct{ Name string }
	Intervals   []struct {
		Calls   int64
		Read    int64 `json:"bytes_read"`
		Written int64 `json:"bytes_written"`
		Files   []string
	}
	Charts struct {
		Curves struct {
			Column float64 `json:"column_seconds"`
			Lines  []struct {
				Name    string
				Seconds []float64
			}
		}
		Heat []any
		Rows map[string]int
	}
}

// parse returns the data of a page.
func parse(t testing.TB, html []byte) (d parsed) {
	t.Helper()
	data := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindSubmatch(html)
	require.NotNil(t, data)
	require.NoError(t, json.Unmarshal(data[1], &d))
	return d
}
