package export

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// traceEvent is an event of the Trace Event Format.
type traceEvent struct {
	Name, Ph, Cat string
	PID, TID      int64
	TS            float64
	Dur           *float64
	Args          map[string]any
}

func traceEvents(t *testing.T, text []byte) (all []traceEvent) {
	t.Helper()
	var doc struct {
		TraceEvents     []traceEvent
		DisplayTimeUnit string
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, "ns", doc.DisplayTimeUnit)
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
