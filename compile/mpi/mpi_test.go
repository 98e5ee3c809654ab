package mpi_test

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/mpi"
	"pianola/format"
	"pianola/format/script"
)

// parse returns the calls of a program of ranks, in the order of their ends. A line has the
// rank, begin and duration in microseconds, and the call of the layer mpi. WORLD is
// MPI_COMM_WORLD of MPICH, and OPEN that of Open MPI.
func parse(t testing.TB, text string) (events []format.Event) {
	type line struct {
		rank    int
		at, dur int64
		call    string
	}
	var lines []line
	for one := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(one), " ", 4)
		if len(words) < 4 {
			continue
		}
		rank, err := strconv.Atoi(words[0])
		require.NoError(t, err, one)
		at, err := strconv.ParseInt(words[1], 10, 64)
		require.NoError(t, err, one)
		dur, err := strconv.ParseInt(words[2], 10, 64)
		require.NoError(t, err, one)
		lines = append(lines, line{rank, at, dur, words[3]})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at+a.dur, b.at+b.dur) })
	b := strings.Builder{}
	b.WriteString("# pianola script 1\n# recorder: ebpf\n# layer: mpi libmpi.so functions=78 missing=0 stepped=0\n")
	last := int64(0)
	for _, l := range lines {
		call := strings.NewReplacer("WORLD", "1140850688", "SELF", "1140850689", "OPEN", "0x7f0000001000").Replace(l.call)
		if !strings.Contains(call, ") = ") {
			call += " = 0"
		}
		fmt.Fprintf(&b, "%d %s mpi:%s <%s> {span=wait}\n", l.rank+1, format.AppendSeconds(nil, (l.at-last)*1000), call, format.AppendSeconds(nil, l.dur*1000))
		last = l.at
	}
	r := script.NewReader(strings.NewReader(b.String()), "test")
	batch := make([]format.Event, 8)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			events = append(events, batch[i].Clone())
		}
		if err == io.EOF {
			return events
		}
		require.NoError(t, err)
	}
}

// header returns that of a program with a rank on each of the nodes.
func header(nodes ...string) *format.Header {
	h := &format.Header{}
	for i, node := range nodes {
		h.Ranks = append(h.Ranks, format.Rank{Rank: int32(i), Process: int32(i + 1), Node: node})
	}
	return h
}

// pair pairs calls. A line of the result says which rank waited in the call that began when, since
// when if it polled, and for what: other ranks, and when they began that.
func pair(h *format.Header, events []format.Event) (lines []string, p *mpi.Pairer) {
	type told struct {
		call int64
		text string
	}
	var all []told
	p = mpi.New(h, func(w *mpi.Wait) {
		on := ""
		for _, b := range slices.SortedFunc(slices.Values(w.On), func(a, b mpi.Begin) int { return cmp.Compare(a.Rank, b.Rank) }) {
			on += fmt.Sprintf(" %d@%d", b.Rank, b.At/1000)
		}
		for _, c := range w.Calls {
			text := fmt.Sprintf("%d@%d", c.Rank, c.Start/1000)
			if c.Polls > 0 {
				text += fmt.Sprintf(" (%d polls since %d)", c.Polls, c.From/1000)
			}
			text += map[mpi.Kind]string{mpi.Received: " <-", mpi.Sent: " ->", mpi.Collective: " ="}[w.Kind] + on
			if w.Guessed {
				text += "?"
			}
			all = append(all, told{c.Number, text})
		}
	})
	for i := range events {
		e := events[i].Clone()
		p.Add(e.TID, e.TID-1, &e)
		for _, a := range e.Span.Args {
			clear(a.Numbers) // which are the reader's
		}
	}
	p.End()
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(a.call, b.call) })
	for _, one := range all {
		lines = append(lines, one.text)
	}
	return lines, p
}

// all returns calls that ranks 0 to n-1 make alike.
func all(n int, calls ...string) string {
	var b strings.Builder
	for _, c := range calls {
		for rank := range n {
			fmt.Fprintf(&b, "\n%d %s", rank, c)
		}
	}
	return b.String() + "\n"
}

// entered returns what pair tells of calls in which all ranks wait for all.
func entered(n, at int) (lines []string) {
	on := ""
	for rank := range n {
		on += fmt.Sprintf(" %d@%d", rank, at)
	}
	for rank := range n {
		lines = append(lines, fmt.Sprintf("%d@%d =%s", rank, at, on))
	}
	return lines
}

