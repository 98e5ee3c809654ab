package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
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
	"github.com/nats-io/nats.go"
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
		players = append(players, startPlayer(t, dir, rank, size, change, args...))
	}
	return players
}

// startPlayer starts one rank in a directory.
func startPlayer(t *testing.T, dir string, rank, size int, change func(rank int, c *exec.Cmd), args ...string) *player {
	p := &player{Cmd: exec.Command("pianola", append([]string{"replay", "--ranks"}, args...)...)}
	p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.said
	p.Env = append(os.Environ(), fmt.Sprint("PIANOLA_RANK=", rank), fmt.Sprint("PIANOLA_SIZE=", size))
	if change != nil {
		change(rank, p.Cmd)
	}
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
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
		Error    float64 `json:"clock_error_seconds"`
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

// requireRing requires that a log has the writes of a ring, and in its order if the clocks of
// the ranks are known well enough to tell. On a busy machine they may not be.
func requireRing(t *testing.T, log string, ranks, rounds int, r ranksResult) {
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	var order []int
	for _, m := range regexp.MustCompile(`(?m)^(\d+) \S+ write\(3, NULL, 100\) = 100`).FindAllStringSubmatch(string(text), -1) {
		thread, _ := strconv.Atoi(m[1])
		order = append(order, thread-1)
	}
	require.Len(t, order, ranks*rounds)
	for _, one := range r.Ranks {
		if 2*one.Error > ringGap {
			return
		}
	}
	for i, rank := range order {
		require.Equal(t, i%ranks, rank, "write %d", i)
	}
}

// ringGap, in seconds, is longer than the errors of two clocks on most machines.
const ringGap = 0.005

func TestRanksByEnvironment(t *testing.T) {
	t.Parallel()
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
			requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds, r)
			left, err := os.ReadDir(all[0].Dir)
			require.NoError(t, err)
			require.Len(t, left, 1, "only the log: the root is removed")
			left, err = os.ReadDir(meet)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// Each rank reads a file of its own, which has its part of the trace.
func TestRanksWithFilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	const ranks, rounds = 4, 5
	root := t.TempDir()
	divide := func(gap float64) (parts string) {
		parts = t.TempDir()
		out, err := exec.Command("pianola", "compile", "-q", "--ranks", "-o", parts, ranksTrace(t, ringScript(ranks, rounds, gap))).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return parts
	}
	play := func(players int, from func(rank int) string) []*player {
		return startPlayers(t, players, func(rank int, c *exec.Cmd) {
			c.Dir = filepath.Join(c.Dir, fmt.Sprint("rank", rank))
			name := fmt.Sprintf("rank-%d.bin", rank)
			part, err := os.ReadFile(filepath.Join(from(rank), name))
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(filepath.Join(c.Dir, "parts"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "parts", name), part, 0o644))
		}, "--rendezvous", t.TempDir(), "--root", filepath.Join(root, "root"), "--log", "log", "--json", "parts")
	}
	parts, others := divide(ringGap), divide(2*ringGap)
	all := play(ranks, func(int) string { return parts })
	r := requirePlayed(t, all)
	require.EqualValues(t, ranks*(4+2*rounds), r.Events.Executed)
	require.Zero(t, r.Events.Differed)
	require.Len(t, r.Ranks, ranks)
	require.EqualValues(t, ranks*rounds-1, r.Between.Edges)
	requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds, r)

	requireFailed := func(all []*player, want string) {
		failed, said := 0, ""
		for _, p := range all {
			if p.Wait() != nil {
				failed++
			}
			said += p.said.String()
		}
		require.Equal(t, len(all), failed)
		require.Contains(t, said, want)
	}
	requireFailed(play(ranks, func(rank int) string {
		if rank == 2 {
			return others
		}
		return parts
	}), "has another trace than rank 0")
	requireFailed(play(2, func(int) string { return parts }), "rank-1.bin: records of thread 3 at byte ")
}

