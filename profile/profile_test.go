package profile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

func TestReadAddsUp(t *testing.T) {
	p := read(t,
		testkit.Event(format.OpExecve, 0, 100, 0),
		testkit.Event(format.OpOpenat, 100, 10, 3),
		testkit.Event(format.OpRead, 120, 20, 4096),
		testkit.Event(format.OpPread64, 150, 30, 100),
		testkit.Event(format.OpRead, 190, 5, -11), // EAGAIN
		testkit.Event(format.OpWrite, 200, 40, 50),
		testkit.Event(format.OpLseek, 245, 1, 4146), // an offset is no bytes transferred
		testkit.Event(format.OpGetdents64, 247, 2, 480),
		testkit.Event(format.OpFsync, 250, 300, 0),
		testkit.Event(format.OpClose, 560, 4, 0),
		format.Event{Op: format.OpRead, Start: 565e3, Dur: format.Unknown, Ret: format.NoResult},
		format.Event{Op: format.OpExitGroup, Start: 570e3, Dur: format.Unknown, Ret: format.NoResult},
	)
	require.EqualValues(t, 570e3, p.RunTime)
	require.Equal(t, Total{Calls: 12, Errors: 1, Unknown: 2, Bytes: 4246, Nanos: 512e3}, p.All)
	require.Equal(t, Categories{
		Reads:    {Calls: 4, Errors: 1, Unknown: 1, Bytes: 4196, Nanos: 55e3},
		Writes:   {Calls: 1, Bytes: 50, Nanos: 40e3},
		Syncs:    {Calls: 1, Nanos: 300e3},
		Metadata: {Calls: 4, Nanos: 17e3},
	}, p.Categories)
	require.Equal(t, Total{Calls: 10, Errors: 1, Unknown: 1, Bytes: 4246, Nanos: 412e3}, p.IO())
	require.Equal(t, Total{Calls: 3, Errors: 1, Unknown: 1, Bytes: 4096, Nanos: 25e3}, p.Ops[format.OpRead])
}

func TestEveryOperationHasItsCategory(t *testing.T) {
	for op := format.OpNone + 1; op.Valid(); op++ {
		p := read(t, testkit.Event(op, 0, 7, 0))
		class := op.Info().Class
		inside := class != format.ClassProcess && class != format.ClassMemory
		submits := class == format.ClassSubmit
		talks := op == format.OpSplice // of what is not known
		switch op.Info().Effect {
		case format.EffectPipe, format.EffectEventfd, format.EffectSend, format.EffectReceive:
			talks = !submits
		}
		require.Equal(t, inside && !talks && !submits, p.IO().Calls == 1, op.String())
		require.Equal(t, submits, p.Categories[Submitting].Calls == 1, op.String())
		require.Equal(t, talks, p.Categories[Communication].Calls == 1, op.String())
	}
}

func TestReadOfNothing(t *testing.T) {
	p := read(t)
	require.Equal(t, &Profile{}, p)
}

// Calls followed through descriptors and threads have an order, and the others have
// none.
func TestOrderDoesNotMatter(t *testing.T) {
	events := testkit.Application(1, 1)
	unordered := func(p *Profile) *Profile {
		q := &Profile{RunTime: p.RunTime, All: p.All, Categories: p.Categories, Ops: p.Ops, Curves: p.Curves,
			Latency: p.Latency, OpLatency: p.OpLatency, Sizes: p.Sizes, Intervals: p.Intervals}
		for i := range q.Intervals.List {
			q.Intervals.List[i].Files = nil
		}
		return q
	}
	want := unordered(read(t, events...))
	for i := range len(events) / 2 {
		j := len(events) - 1 - i
		events[i], events[j] = events[j], events[i]
	}
	require.True(t, reflect.DeepEqual(want, unordered(read(t, events...))))
}

