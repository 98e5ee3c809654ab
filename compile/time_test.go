package compile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// The compute and the event durations of a thread of the trace add up to the life time
// of the thread minus the recorder's cost, whatever events were left out. A thread that
// waits for another waits more or less, by the recorder's cost in that thread.
func TestTimeAddsUp(t *testing.T) {
	for seed := range uint64(200) {
		for _, compensate := range []bool{false, true} {
			r := timed(seed)
			s, _ := compiled(t, r.text.String(), compile.Options{Compensate: compensate})
			sums, waited := make([]int64, len(s.header.Threads)+1), make([]bool, len(s.header.Threads)+1)
			for _, e := range s.events {
				sums[e.TID] += e.Compute + max(e.Dur, 0)
				waited[e.TID] = waited[e.TID] || e.Op == format.OpPipeRead && len(e.Edges) > 0
			}
			for i, th := range r.threads {
				if compensate && waited[i+1] {
					continue
				}
				want := th.end - th.start
				if compensate {
					// The last event's outside falls into a compute that never comes.
					want -= th.events*r.inside + (th.events-1)*r.outside
				}
				require.Equal(t, want, sums[i+1], "seed %d, compensate %t, thread %d\n%s", seed, compensate, i+1, r.text.String())
			}
		}
	}
}

// timedThread is a thread of a made-up recording, in nanoseconds.
type timedThread struct {
	start, now, end int64
	events          int64
}

type timedRecording struct {
	text            strings.Builder
	threads         []*timedThread
	inside, outside int64
}

// timed makes a recording of up to four threads of one process. Each computes
// longer between its events than the recorder takes. Each thread's last event
// is one that stays in the trace.
func timed(seed uint64) *timedRecording {
	rng := rand.New(rand.NewPCG(seed, 0))
	r := &timedRecording{inside: rng.Int64N(100) - 50, outside: rng.Int64N(200)}
	fmt.Fprintf(&r.text, "# pianola script 1\n# cost: inside=%d outside=%d\n", r.inside, r.outside)
	r.threads = []*timedThread{{}}
	calls := []string{
		`openat(AT_FDCWD, "/w/a", O_RDONLY) = 3`, `read(3, 0x1000, 10) = 10`, `close(3) = 0`, `stat("/w/b", 0x1) = -1 ENOENT (x)`,
		`read(0, 0x1000, 10) = 10`, `chdir("/w") = 0`, `openat(AT_FDCWD, "/proc/self/maps", O_RDONLY) = 5`, `pipe2([8, 9], 0) = 0`, // left out
		`write(9, 0x1000, 10) = 10`, `read(8, 0x1000, 10) = 10`, // in part, where they wait
		`read(3, 0x1000, 10) = -1 EINTR (x)`, `wait4(-1, NULL, WNOHANG, NULL) = 0`, `clone`,
	}
	last := int64(0)
	event := func(i int, call string) {
		t := r.threads[i]
		start := t.now + 400 + rng.Int64N(10_000)
		dur := 200 + rng.Int64N(10_000)
		if call == "clone" {
			call = fmt.Sprintf("clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d", 101+len(r.threads))
			r.threads = append(r.threads, &timedThread{start: start, now: start + dur})
		}
		t.now, t.end, t.events = start+dur, start+dur, t.events+1
		gap := start - last
		sign := ""
		if gap < 0 {
			sign, gap = "-", -gap
		}
		fmt.Fprintf(&r.text, "%d %s%d.%09d %s <0.%09d>\n", 101+i, sign, gap/1e9, gap%1e9, call, dur)
		last = start
	}
	for range 40 {
		call := calls[rng.IntN(len(calls))]
		if call == "clone" && len(r.threads) == 4 {
			continue
		}
		event(rng.IntN(len(r.threads)), call)
	}
	for i := range r.threads {
		event(i, `stat("/w/a", 0x1) = 0`)
	}
	return r
}

