package compile_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/compile/mpi"
	"pianola/format"
)

// mpiLine is a call of a rank: at and dur are in microseconds.
type mpiLine struct {
	rank    int
	at, dur int64
	call    string // of the layer mpi without it, or a system call
}

// mpiScript returns the recording of some ranks. World is MPI_COMM_WORLD, of MPICH or of Open MPI.
func mpiScript(ranks int, lines []mpiLine) string {
	b := strings.Builder{}
	b.WriteString("# pianola script 1\n# recorder: ebpf\n# layer: mpi libmpi.so functions=78 missing=0 stepped=0\n")
	fmt.Fprintf(&b, "# ranks: %d run=r machine=m begun=0.0\n", ranks)
	for r := range ranks {
		fmt.Fprintf(&b, "# process: %d threads=%d cwd=\"/\" umask=022\n# rank: %d process=%d node=n\n", 101+r, 101+r, r, 101+r)
		lines = append(lines, mpiLine{r, 1, 1, fmt.Sprintf(`openat(AT_FDCWD, "f%d", O_RDWR) = 3`, r)}, mpiLine{r, 1000, 1, "pwrite64(3, 0x1000, 1, 0) = 1"})
	}
	slices.SortStableFunc(lines, func(a, b mpiLine) int { return cmp.Compare(a.at+a.dur, b.at+b.dur) })
	last := int64(0)
	for _, l := range lines {
		call, notes := l.call, ""
		if strings.HasPrefix(call, "MPI_") {
			call, notes = "mpi:"+call+" = 0", " {span=wait}"
		}
		call = strings.ReplaceAll(call, "WORLD", "1140850688")
		call = strings.ReplaceAll(call, "OPEN", "0x7f0000001000")
		fmt.Fprintf(&b, "%d %s %s <%s>%s\n", 101+l.rank, format.AppendSeconds(nil, (l.at-last)*1000), call, format.AppendSeconds(nil, l.dur*1000), notes)
		last = l.at
	}
	return b.String()
}

