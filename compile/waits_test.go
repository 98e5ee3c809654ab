package compile_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// woken is a made-up recording of threads that wake one another.
type woken struct {
	rng   *rand.Rand
	nows  []int64 // of threads
	lines []wokenLine
}

type wokenLine struct {
	start, end int64
	thread     int
	text       string
}

func (w *woken) line(thread int, start, end int64, text string, args ...any) {
	w.lines = append(w.lines, wokenLine{start, end, thread, fmt.Sprintf(text, args...)})
}

// call is an event of a thread, after some compute.
func (w *woken) call(i int, text string) {
	start := w.nows[i] + 1 + w.rng.Int64N(10_000)
	end := start + 1 + w.rng.Int64N(20_000)
	w.nows[i] = end
	w.line(i, start, end, "%s <0.%09d>", text, end-start)
}

// wait has thread i wait for a waking by thread j.
func (w *woken) wait(i, j int) {
	start := w.nows[i] + 1 + w.rng.Int64N(10_000)
	at := max(start, w.nows[j]) + 1 + w.rng.Int64N(10_000)
	w.nows[j] = at
	end := at + w.rng.Int64N(3000)
	w.nows[i] = end
	w.line(i, start, end, "wait(FUTEX, 0x10) = 0 <0.%09d> {by=%d+%d}", end-start, 101+j, end-at)
}

// receive is a message from outside that a thread waits for, in the call or before it.
func (w *woken) receive(i int) {
	start := w.nows[i] + 1 + w.rng.Int64N(10_000)
	end := start + format.Waited + w.rng.Int64N(50_000)
	wait := int64(0)
	if w.rng.IntN(2) == 0 {
		start, wait = end-1-w.rng.Int64N(5000), format.Waited+w.rng.Int64N(9000)
	}
	w.nows[i] = end
	w.line(i, start, end, "recvfrom(%d, 0x10, 10, 0, NULL, NULL) = 10 <0.%09d> {got=tcp:a7+10 wait=%d}", 7+w.rng.IntN(2), end-start, wait)
}

// reply is a message to outside.
func (w *woken) reply(i int) {
	start := w.nows[i] + 1 + w.rng.Int64N(10_000)
	end := start + 1 + w.rng.Int64N(5000)
	w.nows[i] = end
	w.line(i, start, end, "sendto(%d, 0x10, 10, 0, NULL, 0) = 10 <0.%09d> {sent=tcp:b7+10}", 7+w.rng.IntN(2), end-start)
}

// String returns the script, its lines in order of completion.
func (w *woken) String() string {
	slices.SortStableFunc(w.lines, func(a, b wokenLine) int { return cmp.Compare(a.end, b.end) })
	b := strings.Builder{}
	b.WriteString("# pianola script 1\n# recorder: ebpf\n")
	last := int64(0)
	for _, l := range w.lines {
		fmt.Fprintf(&b, "%d %.9f %s\n", 101+l.thread, float64(l.start-last)/1e9, l.text)
		last = l.start
	}
	return b.String()
}

func randomWoken(seed uint64) string {
	w := &woken{rng: rand.New(rand.NewPCG(seed, 16)), nows: []int64{0}}
	w.call(0, `stat("/w/a", 0x1) = 0`)
	for range 200 {
		i, n := w.rng.IntN(len(w.nows)), len(w.nows)
		switch what := w.rng.IntN(10); {
		case what == 0 && n < 6:
			start := w.nows[i] + 1 + w.rng.Int64N(10_000)
			w.nows[i] = start + 1000
			w.nows = append(w.nows, start)
			w.line(i, start, start+1000, "clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000001000>", 101+n)
		case what < 4 && n > 1:
			if j := w.rng.IntN(n); j != i {
				w.wait(i, j)
			}
		case what < 6:
			w.call(i, `read(0, 0x1000, 10) = 10`) // left out
		default:
			w.call(i, `stat("/w/a", 0x1) = 0`)
		}
	}
	for i := range w.nows {
		w.call(i, `stat("/w/a", 0x1) = 0`)
	}
	return w.String()
}

// begins returns when the events of a trace begin, by the rule of replays, if
// their calls take so long. keys are thread and position.
func begins(s *text, took func(e *format.Event) int64) map[[2]int64]int64 {
	type at struct{ begin, end int64 }
	all, count, ends := map[[2]int64]int64{}, map[int32]int64{}, map[[2]int64]at{}
	for _, e := range s.events {
		n := count[e.TID]
		count[e.TID]++
		end := s.header.Threads[e.TID-1].Start
		if parent := s.header.Threads[e.TID-1].Parent; parent > 0 && n == 0 {
			for k, a := range ends { // of the clone that made it
				if k[0] == int64(parent) && cloned(s, k) == int64(e.TID) {
					end = a.begin
				}
			}
		} else if n > 0 {
			end = ends[[2]int64{int64(e.TID), n - 1}].end
		}
		begin := end + e.Compute - e.Held
		for _, edge := range e.Edges {
			from := int64(0)
			if edge.Thread > 0 {
				from = ends[[2]int64{int64(edge.Thread), edge.Event}].end
			}
			begin = max(begin, from+edge.Delay)
		}
		key := [2]int64{int64(e.TID), n}
		all[key] = begin
		ends[key] = at{begin, begin + took(&e)}
	}
	return all
}

