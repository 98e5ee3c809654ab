package script

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestEveryOperationRecorded(t *testing.T) {
	for op := format.OpNone + 1; op.Valid(); op++ {
		t.Run(op.String(), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(op)))
			var events []format.Event
			for range 200 {
				e := randomEvent(rnd, op)
				e.Start = rnd.Int64N(1e13)
				if rnd.IntN(2) == 0 {
					setNotes(&e, `size=0 name="a } b" new off=5 cut=-7 faults=2 type=dir mode=0755 dev=8:1 ino=18446744073709551615 cached=3 nlink=2 sparse target="a\"b" args=unreadable signal=SIGKILL killed was=7`)
				}
				events = append(events, e)
			}
			text := printRecorded(t, &format.Header{}, events)
			got, r := parse(t, text)
			require.Equal(t, Recorded, r.Dialect())
			require.Equal(t, events, got, text)
		})
	}
}

func TestEveryOperationIntermediate(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Start: 500}, {Process: 2, Parent: 1, Start: 7}}}
	for op := format.OpNone + 1; op.Valid(); op++ {
		t.Run(op.String(), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(2, uint64(op)))
			var events []format.Event
			now := []int64{0, h.Threads[0].Start, h.Threads[1].Start, h.Threads[2].Start}
			for range 200 {
				e := randomEvent(rnd, op)
				e.Compute = max(0, rnd.Int64N(1e10)-5e9)
				for _, p := range e.Off.Parts() {
					*p = max(0, rnd.Int64N(2e9)-1e9)
				}
				e.Off = e.Off.Within(e.Compute)
				e.Start = now[e.TID] + e.Compute
				now[e.TID] = e.End()
				for range rnd.IntN(3) {
					e.Edges = append(e.Edges, format.Edge{Thread: 1 + rnd.Int32N(3), Event: rnd.Int64N(1000)})
				}
				if rnd.IntN(2) == 0 {
					e.Notes = &format.Notes{Text: []byte(`size=0 name="a } b" new`)}
				}
				events = append(events, e)
			}
			text := printIntermediate(t, h, events)
			got, r := parse(t, text)
			require.Equal(t, Intermediate, r.Dialect())
			require.Equal(t, h, r.Header())
			require.Equal(t, events, got, text)
		})
	}
}

// TestBatches reads one source in batches of all sizes, across the borders of
// the buffer, and must see the same.
func TestBatches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var events []format.Event
	for range 12_000 {
		events = append(events, randomEvent(rnd, format.OpOpenat))
	}
	text := printRecorded(t, &format.Header{}, events)
	require.Greater(t, len(text), 2*maxLine)
	for _, size := range []int{1, 3, 1000, 100_000} {
		got, err := readAll(NewReader(&trickle{text: text, most: 1 + size*7}, "trace.txt"), size)
		require.NoError(t, err)
		require.Equal(t, events, got)
	}
}