func TestNegativeStartCountsFromTheStart(t *testing.T) {
	p := read(t, testkit.Event(format.OpRead, -5, 20, 1))
	require.EqualValues(t, 20e3, p.RunTime)
	require.EqualValues(t, 20e3, p.Categories[Reads].Nanos)
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("trace.txt:17: malformed call")
	_, err := Read(&testkit.Reader{Events: []format.Event{testkit.Event(format.OpRead, 0, 1, 1)}, Batch: 1, Err: broken})
	require.Equal(t, broken, err)

	for _, test := range []struct {
		name   string
		events []format.Event
		want   string
	}{
		{"no operation", []format.Event{{}}, "event 1: unknown operation"},
		{"an operation of the future", []format.Event{testkit.Event(format.OpRead, 0, 1, 1), {Op: format.Op(format.NumOps)}}, "event 2: unknown operation"},
		{"late", []format.Event{{Op: format.OpRead, Start: math.MaxInt64}}, "event 1: time or size out of range"},
		{"long", []format.Event{{Op: format.OpRead, Dur: math.MaxInt64}}, "event 1: time or size out of range"},
		{"bytes overflow", []format.Event{{Op: format.OpRead, Ret: math.MaxInt64}, {Op: format.OpWrite, Ret: 1}}, "event 2: time or size out of range"},
		{"time overflows", []format.Event{
			{Op: format.OpRead, Dur: maxTime}, {Op: format.OpRead, Dur: maxTime}, {Op: format.OpExecve, Dur: maxTime}, {Op: format.OpWrite, Dur: maxTime},
		}, "event 4: time or size out of range"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(&testkit.Reader{Events: test.events, Batch: 10, Err: io.EOF})
			require.EqualError(t, err, test.want)
		})
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	events := testkit.Application(1, 1)
	c := new(Collector)
	for range 3 { // descriptors are used again
		require.NoError(t, c.Write(events))
	}
	require.Zero(t, testing.AllocsPerRun(3, func() {
		if err := c.Write(events); err != nil {
			t.Error(err)
		}
	}))
}

// FuzzCollector: whatever the events are, totals and curves agree, and
// parts hold all calls.
func FuzzCollector(f *testing.F) {
	for _, seed := range testkit.EventSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Collector
		events := testkit.Events(data)
		if err := c.Write(events); err != nil {
			return
		}
		p := c.Profile()
		var all Total
		for op := range p.Ops {
			all.add(&p.Ops[op])
		}
		require.Equal(t, p.All, all)
		parts := p.Parts.sum(func(*Part) bool { return true })
		parts.Unknown, parts.Flight = all.Unknown, all.Flight // parts have neither
		require.Equal(t, all, parts)
		for k := range p.Curves {
			checkCurve(t, p, Category(k))
		}
	})
}

// repeating is a reader that gives the same batch n times, one after the other.
type repeating struct {
	events []format.Event
	n      int
}

func (r *repeating) Read(events []format.Event) (int, error) {
	if r.n--; r.n < 0 {
		return 0, io.EOF
	}
	n := copy(events, r.events)
	span := r.events[n-1].End() - r.events[0].Start
	for i := range r.events {
		r.events[i].Start += span
	}
	return n, nil
}

func (r *repeating) Header() *format.Header { return &format.Header{} }

func BenchmarkRead(b *testing.B) {
	r := &repeating{events: testkit.Application(1, 1)[2900:3156], n: b.N}
	b.ReportAllocs()
	if _, err := Read(r); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)*256/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// BenchmarkFiles is what a program costs that opens many files: four threads,
// 2000 files, nine reads and writes to an open and a close.
func BenchmarkFiles(b *testing.B) {
	var events []format.Event
	now := int64(0)
	for i := range int64(2000) {
		tid, fd := int32(1+i%4), 3+i%50
		call := func(op format.Op, ret int64, args ...int64) {
			now++
			events = append(events, on(op, tid, 3*now, 2, ret, "", args...))
		}
		call(format.OpOpenat, fd, format.AtFDCWD)
		events[len(events)-1].Str[0] = fmt.Appendf(nil, "/data/file%d", i)
		for k := range int64(9) {
			call(format.OpPread64, 4096, fd, 0, 4096, k*k%5*4096)
		}
		call(format.OpClose, 0, fd)
	}
	span := events[len(events)-1].End()
	var c Collector
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Write(events); err != nil {
			b.Fatal(err)
		}
		for i := range events {
			events[i].Start += span
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}
