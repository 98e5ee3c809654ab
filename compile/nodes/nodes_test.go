package nodes

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// closed is a reader without a file.
type closed struct{ *script.Reader }

func (closed) Close() error { return nil }

// of returns recordings, by their names.
func of(texts ...string) (sources []Source) {
	for i, text := range texts {
		name := fmt.Sprintf("n%d.txt", i)
		sources = append(sources, Source{Name: name, Open: func() (ReadCloser, error) {
			return closed{script.NewReader(strings.NewReader(text), name)}, nil
		}})
	}
	return sources
}

// recording returns the recording of a node with a rank. Its clock is ahead of that of rank 0.
func recording(rank int, machine string, ahead int64, lines string) string {
	clock := ""
	if rank > 0 {
		c := format.Clock{Offset: -ahead, Round: 1000}
		clock = "# clock: " + c.String() + "\n"
	}
	return fmt.Sprintf(`# pianola script 1
# recorder: ebpf
# cost: inside=1 outside=1
# process: 10 threads=10 cwd="/home" umask=022
# ranks: 2 run=r machine=%s begun=%s
# rank: %d process=10 node=node%d
%s%s# lost: 0
# exit: %d
# cost: inside=%d outside=20
# elapsed: 0.001000000
# file systems: "/"=ext4 "/nfs"=nfs4
# coverage: bytes=100 seconds=0.001000000
`, machine, format.AppendSeconds(nil, 1e9-ahead), rank, rank, clock, lines, rank, 10+rank)
}

func readAll(t *testing.T, r *Run) (events []format.Event) {
	m, err := r.Open()
	require.NoError(t, err)
	defer m.Close()
	batch := make([]format.Event, 7)
	for {
		n, err := m.Read(batch)
		for i := range batch[:n] {
			events = append(events, batch[i].Clone())
		}
		if err == io.EOF {
			return events
		}
		require.NoError(t, err)
	}
}

func TestMerge(t *testing.T) {
	var first, second strings.Builder
	for range 200 { // more than a batch
		first.WriteString("10 0.000010000 pwrite64(3, 0x1000, 1, 0) = 1 <0.000001000>\n")
		second.WriteString("10 0.000010000 pwrite64(4, 0x1000, 1, 0) = 1 <0.000001000>\n")
	}
	// Given in the wrong order; the clock of rank 1 is 5 µs ahead.
	for _, machine := range []string{"m", "other"} {
		testMerge(t, recording(1, machine, 5000, second.String()), recording(0, "m", 0, first.String()))
	}
}

func testMerge(t *testing.T, second, first string) {
	r, err := Inspect(of(second, first))
	require.NoError(t, err)
	require.Empty(t, r.Missing)
	require.Empty(t, r.Moved)
	events := readAll(t, r)
	require.Len(t, events, 400)
	for i, e := range events {
		require.Equal(t, int64(i/2+1)*10000-int64((i+1)%2)*5000, e.Start, "event %d", i)
		node := (i + 1) % 2
		require.Equal(t, int32(10+node<<22), e.TID)
		require.Equal(t, int64(3+node), e.FD())
	}
	h := &r.header
	require.Equal(t, []format.Rank{{Rank: 0, Process: 10, Node: "node0"}, {Rank: 1, Process: 10 + 1<<22, Node: "node1"}}, h.Ranks)
	require.Len(t, h.Running(), 2)
	for key, want := range map[string]string{
		format.MetaLost: "0", format.MetaExit: "1", format.MetaElapsed: "0.001000000", format.MetaCoverage: "bytes=200 seconds=0.002000000",
	} {
		got, _ := h.Value(key)
		require.Equal(t, want, got, key)
	}
	costs := h.Costs()
	for _, e := range events[:2] {
		require.Equal(t, format.Cost{Inside: 10 + int64(e.TID>>22), Outside: 20}, *costs.Of(e.TID), "as measured at the end on the node")
	}
}