func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []string // two ranks on one node, if there are none
		calls string
		want  []string
		stats mpi.Stats
	}{
		"any source, which the status of MPICH tells": {
			nodes: []string{"n", "n", "n"},
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        2 300 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 260 MPI_Recv(0x1, 1, 1, -2, 7, WORLD, [4, 0, 2, 7, 0, 99])
			        0 320 5 MPI_Recv(0x1, 1, 1, -2, -1, WORLD, [4, 0, 1, 7, 0, 99])`,
			want:  []string{"1@100 -> 0@320", "2@300 -> 0@50", "0@50 <- 2@300", "0@320 <- 1@100"},
			stats: mpi.Stats{Messages: 2},
		},
		"any source, Open MPI": {
			nodes: []string{"n", "n", "n"},
			calls: `1 100 1 MPI_Send(0x1, 1, 0x2, 0, 7, OPEN)
			        2 300 1 MPI_Send(0x1, 1, 0x2, 0, 7, OPEN)
			        0 50 260 MPI_Recv(0x1, 1, 0x2, -1, 7, OPEN, [2, 7, 0, 0, 4, 0])
			        0 320 5 MPI_Recv(0x1, 1, 0x2, -1, -1, OPEN, [1, 7, 0, 0, 4, 0])`,
			want:  []string{"1@100 -> 0@320", "2@300 -> 0@50", "0@50 <- 2@300", "0@320 <- 1@100"},
			stats: mpi.Stats{Messages: 2},
		},
		"requests of Open MPI, and what goes to or from nowhere": {
			calls: `0 10 1 MPI_Comm_rank(OPEN, &0)
			        0 20 1 MPI_Isend(0x1, 1, 0x2, 1, 7, OPEN, &140000000000016)
			        0 30 1 MPI_Isend(0x1, 1, 0x2, 1, 8, OPEN, &140000000000016)
			        0 40 1 MPI_Isend(0x1, 1, 0x2, -2, 8, OPEN, &140000000000016)
			        0 50 1 MPI_Waitall(3, [140000000000016, 140000000000016, 140000000000016], 0)
			        1 60 1 MPI_Irecv(0x1, 1, 0x2, -1, -1, OPEN, &140000000000032)
			        1 70 1 MPI_Irecv(0x1, 1, 0x2, -1, -1, OPEN, &140000000000048)
			        1 80 1 MPI_Irecv(0x1, 1, 0x2, -2, -1, OPEN, &140000000000064)
			        1 90 9 MPI_Waitall(3, [140000000000032, 140000000000048, 140000000000064], [0, 7, 0, 0, 4, 0, 0, 8, 0, 0, 4, 0, -2, -1, 0, 0, 0, 0])`,
			want:  []string{"1@90 <- 0@20", "1@90 <- 0@30"},
			stats: mpi.Stats{Messages: 2},
		},
		"communicators of Open MPI, in a program that is not position-independent": {
			calls: `0 10 1 MPI_Comm_size(0x4040a0, &1)
			        1 10 1 MPI_Comm_size(0x4042a0, &2)
			        0 20 9 MPI_Barrier(0x4042a0)
			        1 20 9 MPI_Barrier(0x4042a0)
			        0 30 1 MPI_Barrier(0x4040a0)
			        0 40 9 MPI_Comm_dup(0x4042a0, &78000000)
			        1 40 9 MPI_Comm_dup(0x4042a0, &67108864)
			        0 50 9 MPI_Barrier(0x4a62f80)
			        1 50 9 MPI_Barrier(0x4000000)
			        1 60 1 MPI_Barrier(0x4040a0)`,
			want:  []string{"0@20 = 0@20 1@20", "1@20 = 0@20 1@20", "0@40 = 0@40 1@40", "1@40 = 0@40 1@40", "0@50 = 0@50 1@50", "1@50 = 0@50 1@50"},
			stats: mpi.Stats{Collectives: 6, Unknown: 1},
		},
		"any source, and no status: what no receive with a source takes": {
			nodes: []string{"n", "n", "n"},
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        2 200 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 300 5 MPI_Recv(0x1, 1, 1, -2, 7, WORLD, 0x1)
			        0 320 5 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)`,
			want:  []string{"1@100 -> 0@320", "2@200 -> 0@300?", "0@300 <- 2@200?", "0@320 <- 1@100"},
			stats: mpi.Stats{Messages: 2, Guessed: 1},
		},
		"any source, and no status, before later receives with the same tag": {
			nodes: []string{"n", "n", "n"},
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        2 200 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 150 5 MPI_Recv(0x1, 1, 1, -2, 7, WORLD, 0x1)
			        0 310 5 MPI_Recv(0x1, 1, 1, -2, 7, WORLD, 0x1)
			        1 400 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 430 5 MPI_Recv(0x1, 1, 1, 2, 7, WORLD, 0x1)
			        0 440 5 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)
			        2 428 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)`,
			want:  []string{"1@100 -> 0@150?", "0@150 <- 1@100?", "2@200 -> 0@310?", "0@310 <- 2@200?", "1@400 -> 0@440", "2@428 -> 0@430", "0@430 <- 2@428", "0@440 <- 1@400"},
			stats: mpi.Stats{Messages: 4, Guessed: 2},
		},
		"any source, and no status, before any send": {
			calls: `0 100 5 MPI_Recv(0x1, 1, 1, -2, 7, WORLD, 0x1)
			        1 200 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)`,
			stats: mpi.Stats{Unpaired: 2},
		},
		"a request for any source comes before later receives": {
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        1 200 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, -2, 7, WORLD, &5)
			        0 60 150 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)
			        0 300 5 MPI_Wait(&5, [4, 0, 1, 7, 0, 0])`,
			want:  []string{"1@100 -> 0@50", "1@200 -> 0@60", "0@60 <- 1@200", "0@300 <- 1@100"},
			stats: mpi.Stats{Messages: 2},
		},
		"a request for any source with another tag does not": {
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, -2, 8, WORLD, &5)
			        0 60 50 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)`,
			want:  []string{"1@100 -> 0@60", "0@60 <- 1@100"},
			stats: mpi.Stats{Messages: 1, Unpaired: 1},
		},
		"a receive that was cancelled": {
			calls: `0 50 1 MPI_Irecv(0x1, 1, 1, 1, 7, WORLD, &5)
			        0 60 1 MPI_Cancel(&5)
			        0 70 1 MPI_Wait(&5, 0x1)
			        1 100 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 110 5 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)`,
			want:  []string{"1@100 -> 0@110", "0@110 <- 1@100"},
			stats: mpi.Stats{Messages: 1},
		},
		"a test that polls": {
			calls: `1 500 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, 1, 7, WORLD, &5)
			        0 100 1 MPI_Test(&5, &0, 0x1)
			        0 300 1 MPI_Test(&5, &0, 0x1)
			        0 510 1 MPI_Test(&5, &1, 0x1)`,
			want:  []string{"1@500 -> 0@50", "0@510 (2 polls since 100) <- 1@500"},
			stats: mpi.Stats{Messages: 1},
		},
		"polls of several requests, some without any": {
			calls: `1 500 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, 1, 7, WORLD, &5)
			        0 100 1 MPI_Testany(2, [9, 5], &-32766, &0, 0x1)
			        0 200 1 MPI_Test(&738197504, &1, 0x1)
			        0 300 1 MPI_Testsome(2, [9, 5], &0, 0x1, 0x1)
			        0 400 1 MPI_Testall(2, [9, 5], &0, 0x1)
			        0 510 1 MPI_Testsome(2, [9, 5], &1, [1], 0x1)`,
			want:  []string{"1@500 -> 0@50", "0@510 (4 polls since 100) <- 1@500"},
			stats: mpi.Stats{Messages: 1},
		},
		"no loop: other calls in between, and seldom": {
			calls: `1 500 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        1 5000 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, 1, 7, WORLD, &5)
			        0 100 1 MPI_Test(&5, &0, 0x1)
			        0 300 1 MPI_Irecv(0x1, 1, 1, 1, 7, WORLD, &6)
			        0 510 1 MPI_Test(&5, &1, 0x1)
			        0 600 1 MPI_Test(&6, &0, 0x1)
			        0 5100 1 MPI_Test(&6, &1, 0x1)`,
			want:  []string{"1@500 -> 0@50", "0@510 <- 1@500", "1@5000 -> 0@300", "0@5100 <- 1@5000"},
			stats: mpi.Stats{Messages: 2},
		},
		"any and some of an array": {
			calls: `1 100 1 MPI_Send(0x1, 1, 1, 0, 1, WORLD)
			        1 110 1 MPI_Send(0x1, 1, 1, 0, 2, WORLD)
			        1 120 1 MPI_Send(0x1, 1, 1, 0, 3, WORLD)
			        0 50 1 MPI_Irecv(0x1, 1, 1, 1, 1, WORLD, &11)
			        0 51 1 MPI_Irecv(0x1, 1, 1, -2, 2, WORLD, &12)
			        0 52 1 MPI_Irecv(0x1, 1, 1, -2, 3, WORLD, &13)
			        0 200 1 MPI_Waitany(3, [11, 12, 13], &1, [4, 0, 1, 2, 0, 0])
			        0 210 1 MPI_Waitsome(3, [11, 738197504, 13], &2, [2, 0, 0], [4, 0, 1, 3, 0, 4, 0, 1, 1, 0])`,
			want:  []string{"1@100 -> 0@50", "1@110 -> 0@51", "1@120 -> 0@52", "0@200 <- 1@110", "0@210 <- 1@120", "0@210 <- 1@100"},
			stats: mpi.Stats{Messages: 3},
		},
		"arrays that were not read": {
			calls: `0 50 1 MPI_Irecv(0x1, 1, 1, 1, 1, WORLD, &11)
			        0 200 1 MPI_Waitany(3, 0x1, &1, 0x1)
			        0 210 1 MPI_Waitsome(3, [11], 0x1, 0x1, 0x1)
			        0 220 1 MPI_Waitsome(3, [11], &5, [7], 0x1)`,
			stats: mpi.Stats{Unknown: 4, Unpaired: 1},
		},
		"persistent requests": {
			calls: `1 10 1 MPI_Send_init(0x1, 1, 1, 0, 7, WORLD, &3)
			        0 10 1 MPI_Recv_init(0x1, 1, 1, 1, 7, WORLD, &4)
			        0 20 1 MPI_Start(&4)
			        1 100 1 MPI_Start(&3)
			        1 110 1 MPI_Wait(&3, 0x1)
			        0 30 75 MPI_Wait(&4, 0x1)
			        0 120 1 MPI_Startall(1, [4])
			        1 200 1 MPI_Startall(1, [3])
			        0 130 75 MPI_Waitall(1, [4], 0x1)
			        1 210 1 MPI_Waitall(1, [3], 0x1)
			        1 220 1 MPI_Wait(&3, 0x1)
			        1 230 1 MPI_Request_free(&3)
			        0 230 1 MPI_Request_free(&4)
			        0 240 1 MPI_Start(&4)`,
			want:  []string{"0@30 <- 1@100", "1@110 -> 0@20", "0@130 <- 1@200", "1@210 -> 0@120"},
			stats: mpi.Stats{Messages: 2, Unknown: 1},
		},
		"both ways by one request, which is asked before it is waited for": {
			calls: `0 100 1 MPI_Isendrecv(0x1, 1, 1, 1, 7, 0x1, 1, 1, 1, 7, WORLD, &5)
			        1 200 5 MPI_Sendrecv_replace(0x1, 1, 1, 0, 7, -2, 7, WORLD, [4, 0, 0, 7, 0, 0])
			        0 150 1 MPI_Request_get_status(&5, &0, 0x1)
			        0 210 1 MPI_Request_get_status(&5, &1, 0x1)
			        0 220 1 MPI_Wait(&5, 0x1)`,
			want:  []string{"1@200 -> 0@100", "1@200 <- 0@100", "0@210 (1 polls since 150) -> 1@200", "0@210 (1 polls since 150) <- 1@200"},
			stats: mpi.Stats{Messages: 2},
		},
		"probes": {
			calls: `1 200 1 MPI_Send(0x1, 1, 1, 0, 7, WORLD)
			        0 100 110 MPI_Probe(-2, -1, WORLD, [4, 0, 1, 7, 0, 0])
			        0 220 1 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)
			        0 300 1 MPI_Iprobe(1, 7, WORLD, &0, 0x1)
			        0 310 5 MPI_Iprobe(1, 7, WORLD, &1, 0x1)
			        1 305 50 MPI_Ssend(0x1, 1, 1, 0, 7, WORLD)
			        0 330 1 MPI_Mprobe(1, 7, WORLD, &99, 0x1)
			        0 340 1 MPI_Mrecv(0x1, 1, 1, 99, 0x1)
			        0 400 1 MPI_Probe(-2, 7, WORLD, 0x1)`,
			want:  []string{"1@200 -> 0@220", "0@100 <- 1@200", "0@220 <- 1@200", "0@310 (1 polls since 300) <- 1@305", "0@330 <- 1@305", "1@305 -> 0@330"},
			stats: mpi.Stats{Messages: 2, Unknown: 1},
		},
		"lower ranks": {
			nodes: []string{"n", "n", "n"},
			calls: `0 200 10 MPI_Scan(0x1, 0x1, 1, 1, 1, WORLD)
			        1 100 120 MPI_Scan(0x1, 0x1, 1, 1, 1, WORLD)
			        2 150 120 MPI_Scan(0x1, 0x1, 1, 1, 1, WORLD)`,
			want:  []string{"1@100 = 0@200", "2@150 = 0@200 1@100"},
			stats: mpi.Stats{Collectives: 3},
		},
		"neighbours are not known": {
			calls: `0 200 10 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, WORLD)
			        1 210 10 MPI_Ineighbor_alltoallw(0x1, 0x1, 0x1, 0x1, 0x1, 0x1, 0x1, 0x1, WORLD, &5)
			        1 230 10 MPI_Wait(&5, 0x1)`,
			stats: mpi.Stats{Unknown: 2},
		},
		"neighbours in a grid, which is a ring in one direction": {
			nodes: []string{"n", "n", "n", "n", "n", "n"}, // 0 1 2, and below them 3 4 5
			calls: all(6, "100 10 MPI_Cart_create(WORLD, 2, [2, 3], [0, 1], 0, &77)") + `
			        0 200 60 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)
			        1 210 90 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)
			        2 220 90 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)
			        3 230 90 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)
			        4 240 90 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)
			        5 250 90 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)`,
			want: append(entered(6, 100), "0@200 = 1@210 2@220 3@230", "1@210 = 0@200 2@220 4@240", "2@220 = 0@200 1@210 5@250",
				"3@230 = 0@200 4@240 5@250", "4@240 = 1@210 3@230 5@250", "5@250 = 2@220 3@230 4@240"),
			stats: mpi.Stats{Collectives: 12},
		},
		"neighbours in a graph, of a copy": {
			nodes: []string{"n", "n", "n"},
			calls: `0 100 10 MPI_Dist_graph_create_adjacent(WORLD, 1, [2], 0x1, 1, [1], 0x1, 5, 0, &77)
			        1 100 10 MPI_Dist_graph_create_adjacent(WORLD, 1, [0], 0x1, 0, [], 0x1, 5, 0, &77)
			        2 100 10 MPI_Dist_graph_create_adjacent(WORLD, 0, [], 0x1, 1, [0], 0x1, 5, 0, &77)` + all(3, "120 10 MPI_Comm_dup(77, &78)") + `
			        0 200 10 MPI_Ineighbor_alltoallv(0x1, 0x1, 0x1, 1, 0x1, 0x1, 0x1, 1, 78, &5)
			        1 205 30 MPI_Neighbor_alltoallv(0x1, 0x1, 0x1, 1, 0x1, 0x1, 0x1, 1, 78)
			        2 220 5 MPI_Neighbor_alltoallv(0x1, 0x1, 0x1, 1, 0x1, 0x1, 0x1, 1, 78)
			        0 230 10 MPI_Wait(&5, 0x1)`,
			want:  slices.Concat(entered(3, 100), entered(3, 120), []string{"1@205 = 0@200?", "0@230 = 2@220?"}),
			stats: mpi.Stats{Collectives: 9},
		},
		"rows of a grid": {
			nodes: []string{"n", "n", "n", "n"},
			calls: all(4, "100 10 MPI_Cart_create(WORLD, 2, [2, 2], [0, 0], 0, &77)", "120 10 MPI_Cart_sub(77, [0, 1, 9, 9, 9, 9], &78)") + `
			        0 200 60 MPI_Barrier(78)
			        1 210 50 MPI_Barrier(78)
			        2 220 60 MPI_Neighbor_alltoall(0x1, 1, 1, 0x1, 1, 1, 78)
			        3 230 50 MPI_Neighbor_alltoall(0x1, 1, 1, 0x1, 1, 1, 78)
			        2 300 10 MPI_Send(0x1, 1, 1, 1, 7, 78)
			        3 300 20 MPI_Recv(0x1, 1, 1, 0, 7, 78, 0x1)`,
			want: slices.Concat(entered(4, 100), entered(4, 120), []string{"0@200 = 0@200 1@210", "1@210 = 0@200 1@210", "2@220 = 3@230", "3@230 = 2@220",
				"2@300 -> 3@300", "3@300 <- 2@300"}),
			stats: mpi.Stats{Collectives: 12, Messages: 1},
		},
		"columns of a grid whose order MPI chose": {
			nodes: []string{"n", "n", "n", "n"}, // 3 2, and below them 1 0
			calls: all(4, "100 10 MPI_Cart_create(WORLD, 2, [2, 2], [0, 0], 1, &77)") + `
			        0 111 1 MPI_Comm_rank(77, &3)
			        1 112 1 MPI_Comm_rank(77, &2)
			        2 113 1 MPI_Comm_rank(77, &1)
			        3 114 1 MPI_Comm_rank(77, &0)` + all(4, "120 10 MPI_Cart_sub(77, [1, 0], &78)") + `
			        0 200 60 MPI_Barrier(78)
			        2 210 50 MPI_Barrier(78)`,
			want:  slices.Concat(entered(4, 100), entered(4, 120), []string{"0@200 = 0@200 2@210", "2@210 = 0@200 2@210"}),
			stats: mpi.Stats{Collectives: 10},
		},
		"a part of a grid that is not known for all": {
			calls: all(2, "100 10 MPI_Cart_create(WORLD, 1, [2], [0], 0, &77)") + `
			        0 120 10 MPI_Cart_sub(77, [1], &78)
			        1 120 10 MPI_Cart_sub(77, 0x1, &78)` + all(2, "140 10 MPI_Barrier(78)"),
			want:  slices.Concat(entered(2, 100), entered(2, 120)),
			stats: mpi.Stats{Collectives: 4, Unknown: 2},
		},
		"a grid of fewer ranks, in Open MPI": {
			nodes: []string{"n", "n", "n"},
			calls: all(3, "100 10 MPI_Cart_create(OPEN, 1, [2], [0], 0, &0x7f0000002000)") + `
			        0 200 60 MPI_Barrier(0x7f0000002000)
			        1 210 50 MPI_Barrier(0x7f0000002000)`,
			want:  append(entered(3, 100), "0@200 = 0@200 1@210", "1@210 = 0@200 1@210"),
			stats: mpi.Stats{Collectives: 5},
		},
		"collective calls on files of Open MPI": {
			calls: all(2, "10 1 MPI_Comm_size(OPEN, &2)", "100 10 MPI_File_open(OPEN, path=\"f\", 5, 0x1, &78)") + `
			        0 200 60 MPI_File_write_at_all(78, 0, 0x1, 1, 0x1, 0x1)
			        1 210 10 MPI_File_write_at_all(78, 0, 0x1, 1, 0x1, 0x1)
			        0 300 5 MPI_File_iwrite_at_all(78, 0, 0x1, 1, 0x1, &5)
			        0 306 40 MPI_Wait(&5, 0x1)
			        1 310 1 MPI_File_iwrite_at_all(78, 0, 0x1, 1, 0x1, &5)
			        1 312 1 MPI_Wait(&5, 0x1)
			        0 400 20 MPI_File_close(&78)
			        1 410 10 MPI_File_close(&78)
			        0 500 5 MPI_File_sync(78)`,
			want: append(entered(2, 100), "1@210 = 0@200 1@210?", "0@200 = 0@200 1@210?", "1@312 = 0@300 1@310?", "0@306 = 0@300 1@310?",
				"0@400 = 0@400 1@410?", "1@410 = 0@400 1@410?"),
			stats: mpi.Stats{Collectives: 8, Unknown: 1},
		},
		"files of Open MPI that one rank can't open, or write": {
			calls: all(2, "10 1 MPI_Comm_size(OPEN, &2)") + `
			        0 100 10 MPI_File_open(OPEN, path="f", 5, 0x1, &78)
			        1 100 10 MPI_File_open(OPEN, path="f", 5, 0x1, &0) = 20` + all(2, "120 10 MPI_Barrier(OPEN)", "140 10 MPI_File_open(OPEN, path=\"f\", 5, 0x1, &79)") + `
			        0 160 10 MPI_File_iwrite_at_all(79, 0, 0x1, 1, 0x1, &5) = 20
			        1 160 10 MPI_File_iwrite_at_all(79, 0, 0x1, 1, 0x1, &5)
			        1 170 1 MPI_Wait(&5, 0x1)` + all(2, "180 10 MPI_File_sync(79)"),
			want: slices.Concat(entered(2, 100), entered(2, 120), entered(2, 140), []string{"0@160 = 0@160 1@160?", "1@170 = 0@160 1@160?",
				"0@180 = 0@180 1@180?", "1@180 = 0@180 1@180?"}),
			stats: mpi.Stats{Collectives: 10},
		},
		"files of one rank in Open MPI": {
			calls: all(2, "10 1 MPI_Comm_rank(OPEN, &0)", "100 10 MPI_File_open(0x7f0000000e00, path=\"f\", 5, 0x1, &78)", "120 10 MPI_File_write_all(78, 0x1, 1, 0x1, 0x1)",
				"140 10 MPI_File_close(&78)", "160 10 MPI_Comm_dup(OPEN, &78)", "180 10 MPI_Barrier(78)"),
			want:  slices.Concat(entered(2, 160), entered(2, 180)),
			stats: mpi.Stats{Collectives: 4},
		},
		"a file of one rank in Open MPI, before anything else": {
			calls: all(2, "100 10 MPI_File_open(0x7f0000000e00, path=\"f\", 5, 0x1, &78)", "120 10 MPI_File_write_all(78, 0x1, 1, 0x1, 0x1)", "200 10 MPI_Barrier(OPEN)"),
			want:  entered(2, 200),
			stats: mpi.Stats{Collectives: 2, Unknown: 4},
		},
		"a grid whose last rank's line comes late": {
			nodes: []string{"m", "n"},
			calls: `0 100 10 MPI_Cart_create(WORLD, 1, [2], [0], 0, &77)
			        0 112 3 MPI_Cart_sub(77, [1], &78)
			        1 150 10 MPI_Cart_create(WORLD, 1, [2], [0], 0, &77)
			        1 162 3 MPI_Cart_sub(77, [1], &78)` + all(2, "200 10 MPI_Barrier(78)"),
			want: []string{"0@100 = 0@100 1@150", "0@112 = 0@112 1@162", "1@150 = 0@100 1@150", "1@162 = 0@112 1@162", "0@200 = 0@200 1@200",
				"1@200 = 0@200 1@200"},
			stats: mpi.Stats{Collectives: 6},
		},
		"those of MPICH, which have calls of MPI within": {
			calls: all(2, "110 5 MPI_Barrier(WORLD)", "100 30 MPI_File_open(WORLD, path=\"f\", 5, 0x1, &78)", "200 10 MPI_File_write_at_all(78, 0, 0x1, 1, 0x1, 0x1)",
				"300 10 MPI_File_close(&78)"),
			want:  entered(2, 110),
			stats: mpi.Stats{Collectives: 2},
		},
		"windows": {
			calls: all(2, "100 10 MPI_Win_create(0x1, 10, 1, 5, WORLD, &78)", "120 10 MPI_Win_allocate(10, 1, 5, WORLD, 0x1, &79)") + `
			        0 200 60 MPI_Win_fence(0, 79)
			        1 210 10 MPI_Win_fence(0, 79)
			        1 230 10 MPI_Win_lock(1, 0, 0, 79)
			        1 240 1 MPI_Win_test(79, &0)
			        1 242 1 MPI_Win_test(79, &1)
			        0 400 20 MPI_Win_free(&79)
			        1 410 10 MPI_Win_free(&79)
			        0 500 5 MPI_Win_fence(0, 79)`,
			want: slices.Concat(entered(2, 100), entered(2, 120), []string{"1@210 = 0@200 1@210?", "0@200 = 0@200 1@210?", "0@400 = 0@400 1@410?",
				"1@410 = 0@400 1@410?"}),
			stats: mpi.Stats{Collectives: 8, Unknown: 3},
		},
		"numbers that are no grid": {
			calls: all(2, "100 10 MPI_Cart_create(WORLD, 2, [0, 4611686018427387904], [0, 0], 0, &77)", "120 10 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)"),
			want:  entered(2, 100),
			stats: mpi.Stats{Collectives: 2, Unknown: 2},
		},
		"ranks of a group, by their places": {
			nodes: []string{"n", "n", "n"}, // 2 and 0
			calls: `0 100 10 MPI_Comm_create(WORLD, 1, &77)
			        1 100 10 MPI_Comm_create(WORLD, 1, &67108864)
			        2 100 10 MPI_Comm_create(WORLD, 1, &78)
			        0 120 1 MPI_Comm_rank(77, &1)
			        0 130 1 MPI_Comm_size(77, &2)
			        0 140 100 MPI_Recv(0x1, 1, 1, 0, 7, 77, 0x1)
			        2 150 1 MPI_Send(0x1, 1, 1, 1, 7, 78)
			        2 250 1 MPI_Comm_rank(78, &0)
			        2 260 10 MPI_Barrier(78)
			        0 240 30 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@100 2@100", "1@100 = 0@100 1@100 2@100", "2@100 = 0@100 1@100 2@100", "2@150 -> 0@140", "0@140 <- 2@150", "2@260 = 0@240 2@260", "0@240 = 0@240 2@260"},
			stats: mpi.Stats{Messages: 1, Collectives: 5},
		},
		"a group that only its ranks make": {
			nodes: []string{"n", "n", "n"},
			calls: `0 100 10 MPI_Comm_create_group(WORLD, 1, 5, &77)
			        2 100 10 MPI_Comm_create_group(WORLD, 1, 5, &77)
			        0 120 1 MPI_Comm_rank(77, &0)
			        2 120 1 MPI_Comm_rank(77, &1)
			        0 130 1 MPI_Comm_size(77, &2)
			        0 140 1 MPI_Send(0x1, 1, 1, 1, 7, 77)
			        2 130 15 MPI_Recv(0x1, 1, 1, 0, 7, 77, 0x1)`,
			want:  []string{"0@140 -> 2@130", "2@130 <- 0@140"},
			stats: mpi.Stats{Messages: 1},
		},
		"two groups made by one call can't be told apart": {
			calls: `0 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        1 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        0 120 1 MPI_Comm_rank(77, &0)
			        0 120 5 MPI_Barrier(77)
			        1 130 1 MPI_Comm_rank(77, &0)
			        1 140 1 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100"},
			stats: mpi.Stats{Collectives: 2, Unknown: 2},
		},
		"nor can they without any places": {
			calls: `0 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        1 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        0 120 5 MPI_Barrier(77)
			        0 130 5 MPI_Send(0x1, 1, 1, 0, 7, 77)
			        1 140 1 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100"},
			stats: mpi.Stats{Collectives: 2, Unknown: 3},
		},
		"nor can what is made of them": {
			calls: `0 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        1 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        0 120 1 MPI_Comm_rank(77, &0)
			        0 130 1 MPI_Comm_split(77, 0, 0, &78)
			        1 140 1 MPI_Comm_rank(77, &0)
			        1 150 1 MPI_Comm_split(77, 0, 0, &78)
			        0 160 1 MPI_Send(0x1, 1, 1, 0, 7, 78)
			        0 170 1 MPI_Recv(0x1, 1, 1, 0, 7, 78, 0x1)
			        1 180 1 MPI_Barrier(78)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100"},
			stats: mpi.Stats{Collectives: 2, Unknown: 5},
		},
		"nor what is made of them without any places": {
			calls: `0 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        1 100 10 MPI_Cart_sub(WORLD, 0x1, &77)
			        0 130 1 MPI_Comm_split(77, 0, 0, &78)
			        1 150 1 MPI_Comm_split(77, 0, 0, &78)
			        0 160 1 MPI_Send(0x1, 1, 1, 1, 7, 78)
			        1 170 1 MPI_Recv(0x1, 1, 1, 0, 7, 78, 0x1)
			        1 180 1 MPI_Barrier(78)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100"},
			stats: mpi.Stats{Collectives: 2, Unknown: 5},
		},
		"groups that only their ranks make, with one tag": {
			calls: `0 100 10 MPI_Comm_create_group(WORLD, 1, 5, &77)
			        0 120 1 MPI_Comm_rank(77, &0)
			        0 130 1 MPI_Comm_size(77, &1)
			        0 140 1 MPI_Barrier(77)
			        1 150 10 MPI_Comm_create_group(WORLD, 1, 5, &77)
			        1 170 1 MPI_Barrier(77)`,
			want:  []string{"0@140 = 0@140"},
			stats: mpi.Stats{Collectives: 1, Unknown: 1},
		},
		"a grid in another order, whose places are not told": {
			calls: `0 100 10 MPI_Cart_create(WORLD, 1, 0x1, 0x1, 1, &77)
			        1 100 10 MPI_Cart_create(WORLD, 1, 0x1, 0x1, 1, &77)
			        0 140 1 MPI_Send(0x1, 1, 1, 1, 7, 77)
			        0 150 15 MPI_Barrier(77)
			        1 155 15 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100", "0@150 = 0@150 1@155", "1@155 = 0@150 1@155"},
			stats: mpi.Stats{Collectives: 4, Unknown: 1},
		},
		"a grid in the order of its ranks": {
			calls: `0 100 10 MPI_Cart_create(WORLD, 1, 0x1, 0x1, 0, &77)
			        1 100 10 MPI_Cart_create(WORLD, 1, 0x1, 0x1, 0, &77)
			        0 140 1 MPI_Send(0x1, 1, 1, 1, 7, 77)
			        1 130 15 MPI_Recv(0x1, 1, 1, 0, 7, 77, 0x1)`,
			want:  []string{"0@100 = 0@100 1@100", "1@100 = 0@100 1@100", "0@140 -> 1@130", "1@130 <- 0@140"},
			stats: mpi.Stats{Messages: 1, Collectives: 2},
		},
		"ranks of a node": {
			nodes: []string{"a", "a", "b"},
			calls: `0 100 10 MPI_Comm_split_type(WORLD, 1, 1, 1, &77)
			        1 100 10 MPI_Comm_split_type(WORLD, 1, 0, 1, &77)
			        2 100 10 MPI_Comm_split_type(WORLD, 1, 0, 1, &77)
			        0 200 10 MPI_Bcast(0x1, 1, 1, 1, 77)
			        1 205 10 MPI_Bcast(0x1, 1, 1, 1, 77)
			        2 300 10 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@100 2@100", "1@100 = 0@100 1@100 2@100", "2@100 = 0@100 1@100 2@100", "1@205 = 0@200", "2@300 = 2@300"},
			stats: mpi.Stats{Collectives: 6},
		},
		"a communicator that is used before all have made it": {
			calls: `0 100 10 MPI_Comm_split(WORLD, 0, 1, &77)
			        0 120 10 MPI_Send(0x1, 1, 1, 0, 7, 77)
			        0 131 5 MPI_Barrier(77)
			        1 110 100 MPI_Comm_split(WORLD, 0, 0, &77)
			        1 220 10 MPI_Recv(0x1, 1, 1, 1, 7, 77, 0x1)
			        1 232 10 MPI_Barrier(77)`,
			want:  []string{"0@100 = 0@100 1@110", "0@120 -> 1@220", "0@131 = 0@131 1@232", "1@110 = 0@100 1@110", "1@220 <- 0@120", "1@232 = 0@131 1@232"},
			stats: mpi.Stats{Messages: 1, Collectives: 4},
		},
		"copies of copies, and one that is freed": {
			calls: `0 10 1 MPI_Comm_dup(WORLD, &77)
			        1 10 1 MPI_Comm_dup(WORLD, &77)
			        0 20 1 MPI_Comm_idup(77, &78, &5)
			        1 20 1 MPI_Comm_idup(77, &78, &5)
			        0 22 3 MPI_Wait(&5, 0x1)
			        1 22 2 MPI_Wait(&5, 0x1)
			        0 30 1 MPI_Comm_free(&77)
			        1 30 1 MPI_Comm_free(&77)
			        0 40 1 MPI_Barrier(77)
			        0 50 1 MPI_Barrier(78)
			        1 50 1 MPI_Barrier(78)
			        1 60 1 MPI_Comm_dup(SELF, &79)
			        1 62 1 MPI_Barrier(79)`,
			want:  []string{"0@10 = 0@10 1@10", "1@10 = 0@10 1@10", "1@22 = 0@20 1@20", "0@22 = 0@20 1@20", "0@50 = 0@50 1@50", "1@50 = 0@50 1@50"},
			stats: mpi.Stats{Collectives: 6, Unknown: 1},
		},
		"a request whose communicator is unknown": {
			calls: `0 40 1 MPI_Ibarrier(99, &5)
			        0 50 1 MPI_Irecv(0x1, 1, 1, 1, 7, 99, &6)
			        0 60 1 MPI_Waitall(2, [5, 6], 0x1)
			        0 70 1 MPI_Intercomm_create(WORLD, 0, WORLD, 0, 0, &99)`,
			stats: mpi.Stats{Unknown: 2},
		},
		"a collective that not all have entered": {
			nodes: []string{"n", "n", "n"},
			calls: `0 100 20 MPI_Barrier(WORLD)
			        1 110 10 MPI_Barrier(WORLD)
			        1 130 10 MPI_Bcast(0x1, 1, 1, 0, WORLD)`,
			want:  []string{"0@100 = 0@100 1@110", "1@110 = 0@100 1@110"},
			stats: mpi.Stats{Collectives: 2, Unpaired: 1},
		},
		"a communicator of a group, Open MPI: one rank has MPI_COMM_NULL, which looks like a handle": {
			nodes: []string{"n", "n", "n"},
			calls: `0 10 10 MPI_Comm_create(OPEN, 0x5, &77)
			        1 10 10 MPI_Comm_create(OPEN, 0x5, &78)
			        2 10 10 MPI_Comm_create(OPEN, 0x5, &79)
			        0 30 1 MPI_Comm_rank(0x4d, &0)
			        2 30 1 MPI_Comm_rank(0x4f, &1)
			        2 32 1 MPI_Comm_size(0x4f, &2)
			        0 40 9 MPI_Barrier(0x4d)
			        2 42 7 MPI_Barrier(0x4f)
			        0 60 1 MPI_Send(0x1, 1, 0x2, 1, 7, 0x4d)
			        2 70 1 MPI_Recv(0x1, 1, 0x2, 0, 7, 0x4f, 0)`,
			want: []string{"0@10 = 0@10 1@10 2@10", "1@10 = 0@10 1@10 2@10", "2@10 = 0@10 1@10 2@10",
				"0@40 = 0@40 2@42", "2@42 = 0@40 2@42", "0@60 -> 2@70", "2@70 <- 0@60"},
			stats: mpi.Stats{Messages: 1, Collectives: 5},
		},
		"two communicators of groups, Open MPI": {
			nodes: []string{"n", "n", "n", "n"},
			calls: `0 10 10 MPI_Comm_create(OPEN, 0x5, &77)
			        1 10 10 MPI_Comm_create(OPEN, 0x5, &78)
			        2 10 10 MPI_Comm_create(OPEN, 0x5, &79)
			        3 10 10 MPI_Comm_create(OPEN, 0x5, &80)
			        0 30 1 MPI_Comm_rank(0x4d, &0)
			        1 30 1 MPI_Comm_rank(0x4e, &1)
			        1 32 1 MPI_Comm_size(0x4e, &2)
			        0 40 9 MPI_Barrier(0x4d)
			        1 42 7 MPI_Barrier(0x4e)
			        2 60 9 MPI_Barrier(0x4f)
			        3 62 7 MPI_Barrier(0x50)
			        0 80 1 MPI_Barrier(0x4d)`,
			want: []string{"0@10 = 0@10 1@10 2@10 3@10", "1@10 = 0@10 1@10 2@10 3@10", "2@10 = 0@10 1@10 2@10 3@10", "3@10 = 0@10 1@10 2@10 3@10",
				"0@40 = 0@40 1@42", "1@42 = 0@40 1@42"},
			stats: mpi.Stats{Collectives: 6, Unknown: 3},
		},
		"collectives without data return at once": {
			calls: `0 100 1 MPI_Bcast(0x1, 0, 1, 1, WORLD)
			        0 102 1 MPI_Allreduce(0x1, 0x1, 0, 1, 1, WORLD)
			        0 104 1 MPI_Reduce(0x1, 0x1, 0, 1, 1, 0, WORLD)
			        1 110 1 MPI_Bcast(0x1, 0, 1, 1, WORLD)
			        1 112 1 MPI_Allreduce(0x1, 0x1, 0, 1, 1, WORLD)
			        1 114 1 MPI_Reduce(0x1, 0x1, 0, 1, 1, 0, WORLD)
			        0 106 14 MPI_Bcast(0x1, 1, 1, 1, WORLD)
			        1 116 1 MPI_Bcast(0x1, 1, 1, 1, WORLD)`,
			want:  []string{"0@106 = 1@116"},
			stats: mpi.Stats{Collectives: 8},
		},
		"a call that failed": {
			calls: `0 100 20 MPI_Barrier(WORLD) = 1
			        1 110 10 MPI_Barrier(WORLD)`,
			want:  []string{"1@110 = 1@110"},
			stats: mpi.Stats{Collectives: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.nodes == nil {
				c.nodes = []string{"n", "n"}
			}
			events := parse(t, c.calls)
			for i := range events {
				events[i].Span.Failed = events[i].Ret != 0
			}
			got, p := pair(header(c.nodes...), events)
			require.Equal(t, strings.Join(c.want, "\n"), strings.Join(got, "\n"))
			require.Equal(t, c.stats, p.Stats)
		})
	}
}

