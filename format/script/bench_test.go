package script

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// application returns the script of n events in the mix of a real program:
// nine reads or writes to one pair of open and close.
func application(tb testing.TB, n int) (string, []format.Event) {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(4, 4))
	var b strings.Builder
	b.WriteString(recordedLine)
	for i := range n {
		fmt.Fprintf(&b, "%d 0.%09d ", 4711+i%4, rnd.IntN(1e6))
		switch i % 11 {
		case 0:
			fmt.Fprintf(&b, "openat(AT_FDCWD, \"/home/john/data/file%d.dat\", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 7 <0.%09d> {size=0 type=reg new}\n", i, rnd.IntN(1e6))
		case 10:
			fmt.Fprintf(&b, "close(7) = 0 <0.%09d>\n", rnd.IntN(1e6))
		default:
			fmt.Fprintf(&b, "pread64(7, 0x7ffc1f3a2010, 4096, %d) = 4096 <0.%09d>\n", rnd.IntN(1e9), rnd.IntN(1e6))
		}
	}
	events, err := readAll(NewReader(strings.NewReader(b.String()), "bench"), 256)
	require.NoError(tb, err)
	require.Len(tb, events, n)
	return b.String(), events
}

func BenchmarkRead(b *testing.B) {
	const lines = 100_000
	text, _ := application(b, lines)
	batch := make([]format.Event, 256)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(text), "bench")
		for {
			if _, err := r.Read(batch); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	perLine(b, lines)
}

func perLine(b *testing.B, lines int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/event")
	b.ReportMetric(float64(b.N*lines)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkReadIntermediate(b *testing.B) {
	const lines = 100_000
	_, events := application(b, lines)
	for i := range events {
		events[i].Compute = 12345
		events[i].Notes, events[i].Faults, events[i].Off = nil, 0, format.Off{}
	}
	var out strings.Builder
	w := NewIntermediateWriter(&out, &format.Header{})
	require.NoError(b, w.Write(events))
	require.NoError(b, w.Flush())
	text := out.String()
	batch := make([]format.Event, 256)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(text), "bench")
		for {
			if _, err := r.Read(batch); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	perLine(b, lines)
}

func BenchmarkWrite(b *testing.B) {
	_, events := application(b, 100_000)
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(events); err != nil {
			b.Fatal(err)
		}
	}
	perLine(b, len(events))
}

// TestNoAllocations holds that reading and writing allocate nothing per event.
func TestNoAllocations(t *testing.T) {
	text, events := application(t, 20_000)
	w := NewWriter(io.Discard)
	require.Zero(t, testing.AllocsPerRun(3, func() { _ = w.Write(events) }))
	batch := make([]format.Event, 256)
	perFile := testing.AllocsPerRun(3, func() {
		r := NewReader(strings.NewReader(text), "bench")
		for n, err := r.Read(batch); err == nil && n > 0; {
			n, err = r.Read(batch)
		}
	})
	require.Less(t, perFile, 20.0)
}
