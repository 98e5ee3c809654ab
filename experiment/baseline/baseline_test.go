package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

// run returns a run of a program with reads, syncs, communication and a process
// operation.
func run(t testing.TB, seed uint64, rounds int) Run {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	var events []format.Event
	at := int64(0)
	for range rounds {
		for _, one := range []struct {
			op    format.Op
			micro float64
			ret   int64
		}{{format.OpPread64, 8, 4096}, {format.OpPwrite64, 20, 4096}, {format.OpFdatasync, 900, 0}, {format.OpWait4, 5, -10}} {
			d := int64(one.micro * (1 + rnd.ExpFloat64()))
			events = append(events, testkit.Event(one.op, at, d, one.ret))
			at += d
		}
	}
	unknown := testkit.Event(format.OpClose, at, 1, 0)
	unknown.Dur = format.Unknown
	p, err := profile.Read(&testkit.Reader{Events: append(events, unknown), Batch: 9, Err: io.EOF})
	require.NoError(t, err)
	return Run{Profile: p, Meta: []format.Meta{
		{Key: format.MetaReplay, Value: "root"}, {Key: format.MetaKernel, Value: "6.1.0"}, {Key: format.MetaStart, Value: "2026-11-20T02:00:0" + string('0'+rune(seed)) + "Z"},
		{Key: format.MetaUmask, Value: "022"}, {Key: format.MetaCommand, Value: strings.Repeat("x", maxRemark+1)}, {Key: format.MetaCoverage, Value: "bytes=90 seconds=1.000000000"},
	}}
}

func runs(t testing.TB) (list []Run) {
	t.Helper()
	for seed := range uint64(6) {
		list = append(list, run(t, seed, 200))
	}
	list[1].Workload = "git"
	for _, r := range list[2:] { // the others have no clients
		l := r.Profile.OpLatency[format.OpFdatasync]
		r.Profile.Requests = &profile.Requests{Clients: 3, RequestKind: profile.RequestKind{Count: l.Calls, Bytes: 99, Replied: 7, Latency: l}, Rate: 123.5}
	}
	return list
}

func written(t testing.TB, list []Run) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, "ext4 <&>", list))
	return b.Bytes()
}

// A comparison with what was read is that with the runs.
func TestRoundTrip(t *testing.T) {
	list := runs(t)
	text := written(t, list)
	require.True(t, json.Valid(text))
	require.Less(t, len(text), 20<<10)
	b, err := Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, "ext4 <&>", b.Name)
	require.Len(t, b.Runs, 6)
	document := func(runs []Run) string {
		var side []*profile.Profile
		for i := range runs {
			p := *runs[i].Profile
			p.Curves, p.Files = [profile.NumCategories]profile.Curve{}, nil // a baseline has none
			p.Coverage = b.Runs[i].Profile.Coverage
			side = append(side, &p)
		}
		text, err := json.MarshalIndent(compare.Profiles(side, []*profile.Profile{run(t, 9, 200).Profile}).Document(0.1), "", " ")
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, document(list), document(b.Runs))
	require.Equal(t, list[3].Profile.Latency, b.Runs[3].Profile.Latency)
	require.Equal(t, list[3].Profile.OpLatency, b.Runs[3].Profile.OpLatency)
	require.Equal(t, list[3].Profile.All, b.Runs[3].Profile.All)
	require.True(t, b.Runs[3].Profile.Coverage.Known)
	h := format.Header{Meta: b.Runs[3].Meta}
	for key, want := range map[string]string{format.MetaReplay: "root", format.MetaKernel: "6.1.0", format.MetaStart: "2026-11-20T02:00:03Z", format.MetaUmask: "", format.MetaCommand: ""} {
		v, _ := h.Value(key)
		require.Equal(t, want, v, key)
	}
	require.Equal(t, string(text), string(written(t, b.Runs)), "what was read is written as it was")
}