// A send waits for its receive from the lowest count on that was seen to wait and is above all
// that were sent early.
func TestSends(t *testing.T) {
	const (
		early  = `0 %[1]d00000 10 MPI_Send(0x1, %[2]d, %[3]s, 1, 7, WORLD)` + "\n" + `1 %[1]d00500 10 MPI_Recv(0x1, %[2]d, 1, 0, 7, WORLD, 0x1)` + "\n"
		waited = `0 %[1]d00000 510 MPI_Send(0x1, %[2]d, %[3]s, 1, 7, WORLD)` + "\n" + `1 %[1]d00500 20 MPI_Recv(0x1, %[2]d, 1, 0, 7, WORLD, 0x1)` + "\n"
		before = `1 %[1]d00000 510 MPI_Recv(0x1, %[2]d, 1, 0, 7, WORLD, 0x1)` + "\n" + `0 %[1]d00500 5 MPI_Send(0x1, %[2]d, %[3]s, 1, 7, WORLD)` + "\n"
	)
	calls := ""
	for i, one := range []struct {
		how   string
		count int
		of    string
	}{
		{waited, 5, "1"}, {early, 10, "1"}, {waited, 20, "1"}, {waited, 15, "1"}, {before, 12, "1"}, {before, 100, "1"},
		{early, 50, "2"}, {waited, 7, "3"}, {before, 7, "3"}, {waited, 8, "4"}, {early, 9, "4"}, {waited, 6, "0x4c000405"},
	} {
		calls += fmt.Sprintf(one.how, i+1, one.count, one.of)
	}
	calls += "0 2000000 1 MPI_Bsend(0x1, 500, 3, 1, 7, WORLD)\n0 2000010 600 MPI_Ssend(0x1, 1, 1, 1, 7, WORLD)\n" +
		"1 2000020 1 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)\n1 2000030 5 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)\n" +
		"0 3000000 600 MPI_Sendrecv(0x1, 700, 5, 1, 7, 0x1, 1, 1, 1, 7, WORLD, 0x1)\n1 3000200 400 MPI_Sendrecv(0x1, 700, 5, 0, 7, 0x1, 1, 1, 0, 7, WORLD, 0x1)\n"
	var sent []mpi.Wait
	events := parse(t, calls)
	p := mpi.New(header("n", "n"), func(w *mpi.Wait) {
		if w.Kind == mpi.Sent {
			one := *w
			one.Calls = slices.Clone(w.Calls)
			sent = append(sent, one)
		}
	})
	for i := range events {
		e := events[i].Clone()
		p.Add(e.TID, e.TID-1, &e)
		for _, a := range e.Span.Args {
			clear(a.Numbers) // which are the reader's
		}
	}
	p.End()
	slices.SortFunc(sent, func(a, b mpi.Wait) int { return cmp.Compare(a.Calls[0].Start, b.Calls[0].Start) })
	got := ""
	for _, w := range sent {
		got += fmt.Sprintf("%d %t %t\n", w.Message.Count, p.Sends.Early(&w.Message), p.Sends.Waits(&w.Message))
	}
	require.Equal(t, `5 true false
10 true false
20 false true
15 false true
12 false false
100 false true
50 true false
7 false true
7 false true
8 true false
9 true false
6 false true
-1 false false
1 false true
700 false false
700 false false
`, got)
}

