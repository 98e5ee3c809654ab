package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// traceEvent is an event of the Trace Event Format.
type traceEvent struct {
	Name, Ph, Cat string
	PID, TID, ID  int64
	BP            string
	TS            float64
	Dur           *float64
	Args          map[string]any
}

func traceEvents(t *testing.T, text []byte) (all []traceEvent) {
	t.Helper()
	var doc struct{ TraceEvents []traceEvent }
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc.TraceEvents
}

// Every event is a slice, or an instant, of its thread, with its times.
func TestPerfettoHoldsAllEvents(t *testing.T) {
	h, events := sample(t)
	i := 0
	for _, got := range traceEvents(t, exported(t, "perfetto", h, events)) {
		if got.Ph != "X" && got.Ph != "i" {
			continue
		}
		e := &events[i]
		i++
		require.Equal(t, e.Op.String(), got.Name)
		require.EqualValues(t, e.TID, got.TID)
		require.EqualValues(t, h.Threads[e.TID-1].Process, got.PID)
		require.Equal(t, e.Start, int64(math.Round(got.TS*1e3)))
		require.Equal(t, e.Dur < 0, got.Dur == nil)
		if got.Dur != nil {
			require.Equal(t, e.Dur, int64(math.Round(*got.Dur*1e3)))
		}
	}
	require.Len(t, events, i)
}

// Counters change with each period in which something else was moved, and go
// back to 0.
func TestPerfettoCounters(t *testing.T) {
	move := func(op format.Op, millis, bytes int64) format.Event {
		return format.Event{Op: op, TID: 1, Start: millis * 1e6, Ret: bytes}
	}
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	text := exported(t, "perfetto", h, []format.Event{
		move(format.OpRead, 1, 1000), move(format.OpRead, 2, 500), move(format.OpWrite, 9, 70),
		move(format.OpRead, 11, 1500), move(format.OpWrite, 12, 70),
		move(format.OpWrite, 25, 10), move(format.OpRead, 26, -5),
		move(format.OpFsync, 90, 0), move(format.OpRead, 95, 1),
	})
	type counter struct{ ts, read, written float64 }
	var got []counter
	for _, e := range traceEvents(t, text) {
		if e.Ph == "C" {
			require.EqualValues(t, 2, e.PID)
			got = append(got, counter{e.TS, e.Args["read"].(float64), e.Args["written"].(float64)})
		}
	}
	require.Equal(t, []counter{
		{0, 150_000, 7000}, {20e3, 0, 1000}, {30e3, 0, 0}, {90e3, 100, 0}, {100e3, 0, 0},
	}, got)
}

// arrowsOf returns the arrows of a timeline, as text. Both ends follow the slice that
// they belong to, which begins no later and has not ended.
func arrowsOf(t *testing.T, text []byte) (all []string) {
	t.Helper()
	open := make(map[int64]traceEvent)
	latest := make(map[int64]traceEvent) // slices by thread
	order := traceEvents(t, text)
	slices.SortStableFunc(order, func(a, b traceEvent) int { return cmp.Compare(a.TS, b.TS) })
	for _, e := range order {
		switch e.Ph {
		case "X", "i":
			latest[e.TID] = e
			continue
		case "s", "f":
		default:
			continue
		}
		around := latest[e.TID]
		require.LessOrEqual(t, around.TS, e.TS)
		if around.Dur != nil && *around.Dur > 0 {
			require.Less(t, e.TS, around.TS+*around.Dur)
		} else {
			require.Equal(t, around.TS, e.TS)
		}
		require.Equal(t, around.PID, e.PID)
		require.Equal(t, "e", e.BP)
		if e.Ph == "s" {
			require.NotContains(t, open, e.ID)
			open[e.ID] = e
			continue
		}
		from, ok := open[e.ID]
		require.True(t, ok, "an arrow begins before it ends")
		require.Equal(t, from.Name, e.Name)
		delete(open, e.ID)
		all = append(all, fmt.Sprintf("%s %d at %.3f to %d at %.3f", e.Name, from.TID, from.TS, e.TID, e.TS))
	}
	require.Empty(t, open)
	return all
}

