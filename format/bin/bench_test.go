package bin

import (
	"bytes"
	"io"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

const benchEvents = 1 << 20

// random is the workload of the goal: 4 KiB read at one of 4000 blocks, drawn
// uniformly. 12 bits of every event are noise.
func random(n int) []format.Event {
	r := rand.New(rand.NewSource(1))
	events := make([]format.Event, n)
	for i := range events {
		events[i] = format.Event{Op: format.OpPread64, TID: 1, Compute: 20_000, Dur: 1_000, Ret: 4096,
			Args: [format.MaxArgs]int64{3, 0x1000, 4096, int64(r.Intn(4000)) * 4096}}
	}
	return events
}

// sequential reads a file from its start, at 20 to 22 µs.
func sequential(n int) []format.Event {
	r := rand.New(rand.NewSource(1))
	events := random(n)
	for i := range events {
		events[i].Args[3], events[i].Compute = int64(i)*4096, 20_000+int64(r.Intn(2000))
	}
	return events
}

// mixed opens files, reads or writes some of them in one of three ways and
// closes them; compute and durations are spread log-normally.
func mixed(n int) []format.Event {
	r := rand.New(rand.NewSource(2))
	spread := func(mean float64) int64 { return int64(math.Exp(r.NormFloat64() + mean)) }
	events := make([]format.Event, 0, n+40)
	add := func(op format.Op, ret int64, args ...int64) *format.Event {
		events = append(events, format.Event{Op: op, TID: 1, Compute: spread(9), Dur: spread(7), Ret: ret})
		e := &events[len(events)-1]
		copy(e.Args[:], args)
		return e
	}
	for len(events) < n {
		fd := int64(3 + r.Intn(6))
		add(format.OpOpen, fd, 0, format.RDONLY).Str[0] = []byte("dir/" + string(rune('a'+r.Intn(26))) + "/file" + string(rune('a'+r.Intn(26))))
		add(format.OpFstat, 0, fd, 0x100)
		way := r.Intn(3)
		for i := range int64(r.Intn(30)) {
			switch way {
			case 0:
				add(format.OpRead, 65536, fd, 0x2000, 65536)
			case 1:
				size := int64(r.Intn(9000))
				add(format.OpWrite, size, fd, 0x2000, size)
			case 2:
				add(format.OpPread64, 8192, fd, 0x2000, 8192, i*8192)
			}
		}
		add(format.OpClose, 0, fd)
	}
	return events[:n]
}

var workloads = []struct {
	name   string
	events func(int) []format.Event
}{{"random", random}, {"sequential", sequential}, {"mixed", mixed}}

func BenchmarkEncode(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			events := w.events(benchEvents)
			var size int
			for b.Loop() {
				size = len(compiled(b, &format.Header{}, events))
			}
			b.ReportMetric(float64(size)/benchEvents, "bytes/event")
			perEvent(b)
		})
	}
}

func BenchmarkRecords(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			t := opened(b, compiled(b, &format.Header{}, w.events(benchEvents)))
			batch := make([]format.Record, 256)
			b.ReportAllocs()
			for b.Loop() {
				r := t.Records(1)
				for {
					if _, err := r.Read(batch); err != nil {
						require.Equal(b, io.EOF, err)
						break
					}
				}
			}
			perEvent(b)
		})
	}
}

func BenchmarkEvents(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			t := opened(b, compiled(b, &format.Header{}, w.events(benchEvents)))
			batch := make([]format.Event, 256)
			b.ReportAllocs()
			for b.Loop() {
				r := t.Events()
				for {
					if _, err := r.Read(batch); err != nil {
						require.Equal(b, io.EOF, err)
						break
					}
				}
			}
			perEvent(b)
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	file := compiled(b, &format.Header{}, mixed(benchEvents))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		_, err := Open(bytes.NewReader(file), int64(len(file)), DefaultLimit)
		require.NoError(b, err)
	}
}

func perEvent(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
}