// Datatypes of MPICH that are predefined are the same in all ranks, others are not. Between
// nodes, a receive can seem to begin after the end of a send that waited for it.
func TestSendsOfRanksAndNodes(t *testing.T) {
	for _, c := range []struct {
		nodes      []string
		of         string
		afterwards int // microseconds from the end of a send to the begin of its receive
		want       bool
	}{
		{[]string{"n", "n"}, "0x4c000405", 400, false},
		{[]string{"n", "n"}, "0x4c000405", 50, false},
		{[]string{"n", "m"}, "0x4c000405", 400, false},
		{[]string{"n", "m"}, "0x4c000405", 50, true},
		{[]string{"n", "m"}, "0x8c000000", 50, false},
	} {
		events := parse(t, fmt.Sprintf(`0 100000 510 MPI_Send(0x1, 20, %[1]s, 1, 7, WORLD)
			1 100500 50 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)
			0 200000 5 MPI_Send(0x1, 20, %[1]s, 1, 7, WORLD)
			1 %[2]d 50 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)
			1 300500 5 MPI_Send(0x1, 20, %[1]s, 0, 7, WORLD)
			0 300000 510 MPI_Recv(0x1, 1, 1, 1, 7, WORLD, 0x1)`, c.of, 200_005+c.afterwards))
		var last mpi.Message
		p := mpi.New(header(c.nodes...), func(w *mpi.Wait) {
			if w.Kind == mpi.Sent && w.Calls[0].Rank == 1 {
				last = w.Message
			}
		})
		for i := range events {
			p.Add(events[i].TID, events[i].TID-1, &events[i])
		}
		p.End()
		require.Equal(t, c.want, p.Sends.Waits(&last), "%v", c)
	}
}