func TestReadErrors(t *testing.T) {
	const head = `{"pianola_baseline": 1, "runs": [`
	for _, test := range []struct{ text, want string }{
		{"", "at byte 0: not a baseline written by --save"},
		{"# pianola script 1\n", "at byte 0: not a baseline written by --save"},
		{`{"name": "x"}`, "at byte 0: not a baseline written by --save"},
		{`[1]`, "at byte 0: not a baseline written by --save"},
		{`{"pianola_baseline": 2}`, "at byte 19: the baseline has format version 2, this program reads version 1"},
		{`{"pianola_baseline": "x"}`, "at byte 19: json: cannot unmarshal string into Go value of type int64"},
		{`{"pianola_baseline": 1}`, "at byte 23: the baseline has no runs"},
		{head + `{}]} {`, "at byte 39: unexpected data after the end of the baseline"},
		{head + `{}`, "at byte 35: unexpected EOF"},
		{head + `{"run_time_nanos": -1}]}`, "at byte 50: run 1: run time out of range"},
		{head + `{}, {"classes": {"read": {"calls": 1, "errors": 2}}}]}`, "at byte 56: run 2: read: more errors or unknown durations than calls"},
		{head + `{"classes": {"raed": {}}}]}`, `at byte 52: run 1: no class or operation "raed"`},
		{head + `{"operations": {"read": {"calls": -1}}}]}`, "at byte 55: run 1: read: number out of range"},
		{head + `{"operations": {"read": {"calls": 2305843009213693952}, "write": {"calls": 2305843009213693952}, "fsync": {"calls": 2305843009213693952}, "close": {"calls": 2305843009213693952}}}]}`, "at byte 33: run 1: sums out of range"},
		{head + `{"operations": {"read": {"calls": 1, "latency": {"min_nanos": 3, "max_nanos": 3, "buckets": "3:2"}}}}]}`, "at byte 55: run 1: read: more durations than calls"},
		{head + `{"operations": {"read": {"calls": 1, "latency": {"min_nanos": 3, "max_nanos": 3, "buckets": "3:x"}}}}]}`, `at byte 55: run 1: bucket 0: expected GAP:COUNT, not "3:x"`},
		{head + `{"operations": {"read": {"calls": 1, "latency": {"min_nanos": 3, "max_nanos": 9, "buckets": "3"}}}}]}`, "at byte 55: run 1: read: the shortest or longest duration is in no bucket"},
		{head + `{"classes": {"read": {"calls": 1, "latency_of_operations": true}}}]}`, "at byte 33: run 1: read: its latencies do not add up from those of its operations"},
		{head + `{"requests": {"requests": 2, "latency": {"min_nanos": 3, "max_nanos": 3, "buckets": "3:1"}}}]}`, "at byte 44: run 1: requests: their number is not that of their latencies"},
		{head + `{"requests": {"requests": 0, "latency": {"min_nanos": 0, "max_nanos": 0, "buckets": ""}}}]}`, "at byte 44: run 1: requests: their number is not that of their latencies"},
		{head + `{"requests": {"requests": 2, "latency": {"min_nanos": 3, "max_nanos": 3, "buckets": "3:x"}}}]}`, `at byte 44: run 1: bucket 0: expected GAP:COUNT, not "3:x"`},
		{head + `{"requests": {"requests": 1}}]}`, "at byte 44: run 1: requests: they have no latency"},
		{head + `{"requests": {"per_second": -1}}]}`, "at byte 44: run 1: requests: number out of range"},
		{head + `{"requests": {"per_second": 1e300}}]}`, "at byte 44: run 1: requests: number out of range"},
		{head + `{"remarks": {"kernel": "` + strings.Repeat("x", maxRemark+1) + `"}}]}`, "at byte 54: run 1: kernel: longer than 4096 bytes"},
		{head + strings.Repeat("{},", 1000) + "{}]}", "at byte 3032: more than 1000 runs"},
		{head + everyWorkload(MaxRuns) + "{}]}", "at byte 409632: more than 16384 runs"},
		{head + `{"workload": 1}]}`, "at byte 44: run 1: json: cannot unmarshal number into Go value of type string"},
	} {
		_, err := Read(strings.NewReader(test.text))
		require.EqualError(t, err, test.want, "%.60s", test.text)
		_, ok := errors.AsType[*Error](err)
		require.True(t, ok)
	}
	_, err := Read(io.MultiReader(strings.NewReader(`{"pianola_baseline": 1, "later": "`), endless{}))
	require.EqualError(t, err, "at byte 67108864: the file is larger than 64 MiB")
}

// everyWorkload are runs of so many workloads.
func everyWorkload(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"workload": "%08d"},`, i)
	}
	return b.String()
}

// endless is a file that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// Keys that a later version of the same format adds are skipped.
func TestUnknownKeys(t *testing.T) {
	text := strings.Replace(string(written(t, runs(t))), `"name"`, `"later": [{"a": [1, {}]}, "b"], "name"`, 1)
	text = strings.Replace(text, `"run_time_nanos"`, `"also": {"x": null}, "run_time_nanos"`, 1)
	text = strings.Replace(text, `"remarks": {`, `"remarks": {"whose": [1], `, 1)
	b, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, b.Runs, 6)
}

// A reader takes any bytes, and what it takes can be written and read again.
func FuzzRead(f *testing.F) {
	one := written(f, []Run{run(f, 1, 2)})
	f.Add(one)
	f.Add(one[:len(one)/2])
	f.Add([]byte(`{"pianola_baseline": 1, "runs": [{"run_time_nanos": 1, "operations": {"read": {"calls": 1, "nanos": 3, "latency": {"min_nanos": 3, "max_nanos": 3, "buckets": "3"}}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Read(bytes.NewReader(text))
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			require.True(t, ok)
			require.LessOrEqual(t, e.Offset, int64(len(text)))
			return
		}
		var side []*profile.Profile
		for i := range b.Runs {
			side = append(side, b.Runs[i].Profile)
		}
		require.NoError(t, compare.Profiles(side, side).WriteText(io.Discard, compare.TextOptions{Tolerance: 0.1, All: true}))
		var first, second bytes.Buffer
		require.NoError(t, Write(&first, b.Name, b.Runs))
		again, err := Read(bytes.NewReader(first.Bytes()))
		require.NoError(t, err)
		require.NoError(t, Write(&second, again.Name, again.Runs))
		require.Equal(t, first.String(), second.String())
	})
}