// A recorder does not know the ranks of another node on its machine, which can have the
// processor while its own are ready.
func TestNodesThatShareProcessors(t *testing.T) {
	const line = "10 0.000010000 pwrite64(3, 0x1000, 1, 0) = 1 <0.000001000> {ready=4000 own=2000}\n"
	for machine, want := range map[string]format.Off{"m0": {Own: 6000}, "other": {Ready: 4000, Own: 2000}} {
		r, err := Inspect(of(recording(0, "m0", 0, line), recording(1, machine, 0, line)))
		require.NoError(t, err)
		for _, e := range readAll(t, r) {
			require.Equal(t, want, e.Off, machine)
		}
	}
}

// Each machine has its own files, except those that are shared or installed.
func TestOwnFiles(t *testing.T) {
	const open = `10 0.000010000 openat(AT_FDCWD, "/nfs/data", O_RDONLY) = 3 <0.000001000> {type=reg size=1}
10 0.000010000 openat(AT_FDCWD, "/tmp/x", O_RDONLY) = 4 <0.000001000> {type=reg size=1}
10 0.000010000 openat(AT_FDCWD, "/usr/lib/libc.so", O_RDONLY) = 5 <0.000001000> {type=reg size=1}
10 0.000010000 openat(AT_FDCWD, "y", O_RDONLY) = 6 <0.000001000> {type=reg size=1}
`
	r, err := Inspect(of(recording(0, "m0", 0, open), recording(1, "m1", 0, open)))
	require.NoError(t, err)
	names := map[int32][]string{}
	for _, e := range readAll(t, r) {
		names[e.TID] = append(names[e.TID], string(e.Str[0]))
	}
	require.Equal(t, map[int32][]string{
		10:         {"/nfs/data", "/tmp/x", "/usr/lib/libc.so", "y"},
		10 + 1<<22: {"/nfs/data", "/node1/tmp/x", "/usr/lib/libc.so", "y"}, // in the working directory, which is moved
	}, names)
	running := r.header.Running()
	require.Equal(t, []string{"/home", "/node1/home"}, []string{running[0].Cwd, running[1].Cwd})
}

// A message is received after it was sent: the clock that says otherwise is moved.
func TestMessagesMoveClocks(t *testing.T) {
	send := `10 0.000100000 sendto(3, 0x1000, 4, 0, NULL, 0) = 4 <0.000001000> {type=sock sent=tcp:7+4}
`
	receive := `10 0.000050000 recvfrom(3, 0x1000, 4, 0, NULL, NULL) = 4 <0.000010000> {type=sock got=tcp:7+4}
`
	r, err := Inspect(of(recording(0, "m0", 0, send), recording(1, "m1", 0, receive)))
	require.NoError(t, err)
	require.Equal(t, []Moved{{"node1", 40_000}}, r.Moved)
	events := readAll(t, r)
	require.Equal(t, events[1].Start, events[0].End(), "the end of the receive is the begin of the send")

	// Both ways at once is not possible.
	back := `10 0.000200000 sendto(3, 0x1000, 4, 0, NULL, 0) = 4 <0.000001000> {type=sock sent=tcp:8+4}
`
	got := `10 -0.000080000 recvfrom(3, 0x1000, 4, 0, NULL, NULL) = 4 <0.000010000> {type=sock got=tcp:8+4}
`
	r, err = Inspect(of(recording(0, "m0", 0, send+got), recording(1, "m1", 0, receive+back)))
	require.NoError(t, err)
	require.NotEmpty(t, r.Unclear)
}