// Memory is bounded: what has no partner for long is given up, and the rest is still paired.
func TestBounds(t *testing.T) {
	h := header("n", "n", "n")
	told := int64(0)
	p := mpi.New(h, func(w *mpi.Wait) {
		if w.Kind == mpi.Received {
			told++
		}
	})
	at := int64(0)
	add := func(rank int32, function string, args ...any) {
		s := &format.Span{Layer: mpi.Layer, Function: function}
		for _, a := range args {
			switch a := a.(type) {
			case int:
				s.Args = append(s.Args, format.Value{Kind: format.ValueInt, Int: int64(a)})
			case *int:
				s.Args = append(s.Args, format.Value{Kind: format.ValuePointed, Int: int64(*a)})
			case []int64:
				s.Args = append(s.Args, format.Value{Kind: format.ValueNumbers, Numbers: a})
			}
		}
		p.Add(rank+1, rank, &format.Event{TID: rank + 1, Start: at, Dur: 1, Span: s})
		at += 10
	}
	const world, many = 0x44000000, 20_000
	for range many { // sends that nothing receives, and receives that nothing sends
		add(0, "MPI_Send", 0, 1, 1, 1, 7, world)
		add(1, "MPI_Recv", 0, 1, 1, 2, 7, world, 0)
	}
	for i := range many { // requests that nothing completes, with one for any source before them
		id := i + 1
		add(2, "MPI_Irecv", 0, 1, 1, -2, 7, world, &id)
	}
	for range many { // collectives that not all enter
		add(0, "MPI_Barrier", world)
	}
	for i := range many { // communicators that not all make, and messages on them
		id := i + 100
		add(0, "MPI_Comm_split", world, i%2, 0, &id)
		add(0, "MPI_Send", 0, 1, 1, 0, 7, id)
	}
	add(0, "MPI_Send", 0, 1, 1, 1, 8, world)
	add(1, "MPI_Recv", 0, 1, 1, 0, 8, world, 0)
	require.Equal(t, int64(1), told)
	p.End()
	require.Equal(t, int64(1), told)
}