// recordedBegins returns when the events of a trace began, by their thread's own
// times. keys are as those of begins.
func recordedBegins(s *text) map[[2]int64]int64 {
	all, now, count := map[[2]int64]int64{}, map[int32]int64{}, map[int32]int64{}
	for _, e := range s.events {
		if count[e.TID] == 0 {
			now[e.TID] = s.header.Threads[e.TID-1].Start
		}
		begin := now[e.TID] + e.Compute
		all[[2]int64{int64(e.TID), count[e.TID]}] = begin
		now[e.TID] = begin + max(e.Dur, 0)
		count[e.TID]++
	}
	return all
}

// cloned returns which thread the event at a place made, 0 for none.
func cloned(s *text, place [2]int64) int64 {
	n := int64(0)
	for _, e := range s.events {
		if int64(e.TID) != place[0] {
			continue
		}
		if n == place[1] {
			if e.Op.Info().Effect == format.EffectFork {
				return e.Ret
			}
			return 0
		}
		n++
	}
	return 0
}

// With calls that take as long as recorded, events begin as recorded: each wait
// is as long as its cause takes, and no cause is missing.
func TestWaitsAsRecorded(t *testing.T) {
	for seed := range uint64(300) {
		recording := randomWoken(seed)
		s, report := compiled(t, recording, compile.Options{})
		require.Positive(t, report.Tied, recording)
		asRecorded(t, s, fmt.Sprintf("seed %d", seed), recording)
	}
}

// asRecorded demands that events begin as recorded if their calls take so long.
func asRecorded(t *testing.T, s *text, what, recording string) {
	t.Helper()
	got := begins(s, func(e *format.Event) int64 { return max(e.Dur, 0) })
	for key, begin := range recordedBegins(s) {
		require.Equal(t, begin, got[key], "%s, thread %d, event %d\n%s", what, key[0], key[1], recording)
	}
}

func randomClients(seed uint64, steps int) string {
	threads := 1 + int(seed%3)
	w := &woken{rng: rand.New(rand.NewPCG(seed, 17)), nows: make([]int64, threads)}
	w.call(0, `stat("/w/a", 0x1) = 0`)
	for i := 1; i < threads; i++ {
		start := w.nows[0] + 1000
		w.nows[0], w.nows[i] = start+1000, start
		w.line(0, start, start+1000, "clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000001000>", 101+i)
	}
	for range steps {
		i := w.rng.IntN(threads)
		switch w.rng.IntN(5) {
		case 4:
			if j := w.rng.IntN(threads); j != i {
				w.wait(i, j)
			}
		case 0:
			w.receive(i)
		case 1:
			w.reply(i)
		case 2:
			w.call(i, `read(0, 0x1000, 10) = 10`) // left out
		default:
			w.call(i, `stat("/w/a", 0x1) = 0`)
		}
	}
	for i := range w.nows {
		w.call(i, `stat("/w/a", 0x1) = 0`)
	}
	return w.String()
}

// So do those that wait for clients, whether these keep to their times or wait for
// replies, also where there is but one thread.
func TestClientsAsRecorded(t *testing.T) {
	for seed := range uint64(100) {
		recording := randomClients(seed, 2*int(seed))
		s, report := compiled(t, recording, compile.Options{})
		f := report.Floor
		require.GreaterOrEqual(t, min(f.Timers, f.Storage, f.Clients, f.Waits), int64(0), "seed %d: %+v\n%s", seed, f, recording)
		require.LessOrEqual(t, f.Timers+f.Storage+f.Clients+f.Waits, f.Total, "seed %d: %+v\n%s", seed, f, recording)
		for _, not := range []format.EdgeKind{format.EdgeReply, format.EdgeArrival} {
			way := &text{header: s.header, events: slices.Clone(s.events)}
			for i := range way.events {
				e := &way.events[i]
				e.Edges = slices.DeleteFunc(slices.Clone(e.Edges), func(g format.Edge) bool { return g.Kind == not })
			}
			asRecorded(t, way, fmt.Sprintf("seed %d without %s", seed, not), recording)
		}
	}
}

