package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// costly is a header with the recorder's costs, as of two nodes.
var costly = format.Header{Meta: []format.Meta{{Key: format.MetaCost, Value: "inside=50 outside=700 rich=90 above=1"}, {Key: format.MetaCost, Value: "inside=30 outside=300 rich=200"}}}

// spent is what compile makes of a thread's time, in nanoseconds.
type spent struct {
	compute int64
	debt    int64 // what is still to be taken off it
	calls   int64 // their durations
	last    int64
	taken   int64
}

// timesOf returns what compile makes of the time of each thread.
func timesOf(events []format.Event) map[int32]*spent {
	all, costs := map[int32]*spent{}, costly.Costs()
	at := func(thread int32, start int64) *spent {
		if all[thread] == nil {
			all[thread] = &spent{last: start}
		}
		return all[thread]
	}
	at(events[0].TID, 0)
	for i := range events {
		e := &events[i]
		if e.Via != format.ViaCall {
			continue
		}
		s := at(e.TID, e.Start)
		compute := e.Start - s.last - s.taken - s.debt - e.Cut
		s.compute, s.debt = s.compute+max(compute, 0), max(-compute, 0)
		s.last, s.taken = e.End(), costs.Of(e.TID).Around(e.Op)
		switch info := e.Op.Info(); {
		case info.Class == format.ClassProcess && info.Effect != format.EffectWait:
			s.last, s.taken = e.Start, s.taken+costs.Of(e.TID).Inside
		default:
			s.calls += max(e.Dur, 0)
		}
		if e.Op.Info().Effect == format.EffectFork {
			at(int32(e.Ret), e.Start)
		}
	}
	return all
}

// The compute of threads stays unchanged: the recorder's cost moves with the calls that
// are removed and inserted.
func TestComputeIsKept(t *testing.T) {
	for _, test := range []struct {
		with []string
		x    float64
	}{
		{[]string{"prefetch"}, 1}, {[]string{"prefetch=50us"}, 1}, {[]string{"readahead=64KiB"}, 1},
		{[]string{"coalesce=300"}, 1}, {[]string{"coalesce=1MiB"}, 1}, {[]string{"vectored"}, 1},
		{[]string{"block=100"}, 1}, {[]string{"block=4KiB,pad"}, 1}, {[]string{"direct"}, 1}, {[]string{"buffered"}, 1}, {[]string{"sync=none"}, 1},
		{[]string{"scale-compute=0"}, 0}, {[]string{"scale-compute=0.3"}, 0.3}, {[]string{"scale-compute=4"}, 4},
		{[]string{"coalesce=1MiB", "scale-compute=2"}, 2}, {[]string{"scale-compute=2", "coalesce=1MiB", "direct"}, 2},
		{[]string{"sync=none", "prefetch=50us", "block=100"}, 1},
		{[]string{"uring-batch=8"}, 1}, {[]string{"uring-batch=8", "sync=none"}, 1}, {[]string{"uring-batch=8", "block=100"}, 1}, {[]string{"uring-batch=8", "direct"}, 1},
		{[]string{"uring-batch=8", "scale-compute=2"}, 2}, {[]string{"scale-compute=2", "uring-batch=8", "coalesce=1MiB"}, 2}, {[]string{"uring-batch=8", "prefetch"}, 1},
	} {
		t.Run(fmt.Sprint(test.with), func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					events := ended(recorded(t, seed, false))
					out, _ := transformed(t, costly, events, test.with...)
					is := timesOf(out)
					for thread, was := range timesOf(events) {
						// A nanosecond of each event can be lost to rounding.
						require.InDelta(t, test.x*float64(was.compute-was.debt), is[thread].compute-is[thread].debt, float64(len(events))+test.x*float64(was.debt),
							"thread %d", thread)
					}
				})
			}
		})
	}
}

// The time of dropped events becomes compute, except for the recorder's cost.
func TestTimeIsKept(t *testing.T) {
	for _, with := range []string{"drop=class == read", "only=class == write", "drop=op == fsync"} {
		t.Run(with, func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					events := ended(recorded(t, seed, false))
					out, _ := transformed(t, costly, events, with)
					is, gone := timesOf(out), map[int32]int64{}
					for _, e := range events {
						gone[e.TID]++
					}
					for _, e := range out {
						gone[e.TID]--
					}
					for thread, was := range timesOf(events) {
						require.Equal(t, was.compute-was.debt+was.calls-gone[thread]*costly.Costs().Of(thread).Inside, is[thread].compute-is[thread].debt+is[thread].calls,
							"thread %d", thread)
					}
				})
			}
		})
	}
}