// If messages are given up, their partners are given up, too. The others are paired as they are.
func TestGivenUp(t *testing.T) {
	const many = 5000
	for name, c := range map[string]struct {
		first, then string
	}{
		"sends":    {"0 %d 1 MPI_Send(0x1, 1, 1, 1, 7, WORLD)", "1 %d 1 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)"},
		"receives": {"1 %d 1 MPI_Recv(0x1, 1, 1, 0, 7, WORLD, 0x1)", "0 %d 1 MPI_Send(0x1, 1, 1, 1, 7, WORLD)"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for i := range many {
				lines = append(lines, fmt.Sprintf(c.first, 10*i))
			}
			for i := range many {
				lines = append(lines, fmt.Sprintf(c.then, 10*(many+i)))
			}
			pairs := 0
			p := mpi.New(header("n", "n"), func(w *mpi.Wait) {
				require.False(t, w.Guessed)
				if w.Kind == mpi.Received {
					pairs++
					first, then := w.On[0].At, w.Calls[0].Start
					require.Equal(t, int64(10_000*many), max(first, then)-min(first, then))
				}
			})
			events := parse(t, strings.Join(lines, "\n"))
			for i := range events {
				p.Add(events[i].TID, events[i].TID-1, &events[i])
			}
			p.End()
			require.Equal(t, mpi.Stats{Messages: 4096, Unpaired: 2 * (many - 4096)}, p.Stats)
			require.Equal(t, 4096, pairs)
		})
	}
}

