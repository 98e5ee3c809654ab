package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ringScript is a trace of ranks in a ring: each writes after the one before has written,
// gap seconds later. Each rank has a file of its own and appends to one of all.
func ringScript(ranks, rounds int, gap float64) string {
	var b strings.Builder
	for r := range ranks {
		fmt.Fprintf(&b, "# thread: %d process=%d parent=0 rank=%d start=0.000000000\n", r+1, r+1, r)
	}
	for r := range ranks {
		fmt.Fprintf(&b, "# rank: %d node=n%d\n", r, r+1)
	}
	b.WriteString("# file: \"all\" reg mode=0644 size=100000 cached=0\n")
	for r := range ranks {
		fmt.Fprintf(&b, "%d openm ( out%d 50 384 ) = 3\n%d open ( all 10 ) = 4\n", r+1, r, r+1)
	}
	after := ""
	for round := range rounds {
		for r := range ranks {
			event := 2 + 2*round
			fmt.Fprintf(&b, "%d write ( 3 100 ) = 100 <0.000010000>%s\n%d write ( 4 10 ) = 10\n", r+1, after, r+1)
			after = fmt.Sprintf(" {after=%d:%d+%.9f:message}", r+1, event, gap)
		}
	}
	for r := range ranks {
		fmt.Fprintf(&b, "%d close ( 3 ) = 0\n%d close ( 4 ) = 0\n", r+1, r+1)
	}
	return b.String()
}

// ranksTrace compiles a script in a directory of its own, and returns the path of the trace.
func ranksTrace(t *testing.T, script string) string {
	dir := t.TempDir()
	text, trace := filepath.Join(dir, "trace.txt"), filepath.Join(dir, "trace.bin")
	require.NoError(t, os.WriteFile(text, []byte(script), 0o644))
	out, err := exec.Command("pianola", "compile", "-q", "-o", trace, text).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return trace
}

// player is a rank of a replay that a test has started.
type player struct {
	*exec.Cmd
	out, said bytes.Buffer
}

// startPlayers starts ranks by the environment alone. change changes one before it starts.
func startPlayers(t *testing.T, size int, change func(rank int, c *exec.Cmd), args ...string) (players []*player) {
	dir := t.TempDir()
	for rank := range size {
		p := &player{Cmd: exec.Command("pianola", append([]string{"replay", "--ranks"}, args...)...)}
		p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.said
		p.Env = append(os.Environ(), fmt.Sprint("PIANOLA_RANK=", rank), fmt.Sprint("PIANOLA_SIZE=", size))
		if change != nil {
			change(rank, p.Cmd)
		}
		require.NoError(t, p.Start())
		t.Cleanup(func() { _ = p.Process.Kill() })
		players = append(players, p)
	}
	return players
}

// ranksResult is what a test looks at in the output of a replay.
type ranksResult struct {
	Events struct{ Executed, Differed int64 }
	Ranks  []struct {
		Rank     int
		Node     string
		Recorded []int32
		Events   int64
		Elapsed  float64 `json:"elapsed_seconds"`
		Offset   float64 `json:"clock_offset_seconds"`
	}
	Between struct {
		Edges   int64
		Latency map[string]float64
	} `json:"between_ranks"`
	Prepared struct{ Files int64 }
}

func parseRanks(t *testing.T, out []byte) (r ranksResult) {
	require.NoError(t, json.Unmarshal(out, &r), "%s", out)
	return r
}

// requirePlayed waits for players, of which only rank 0 writes to standard output.
func requirePlayed(t *testing.T, players []*player) ranksResult {
	for rank, p := range players {
		err := p.Wait()
		require.NoError(t, err, "rank %d: %s", rank, p.said.String())
		if rank > 0 {
			require.Empty(t, p.out.String())
			require.Empty(t, p.said.String())
		}
	}
	return parseRanks(t, players[0].out.Bytes())
}

// requireRing requires that a log has the writes of a ring in its order.
func requireRing(t *testing.T, log string, ranks, rounds int) {
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	var order []int
	for _, m := range regexp.MustCompile(`(?m)^(\d+) \S+ write\(3, NULL, 100\) = 100`).FindAllStringSubmatch(string(text), -1) {
		thread, _ := strconv.Atoi(m[1])
		order = append(order, thread-1)
	}
	require.Len(t, order, ranks*rounds)
	for i, rank := range order {
		require.Equal(t, i%ranks, rank, "write %d", i)
	}
}