// Time that a transform cut before an event is not compute, wherever the event moves.
// Time that could not be cut there is cut later.
func TestCut(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
1 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000> {cut=400}
1 0.000003000 read(0, 0x1000, 10) = 10 <0.000001000> {cut=500}
1 0.000003000 stat("/w/a", 0x1) = 0 <0.000001000> {cut=-100}
1 0.000002000 stat("/w/a", 0x1) = 0 <0.000001000> {cut=3000}
1 0.000005000 stat("/w/a", 0x1) = 0 <0.000001000>
1 0.000005000 stat("/w/a", 0x1) = 0 <0.000001000> {cut=9999999999999999999}
`, compile.Options{})
	var computes []int64
	for _, e := range s.events {
		computes = append(computes, e.Compute)
	}
	require.Equal(t, []int64{600, 5000 - 500 + 100, 0, 2000, 4000}, computes)
}

// Where one thread waits for another, both go on at the time that the other
// would have had without a recorder.
func TestWaitsAreCompensated(t *testing.T) {
	const calls, gap = 1000, 10_000 // of the child, and nanoseconds from one to the next
	for _, c := range []struct{ name, pipe, end, wait string }{
		{"a process", "", "11 0.000010000 exit_group(0) = ?\n", "wait4(11, NULL, 0, NULL) = 11"},
		{"a pipe", "10 0.000001000 pipe2([3, 4], 0) = 0 <0.000001000>\n", "11 0.000010000 write(4, 0x1, 10) = 10 <0.000001000>\n", "read(3, 0x1, 10) = 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "# pianola script 1\n# cost: inside=100 outside=900\n" + c.pipe +
				"10 0.000010000 clone(SIGCHLD) = 11 <0.000001000>\n" +
				`11 0.000010000 openat(AT_FDCWD, "/w/a", O_RDONLY) = 5 <0.000001000> {type=reg size=9}` + "\n" +
				strings.Repeat("11 0.000010000 fstat(5, 0x1) = 0 <0.000001000> {type=reg size=9}\n", calls) + c.end
			// The parent waits from 5 µs after its clone until the child lets it go on.
			waited := float64((calls+2)*gap-5_000) / 1e9
			text += fmt.Sprintf("10 -%.9f %s <%.9f>\n", waited, c.wait, waited) +
				fmt.Sprintf(`10 %.9f stat("/w/a", 0x1) = 0 <0.000001000> {type=reg size=9}`+"\n", waited+20e-6)
			s, _ := compiled(t, text, compile.Options{Compensate: true})
			end := []int64{0, s.header.Threads[0].Start, s.header.Threads[1].Start}
			child := end[2]
			for _, e := range s.events {
				end[e.TID] += e.Compute + max(e.Dur, 0)
			}
			require.InDelta(t, child+calls*(gap-1_000), end[2], 25_000)
			require.InDelta(t, end[2]+20_000, end[1], 5_000)
		})
	}
}

// A wait ends, on the trace's clock, when what it waited for does or begins,
// wherever recording cost most.
func TestWaitsEndInTime(t *testing.T) {
	type call struct {
		tid, start, dur int64 // microseconds
		text            string
	}
	open := call{11, 20, 1, `openat(AT_FDCWD, "/w/a", O_RDONLY) = 5 <%s> {type=reg size=9}`}
	var busy []call
	for i := range int64(50) {
		busy = append(busy, call{10, 20 + 2*i, 1, `stat("/w/a", 0x1) = 0 <%s> {type=reg size=9}`})
	}
	for _, c := range []struct {
		name, cost string
		calls      []call
		op         format.Op
		want       int64 // nanoseconds
	}{
		{"until the end, not less by what its own recording took", "inside=100 outside=0", []call{
			open, {11, 100, -1, "exit_group(0) = ?"}, {10, 30, 80, "wait4(11, NULL, 0, NULL) = 11 <%s>"},
		}, format.OpWait4, 70_000},
		{"for what had ended in the recording, where it was quicker without", "inside=0 outside=1000", append(busy,
			call{11, 110, -1, "exit_group(0) = ?"}, call{10, 120, 1, "wait4(11, NULL, 0, NULL) = 11 <%s>"},
		), format.OpWait4, 41_000},
		{"for a read that waited before the call", "inside=0 outside=0", []call{
			open, {10, 100, 1, "write(4, 0x1, 10) = 10 <%s>"}, {11, 200, 1, "read(3, 0x1, 10) = 10 <%s> {off=79000}"},
			{10, 150, 60, "write(4, 0x1, 10) = 10 <%s>"},
		}, format.OpPipeWrite, 50_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, last := "# pianola script 1\n# cost: "+c.cost+"\n", int64(0)
			for _, e := range append([]call{{10, 1, 1, "pipe2([3, 4], 0) = 0 <%s>"}, {10, 10, 1, "clone(SIGCHLD) = 11 <%s>"}}, c.calls...) {
				if e.dur >= 0 {
					e.text = fmt.Sprintf(e.text, format.AppendSeconds(nil, e.dur*1000))
				}
				text += fmt.Sprintf("%d %s %s\n", e.tid, format.AppendSeconds(nil, (e.start-last)*1000), e.text)
				last = e.start
			}
			s, _ := compiled(t, text, compile.Options{Compensate: true})
			longest := int64(-1)
			for _, e := range s.events {
				if e.Op == c.op {
					longest = max(longest, e.Dur)
				}
			}
			require.Equal(t, c.want, longest, text)
		})
	}
}
