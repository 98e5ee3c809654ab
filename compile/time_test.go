package compile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// What a thread of the trace computes and what its events take add up to the
// time that the thread was there, less what the recorder took, whatever was
// left out of the trace on the way.
func TestTimeAddsUp(t *testing.T) {
	for seed := range uint64(200) {
		for _, compensate := range []bool{false, true} {
			r := timed(seed)
			s, _ := compiled(t, r.text.String(), compile.Options{Compensate: compensate})
			sums := make([]int64, len(s.header.Threads)+1)
			for _, e := range s.events {
				sums[e.TID] += e.Compute + max(e.Dur, 0)
			}
			for i, th := range r.threads {
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

// What a transform cut off the time before an event is not computed, wherever
// the event goes; what it could not be cut off there is cut off later.
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