// ringGap is longer than the error of a clock on a busy machine.
const ringGap = 0.005

func TestRanksByEnvironment(t *testing.T) {
	const ranks, rounds = 4, 10
	trace := ranksTrace(t, ringScript(ranks, rounds, ringGap))
	for _, players := range []int{1, 2, 3, 4, 6} {
		t.Run(fmt.Sprint(players), func(t *testing.T) {
			meet := t.TempDir()
			all := startPlayers(t, players, nil, "--rendezvous", meet, "--log", "log", "--json", trace)
			r := requirePlayed(t, all)
			require.EqualValues(t, ranks*(4+2*rounds), r.Events.Executed)
			require.Zero(t, r.Events.Differed)
			require.Len(t, r.Ranks, players)
			var events int64
			var recorded []int32
			for i, one := range r.Ranks {
				require.Equal(t, i, one.Rank)
				require.NotEmpty(t, one.Node)
				require.Equal(t, len(one.Recorded) == 0, one.Events == 0)
				events += one.Events
				recorded = append(recorded, one.Recorded...)
			}
			require.Equal(t, r.Events.Executed, events)
			require.Equal(t, []int32{0, 1, 2, 3}, recorded)
			require.Equal(t, players > 1, r.Between.Edges > 0)
			require.EqualValues(t, 1, r.Prepared.Files)
			requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds)
			left, err := os.ReadDir(all[0].Dir)
			require.NoError(t, err)
			require.Len(t, left, 1, "only the log: the root is removed")
			left, err = os.ReadDir(meet)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// The profile of all ranks is one comparison, in text too.
func TestRanksText(t *testing.T) {
	all := startPlayers(t, 2, nil, "--rendezvous", t.TempDir(), "--root", "root", "--keep", ranksTrace(t, ringScript(4, 2, ringGap)))
	for _, p := range all {
		require.NoError(t, p.Wait(), "%s", p.said.String())
	}
	require.Regexp(t, `(?m)^ +all +32 +0 +0 +0$`, all[0].out.String())
	require.Regexp(t, `(?m)^ +0 +\S+ +0-1 +16 `, all[0].out.String())
	require.Regexp(t, `(?m)^ +1 +\S+ +2-3 +16 `, all[0].out.String())
	require.Regexp(t, `(?m)^between ranks: 3 edges; known to the other rank after p50 `, all[0].out.String())
	for rank := range 4 {
		info, err := os.Stat(filepath.Join(all[0].Dir, "root", fmt.Sprint("out", rank)))
		require.NoError(t, err)
		require.EqualValues(t, 200, info.Size())
	}
	info, err := os.Stat(filepath.Join(all[0].Dir, "root", "all"))
	require.NoError(t, err)
	require.EqualValues(t, 100_000+4*2*10, info.Size(), "all ranks append to one file")
}

// Nodes can have roots of their own, by the same name: each is prepared.
func TestRanksOnRootsOfTheirOwn(t *testing.T) {
	all := startPlayers(t, 4, func(rank int, c *exec.Cmd) {
		c.Dir = filepath.Join(c.Dir, fmt.Sprint("node", rank/2))
		require.NoError(t, os.MkdirAll(c.Dir, 0o755))
	}, "--rendezvous", t.TempDir(), "--root", "root", "--json", ranksTrace(t, ringScript(4, 2, ringGap)))
	r := requirePlayed(t, all)
	require.Zero(t, r.Events.Differed)
	require.EqualValues(t, 2, r.Prepared.Files, "one in each root")
	for _, p := range all {
		require.NoDirExists(t, filepath.Join(p.Dir, "root"))
	}
}

func TestManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: 64 processes")
	}
	const ranks, rounds = 64, 2
	all := startPlayers(t, ranks, nil, "--rendezvous", t.TempDir(), "--log", "log", "--json", ranksTrace(t, ringScript(ranks, rounds, ringGap)))
	r := requirePlayed(t, all)
	require.Len(t, r.Ranks, ranks)
	require.EqualValues(t, ranks*rounds-1, r.Between.Edges)
	require.Zero(t, r.Events.Differed)
	requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds)
}

// requireTimeNamespaces skips the test where the clock of a process can't be set. It returns
// the path of unshare.
func requireTimeNamespaces(t *testing.T) string {
	if os.Geteuid() != 0 {
		t.Skip("only root makes time namespaces")
	}
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("no unshare")
	}
	if err := exec.Command(path, "--time", "--monotonic", "1000", "--fork", "true").Run(); err != nil {
		t.Skip("no time namespaces")
	}
	return path
}

