package transform

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/commits/commitskit"
	"pianola/format/script"
	"pianola/internal/testkit"
	"pianola/replay"
)

// compiledTrace compiles a recording.
func compiledTrace(t *testing.T, r format.Reader) *bin.Trace {
	var out bytes.Buffer
	_, err := compile.Compile(r, new(testkit.Spool), bin.NewWriter(&out, new(testkit.Spool)), compile.Options{Names: true})
	require.NoError(t, err)
	return openedTrace(t, out.Bytes())
}

func openedTrace(t *testing.T, file []byte) *bin.Trace {
	trace, err := bin.Open(bytes.NewReader(file), int64(len(file)), bin.DefaultLimit)
	require.NoError(t, err)
	return trace
}

// threadsOf returns the events of each thread of a trace.
func threadsOf(t *testing.T, trace *bin.Trace) [][]format.Event {
	events, err := testkit.ReadAll(trace.Events(), 100)
	require.NoError(t, err)
	all := make([][]format.Event, max(len(trace.Header().Threads), 1))
	for _, e := range events {
		all[e.TID-1] = append(all[e.TID-1], e)
	}
	return all
}

// clocks returns, for each event, how many events of each thread come before it by the
// order of threads and by edges.
func clocks(t *testing.T, h *format.Header, threads [][]format.Event) [][][]int64 {
	all := make([][][]int64, len(threads))
	maker := map[int32][2]int64{} // the event that makes a thread
	left := 0
	for i := range threads {
		left += len(threads[i])
		for k, e := range threads[i] {
			if e.Op.Info().Effect == format.EffectFork && e.Ret > 0 {
				maker[int32(e.Ret)] = [2]int64{int64(i), int64(k)}
			}
		}
	}
	for left > 0 {
		before := left
		for i := range threads {
			for k := len(all[i]); k < len(threads[i]); k++ {
				clock := make([]int64, len(threads))
				join := func(thread, event int64) bool {
					if int64(len(all[thread])) <= event {
						return false
					}
					for n, c := range all[thread][event] {
						clock[n] = max(clock[n], c)
					}
					clock[thread] = max(clock[thread], event+1)
					return true
				}
				ready := k == 0 || join(int64(i), int64(k-1))
				if made, ok := maker[int32(i+1)]; ok && k == 0 {
					ready = join(made[0], made[1])
				}
				for _, edge := range threads[i][k].Edges {
					ready = ready && (edge.Thread == 0 || join(int64(edge.Thread-1), edge.Event))
				}
				if !ready {
					break
				}
				all[i] = append(all[i], clock)
				left--
			}
		}
		require.Less(t, left, before, "the edges make a circle")
	}
	return all
}

// behind returns a compiled trace of a recording that is transformed after it was
// compiled.
func behind(t *testing.T, recording []format.Event, with ...string) *bin.Trace {
	r, err := OpenCompiled(compiledTrace(t, &memoryReader{events: recording, batch: 7}), parsed(t, with)...)
	require.NoError(t, err)
	defer r.Close()
	var out bytes.Buffer
	require.NoError(t, compile.Copy(r, bin.NewWriter(&out, new(testkit.Spool))))
	return openedTrace(t, out.Bytes())
}

func parsed(t *testing.T, with []string) (funcs []Func) {
	for _, text := range with {
		f, err := Builtin().ParseCompiled(text)
		require.NoError(t, err)
		funcs = append(funcs, f)
	}
	return funcs
}

// compiledChains are transforms for a compiled trace.
var compiledChains = [][]string{
	{"coalesce=300"}, {"coalesce=4KiB"}, {"coalesce=1MiB"}, {"vectored"}, {"vectored=3"},
	{"prefetch"}, {"prefetch=1"}, {"prefetch=20"}, {"prefetch=50us"}, {"readahead=64KiB"},
	{"block=4KiB"}, {"block=100"}, {"block=1000,pad"}, {"direct", "buffered"}, {"buffered"},
	{"sync=none"}, {"sync=fdatasync"}, {"sync=fsync"}, {"scale-compute=0"}, {"scale-compute=2.5"}, {"drop=op == fsync"},
	{"coalesce=8KiB", "sync=none", "vectored"}, {"prefetch=4", "coalesce=256KiB"},
	{"uring-batch=2"}, {"uring-batch=256"}, {"coalesce=4KiB", "uring-batch=8"}, {"uring-batch=8", "sync=none"},
	{"drop=class == read"}, {"only=class == write"}, {"only=thread == 1"},
}

// Whatever a program does, no edges make a circle after its trace was transformed, and
// no call of a replay misses a descriptor or a name. Where reads are taken out offsets
// differ, and so do results.
func TestCompiledIsReplayed(t *testing.T) {
	for seed := range uint64(programs(t) / 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel() // a short replay mostly waits
			recording := ended(recorded(t, seed, false))
			for _, with := range compiledChains {
				trace := behind(t, recording, with...)
				clocks(t, trace.Header(), threadsOf(t, trace))
				for _, d := range replayed(t, trace).Differences {
					require.False(t, d.Recorded >= 0 && (d.Got == -2 || d.Got == -9), "%v: %+v", with, d)
				}
			}
		})
	}
}