// The spans of MPI are paired, and the report says how long which rank has waited.
func TestMPI(t *testing.T) {
	for name, c := range map[string]struct {
		ranks int
		lines []mpiLine
		want  compile.MPI
		held  map[int32]int64 // microseconds, by rank
	}{
		"a message": {
			lines: []mpiLine{{0, 200, 10, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 100, 120, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"a message that was there before": {
			lines: []mpiLine{{0, 100, 10, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 200, 20, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}},
		},
		"a send that ends after its receive": {
			lines: []mpiLine{{0, 200, 300, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 100, 200, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"a send that waits for its receive": {
			lines: []mpiLine{{0, 100, 300, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 300, 110, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Rendezvous: 1, Waited: 200_000}, held: map[int32]int64{0: 200},
		},
		"tags": {
			lines: []mpiLine{
				{0, 100, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 8, WORLD)"},
				{1, 50, 160, "MPI_Recv(0x1, 1, 1, 0, 8, WORLD, 0x1)"}, {1, 220, 1, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 2}, Waited: 150_000}, held: map[int32]int64{1: 150},
		},
		"any tag, Open MPI": {
			lines: []mpiLine{{0, 200, 1, "MPI_Send(0x1, 1, 0x2, 1, 7, OPEN)"}, {1, 100, 110, "MPI_Recv(0x1, 1, 0x2, 0, -1, OPEN, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"any source": {
			lines: []mpiLine{{0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 100, 110, "MPI_Recv(0x1, 1, 1, -2, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1, Guessed: 1}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"to nobody": {
			lines: []mpiLine{{0, 200, 1, "MPI_Send(0x1, 1, 1, -1, 7, WORLD)"}},
		},
		"a request": {
			lines: []mpiLine{
				{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {0, 200, 1, "MPI_Isend(0x1, 1, 1, 1, 7, WORLD, &6)"}, {0, 210, 1, "MPI_Wait(&6, 0x1)"},
				{1, 100, 110, "MPI_Wait(&5, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 1}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"the newest requests": {
			lines: []mpiLine{
				{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {1, 60, 1, "MPI_Irecv(0x1, 1, 1, 0, 8, WORLD, &6)"}, {1, 100, 210, "MPI_Waitall(2, 0x1, 0x1)"},
				{0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {0, 300, 1, "MPI_Send(0x1, 1, 1, 1, 8, WORLD)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 2}, Waited: 200_000}, held: map[int32]int64{1: 200},
		},
		"an array of requests": {
			lines: []mpiLine{
				{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {1, 60, 1, "MPI_Irecv(0x1, 1, 1, 0, 8, WORLD, &6)"}, {1, 100, 110, "MPI_Waitall(1, [5], 0x1)"},
				{0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {0, 300, 1, "MPI_Send(0x1, 1, 1, 1, 8, WORLD)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 2}, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"a test": {
			lines: []mpiLine{{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {1, 100, 1, "MPI_Test(&5, 0x1, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Unpaired: 1, Unknown: 1}},
		},
		"a loop of tests": {
			lines: []mpiLine{
				{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {1, 100, 1, "MPI_Test(&5, &0, 0x1)"}, {1, 150, 1, "MPI_Test(&5, &0, 0x1)"},
				{0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 210, 1, "MPI_Test(&5, &1, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 1}, Waited: 100_000, Polled: 100_000}, held: map[int32]int64{1: 100},
		},
		"a loop of tests, with a write between them": {
			lines: []mpiLine{
				{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}, {1, 100, 1, "MPI_Test(&5, &0, 0x1)"}, {1, 120, 5, "pwrite64(3, 0x1000, 1, 0) = 1"},
				{1, 150, 1, "MPI_Test(&5, &0, 0x1)"}, {0, 200, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, {1, 210, 1, "MPI_Test(&5, &1, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 1}},
		},
		"a synchronous send": {
			lines: []mpiLine{{1, 100, 220, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}, {0, 200, 100, "MPI_Ssend(0x1, 1, 1, 1, 7, WORLD)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Rendezvous: 1, Waited: 100_000}, held: map[int32]int64{1: 100},
		},
		"short sends within a call that completes several": {
			lines: []mpiLine{
				{0, 100, 1, "MPI_Isend(0x1, 1, 1, 1, 7, WORLD, &5)"}, {0, 101, 1, "MPI_Isend(0x1, 1, 1, 1, 8, WORLD, &6)"}, {0, 110, 90, "MPI_Waitall(2, [5, 6], 0x1)"},
				{1, 150, 1, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}, {1, 300, 1, "MPI_Recv(0x1, 1, 1, 0, 8, WORLD, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 2}},
		},
		"both ways in one call": {
			lines: []mpiLine{
				{0, 100, 120, "MPI_Sendrecv(0x1, 1, 1, 1, 7, 0x1, 1, 1, 1, 7, WORLD, 0x1)"}, {1, 200, 20, "MPI_Sendrecv(0x1, 1, 1, 0, 7, 0x1, 1, 1, 0, 7, WORLD, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 2}, Waited: 100_000}, held: map[int32]int64{0: 100},
		},
		"a barrier": {
			ranks: 3,
			lines: []mpiLine{{0, 100, 210, "MPI_Barrier(WORLD)"}, {1, 200, 110, "MPI_Barrier(WORLD)"}, {2, 300, 10, "MPI_Barrier(WORLD)"}},
			want:  compile.MPI{Stats: mpi.Stats{Collectives: 3}, Waited: 300_000}, held: map[int32]int64{0: 200, 1: 100},
		},
		"a barrier to be waited for": {
			lines: []mpiLine{
				{0, 100, 1, "MPI_Ibarrier(WORLD, &3)"}, {0, 150, 160, "MPI_Wait(&3, 0x1)"}, {1, 300, 1, "MPI_Ibarrier(WORLD, &4)"}, {1, 310, 1, "MPI_Wait(&4, 0x1)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Collectives: 2}, Waited: 150_000}, held: map[int32]int64{0: 150},
		},
		"of the root": {
			ranks: 3,
			lines: []mpiLine{{0, 300, 10, "MPI_Bcast(0x1, 1, 1, 0, WORLD)"}, {1, 100, 210, "MPI_Bcast(0x1, 1, 1, 0, WORLD)"}, {2, 400, 10, "MPI_Bcast(0x1, 1, 1, 0, WORLD)"}},
			want:  compile.MPI{Stats: mpi.Stats{Collectives: 3}, Waited: 200_000}, held: map[int32]int64{1: 200},
		},
		"to the root": {
			ranks: 3,
			lines: []mpiLine{
				{0, 100, 210, "MPI_Reduce(0x1, 0x1, 1, 1, 1, 0, WORLD)"}, {1, 150, 10, "MPI_Reduce(0x1, 0x1, 1, 1, 1, 0, WORLD)"},
				{2, 300, 10, "MPI_Reduce(0x1, 0x1, 1, 1, 1, 0, WORLD)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Collectives: 3}, Waited: 200_000}, held: map[int32]int64{0: 200},
		},
		"parts of the ranks, in another order": {
			ranks: 4, // ranks 2 and 0 are 0 and 1 of one part
			lines: []mpiLine{
				{0, 100, 10, "MPI_Comm_split(WORLD, 0, 9, &77)"}, {1, 100, 10, "MPI_Comm_split(WORLD, 1, 0, &77)"},
				{2, 100, 30, "MPI_Comm_split(WORLD, 0, 1, &77)"}, {3, 100, 10, "MPI_Comm_split(WORLD, 1, 1, &77)"},
				{2, 300, 10, "MPI_Send(0x1, 1, 1, 1, 7, 77)"}, {0, 200, 110, "MPI_Recv(0x1, 1, 1, 0, 7, 77, 0x1)"},
				{1, 200, 210, "MPI_Barrier(77)"}, {3, 400, 10, "MPI_Barrier(77)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Messages: 1, Collectives: 6}, Waited: 300_000}, held: map[int32]int64{0: 100, 1: 200},
		},
		"a copy of a communicator": {
			lines: []mpiLine{
				{0, 100, 10, "MPI_Comm_dup(WORLD, &77)"}, {1, 100, 10, "MPI_Comm_dup(WORLD, &78)"}, {0, 200, 110, "MPI_Barrier(77)"}, {1, 300, 10, "MPI_Barrier(78)"},
			},
			want: compile.MPI{Stats: mpi.Stats{Collectives: 4}, Waited: 100_000}, held: map[int32]int64{0: 100},
		},
		"an unknown communicator": {
			lines: []mpiLine{{0, 100, 10, "MPI_Barrier(99)"}, {1, 100, 10, "MPI_Send(0x1, 1, 1, 0, 7, 99)"}},
			want:  compile.MPI{Stats: mpi.Stats{Unknown: 2}},
		},
		"no partner": {
			lines: []mpiLine{{1, 100, 10, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}},
			want:  compile.MPI{Stats: mpi.Stats{Unpaired: 1}},
		},
		"a partner that began too late": {
			lines: []mpiLine{{1, 100, 10, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"}, {0, 300, 10, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}},
			want:  compile.MPI{Stats: mpi.Stats{Messages: 1}, Backwards: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, report := compiled(t, mpiScript(max(c.ranks, 2), c.lines), compile.Options{})
			require.Equal(t, c.want, report.MPI)
			held := map[int32]int64{}
			for _, e := range out.events {
				if e.Span == nil && e.Held > 0 {
					held[e.TID-1] += e.Held / 1000
				}
			}
			if c.held == nil {
				c.held = map[int32]int64{}
			}
			require.Equal(t, c.held, held)
		})
	}
}

// Malformed calls are left out of account.
func TestOddMPI(t *testing.T) {
	for _, call := range []string{
		"MPI_Send()", "MPI_Recv(1, 2)", `MPI_Wait("x")`, "MPI_Barrier()", "MPI_Comm_split(WORLD)", "MPI_Comm_dup(WORLD, ?)", "MPI_Waitall(-1, 0x1, 0x1)",
		"MPI_Send(0x1, 1, 1, 99999999999, 7, WORLD)", "MPI_Bcast(0x1, 1, 1, -5, WORLD)", "MPI_Waitall(99999999999, 0x1, 0x1)",
	} {
		_, report := compiled(t, mpiScript(2, []mpiLine{{0, 100, 1, call}, {0, 200, 1, call}}), compile.Options{})
		require.Zero(t, report.MPI.Messages, call)
	}
}

// A send that is long enough to wait for its receive comes after it, also where it had no need to
// wait. A short one does not.
func TestRendezvous(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []mpiLine // a send of 1000 elements
		want  bool
	}{
		{"waited", []mpiLine{{0, 100, 110, "MPI_Send(0x1, 1000, 1, 1, 7, WORLD)"}, {1, 200, 20, "MPI_Recv(0x1, 1000, 1, 0, 7, WORLD, 0x1)"}}, true},
		{"early", []mpiLine{{0, 100, 10, "MPI_Send(0x1, 1000, 1, 1, 7, WORLD)"}, {1, 200, 20, "MPI_Recv(0x1, 1000, 1, 0, 7, WORLD, 0x1)"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, report := compiled(t, mpiScript(2, append([]mpiLine{
				{1, 250, 1, "pwrite64(3, 0x1000, 1, 0) = 1"},
				{1, 300, 110, "MPI_Recv(0x1, 1000, 1, 0, 7, WORLD, 0x1)"}, {0, 400, 12, "MPI_Send(0x1, 1000, 1, 1, 7, WORLD)"},
				{0, 500, 1, "pwrite64(3, 0x1000, 1, 0) = 1"},
			}, c.first...)), compile.Options{})
			var after []format.Edge
			for _, e := range out.events {
				if e.TID == 1 && e.Op == format.OpPwrite64 && after == nil {
					after = append([]format.Edge{}, e.Edges...)
				}
			}
			if !c.want {
				require.Zero(t, report.MPI.Rendezvous)
				require.Empty(t, after)
				return
			}
			require.EqualValues(t, 2, report.MPI.Rendezvous)
			// This write began at 500 µs, 300 after the first receive, which was 198 after rank 1's first event. Rank 1's
			// second event ended at 251, the second receive began at 300, and this write was 100 after the second send.
			require.Equal(t, []format.Edge{
				{Thread: 2, Event: 0, Kind: format.EdgeMessage, Delay: 498_000}, {Thread: 2, Event: 1, Kind: format.EdgeMessage, Delay: 149_000},
			}, after)
		})
	}
}

// The cost of recording the calls of a loop is not subtracted twice.
func TestPollingCost(t *testing.T) {
	lines := []mpiLine{{1, 50, 1, "MPI_Irecv(0x1, 1, 1, 0, 7, WORLD, &5)"}}
	for i := range int64(10) {
		lines = append(lines, mpiLine{1, 100 + 20*i, 1, "MPI_Test(&5, &0, 0x1)"})
	}
	lines = append(lines, mpiLine{0, 300, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, mpiLine{1, 310, 1, "MPI_Test(&5, &1, 0x1)"})
	text := strings.Replace(mpiScript(2, lines), "# ranks:", "# cost: inside=0 outside=0 span=5000\n# ranks:", 1)
	out, _ := compiled(t, text, compile.Options{Compensate: true})
	last := out.events[len(out.events)-1]
	for _, e := range out.events {
		if e.TID == 2 && e.Op == format.OpPwrite64 {
			last = e
		}
	}
	// From 2 to 1000 µs, with 12 calls. The thread waited for 200 µs, from the first test to the send.
	// The 10 calls of the loop cost 5 µs each, and took 210 µs together.
	require.EqualValues(t, 998_000-12*5000, last.Compute)
	require.InDelta(t, 200_000-10*5000*200/210, last.Held, 1)
}

// Waits of MPI take a share of the memory. Further ones are counted, and are no edges.
func TestMemoryOfMPI(t *testing.T) {
	var lines []mpiLine
	for i := range int64(6000) {
		lines = append(lines, mpiLine{0, 2000 + 20*i, 1, "MPI_Send(0x1, 1, 1, 1, 7, WORLD)"}, mpiLine{1, 2001 + 20*i, 5, "MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"})
	}
	_, report := compiled(t, mpiScript(2, lines), compile.Options{Memory: 1 << 20})
	require.EqualValues(t, 6000, report.MPI.Messages)
	require.Positive(t, report.MPI.Left)
	require.Less(t, report.MPI.Left, int64(12000))
	_, report = compiled(t, mpiScript(2, lines), compile.Options{})
	require.Zero(t, report.MPI.Left)
}
