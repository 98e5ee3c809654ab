package export

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// application returns n events in the mix of a real program: nine reads or
// writes to one pair of open and close, on a hundred files.
func application(n int) (*format.Header, []format.Event) {
	rnd := rand.New(rand.NewPCG(4, 4))
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	events := make([]format.Event, n)
	start := int64(0)
	for i := range events {
		e := &events[i]
		start += rnd.Int64N(1e5)
		*e = format.Event{Op: format.OpPread64, TID: 1, Start: start, Dur: rnd.Int64N(1e5), Compute: 1000, Ret: 4096, Args: [6]int64{7, 0x1000, 4096, rnd.Int64N(1e9)}}
		switch i % 11 {
		case 0:
			*e = format.Event{Op: format.OpOpenm, TID: 1, Start: start, Dur: 1000, Ret: 7, Args: [6]int64{0, format.RDWR | format.CREAT, 0o600},
				Str: [2][]byte{fmt.Appendf(nil, "home/john/data/file%d.dat", i%100)}}
		case 10:
			*e = format.Event{Op: format.OpClose, TID: 1, Start: start, Dur: 1000, Args: [6]int64{7}}
		}
	}
	return h, events
}

func BenchmarkWrite(b *testing.B) {
	h, events := application(110_000)
	for _, kind := range Kinds() {
		if kind == "c" {
			continue // bounds its size
		}
		b.Run(kind, func(b *testing.B) {
			size := &counter{}
			w, err := New(kind, size, h)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(events); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, w.Close())
			n := float64(b.N * len(events))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/event")
			b.ReportMetric(float64(size.n)/n, "B/event")
		})
	}
}

// counter counts the bytes that are written to it.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// TestFewAllocations holds that what is written at once as text costs no
// memory per event: an open costs its descriptor, and a new name its file.
func TestFewAllocations(t *testing.T) {
	h, events := application(11_000)
	for _, kind := range Kinds() {
		w, err := New(kind, io.Discard, h)
		require.NoError(t, err)
		require.NoError(t, w.Write(events))
		opens := 0
		for i := range events {
			if events[i].Op == format.OpOpenm {
				opens++
			}
		}
		got := testing.AllocsPerRun(3, func() { _ = w.Write(events) })
		require.LessOrEqual(t, got, float64(opens)+10, kind)
	}
}