// The profile of all ranks is one comparison, in text too.
func TestRanksText(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// Several replays in one launch: each begins with the files as they were.
func TestRanksRepeat(t *testing.T) {
	t.Parallel()
	const ranks, rounds, runs = 4, 5, 4
	trace := ranksTrace(t, ringScript(ranks, rounds, ringGap))
	all := startPlayers(t, ranks, nil, "--rendezvous", t.TempDir(), "--root", "root", "--runs", fmt.Sprint(runs), "--log", "log", "--json", trace)
	for rank, p := range all {
		require.NoError(t, p.Wait(), "rank %d: %s", rank, p.said.String())
	}
	var out struct {
		Traces []struct{ Runs []ranksResult }
	}
	require.NoError(t, json.Unmarshal(all[0].out.Bytes(), &out))
	require.Len(t, out.Traces, 1)
	require.Len(t, out.Traces[0].Runs, runs)
	for i, r := range out.Traces[0].Runs {
		require.Zero(t, r.Events.Differed)
		require.EqualValues(t, ranks*(4+2*rounds), r.Events.Executed)
		require.Len(t, r.Ranks, ranks)
		require.EqualValues(t, ranks*rounds-1, r.Between.Edges)
		require.EqualValues(t, 1, r.Prepared.Files)
		requireRing(t, filepath.Join(all[0].Dir, fmt.Sprint("log-", i+1)), ranks, rounds, r)
	}
	require.NoDirExists(t, filepath.Join(all[0].Dir, "root"))

	// The root of before is restored, and the table has medians.
	all = startPlayers(t, 2, nil, "--rendezvous", t.TempDir(), "--root", "root", "--keep", "--runs", "3", trace)
	for _, p := range all {
		require.NoError(t, p.Wait(), "%s", p.said.String())
	}
	require.Regexp(t, `(?m)^ +rank +node +recorded +executed +elapsed s +least +most +started late +clock within$`, all[0].out.String())
	require.Regexp(t, `(?m)^ +1 +\S+ +2-3 +28 +0\.\d+ +0\.\d+ +0\.\d+ `, all[0].out.String())
	require.Regexp(t, `(?m)^ +3 +\d+\.\d+ +56 +0 +0 `, all[0].out.String())
	info, err := os.Stat(filepath.Join(all[0].Dir, "root", "all"))
	require.NoError(t, err)
	require.EqualValues(t, 100_000+4*5*10, info.Size())
}

// Names of maps lie in directories that all ranks see, or that each node has of its own.
// Each directory is prepared once, and nothing is left.
func TestRanksWithMaps(t *testing.T) {
	t.Parallel()
	script := strings.Replace(ringScript(4, 2, ringGap), "# file:", "# file: \"logs\" dir mode=0755 size=0 cached=-1\n# file: \"logs/in\" reg mode=0644 size=5000 cached=0\n# file:", 1)
	for thread := 1; thread <= 4; thread++ {
		script += fmt.Sprintf("%[1]d openm ( logs/own%[1]d 50 384 ) = 9\n%[1]d write ( 9 700 ) = 700\n", thread)
	}
	// The directory that the last rank makes must be in the map's root for the first one's file.
	script += "4 mkdir ( logs/made 448 ) = 0\n1 openm ( logs/made/own 50 384 ) = 7 {after=4:10+0.005000000:name}\n"
	trace := ranksTrace(t, script)
	for _, test := range []struct {
		name  string
		nodes int
		keep  bool
		files int64 // that are prepared
	}{
		// The root has logs, a stand-in of logs/in, and all; shared has logs and logs/in; own has logs and logs/made.
		{"shared", 1, true, 3 + 2 + 2},
		{"shared, removed", 1, false, 3 + 2 + 2},
		{"of two nodes", 2, true, 2*3 + 2 + 2*2},
		{"of two nodes, removed", 2, false, 2*3 + 2 + 2*2},
		{"of each rank", 4, true, 4*3 + 2 + 4*2},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			node := func(rank int) string { return filepath.Join(dir, fmt.Sprint("node", rank*test.nodes/4)) }
			args := []string{"--rendezvous", t.TempDir(), "--root", "root", "--map", "*/own*=own", "--map", "/logs/*=" + filepath.Join(dir, "all/shared"), "--json", trace}
			if test.keep {
				args = append([]string{"--keep"}, args...)
			}
			r := requirePlayed(t, startPlayers(t, 4, func(rank int, c *exec.Cmd) {
				c.Dir = node(rank)
				require.NoError(t, os.MkdirAll(c.Dir, 0o755))
			}, args...))
			require.Zero(t, r.Events.Differed)
			require.Equal(t, test.files, r.Prepared.Files)
			if !test.keep {
				left, err := filepath.Glob(filepath.Join(dir, "*/*"))
				require.NoError(t, err)
				require.Empty(t, left)
				return
			}
			for rank := range 4 {
				for file, size := range map[string]int64{
					filepath.Join(node(rank), fmt.Sprint("own/logs/own", rank+1)): 700,
					filepath.Join(node(rank), "root/logs/in"):                     0,
					filepath.Join(dir, "all/shared/logs/in"):                      5000,
				} {
					info, err := os.Stat(file)
					require.NoError(t, err)
					require.Equal(t, size, info.Size(), file)
				}
			}
			require.FileExists(t, filepath.Join(node(0), "own/logs/made/own"))
			left, err := filepath.Glob(filepath.Join(dir, "*/*/.pianola-ranks-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// One rank says what is wrong with a map, and nothing is left.
func TestRanksWithWrongMaps(t *testing.T) {
	t.Parallel()
	trace := ranksTrace(t, ringScript(4, 2, ringGap)+"3 rename ( out2 moved ) = 0\n")
	for name, test := range map[string]struct {
		glob, said string
		rank       int // that finds out
	}{
		"no name":     {"/nosuch*", `no name of the trace matches\nhint: .*\n$`, 0},
		"across maps": {"*/out2", `a map separates them\nhint: .*\n$`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			all := startPlayers(t, 4, nil, "--rendezvous", t.TempDir(), "--root", "root", "--map", test.glob+"=map", trace)
			for rank, p := range all {
				require.Error(t, p.Wait())
				if rank == test.rank {
					require.Regexp(t, test.said, p.said.String())
				} else if rank > 0 {
					require.Empty(t, p.said.String())
				}
			}
			require.Regexp(t, `^pianola: replay: .*`+strings.Split(test.said, `\n`)[0], all[0].said.String())
			left, err := os.ReadDir(all[0].Dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

func TestManyRanks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: 64 processes")
	}
	const ranks, rounds = 64, 2
	all := startPlayers(t, ranks, nil, "--rendezvous", t.TempDir(), "--log", "log", "--json", ranksTrace(t, ringScript(ranks, rounds, ringGap)))
	r := requirePlayed(t, all)
	require.Len(t, r.Ranks, ranks)
	require.EqualValues(t, ranks*rounds-1, r.Between.Edges)
	require.Zero(t, r.Events.Differed)
	requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds, r)
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
	t.Parallel()
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
	requireRing(t, filepath.Join(all[0].Dir, "log"), ranks, rounds, r)
}

// endlessScript is a trace of ranks that compute for an hour after the first write.
func endlessScript(ranks int) string {
	script := ringScript(ranks, 2, ringGap)
	return regexp.MustCompile(`(?m)^(\d+) close \( 3 \) = 0$`).ReplaceAllString(script, "$1 compute ( 3600.000000000 )\n$1 close ( 3 ) = 0")
}

// A rank that dies, or is interrupted, ends the others, and rank 0 says so.
func TestRankEndsTheOthers(t *testing.T) {
	t.Parallel()
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

// The others hear of a rank that dies while one has not joined yet.
func TestRankDiesBeforeAllHaveJoined(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	go s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(time.Minute))
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	reply, joined := "", make(chan struct{}, 10)
	_, err = conn.Subscribe(">", func(m *nats.Msg) {
		switch {
		case strings.HasSuffix(m.Subject, "join"):
			reply = m.Reply
		case m.Subject == reply && len(m.Data) == 0 && len(m.Header) == 0:
			joined <- struct{}{}
		}
	})
	require.NoError(t, err)
	require.NoError(t, conn.Flush())

	dir, trace := t.TempDir(), ranksTrace(t, ringScript(3, 5, ringGap))
	set := func(_ int, c *exec.Cmd) { c.Env = append(c.Env, "PIANOLA_RUN=one") }
	first := startPlayer(t, dir, 0, 3, set, "--rendezvous", s.ClientURL(), trace)
	second := startPlayer(t, dir, 1, 3, set, "--rendezvous", s.ClientURL(), trace)
	<-joined
	require.NoError(t, second.Process.Kill())
	require.Error(t, second.Wait())
	require.Error(t, first.Wait())
	require.Regexp(t, `^pianola: replay: rank 1 on \S+ has died\n$`, first.said.String())
}

// carrier returns the process that carries the messages of a rank.
func (p *player) carrier(t *testing.T) int {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
	require.NoError(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		require.NoError(t, err)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return pid
		}
	}
	require.Fail(t, "no carrier")
	return 0
}

// scancel and the like signal all processes of a job, the carriers too: all ranks end, and
// the root is removed.
func TestRanksAreCancelled(t *testing.T) {
	t.Parallel()
	all := startPlayers(t, 4, nil, "--rendezvous", t.TempDir(), "--root", "root", "--map", "*/out3=map", "--json", ranksTrace(t, endlessScript(4)))
	last := filepath.Join(all[0].Dir, "map", "out3")
	require.Eventually(t, func() bool {
		info, err := os.Stat(last)
		return err == nil && info.Size() == 200
	}, 2*time.Minute, 10*time.Millisecond, "all have begun")
	for _, p := range all {
		require.NoError(t, unix.Kill(p.carrier(t), unix.SIGTERM))
	}
	for _, p := range all {
		require.NoError(t, p.Process.Signal(unix.SIGTERM))
	}
	for rank, p := range all {
		require.Error(t, p.Wait(), "rank %d", rank)
		require.NotContains(t, p.said.String(), "pianola-ranks has ended")
	}
	left, err := os.ReadDir(all[0].Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A rank that is stopped for a while goes on.
func TestRankIsStopped(t *testing.T) {
	t.Parallel()
	const rounds = 40
	all := startPlayers(t, 2, nil, "--rendezvous", t.TempDir(), "--root", "root", "--json", ranksTrace(t, ringScript(2, rounds, ringGap)))
	file := filepath.Join(all[0].Dir, "root", "out1")
	begun := func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	}
	require.Eventually(t, begun, 2*time.Minute, time.Millisecond)
	require.NoError(t, all[1].Process.Signal(unix.SIGSTOP))
	stopped := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", all[1].Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	}
	require.Eventually(t, stopped, 2*time.Minute, time.Millisecond)
	require.NoError(t, all[1].Process.Signal(unix.SIGCONT))
	r := requirePlayed(t, all)
	require.Zero(t, r.Events.Differed)
	require.EqualValues(t, 2*(4+2*rounds), r.Events.Executed)
}

// A difference that ends a strict replay of one rank ends that of all.
func TestStrictRanks(t *testing.T) {
	t.Parallel()
	script := strings.Replace(endlessScript(4), "3 write ( 4 10 ) = 10\n", "3 write ( 5 10 ) = 10\n", 1)
	all := startPlayers(t, 4, nil, "--rendezvous", t.TempDir(), "--strict", "--json", ranksTrace(t, script))
	for rank, p := range all {
		require.Error(t, p.Wait(), "rank %d", rank)
	}
	require.Regexp(t, `rank 2 on \S+: .*event 3 of thread 3: write\(.*: result differs`, all[0].said.String())
}

func TestRanksAgree(t *testing.T) {
	t.Parallel()
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

func TestRanksAgreeOnOptions(t *testing.T) {
	t.Parallel()
	all := startPlayers(t, 2, func(rank int, c *exec.Cmd) {
		if rank == 1 {
			c.Args = append(c.Args[:3:3], append([]string{"--map", "*=there"}, c.Args[3:]...)...)
		}
	}, "--rendezvous", t.TempDir(), "--map", "/out*=here", ranksTrace(t, ringScript(2, 2, ringGap)))
	for _, p := range all {
		require.Error(t, p.Wait())
	}
	require.Regexp(t, `^pianola: replay: rank 1 on \S+ has other options than rank 0: --map \*=there /out\*=here, not --map /out\*=here\n$`, all[0].said.String())
}

// Two processes that are the same rank, or expect other numbers of ranks, don't play.
func TestRanksAreCounted(t *testing.T) {
	t.Parallel()
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

// Ranks say why they do not meet, and leave nothing.
func TestRanksThatDoNotMeet(t *testing.T) {
	t.Parallel()
	trace := ranksTrace(t, ringScript(3, 2, ringGap))
	none := filepath.Join(t.TempDir(), "none")
	short := []string{"--rendezvous-timeout", "1s"}
	for _, test := range []struct {
		name  string
		start []int // the ranks, of three
		args  []string
		said  []string // by each of them; empty for nothing
	}{
		{"no directory", []int{0, 1, 2}, []string{"--rendezvous", none}, []string{`rendezvous: stat \S+: no such file`, `rendezvous: stat \S+: no such file`, `rendezvous: stat \S+: no such file`}},
		{"a file", []int{0, 1}, []string{"--rendezvous", trace}, []string{`is not a directory`, `is not a directory`}},
		{"a rank that never comes", []int{0, 1}, append(short, "--rendezvous", "."), []string{`after 1s these ranks have not joined: (1-)?2`, ``}},
		{"no rank 0", []int{1, 2}, append(short, "--rendezvous", "."), []string{`no connection with rank 0 after 1s: rendezvous: open pianola-ranks: no such file`, `no connection with rank 0`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			var all []*player
			for _, rank := range test.start {
				all = append(all, startPlayer(t, dir, rank, 3, nil, append(test.args, trace)...))
			}
			for i, p := range all {
				require.Error(t, p.Wait())
				if test.said[i] == "" {
					require.Empty(t, p.said.String())
				} else {
					require.Regexp(t, `^pianola: replay: .*`+test.said[i], p.said.String())
				}
			}
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// A rank that cannot read the trace ends the others.
func TestRankWithoutTrace(t *testing.T) {
	t.Parallel()
	all := startPlayers(t, 3, func(rank int, c *exec.Cmd) {
		if rank == 1 {
			c.Args[len(c.Args)-1] = "nosuch.bin"
		}
	}, "--rendezvous", t.TempDir(), ranksTrace(t, ringScript(3, 2, ringGap)))
	for _, p := range all {
		require.Error(t, p.Wait())
	}
	require.Regexp(t, `^pianola: replay: rank 1 on \S+: nosuch.bin: no such file\n$`, all[0].said.String())
	require.Regexp(t, `^pianola: replay: nosuch.bin: no such file\n$`, all[1].said.String())
	require.Empty(t, all[2].said.String())
}

// Files of killed replays, at the place to meet and in the root, do no harm.
func TestRanksAfterKilledOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pianola-ranks"), []byte(`{"URLs":["nats://127.0.0.1:1"],"Token":"old","Run":"old"}`), 0o600))
	root := filepath.Join(dir, "root")
	require.NoError(t, os.Mkdir(root, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, ".pianola-ranks-OLD"), []byte("1"), 0o600))
	all := startPlayers(t, 2, nil, "--rendezvous", dir, "--root", root, "--json", ranksTrace(t, ringScript(2, 2, ringGap)))
	require.Zero(t, requirePlayed(t, all).Events.Differed)
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, left, "the directory is the user's")
	require.NoFileExists(t, filepath.Join(dir, "pianola-ranks"))

	// Files of others stay: such a directory is not a root.
	own := filepath.Join(root, "mine")
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	all = startPlayers(t, 2, nil, "--rendezvous", dir, "--root", root, ranksTrace(t, ringScript(2, 2, ringGap)))
	for _, p := range all {
		require.Error(t, p.Wait())
	}
	require.Regexp(t, `not empty and not made by pianola\n`, all[0].said.String())
	require.FileExists(t, own)
}

// PIANOLA_RUN separates two replays that meet in one directory at a time. Without
// it, the second one does not take the ranks of the first.
func TestRanksMeetApart(t *testing.T) {
	t.Parallel()
	meet, dir := t.TempDir(), t.TempDir()
	trace := ranksTrace(t, ringScript(2, 2, ringGap))
	first := startPlayer(t, dir, 0, 2, nil, "--rendezvous", meet, "--root", "one", "--json", trace)
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(meet, "pianola-ranks"))
		return json.Valid(text)
	}, 2*time.Minute, 10*time.Millisecond)
	second := startPlayer(t, dir, 0, 2, nil, "--rendezvous", meet, "--root", "two", trace)
	require.Error(t, second.Wait())
	require.Regexp(t, `^pianola: replay: rendezvous: another replay meets at \S+ now: use another directory, or set PIANOLA_RUN`, second.said.String())

	named := startPlayers(t, 2, func(_ int, c *exec.Cmd) { c.Env = append(c.Env, "PIANOLA_RUN=two") }, "--rendezvous", meet, "--json", trace)
	require.Zero(t, requirePlayed(t, named).Events.Differed)
	last := startPlayer(t, dir, 1, 2, nil, "--rendezvous", meet, "--root", "one", "--json", trace)
	require.Zero(t, requirePlayed(t, []*player{first, last}).Events.Differed)
	left, err := os.ReadDir(meet)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A server of others carries the messages. Without its token no rank joins.
func TestRanksOnServer(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: "secret", NoSigs: true, NoLog: true})
	require.NoError(t, err)
	go s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(time.Minute))
	trace := ranksTrace(t, ringScript(4, 5, ringGap))
	token := "secret"
	set := func(_ int, c *exec.Cmd) { c.Env = append(c.Env, "PIANOLA_RUN=one", "PIANOLA_TOKEN="+token) }
	all := startPlayers(t, 4, set, "--rendezvous", s.ClientURL(), "--log", "log", "--json", trace)
	r := requirePlayed(t, all)
	require.Zero(t, r.Events.Differed)
	requireRing(t, filepath.Join(all[0].Dir, "log"), 4, 5, r)

	token = "guess"
	for _, p := range startPlayers(t, 2, set, "--rendezvous", s.ClientURL(), trace) {
		require.Error(t, p.Wait())
		require.Contains(t, p.said.String(), "Authorization Violation")
	}
}

// selfMade returns a certificate of this machine, and the path of a file with it.
func selfMade(t *testing.T) (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "certificate.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// A server of others with TLS must have a certificate that the ranks can verify.
func TestRanksOnServerWithTLS(t *testing.T) {
	t.Parallel()
	certificate, file := selfMade(t)
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: "secret", NoSigs: true, NoLog: true,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, TLSTimeout: 60, AuthTimeout: 60,
	})
	require.NoError(t, err)
	go s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(time.Minute))
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	go plain.Start()
	defer plain.Shutdown()
	require.True(t, plain.ReadyForConnections(time.Minute))

	address := "tls://" + s.Addr().String()
	trace := ranksTrace(t, ringScript(4, 5, ringGap))
	for name, test := range map[string]struct {
		url, token, file string
		said             string // empty for a replay that works
	}{
		"tls":                  {address, "secret", file, ""},
		"nats":                 {s.ClientURL(), "secret", file, ""},
		"wrong token":          {address, "guess", file, `Authorization Violation`},
		"unknown certificate":  {address, "secret", "/dev/null", `certificate signed by unknown authority: SSL_CERT_FILE can name a file`},
		"another name":         {"tls://localhost:" + strconv.Itoa(s.Addr().(*net.TCPAddr).Port), "secret", file, `certificate is not valid for any names, but wanted to match localhost`},
		"a server without TLS": {"tls://" + plain.Addr().String(), "secret", file, `secure connection not available`},
	} {
		t.Run(name, func(t *testing.T) {
			all := startPlayers(t, 4, func(_ int, c *exec.Cmd) {
				c.Env = append(c.Env, "PIANOLA_RUN=one", "PIANOLA_TOKEN="+test.token, "SSL_CERT_FILE="+test.file, "SSL_CERT_DIR="+t.TempDir())
			}, "--rendezvous", test.url, "--log", "log", "--json", trace)
			if test.said == "" {
				r := requirePlayed(t, all)
				require.Zero(t, r.Events.Differed)
				requireRing(t, filepath.Join(all[0].Dir, "log"), 4, 5, r)
				return
			}
			for _, p := range all {
				require.Error(t, p.Wait())
				require.Regexp(t, `^pianola: replay: .*`+test.said, p.said.String())
			}
		})
	}
}

// The variables of PyTorch's launcher say where rank 0 is. A secret is needed.
func TestRanksAtMaster(t *testing.T) {
	t.Parallel()
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

	// Rank 0 goes on waiting for a rank 1 with its secret.
	other := startPlayers(t, 2, func(rank int, c *exec.Cmd) {
		token = []string{"secret", "guess"}[rank]
		set(rank, c)
	}, trace)
	require.Error(t, other[1].Wait())
	require.Regexp(t, `^pianola: replay: .*the server there is not rank 0 of this run: it has another token\n$`, other[1].said.String())
	require.NoError(t, other[0].Process.Signal(unix.SIGINT))
	require.Error(t, other[0].Wait())

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
	t.Parallel()
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
	requireRing(t, filepath.Join(dir, "log"), 4, 10, r)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// Another node has a page cache of its own, also of what a map's directory has. The files
// count once.
func TestRanksOnNodesWithMaps(t *testing.T) {
	t.Parallel()
	requireProgram(t, "mpiexec.hydra", "mpich")
	script := "# file: \"logs\" dir mode=0755 size=0 cached=-1\n# file: \"logs/in\" reg mode=0644 size=500000 cached=0\n" + ringScript(4, 2, ringGap)
	for rank := range 4 {
		script += fmt.Sprintf("%[1]d open ( logs/in 1 ) = 9\n%[1]d read ( 9 5000 ) = 5000\n", rank+1)
	}
	dir := t.TempDir()
	c := exec.Command("mpiexec.hydra", "-launcher", "fork", "-hosts", "n1:2,n2:2", "-n", "4",
		"pianola", "replay", "--ranks", "--root", "root", "--map", "/logs/*=map", "--cache", "warm", "--json", ranksTrace(t, script))
	c.Dir = dir
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	require.NoError(t, err, "%s", said.String())
	r := parseRanks(t, out)
	require.Zero(t, r.Events.Differed)
	var nodes []string
	for _, one := range r.Ranks {
		nodes = append(nodes, one.Node)
	}
	require.Equal(t, []string{"n1", "n1", "n2", "n2"}, nodes)
	require.EqualValues(t, 3+2, r.Prepared.Files, "root: logs, a stand-in, all; map: logs, logs/in")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Without a launcher, or with options that several ranks can't have, nothing is replayed.
func TestRanksUsage(t *testing.T) {
	t.Parallel()
	trace := ranksTrace(t, ringScript(2, 1, ringGap))
	for _, test := range []struct{ line, said string }{
		{"--ranks", "--ranks: no launcher has set the rank of this process"},
		{"--rendezvous x", "--rendezvous needs --ranks"},
		{"--ranks --copies 2", "--ranks does not go together with --copies"},
		{"--rendezvous-timeout 1s", "--rendezvous-timeout needs --ranks"},
		{"--ranks --rendezvous-timeout 0s", "--rendezvous-timeout: 0s is not above 0"},
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
