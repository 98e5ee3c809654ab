package replays

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/testkit"
	"pianola/replay"
)

const recording = `# pianola script 1
# recorder: ebpf
1 0.000100 openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0644) = 3 <0.000100>
1 0.000300 write(3, ..., 10) = 10 <0.000100>
1 0.000500 pread64(3, ..., 10, 0) = 10 <0.000100>
1 0.000700 close(3) = 0 <0.000100>
`

// traceOf returns the trace of a recording.
func traceOf(t *testing.T, name string) *Trace {
	t.Helper()
	var out bytes.Buffer
	_, err := compile.Compile(script.NewReader(strings.NewReader(recording), "test"), new(testkit.Spool), bin.NewWriter(&out, new(testkit.Spool)), compile.Options{Names: true})
	require.NoError(t, err)
	b, err := bin.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), bin.DefaultLimit)
	require.NoError(t, err)
	return &Trace{File: name, Trace: b}
}

// resultsOf returns the results of traces and their copies in memory.
func resultsOf(t *testing.T, copies int, traces ...*Trace) []*replay.Result {
	t.Helper()
	var parts []replay.Part
	for _, one := range traces {
		parts = append(parts, replay.Part{Name: one.File, Trace: one.Trace})
	}
	results, err := replay.RunAll(t.Context(), parts, replay.Options{Backend: replay.Memory, Timing: replay.AFAP, Copies: copies})
	require.NoError(t, err)
	return results
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

func document(t *testing.T, r *Report) (d map[string]any) {
	t.Helper()
	b, err := json.Marshal(r.Document())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &d))
	return d
}

// A single run is compared with the recording, and has its events by operation.
func TestOneRun(t *testing.T) {
	trace := traceOf(t, "a.bin")
	r := NewReport(1, trace)
	require.Zero(t, r.Runs())
	require.NoError(t, r.Add(resultsOf(t, 1, trace), nil))
	require.Equal(t, 1, r.Runs())
	require.Contains(t, text(t, r), "\n4 events replayed: all results are as recorded\n")
	require.Regexp(t, `(?m)^ +all +4 +0 +0 +0$`, text(t, r))
	d := document(t, r)
	require.Equal(t, map[string]any{"executed": 1., "left_out": 0., "regrouped": 0., "failed": 0., "differed": 0.}, d["by_operation"].(map[string]any)["pread64"])
	require.NotNil(t, d["comparison"])
	require.NotContains(t, d, "traces")

	var prepared strings.Builder
	require.NoError(t, r.WritePrepared(&prepared))
	require.Regexp(t, `^prepared: \d+ files`, prepared.String())
}

// A run that was interrupted isn't compared, and counts for no run time.
func TestInterrupted(t *testing.T) {
	trace := traceOf(t, "a.bin")
	r := NewReport(1, trace)
	results := resultsOf(t, 1, trace)
	results[0].Interrupted = true
	require.NoError(t, r.Add(results, nil))
	require.Nil(t, r.list[0].compare())
	require.Contains(t, text(t, r), "incomplete: not all events were replayed\n")
	require.NotContains(t, document(t, r), "comparison")

	require.NoError(t, r.Add(resultsOf(t, 1, trace), nil))
	require.NotNil(t, r.list[0].compare())
	require.Contains(t, text(t, r), "\nrun 1:\nincomplete: not all events were replayed\n")
	require.Len(t, document(t, r)["traces"].([]any)[0].(map[string]any)["runs"], 2)
}

// Several traces have totals, which add up what ran side by side.
func TestTotals(t *testing.T) {
	one, two := traceOf(t, "a.bin"), traceOf(t, "b.bin")
	r := NewReport(1, one, two)
	for range 2 {
		require.NoError(t, r.Add(resultsOf(t, 1, one, two), nil))
	}
	require.Equal(t, []counts{{Executed: 8}, {Executed: 8}}, r.runCounts())
	require.Regexp(t, `(?m)^all +\S+ +8 +0 +0`, text(t, r))
	require.Contains(t, text(t, r), "\nb.bin:\n")
	totals := document(t, r)["totals"].(map[string]any)
	require.EqualValues(t, 2, totals["traces"])
	require.EqualValues(t, 1, totals["copies"])
	require.Len(t, totals["runs"], 2)
	require.Contains(t, totals["categories"], "read")
}

// A kind of difference that several copies have is written once, with the first of them, in
// the order of time.
func TestCopies(t *testing.T) {
	trace := traceOf(t, "a.bin")
	r := NewReport(3, trace)
	results := resultsOf(t, 3, trace)
	short := replay.Difference{Op: format.OpRead, Recorded: 10, Got: 5, Count: 2, At: 9 * time.Millisecond, Thread: 1, Path: "a"}
	early := short
	early.At = time.Millisecond
	failed := replay.Difference{Op: format.OpWrite, Recorded: 10, Got: -9, Count: 1, At: 5 * time.Millisecond, Thread: 1, Path: "a", Reason: "why"}
	results[1].Differences = []replay.Difference{failed, short}
	results[2].Differences = []replay.Difference{early}
	results[0].Interrupted, results[1].Notes, results[2].Notes = true, []string{"note"}, []string{"note"}
	require.NoError(t, r.Add(results, nil))
	out := text(t, r)
	require.Contains(t, out, `a.bin, copy 1, run 1: not all events were replayed
differed: 4 × read: recorded 10, got 5; first "a", event 0 of thread 1 (copy 2 of a.bin)
differed: 1 × write: recorded 10, got EBADF; first "a", event 0 of thread 1: why (copy 2 of a.bin)
note
`)
	require.EqualValues(t, 2, results[1].Differences[1].Count, "the results stay as they are")
	require.EqualValues(t, 3, document(t, r)["totals"].(map[string]any)["copies"])
}

// At another pace the recording is that of this pace.
func TestRecording(t *testing.T) {
	trace := traceOf(t, "a.bin")
	p, paced, err := Recording(trace.Trace, format.Pace{Speed: 1}, true, 0)
	require.NoError(t, err)
	require.Nil(t, paced)
	fast, paced, err := Recording(trace.Trace, format.Pace{Speed: 2}, true, 0)
	require.NoError(t, err)
	require.Less(t, fast.RunTime, p.RunTime)
	require.InDelta(t, format.Seconds(p.RunTime), paced.Recorded, 1e-9)
}

// A run of an experiment has the most failures of a copy, and its calls are those of all.
func TestRunOf(t *testing.T) {
	trace := traceOf(t, "a.bin")
	about := []format.Meta{{Key: "host", Value: "here"}}
	one, err := RunOf(resultsOf(t, 1, trace), about)
	require.NoError(t, err)
	require.EqualValues(t, 4, one.Profile.All.Calls)
	require.Contains(t, one.Meta, about[0])
	results := resultsOf(t, 2, trace)
	results[0].Differed, results[1].Differed, results[1].Failed = 2, 1, 1
	results[1].Differences = []replay.Difference{{Op: format.OpRead, Recorded: 10, Got: 5, Count: 1, Thread: 1, Path: "a"}}
	both, err := RunOf(results, about)
	require.NoError(t, err)
	require.EqualValues(t, 8, both.Profile.All.Calls)
	require.Equal(t, [2]int64{1, 2}, [2]int64{both.Failed, both.Differed})
	require.Equal(t, `1 × read: recorded 10, got 5; first "a", event 0 of thread 1`, both.Example)
}