// A message is not an answer to a reply that was sent after it arrived.
func TestClientIsNotAheadOfItsReply(t *testing.T) {
	_, report := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000002000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
102 0.001000000 sendto(7, 0x10, 10, 0, NULL, 0) = 10 <0.000001000> {sent=tcp:b7+10}
101 -0.000005000 recvfrom(7, 0x10, 10, 0, NULL, NULL) = 10 <0.000010000> {got=tcp:a7+10 wait=900000}
101 0.000020000 stat("/w/a", 0x1) = 0 <0.000001000>
`, compile.Options{})
	require.GreaterOrEqual(t, report.Floor.Clients, int64(0))
}

// Impossible times off the processor are not part of the floor.
func TestFloorOfWrongTimes(t *testing.T) {
	const line = "101 0.000001000 stat(\"/w/a\", 0x1) = 0 <0.000000500> {timer=2305843009213693951 storage=2305843009213693951 wait=2305843009213693951}\n"
	_, report := compiled(t, "# pianola script 1\n# recorder: ebpf\n"+strings.Repeat(line, 20), compile.Options{})
	f := report.Floor
	require.GreaterOrEqual(t, min(f.Timers, f.Storage, f.Clients, f.Waits, report.Crowded), int64(0))
	require.LessOrEqual(t, f.Timers+f.Storage+f.Clients+f.Waits, f.Total)
}

// The floor is when the last event begins if no call takes any time.
func TestFloor(t *testing.T) {
	for seed := range uint64(100) {
		s, report := compiled(t, randomWoken(seed), compile.Options{})
		last := int64(0)
		for _, begin := range begins(s, func(*format.Event) int64 { return 0 }) {
			last = max(last, begin)
		}
		require.Equal(t, last, report.Floor.Total, "seed %d", seed)
		floor, ok := s.header.Floor()
		require.True(t, ok)
		require.Equal(t, report.Floor, floor)
	}
}

// A thread waits often between two of its events, and its early message is received
// late. No event begins later than recorded.
func TestLateMessage(t *testing.T) {
	for seed := range uint64(20) {
		w := &woken{rng: rand.New(rand.NewPCG(seed, 17)), nows: []int64{0}}
		w.call(0, `stat("/w/a", 0x1) = 0`)
		for k := 1; k <= 2; k++ {
			start := w.nows[0] + 1000
			w.nows[0] = start + 1000
			w.nows = append(w.nows, start)
			w.line(0, start, start+1000, "clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000001000>", 101+k)
		}
		for i := range 200 {
			if i == 20 {
				w.call(0, `sendto(3, 0x1, 5, 0, NULL, 0) = 5`)
				w.lines[len(w.lines)-1].text += " {type=sock sent=unix:1+5}"
			}
			for range 10 {
				w.call(1, `stat("/w/a", 0x1) = 0`)
			}
			w.wait(0, 1)
		}
		w.nows[2] = w.nows[0] - w.nows[0]/10*int64(seed%10)
		w.call(2, `recvfrom(4, 0x1, 5, 0, NULL, NULL) = 5`)
		w.lines[len(w.lines)-1].text += " {type=sock got=unix:1+5}"
		for i := range w.nows {
			w.call(i, `stat("/w/a", 0x1) = 0`)
		}
		s, report := compiled(t, w.String(), compile.Options{})
		got := begins(s, func(e *format.Event) int64 { return max(e.Dur, 0) })
		last := int64(0)
		for key, begin := range recordedBegins(s) {
			require.LessOrEqual(t, got[key], begin, "seed %d, thread %d, event %d", seed, key[0], key[1])
			last = max(last, begin)
		}
		edges := 0
		for _, e := range s.events {
			if e.TID == 3 {
				edges += len(e.Edges)
			}
		}
		require.Positive(t, edges, "seed %d", seed)
		require.LessOrEqual(t, report.Floor.Total, last, "seed %d", seed)
	}
}

// The line of a thread that got no processor after its wait comes late. Compile keeps only earlier events of
// its waker by then, and a wait of the waker between two of those is no delay.
func TestLateWait(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 103 <0.000001000>
`+strings.Repeat(`102 0.001000000 wait(FUTEX, 0x10) = 0 <0.009000000> {by=101}
102 0.009001000 stat("/w/a", 0x1) = 0 <0.000001000>
`, 400)+`103 -3.000000000 wait(FUTEX, 0x20) = 0 <0.001000000> {by=102}
103 3.000000000 stat("/w/b", 0x1) = 0 <0.000001000>
`, compile.Options{})
	last := &s.events[len(s.events)-1]
	require.Equal(t, "w/b", string(last.Str[0]))
	for _, edge := range last.Edges {
		require.Less(t, edge.Delay, int64(1_000_000_000))
	}
}
