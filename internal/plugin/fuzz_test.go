package plugin

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// FuzzAnswer demands that what a program answers is a result that a script can
// show, and is the same again after that, or an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"0", "4096", "?", "-1 ENOENT", "-2", "-1 EIO (Input/output error)", "-1 ", "9223372036854775808", "1 2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, ok := result(answer)
		if !ok {
			return
		}
		e := format.Event{Op: format.OpSync, Dur: format.Unknown, Ret: got}
		line := script.AppendOperation(nil, &e)
		again, ok := result(line[len("sync ( ) = ") : len(line)-1])
		require.True(t, ok, "%s", line)
		require.Equal(t, got, again)
	})
}

// FuzzLines demands that a program's lines give edges to lines that are there,
// or an error, whatever events they say they are.
func FuzzLines(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte{0, 1})
	f.Add([]byte{3, 3, 0}, []byte{9, 200})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		const fed = 100
		feed := &feed{fed: make([]atomic.Int64, 2), waits: make([][]format.Wait, 2)}
		for i := range int64(fed) {
			for k := range feed.waits {
				feed.fed[k].Store(fed)
				feed.waits[k] = append(feed.waits[k], format.Wait{Event: i, For: format.Edge{Thread: int32(2 - k), Event: i * 7 % fed}})
			}
		}
		p := newPlaces(feed)
		var events []format.Event
		for k, lines := range [][]byte{first, second} {
			for _, at := range lines {
				e := format.Event{Op: format.OpSync, TID: int32(k + 1), Edges: []format.Edge{{Thread: int32(2 - k), Event: int64(at)}, {Thread: int32(k + 1), Event: int64(at) / 2}, {Kind: format.EdgeArrival}}}
				if at != 255 {
					e.Notes = &format.Notes{Text: fmt.Appendf(nil, "at=%d:%d", e.TID, at)}
				}
				events = append(events, e)
			}
		}
		if p.survey(events) != nil {
			return
		}
		p.settle()
		require.NoError(t, p.mend(events))
		var lines [3]int64 // so far, by thread
		for i := range events {
			e := &events[i]
			for _, edge := range e.Edges {
				require.True(t, edge.Valid(e.TID, lines[e.TID]), "%s of event %d of thread %d", edge.Append(nil), lines[e.TID], e.TID)
				if edge.Thread > 0 {
					require.Less(t, edge.Event, int64(len([][]byte{first, second}[edge.Thread-1])))
				}
			}
			lines[e.TID]++
		}
	})
}