// The same holds for messages and collectives of MPI, between machines. The clock of a node is
// wrong by more than these allow.
func TestCallsMoveClocks(t *testing.T) {
	const layer = "# layer: mpi libmpi.so functions=78 missing=0 stepped=0\n"
	call := func(at, dur int64, text string) string {
		return fmt.Sprintf("10 %s mpi:%s = 0 <%s> {span=wait}\n", format.AppendSeconds(nil, at), text, format.AppendSeconds(nil, dur))
	}
	const world = "1140850688"
	for name, c := range map[string]struct {
		first, second string
		machine       string
		moved         []Moved
		unclear       bool
	}{
		"a message": {
			first:  call(100_000, 1000, "MPI_Send(0x1, 1, 1, 1, 7, "+world+")"),
			second: call(50_000, 10_000, "MPI_Recv(0x1, 1, 1, 0, 7, "+world+", 0x1)"),
			moved:  []Moved{{"node1", 40_000}},
		},
		"a message within a machine": {
			machine: "m0",
			first:   call(100_000, 1000, "MPI_Send(0x1, 1, 1, 1, 7, "+world+")"),
			second:  call(50_000, 10_000, "MPI_Recv(0x1, 1, 1, 0, 7, "+world+", 0x1)"),
		},
		"a request": {
			first:  call(100_000, 1000, "MPI_Issend(0x1, 1, 1, 1, 7, "+world+", &5)") + call(100_000, 5000, "MPI_Wait(&5, 0x1)"),
			second: call(50_000, 1000, "MPI_Irecv(0x1, 1, 1, 0, 7, "+world+", &5)") + call(2000, 8000, "MPI_Wait(&5, 0x1)"),
			moved:  []Moved{{"node1", 40_000}},
		},
		"a synchronous send": {
			first:  call(100_000, 1000, "MPI_Ssend(0x1, 1, 1, 1, 7, "+world+")"),
			second: call(150_000, 10_000, "MPI_Recv(0x1, 1, 1, 0, 7, "+world+", 0x1)"),
			moved:  []Moved{{"node1", -49_000}},
		},
		"a barrier": {
			first:  call(100_000, 90_000, "MPI_Barrier("+world+")"),
			second: call(50_000, 10_000, "MPI_Barrier("+world+")"),
			moved:  []Moved{{"node1", 40_000}},
		},
		"a guess says nothing": {
			first:  call(100_000, 1000, "MPI_Send(0x1, 1, 1, 1, 7, "+world+")"),
			second: call(50_000, 10_000, "MPI_Recv(0x1, 1, 1, -2, 7, "+world+", 0x1)"),
		},
		"calls that contradict one another move nothing": {
			first:   call(100_000, 1000, "MPI_Barrier("+world+")") + call(10_000, 1000, "MPI_Barrier("+world+")"),
			second:  call(50_000, 10_000, "MPI_Barrier("+world+")") + call(150_000, 1000, "MPI_Barrier("+world+")"),
			unclear: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.machine == "" {
				c.machine = "m1"
			}
			r, err := Inspect(of(recording(0, "m0", 0, layer+c.first), recording(1, c.machine, 0, layer+c.second)))
			require.NoError(t, err)
			require.Equal(t, c.moved, r.Moved)
			require.Equal(t, c.unclear, len(r.Unclear) > 0)
			elapsed, _ := r.header.Value(format.MetaElapsed)
			by := int64(0)
			if c.moved != nil {
				by = max(c.moved[0].Nanos, 0)
			}
			require.Equal(t, string(format.AppendSeconds(nil, 1_000_000+by)), elapsed)
		})
	}
	// Calls that were not recorded upset the order of the others.
	first := recording(0, "m0", 0, layer+call(100_000, 90_000, "MPI_Barrier("+world+")"))
	second := recording(1, "m1", 0, layer+call(50_000, 10_000, "MPI_Barrier("+world+")"))
	for _, c := range []struct{ old, new string }{{"stepped=0", "stepped=8"}, {"stepped=0", "stepped=0 late=0.5"}, {"# lost: 0", "# lost: 5 write=5"}} {
		r, err := Inspect(of(first, strings.Replace(second, c.old, c.new, 1)))
		require.NoError(t, err)
		require.Empty(t, r.Moved, c.new)
	}
}

func TestClock(t *testing.T) {
	c, err := newClock([]format.Clock{{At: 0, Offset: 1000}, {At: 1e9, Offset: 2000}})
	require.NoError(t, err)
	require.Equal(t, int64(1000), c.at(0))
	require.Equal(t, int64(1e9+2000), c.at(1e9))
	require.Equal(t, int64(5e8+1500), c.at(5e8))

	_, err = newClock([]format.Clock{{Offset: 1 << 62}})
	require.ErrorContains(t, err, "out of range")
	_, err = newClock([]format.Clock{{At: 0, Offset: 0, Round: 10}, {At: 1e6, Offset: 1e6, Round: 10}})
	require.ErrorContains(t, err, "times as fast")
	c, err = newClock([]format.Clock{{At: 0, Offset: 0, Round: 40e3}, {At: 1e6, Offset: 30e3, Round: 40e3}})
	require.NoError(t, err, "measurements of a short run that are wrong by less than half their round trips")
	require.Equal(t, int64(1e6), c.at(1e6))
}