// An arrow goes from what an event comes after to the event, also where that one
// starts first and lasts until the other has ended.
func TestPerfettoEdges(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1}, {Process: 2, Parent: 1}}}
	after := func(edges ...format.Edge) []format.Edge { return edges }
	text := exported(t, "perfetto", h, []format.Event{
		{Op: format.OpClone, TID: 1, Start: 1000, Dur: 500, Ret: 2},
		{Op: format.OpWrite, TID: 2, Start: 1100, Dur: 900, Edges: after(format.Edge{Thread: 1, Event: 0, Kind: format.EdgeBirth})},
		{Op: format.OpWait4, TID: 1, Start: 2500, Dur: 4000, Edges: after(format.Edge{Thread: 3, Event: 0, Kind: format.EdgeExit}, format.Edge{Kind: format.EdgeArrival})},
		{Op: format.OpRead, TID: 2, Start: 3000, Dur: 10, Edges: after(format.Edge{Thread: 1, Event: 9})}, // never comes
		{Op: format.OpExitGroup, TID: 3, Start: 5000, Dur: format.Unknown, Ret: format.NoResult, Edges: after(format.Edge{Thread: 2, Event: 0, Kind: format.EdgeWake, Delay: 3000})},
		{Op: format.OpRead, TID: 2, Start: 7000, Dur: 0, Edges: after(format.Edge{Thread: 1, Event: 1})},
	})
	require.Equal(t, []string{
		"birth 1 at 1.000 to 2 at 1.100",
		"wake 2 at 1.999 to 3 at 5.000",
		"exit 3 at 5.000 to 1 at 5.000",
		"order 1 at 6.499 to 2 at 7.000",
	}, arrowsOf(t, text))
	require.Contains(t, string(text), `"args":{"after":"2:0+0.000003000:wake"`)
}

// Old events of a thread have no arrow, so memory is bounded.
func TestPerfettoForgetsEvents(t *testing.T) {
	var drawn []int64
	f := newFlows(keptEvents, func(one *flow) { drawn = append(drawn, one.begins) })
	require.EqualValues(t, leastKept, f.keep)
	for i := range int64(leastKept + 10) {
		f.add(1, span{10 * i, 10*i + 1}, nil)
	}
	for _, event := range []int64{0, 9, 10, leastKept + 9} {
		f.add(2, span{1e6, 1e6}, []format.Edge{{Thread: 1, Event: event}})
	}
	require.Equal(t, []int64{100, 10 * (leastKept + 9)}, drawn)
	for i := range int64(2 * maxWaitingFlows) {
		f.add(2, span{1e6, 1e6}, []format.Edge{{Thread: 3, Event: i}})
	}
	require.Len(t, f.waiting, maxWaitingFlows)
}

// A recording's arrows go from who woke a thread, at that moment, to what is left
// of the call that was blocked.
func TestPerfettoWakes(t *testing.T) {
	h, events := parsed(t, strings.NewReader(`# pianola script 1
# command: app
1 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000002000>
2 0.000010000 write(4, 0x1000, 1) = 1 <0.000050000>
1 -0.000005000 wait(FUTEX, 0x1000) = 0 <0.000040000> {by=2+3000}
1 0.000100000 read(3, 0x1000, 1) = 1 <0.000050000> {by=99}
1 0.000060000 wait(FUTEX, 0x1000) = 0 <0.000010000> {by=2}
`))
	text := exported(t, "perfetto", h, events)
	require.Equal(t, []string{"wake 2 at 52.000 to 1 at 52.000", "wake 2 at 185.000 to 1 at 185.000"}, arrowsOf(t, text))
	require.Contains(t, string(text), `{"name":"process_name","ph":"M","pid":1,"args":{"name":"app"}}`)
	require.Contains(t, string(text), `{"name":"woken","ph":"X","pid":1,"tid":1,"cat":"wake","ts":52.000,"dur":3.000,"args":{"waker":2}}`)

	lines := strings.Split(string(exported(t, "csv", h, events)), "\r\n")
	require.Regexp(t, "^1,1,1,wait,.*,2,0.000003000,,,,,,,$", lines[3])
	require.Contains(t, string(exported(t, "json", h, events)), `"waker":2,"woken":0.000003000`)
}