// Ranks whose clocks differ by 1000 seconds start at the same time.
func TestRanksWithOtherClocks(t *testing.T) {
	unshare := requireTimeNamespaces(t)
	const ranks, rounds = 4, 10
	all := startPlayers(t, ranks, func(rank int, c *exec.Cmd) {
		if rank > 0 {
			c.Path, c.Args = unshare, append([]string{"unshare", "--time", "--monotonic", fmt.Sprint(1000 * rank), "--fork"}, c.Args...)
		}
	}, "--rendezvous", t.TempDir(), "--log", "log", "--json", ranksTrace(t, ringScript(ranks, rounds, ringGap)))
	r := requirePlayed(t, all)
	require.Zero(t, r.Events.Differed)
	for rank, one := range r.Ranks {
		require.Less(t, one.Elapsed, 900.0)
		require.InDelta(t, -1000*rank, one.Offset, 1)
	}
	requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds)
}

// endlessScript is a trace of ranks that compute for an hour after the first write.
func endlessScript(ranks int) string {
	script := ringScript(ranks, 2, ringGap)
	return regexp.MustCompile(`(?m)^(\d+) close \( 3 \) = 0$`).ReplaceAllString(script, "$1 compute ( 3600.000000000 )\n$1 close ( 3 ) = 0")
}

// A rank that dies, or is interrupted, ends the others, and rank 0 says so.
func TestRankEndsTheOthers(t *testing.T) {
	trace := ranksTrace(t, endlessScript(4))
	for _, test := range []struct {
		name   string
		rank   int
		signal unix.Signal
		said   string // by rank 0, or by all others if that is the one
	}{
		{"dies", 2, unix.SIGKILL, `rank 2 on \S+ has died`},
		{"interrupted", 1, unix.SIGINT, `rank 1 on \S+: interrupted`},
		{"rank 0 dies", 0, unix.SIGKILL, `rank 0 on \S+ has died|the connection with rank 0 has ended`},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := startPlayers(t, 4, nil, "--rendezvous", t.TempDir(), "--root", "root", "--json", trace)
			last := filepath.Join(all[0].Dir, "root", "out3")
			require.Eventually(t, func() bool {
				info, err := os.Stat(last)
				return err == nil && info.Size() == 200
			}, 2*time.Minute, 10*time.Millisecond, "all have begun")
			require.NoError(t, all[test.rank].Process.Signal(test.signal))
			for rank, p := range all {
				require.Error(t, p.Wait(), "rank %d", rank)
				if rank != test.rank && (rank == 0 || test.rank == 0) {
					require.Regexp(t, `pianola: replay: .*(`+test.said+`)\n$`, p.said.String())
				} else {
					require.Empty(t, p.said.String(), "rank %d", rank)
				}
			}
		})
	}
}

// A difference that ends a strict replay of one rank ends that of all.
func TestStrictRanks(t *testing.T) {
	script := strings.Replace(endlessScript(4), "3 write ( 4 10 ) = 10\n", "3 write ( 5 10 ) = 10\n", 1)
	all := startPlayers(t, 4, nil, "--rendezvous", t.TempDir(), "--strict", "--json", ranksTrace(t, script))
	for rank, p := range all {
		require.Error(t, p.Wait(), "rank %d", rank)
	}
	require.Regexp(t, `rank 2 on \S+: .*event 3 of thread 3: write .*: result differs`, all[0].said.String())
}

func TestRanksAgree(t *testing.T) {
	one, other := ranksTrace(t, ringScript(2, 2, ringGap)), ranksTrace(t, ringScript(2, 3, ringGap))
	all := startPlayers(t, 2, func(rank int, c *exec.Cmd) {
		if rank == 1 {
			c.Args[len(c.Args)-1] = other
		}
	}, "--rendezvous", t.TempDir(), one)
	for _, p := range all {
		require.Error(t, p.Wait())
	}
	require.Regexp(t, `^pianola: replay: rank 1 on \S+ has another trace than rank 0\n$`, all[0].said.String())
}

