package device

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// disk returns a model of a device with round numbers.
func disk() *Fitted {
	return &Fitted{
		Read:  Direction{Access{100e-6, 10_000}, Access{50e-6, 20_000}, 200e6},
		Write: Direction{Access{20e-6, 5_000}, Access{20e-6, 10_000}, 100e6},
		Sync:  Sync{Flush: 1e-3, FlushRequests: 0, Commit: 2e-3, CommitFixed: 2, CommitBlock: 1},
		Cache: Cache{Readahead: 128 << 10},
	}
}

func TestFitted(t *testing.T) {
	for _, test := range []struct {
		name string
		q    Demand
		want int64 // nanoseconds
	}{
		{"a request: the server, then its latency", Demand{Work: ReadWork, Requests: 1, Bytes: 4096}, 200 * us},
		{"sequential", Demand{Work: ReadWork, Sequential: true, Requests: 1, Bytes: 4096}, 100 * us},
		{"large: the bandwidth", Demand{Work: ReadWork, Requests: 1, Bytes: 20_000_000}, 100*ms + 100*us},
		{"several requests, one latency", Demand{Work: WriteWork, Requests: 10, Bytes: 40960}, 2*ms + 20*us},
		{"a sync of nothing", Demand{Work: SyncWork}, ms},
		{"a sync of a block", Demand{Work: SyncWork, Requests: 1, Bytes: 4096}, 200*us + 20*us + ms},
		{"a commit", Demand{Work: SyncWork, Commit: true, Blocks: 3}, 5*200*us + 2*ms},
		{"no waiting", Demand{Work: SubmitWork, Requests: 10, Bytes: 40960}, 0},
	} {
		d := disk().start()
		require.InDelta(t, test.want, d.end(&test.q, 1e9)-1e9, 10, test.name)
	}
}

// Concurrent requests share the servers and not the latency. Time that was saved up
// while the device was idle is used first.
func TestFittedQueue(t *testing.T) {
	q := Demand{Work: ReadWork, Requests: 1, Bytes: 4096}
	d := disk().start()
	require.InDelta(t, 200*us, d.end(&q, 0), 10)
	require.InDelta(t, 300*us, d.end(&q, 0), 10)
	require.InDelta(t, 450*us, d.end(&q, 250*us), 10)
	w := Demand{Work: WriteWork, Requests: 1, Bytes: 4096}
	require.InDelta(t, 220*us, d.end(&w, 0), 10, "writes have a server of their own")

	f := disk()
	f.Shared = true
	d = f.start()
	d.end(&q, 0)
	require.InDelta(t, 320*us, d.end(&w, 0), 10)

	f = disk()
	f.Burst = 250e-6
	d = f.start()
	for _, want := range []int64{100, 100, 150, 250} {
		require.InDelta(t, want*us, d.end(&q, 1e9)-1e9, 10)
	}
}

// Syncs that need a commit while one is written share the next.
func TestGroupCommit(t *testing.T) {
	d := disk().start()
	q := Demand{Work: SyncWork, Commit: true, Blocks: 3}
	for _, v := range []struct{ at, end int64 }{{0, 3}, {1, 6}, {2, 6}, {4, 9}} {
		require.InDelta(t, v.end*ms, d.end(&q, 1e9+v.at*ms)-1e9, 10)
	}
}

// A call that the page cache serves takes what it took; explicit rules apply on top.
func TestFittedWithRules(t *testing.T) {
	m := model(t, "sync:x2")
	m.Fitted = disk()
	sync := Demand{Work: SyncWork}
	require.EqualValues(t, 2*ms, m.Start(true).End(format.OpFsync, sync, 0, 0, 50*us))
	require.EqualValues(t, 2*ms, m.Start(false).End(format.OpFsync, sync, 0, 0, 50*us))
	require.EqualValues(t, 2*ms, m.Start(true).End(format.OpFsync, sync, 0, 0, 50*ms), "recorded on a slower device")
	require.EqualValues(t, 100*ms, m.Start(false).End(format.OpFsync, sync, 0, 0, 50*ms))
	require.EqualValues(t, 70*us, m.Start(true).End(format.OpPread64, Demand{}, 4096, 0, 70*us))
	require.EqualValues(t, 30*us, m.Start(true).End(format.OpPwrite64, Demand{Work: SubmitWork, Requests: 1, Bytes: 4096}, 4096, 0, 30*us))
	require.NoError(t, m.SlowerOnly())
}