// In collectives with a count for each rank, a rank need not wait for all others.
func TestPartly(t *testing.T) {
	for _, call := range []string{"MPI_Alltoallv(0x1, 0x1, 0x1, 1, 0x1, 0x1, 0x1, 1, WORLD)", "MPI_Gatherv(0x1, 1, 1, 0x1, 0x1, 0x1, 1, 0, WORLD)", "MPI_Barrier(WORLD)"} {
		p := mpi.New(header("a", "b"), func(w *mpi.Wait) { require.Equal(t, !strings.Contains(call, "Barrier"), w.Guessed) })
		events := parse(t, "0 100 50 "+call+"\n1 120 40 "+call)
		for i := range events {
			p.Add(events[i].TID, events[i].TID-1, &events[i])
		}
		p.End()
		require.Equal(t, mpi.Stats{Collectives: 2}, p.Stats, call)
	}
}

// BenchmarkMessages measures a ring of ranks that send and receive by requests, and at times
// from any source: nanoseconds for a message.
func BenchmarkMessages(b *testing.B) {
	const ranks = 64
	h := &format.Header{}
	for i := range int32(ranks) {
		h.Ranks = append(h.Ranks, format.Rank{Rank: i, Process: i + 1, Node: "n"})
	}
	number := func(n int64) format.Value { return format.Value{Kind: format.ValueInt, Int: n} }
	pointed := func(n int64) format.Value { return format.Value{Kind: format.ValuePointed, Int: n} }
	const world = 0x44000000
	irecv := &format.Span{Function: "MPI_Irecv", Args: []format.Value{{}, number(1), number(1), number(0), number(7), number(world), pointed(5)}}
	isend := &format.Span{Function: "MPI_Isend", Args: []format.Value{{}, number(1), number(1), number(0), number(7), number(world), pointed(6)}}
	status := []int64{4, 0, 0, 7, 0, 4, 0, 0, 7, 0}
	wait := &format.Span{Function: "MPI_Waitall", Args: []format.Value{number(2), {Kind: format.ValueNumbers, Numbers: []int64{5, 6}}, {Kind: format.ValueNumbers, Numbers: status}}}
	waits := 0
	p := mpi.New(h, func(w *mpi.Wait) { waits++ })
	b.ReportAllocs()
	b.ResetTimer()
	e := format.Event{Dur: 1}
	add := func(rank int, s *format.Span) {
		e.Span, e.TID = s, int32(rank+1)
		e.Start += 10
		p.Add(e.TID, int32(rank), &e)
	}
	for n := 0; n < b.N; {
		for rank := 0; rank < ranks && n < b.N; rank++ {
			left, right := int64((rank+ranks-1)%ranks), int64((rank+1)%ranks)
			irecv.Args[3].Int, isend.Args[3].Int, status[2] = left, right, left
			if n%4 == 0 {
				irecv.Args[3].Int = -2
			}
			add(rank, irecv)
			add(rank, isend)
			add(rank, wait)
			n++
		}
	}
	p.End()
	require.GreaterOrEqual(b, waits+int(p.Stats.Unpaired), b.N)
}