// Two processes that are the same rank, or expect other numbers of ranks, don't play.
func TestRanksAreCounted(t *testing.T) {
	meet := t.TempDir()
	trace := ranksTrace(t, ringScript(2, 2, ringGap))
	all := startPlayers(t, 3, func(rank int, c *exec.Cmd) {
		size := 3
		if rank == 1 {
			size = 4
		}
		c.Env = append(c.Env, fmt.Sprint("PIANOLA_SIZE=", size))
	}, "--rendezvous", meet, trace)
	require.Error(t, all[1].Wait())
	require.Contains(t, all[1].said.String(), "rank 0 expects ranks of 3, not rank 1 of 4")
}

// A server of others carries the messages. Without its token no rank joins.
func TestRanksOnServer(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: "secret", NoSigs: true, NoLog: true})
	require.NoError(t, err)
	go s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(time.Minute))
	trace := ranksTrace(t, ringScript(4, 5, ringGap))
	token := "secret"
	set := func(_ int, c *exec.Cmd) { c.Env = append(c.Env, "PIANOLA_RUN=one", "PIANOLA_TOKEN="+token) }
	all := startPlayers(t, 4, set, "--rendezvous", s.ClientURL(), "--log", "log", "--json", trace)
	require.Zero(t, requirePlayed(t, all).Events.Differed)
	requireRing(t, filepath.Join(all[0].Dir, "log"), 4, 5)

	token = "guess"
	for _, p := range startPlayers(t, 2, set, "--rendezvous", s.ClientURL(), trace) {
		require.Error(t, p.Wait())
		require.Contains(t, p.said.String(), "Authorization Violation")
	}
}

// The variables of PyTorch's launcher say where rank 0 is. A secret is needed.
func TestRanksAtMaster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	trace := ranksTrace(t, ringScript(2, 5, ringGap))
	token := "secret"
	set := func(rank int, c *exec.Cmd) {
		c.Env = append(os.Environ(), fmt.Sprint("RANK=", rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", port), "PIANOLA_TOKEN="+token)
	}
	require.Zero(t, requirePlayed(t, startPlayers(t, 2, set, "--json", trace)).Events.Differed)

	token = ""
	for _, p := range startPlayers(t, 2, set, trace) {
		require.Error(t, p.Wait())
		require.Contains(t, p.said.String(), "set PIANOLA_TOKEN")
	}
}

// requireProgram skips the test without a program that a Debian package has.
func requireProgram(t *testing.T, name, debian string) {
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("no %s: install %s", name, debian)
	}
}

func TestRanksUnderHydra(t *testing.T) {
	requireProgram(t, "mpiexec.hydra", "mpich")
	dir := t.TempDir()
	c := exec.Command("mpiexec.hydra", "-n", "4", "pianola", "replay", "--ranks", "--log", "log", "--json", ranksTrace(t, ringScript(4, 10, ringGap)))
	c.Dir = dir
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	require.NoError(t, err, "%s", said.String())
	r := parseRanks(t, out)
	require.Len(t, r.Ranks, 4)
	require.Zero(t, r.Events.Differed)
	require.EqualValues(t, 39, r.Between.Edges)
	requireRing(t, filepath.Join(dir, "log"), 4, 10)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// Without a launcher, or with options that several ranks can't have, nothing is replayed.
func TestRanksUsage(t *testing.T) {
	trace := ranksTrace(t, ringScript(2, 1, ringGap))
	for _, test := range []struct{ line, said string }{
		{"--ranks", "--ranks: no launcher has set the rank of this process"},
		{"--rendezvous x", "--rendezvous: only --ranks has a use for it"},
		{"--ranks --copies 2", "--ranks does not go together with --copies"},
		{"--ranks --repeat 2", "--ranks does not go together with --repeat"},
		{"--ranks --backend memory", "--ranks does not go together with --backend memory"},
		{"--ranks --order total", "--ranks does not go together with --order total"},
		{"--ranks --prepare only --root x", "--ranks does not go together with --prepare only"},
	} {
		c := exec.Command("pianola", append(append([]string{"replay"}, strings.Fields(test.line)...), trace)...)
		c.Dir = t.TempDir()
		out, err := c.CombinedOutput()
		require.Error(t, err, test.line)
		require.Contains(t, string(out), test.said, test.line)
	}
	c := exec.Command("pianola", "replay", "--ranks", trace)
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), "PIANOLA_RANK=0", "PIANOLA_SIZE=2")
	out, err := c.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "neither --rendezvous nor MASTER_ADDR says where to meet")
	left, err := fs.Glob(os.DirFS(c.Dir), "*")
	require.NoError(t, err)
	require.Empty(t, left)
}