// Messages, and waits within removed calls, show which thread waited for which, so they
// are kept. Compile subtracts the recorder's cost of a wait from a thread's time, so
// the transform adds it back if there was no such event.
func TestWaitsAreKept(t *testing.T) {
	const recording = `# pianola script 1
# recorder: ebpf
# cost: inside=30 outside=300 rich=200 switch=7
`
	for _, test := range []struct{ with, in, want string }{
		{"only=op == fsync", `1 0.000010000 open("/w/a", O_RDWR) = 3 <0.000001000>
1 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000001000>
2 0.000010000 recvfrom(7, 0x1, 10, 0, NULL, NULL) = 10 <0.000030000> {got=tcp:a7+10}
1 0.000010000 flock(3, LOCK_EX) = 0 <0.000050000> {by=2+10 ready=5}
1 0.000060000 wait(FUTEX, 0x10) = 0 <0.000050000> {by=2+10}
1 0.000060000 pread64(3, 0x1, 10, 0) = 10 <0.000070000>
1 0.000080000 fsync(3) = 0 <0.000001000>
`, `1 0.000010000 open("/w/a", O_RDWR) = 3 <0.000001000>
1 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000001000>
2 0.000010000 recvfrom(7, 0x1, 10, 0, NULL, NULL) = 10 <0.000030000> {got=tcp:a7+10}
1 0.000010000 wait(OTHER, NULL) = 0 <0.000050000> {by=2+10 ready=5}
1 0.000060000 wait(FUTEX, 0x10) = 0 <0.000050000> {by=2+10}
1 0.000140000 fsync(3) = 0 <0.000001000> {off=70000 cut=323}
`},
		{"drop=op == fsync", `1 0.000010000 fsync(3) = 0 <0.000001000> {ready=9}
1 0.000010000 close(3) = 0 <0.000001000>
1 0.000010000 fsync(3) = 0 <0.000001000> {ready=9}
1 0.000010000 close(3) = 0 <0.000001000> {ready=1}
`, `1 0.000020000 close(3) = 0 <0.000001000> {ready=9 cut=330}
1 0.000020000 close(3) = 0 <0.000001000> {ready=10 cut=337}
`},
		{"scale-compute=3", `1 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
1 0.000002300 wait(FUTEX, 0x10) = 0 <0.000050000> {by=2+10}
1 0.000052300 stat("/w/a", 0x1) = 0 <0.000001000>
`, `1 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000> {cut=-2000}
1 0.000002300 wait(FUTEX, 0x10) = 0 <0.000050000> {by=2+10 cut=-1600}
1 0.000052300 stat("/w/a", 0x1) = 0 <0.000001000> {cut=-4000}
`},
		{"sync=none", `1 0.000010000 fsync(3) = 0 <0.000001000>
1 0.000010000 close(3) = 0 <0.000001000>
`, `1 0.000011000 wait(OTHER, NULL) = 0 <0.000000000> {cut=1300}
1 0.000009000 close(3) = 0 <0.000001000> {cut=-330}
`},
	} {
		t.Run(test.with, func(t *testing.T) {
			with, err := Builtin().Parse(test.with)
			require.NoError(t, err)
			c := NewChain(func() (format.Reader, error) {
				return script.NewReader(strings.NewReader(recording+test.in), "in"), nil
			}, with)
			defer c.Close()
			r, err := c.Open()
			require.NoError(t, err)
			events, err := testkit.ReadAll(r, 10)
			require.NoError(t, err)
			var out strings.Builder
			w := script.NewWriter(&out)
			require.NoError(t, w.Write(events))
			require.NoError(t, w.Flush())
			require.Equal(t, "# pianola script 1\n"+test.want, out.String())
		})
	}
}

// ended lets each thread of a recording end by itself.
func ended(events []format.Event, after *machine) []format.Event {
	last := events[len(events)-1].End()
	for events[len(events)-1].Op == format.OpExitGroup {
		events = events[:len(events)-1]
	}
	for thread := int32(len(after.of)); thread > 0; thread-- {
		last += 5000
		events = append(events, format.Event{Op: format.OpExit, TID: thread, Start: last})
	}
	return events
}