func TestErrors(t *testing.T) {
	const line = "10 0.000010000 pwrite64(3, 0x1000, 1, 0) = 1 <0.000001000>\n"
	one := recording(0, "m", 0, line)
	for name, c := range map[string]struct {
		texts []string
		err   string
	}{
		"none":        {nil, "no recordings"},
		"not a rank":  {[]string{"# pianola script 1\n" + line}, "n0.txt: not a recording of ranks, which record --ranks makes"},
		"one twice":   {[]string{one, one}, "rank 0, which is in n"},
		"another run": {[]string{one, strings.Replace(recording(1, "m", 0, line), "run=r", "run=q", 1)}, "n1.txt: of another run than n0.txt"},
		"too many":    {[]string{strings.Replace(one, "# rank: 0", "# rank: 2", 1)}, "n0.txt: no line with a measurement of the clock"},
		"beyond":      {[]string{strings.Replace(recording(1, "m", 0, line), "# rank: 1", "# rank: 2", 1)}, "n0.txt: rank 2, of 2"},
		"malformed":   {[]string{one + "10 oops\n"}, "n0.txt:"},
		"no count":    {[]string{strings.Replace(one, "lost: 0", "lost: many", 1)}, "n0.txt: lost:"},
		"no seconds":  {[]string{strings.Replace(one, "elapsed: 0", "elapsed: x", 1)}, "n0.txt: elapsed:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Inspect(of(c.texts...))
			require.ErrorContains(t, err, c.err)
		})
	}
	r, err := Inspect(of(recording(1, "m", 0, line)))
	require.NoError(t, err)
	require.Equal(t, []int32{0}, r.Missing)
	require.Empty(t, r.Endless)

	killed, _, _ := strings.Cut(recording(1, "m", 0, line), "# lost")
	r, err = Inspect(of(one, killed))
	require.NoError(t, err)
	require.Equal(t, []string{"node1"}, r.Endless)
	_, ended := r.header.Value(format.MetaLost)
	require.False(t, ended)
}

// Programs that ran side by side keep their distance if their recordings overlap. Each has its
// command as a process.
func TestBeside(t *testing.T) {
	one := func(start, tool string) string {
		return fmt.Sprintf("# pianola script 1\n# start: %s\n# recorder: %s\n# cost: inside=1 outside=2\n# cwd: \"/w\"\n7 0.010000000 fsync(3) = 0 <0.000001000>\n# lost: 2\n# exit: 0\n# elapsed: 0.020000000\n", start, tool)
	}
	r, err := Beside(of(one("2026-01-02T03:04:05.005Z", "ebpf"), one("2026-01-02T03:04:05Z", "ebpf")))
	require.NoError(t, err)
	events := readAll(t, r)
	require.Len(t, events, 2)
	require.Equal(t, []int64{7 + 1<<22, 10e6, 7, 15e6}, []int64{int64(events[0].TID), events[0].Start, int64(events[1].TID), events[1].Start})
	for key, want := range map[string]string{
		format.MetaStart: "2026-01-02T03:04:05Z", format.MetaTool: "ebpf", format.MetaLost: "4", format.MetaExit: "0", format.MetaElapsed: "0.025000000",
	} {
		got, _ := r.header.Value(key)
		require.Equal(t, want, got, key)
	}
	require.Equal(t, []format.Running{
		{Process: 7, Threads: []int32{7}, Cwd: "/w", Umask: -1}, {Process: 7 + 1<<22, Threads: []int32{7 + 1<<22}, Cwd: "/w", Umask: -1},
	}, r.header.Running())

	r, err = Beside(of(one("2026-01-02T03:04:05Z", "ebpf"), one("2026-01-03T03:04:05Z", "ptrace")))
	require.NoError(t, err)
	for _, e := range readAll(t, r) {
		require.EqualValues(t, 10e6, e.Start, "they begin together")
	}
	_, told := r.header.Value(format.MetaTool)
	require.False(t, told, "only one notes which thread woke which")
}