// Graphs that are gone leave room for others.
func TestManyGraphs(t *testing.T) {
	sources := strings.TrimSuffix(strings.Repeat("0, ", 512), ", ")
	calls := []string{"0 1 MPI_Comm_dup(WORLD, &76)"}
	for i := range 4200 { // of two ranks with 512 sources each: more than are kept at a time
		at := 10 + 40*i
		calls = append(calls,
			fmt.Sprintf("%d 5 MPI_Dist_graph_create_adjacent(76, 512, [%s], 0x1, 0, [], 0x1, 5, 0, &77)", at, sources),
			fmt.Sprintf("%d 5 MPI_Comm_dup(77, &78)", at+10), fmt.Sprintf("%d 5 MPI_Comm_free(&77)", at+20), fmt.Sprintf("%d 5 MPI_Comm_free(&78)", at+30))
	}
	calls = append(calls, "300000 5 MPI_Dist_graph_create_adjacent(76, 20, ["+sources[:58]+"], 0x1, 0, [], 0x1, 5, 0, &77)", "300010 5 MPI_Neighbor_allgather(0x1, 1, 1, 0x1, 1, 1, 77)",
		"300020 5 MPI_Comm_split(WORLD, 0, 0, &79)", "300030 5 MPI_Barrier(79)")
	_, p := pair(header("n", "n"), parse(t, all(2, calls...)))
	require.Equal(t, mpi.Stats{Collectives: 2 * (1 + 2*4200 + 4)}, p.Stats)
}