func replayed(t *testing.T, trace format.Trace) *replay.Result {
	r, err := replay.Run(t.Context(), trace, replay.Options{Root: t.TempDir(), Timing: replay.AFAP})
	require.NoError(t, err)
	return r
}

// A trace that is transformed has the events of the recording, transformed and then
// compiled, with the same compute and results, and edges that order them as much. That
// holds for programs in which a name is always that of one file: of others a recording
// has inodes, and tells files apart where a trace can't.
func TestCompiledAsRecorded(t *testing.T) {
	total, missing, more := 0, 0, 0
	for _, with := range compiledChains[:len(compiledChains)-3] { // compile leaves out more of what only what is taken out needed
		for seed := range uint64(programs(t) / 6) {
			what := fmt.Sprintf("seed %d, %v", seed, with)
			// A trace does not say where the buffers of a vector are, which may hold what was read.
			uring := slices.ContainsFunc(with, func(one string) bool { return strings.HasPrefix(one, "uring-batch") })
			recording := ended(steadily(t, seed, uring))
			chain := NewChain(func() (format.Reader, error) { return &memoryReader{events: recording, batch: 7}, nil }, parsed(t, with)...)
			first, err := chain.Open()
			require.NoError(t, err)
			want := compiledTrace(t, first)
			require.NoError(t, chain.Close())
			got := behind(t, recording, with...)

			rings, threads := 0, want.Header().Threads
			for i := range threads {
				if want.Header().Ring(int32(i+1)) != format.ViaCall {
					rings++
				}
			}
			if rings > 0 && len(threads)-rings > 1 {
				continue // their threads have other numbers
			}

			is, was := threadsOf(t, got), threadsOf(t, want)
			if a, b := shapes(was), shapes(is); !slices.Equal(a, b) {
				k := 0
				for k < min(len(a), len(b)) && a[k] == b[k] {
					k++
				}
				t.Fatalf("%s\nwanted:\n%s\ngot:\n%s", what, strings.Join(a[max(k-3, 0):min(k+4, len(a))], "\n"), strings.Join(b[max(k-3, 0):min(k+4, len(b))], "\n"))
			}
			for i := range was {
				sum := int64(0)
				for k := range was[i] {
					a, b := &was[i][k], &is[i][k]
					sum += a.Compute - b.Compute
					// The duration of a clone, less than 5 µs, becomes compute after it
					// in a trace, and is scaled.
					require.InDelta(t, 0, sum, 15_000, "%s: thread %d, event %d: %v", what, i+1, k, a)
					require.Equal(t, a.Dur, b.Dur, "%s: thread %d, event %d: %v", what, i+1, k, a)
				}
			}
			ordered, demanded := clocks(t, got.Header(), is), clocks(t, want.Header(), was)
			for i := range was {
				for k := range was[i] {
					for _, edge := range was[i][k].Edges {
						// The call that submits requests waits for all of them.
						if total++; edge.Thread > 0 && want.Header().Ring(edge.Thread) == format.ViaCall && ordered[i][k][edge.Thread-1] <= edge.Event {
							missing++
						}
					}
					for _, edge := range is[i][k].Edges {
						if edge.Thread > 0 && demanded[i][k][edge.Thread-1] <= edge.Event {
							more++
						}
					}
				}
			}
		}
	}
	t.Logf("%d edges, %d are missing, %d are new", total, missing, more)
	require.Positive(t, total)
	// Compile keeps the growth of a file apart up to a 64th of the size, so other calls
	// show it other edges than the program needs.
	require.Less(t, missing, total/30)
	require.Less(t, more, total/5)
}

// shapes prints the events of threads without their times and buffers.
func shapes(threads [][]format.Event) (list []string) {
	threads = slices.DeleteFunc(slices.Clone(threads), func(events []format.Event) bool { return len(events) == 0 })
	for i, events := range threads {
		for k, e := range events {
			at := &e.Op.Info().At
			for _, place := range [...]int8{at.Buf, at.Vector} {
				if place >= 0 {
					e.Args[place] = 0
				}
			}
			list = append(list, fmt.Sprintf("%d:%d %v %v %q = %d %v", i+1, k, e.Op, e.Args, e.Str, e.Ret, e.How))
		}
	}
	return list
}

// A replay can leave out the wait of a thread for a group of commits. So an edge that keeps the order of
// the events stays when its event is taken out.
func TestOrderWithoutGroups(t *testing.T) {
	text := commitskit.NextLogs(`103 0.000100000 stat("/w/next%[1]d", 0x1) = 0 <0.000001000>
103 0.000010000 stat("/w/log", 0x1) = 0 <0.000001000>
103 0.000002000 close(4) = 0 <0.000001000>
`)
	trace := compiledTrace(t, script.NewReader(strings.NewReader(text), "recording"))
	with, err := OpenCompiled(trace, parsed(t, []string{"drop=op == stat"})...)
	require.NoError(t, err)
	events, err := testkit.ReadAll(with, 100)
	require.NoError(t, err)
	kept := 0
	for _, e := range events {
		if e.Op == format.OpClose && slices.ContainsFunc(e.Edges, func(k format.Edge) bool { return k.Kind == format.EdgeName }) {
			kept++
		}
	}
	require.Equal(t, 10, kept)
}
