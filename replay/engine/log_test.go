package engine

import (
	"testing"

	"pianola/format"

	"github.com/stretchr/testify/require"
)

// Entries are read back unchanged, from memory and from the file.
func TestLogEntries(t *testing.T) {
	for _, memory := range []int64{1 << 20, 8 * EntrySize, 0} {
		logs, err := newLogs([]int64{5, 0, 40}, memory)
		require.NoError(t, err)
		for n := range logs {
			l := &logs[n]
			for i := range []int64{5, 0, 40}[n] {
				if l.full() {
					require.NoError(t, l.spill())
				}
				l.entries = append(l.entries, Entry{i, int64(n), i * i, -i})
			}
		}
		for n := range logs {
			l := &logs[n]
			for i := int64(0); i < l.Len(); {
				var batch [3]Entry
				got, err := l.Read(i, batch[:])
				require.NoError(t, err)
				require.Positive(t, got)
				for _, e := range batch[:got] {
					require.Equal(t, Entry{i, int64(n), i * i, -i}, e)
					i++
				}
			}
		}
		if memory == 1<<20 {
			require.Error(t, logs[0].spill(), "more events than announced")
		}
	}
}

// The duration of an event is that of its call. The engine's time before and after is not
// part of it, even if the previous event has just ended.
func TestEngineIsNoPartOfEvents(t *testing.T) {
	const events = 100
	of := &trace{}
	of.thread(format.Thread{Process: 1}, format.OpRmdir, events)
	var before, after []int64 // times around the call
	o := options
	o.Timing = Compute
	e := built(t, of, o, func(w *Worker, r *format.Record) int64 {
		before = append(before, w.e.Elapsed())
		w.CallBegins()
		w.CallEnds()
		after = append(after, w.e.Elapsed())
		return r.Ret
	})
	require.NoError(t, e.Play(t.Context()))
	entries := make([]Entry, events)
	n, err := e.Logs[0].Read(0, entries)
	require.NoError(t, err)
	require.Equal(t, events, n)
	for i, entry := range entries {
		require.GreaterOrEqual(t, entry.Start, before[i])
		require.LessOrEqual(t, entry.Start+entry.Dur, after[i])
	}
}