// The draws of a spread have its percentiles, and a mean of 1 soon.
func TestSpread(t *testing.T) {
	var list []weighted
	for i := range 1000 {
		list = append(list, weighted{float64(i%100) / 10, 1})
	}
	f := disk()
	f.Spread.Sync = percentiles(list)
	require.NoError(t, f.Check())
	d := f.start()
	var took []float64
	var sum float64
	for i := range 1000 {
		at := int64(i) * 1e10
		v := float64(d.end(&Demand{Work: SyncWork}, at)-at) / ms
		took = append(took, v)
		sum += v
	}
	require.InEpsilon(t, 1000, sum, 0.02)
	slices.Sort(took)
	require.InEpsilon(t, 9*took[500]/5, took[900], 0.1)
	require.Empty(t, percentiles(nil))
}

func TestFile(t *testing.T) {
	f := &File{
		Meta: []Remark{{"from fio", "fio.json: 3 jobs"}}, Model: *disk(),
		HeldOut: []HeldOut{{"a.txt", "sync", 10, 1, 1.1}},
	}
	f.Model.Spread = Spreads{Read: []Factor{{0, 0.5}, {100, 2}}, Write: []Factor{}, Sync: []Factor{}}
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	back, err := ReadFile(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Equal(t, f, back)
	require.InEpsilon(t, 0.1, back.HeldOut[0].Error(), 1e-9)

	text := b.String()
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "line 1: unexpected end of JSON input"},
		{"no object", "[]", "line 1: : want a struct { Version *int \"json:\\\"pianola_model\\\"\" }, not a array"},
		{"another file", `{"a": 1}`, "not a model of pianola model fit"},
		{"newer", strings.Replace(text, `"pianola_model": 1`, `"pianola_model": 2`, 1), "a model of version 2; this pianola reads version 1"},
		{"syntax", strings.Replace(text, `"read": {`, `"read": ,{`, 1), "line 10: invalid character ',' looking for beginning of value"},
		{"type", strings.Replace(text, `"shared": false`, `"shared": 5`, 1), "line 32: model.shared: want a bool, not a number"},
		{"unknown", strings.Replace(text, `"shared"`, `"other"`, 1), `json: unknown field "other"`},
		{"after the end", text + "{}", "line 71: invalid character '{' after top-level value"},
		{"out of bounds", strings.Replace(text, `"iops": 10000`, `"iops": 0`, 1), "read.random.iops: 0 is not from 0.001 to 1e+15"},
		{"negative", strings.Replace(text, `"burst_seconds": 0`, `"burst_seconds": -1`, 1), "burst_seconds: -1 is not from 0 to 3600"},
		{"falling", strings.Replace(text, `"factor": 0.5`, `"factor": 5`, 1), "spread.read: percentiles and their factors rise"},
		{"beyond", strings.Replace(text, `"percentile": 100`, `"percentile": 101`, 1), "spread.read: percentile 101 is not from 0 to 100"},
		{"large", text + strings.Repeat(" ", maxFile), "not a model of pianola model fit: larger than 1 MiB"},
	} {
		_, err := ReadFile(strings.NewReader(test.text))
		require.ErrorContains(t, err, test.want, test.name)
	}
}

func FuzzReadFile(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, (&File{Model: *disk()}).Write(&b))
	f.Add(b.Bytes())
	f.Add([]byte(`{"pianola_model": 1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadFile(bytes.NewReader(text))
		if err != nil {
			return
		}
		// A model that was read can be used, and be written and read again.
		d := m.Model.start()
		for _, w := range []Work{ReadWork, WriteWork, SubmitWork, SyncWork} {
			q := Demand{Work: w, Requests: math.MaxInt32, Bytes: math.MaxInt64, Commit: true, Blocks: math.MaxInt32}
			for range 3 {
				require.GreaterOrEqual(t, d.end(&q, 1e9), int64(1e9))
			}
		}
		var b bytes.Buffer
		require.NoError(t, m.Write(&b))
		again, err := ReadFile(&b)
		require.NoError(t, err)
		require.Equal(t, m.Model, again.Model)
	})
}

func BenchmarkFitted(b *testing.B) {
	m := &Model{Fitted: disk()}
	d := m.Start(true)
	q := Demand{Work: SyncWork, Requests: 2, Bytes: 8192, Commit: true, Blocks: 3}
	b.ReportAllocs()
	for i := range b.N {
		d.End(format.OpFsync, q, 0, int64(i)*1000, 100*us)
	}
}
