package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/script"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// slurmConf configures a cluster of four nodes on one machine.
const slurmConf = `ClusterName=pianola
SlurmctldHost=HOST(127.0.0.1)
SlurmUser=root
SlurmctldPort=PORT0
AuthType=auth/munge
AuthInfo=socket=DIR/munge.sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/%n.pid
SlurmdSpoolDir=DIR/%n
StateSaveLocation=DIR/state
SlurmctldLogFile=DIR/slurmctld.log
SlurmdLogFile=DIR/%n.log
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=HOST NodeAddr=127.0.0.1 Port=PORT1 CPUs=8 State=UNKNOWN
NodeName=n2 NodeHostname=HOST NodeAddr=127.0.0.1 Port=PORT2 CPUs=8 State=UNKNOWN
NodeName=n3 NodeHostname=HOST NodeAddr=127.0.0.1 Port=PORT3 CPUs=8 State=UNKNOWN
NodeName=n4 NodeHostname=HOST NodeAddr=127.0.0.1 Port=PORT4 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
`

// cluster is a Slurm of four nodes, n1 to n4.
type cluster struct {
	dir, conf string
	running   []*exec.Cmd
}

// startSlurm starts a cluster. Node n is started by the words wrap[n-1] before its command.
func startSlurm(t *testing.T, wrap [4][]string) *cluster {
	for _, name := range []string{"srun", "slurmctld", "slurmd", "munged"} {
		requireProgram(t, name, "slurm-wlm and munge")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root starts slurmd")
	}
	dir, err := os.MkdirTemp("", "slurm") // a short path, for the socket
	require.NoError(t, err)
	c := &cluster{dir: dir, conf: filepath.Join(dir, "slurm.conf")}
	t.Cleanup(func() { c.stop(t) })
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")
	words := []string{"HOST", host, "DIR", dir}
	var reserved []net.Listener // so that all differ
	for i := range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		reserved = append(reserved, l)
		words = append(words, fmt.Sprint("PORT", i), strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	key := filepath.Join(dir, "munge.key")
	require.NoError(t, os.WriteFile(c.conf, []byte(strings.NewReplacer(words...).Replace(slurmConf)), 0o644))
	require.NoError(t, os.WriteFile(key, bytes.Repeat([]byte("key of a test "), 100), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "state"), 0o755))
	c.start(t, "munged", "--foreground", "--force", "--key-file="+key, "--socket="+filepath.Join(dir, "munge.sock"), "--pid-file="+filepath.Join(dir, "munged.pid"),
		"--log-file="+filepath.Join(dir, "munged.log"), "--seed-file="+filepath.Join(dir, "seed"))
	requireFile(t, filepath.Join(dir, "munge.sock"))
	for _, l := range reserved {
		require.NoError(t, l.Close())
	}
	c.start(t, "slurmctld", "-D", "-c", "-f", c.conf)
	for i, words := range wrap {
		node := fmt.Sprint("n", i+1)
		require.NoError(t, os.Mkdir(filepath.Join(dir, node), 0o755))
		c.start(t, slices.Concat(words, []string{"slurmd", "-D", "-N", node, "-f", c.conf})...)
	}
	require.Eventually(t, func() bool {
		out, _ := c.command("sinfo", "-h", "-o", "%t %D").Output()
		return strings.HasPrefix(string(out), "idle 4")
	}, 2*time.Minute, 100*time.Millisecond, "the nodes are idle")
	return c
}

// requireFile waits for a file.
func requireFile(t *testing.T, name string) {
	require.Eventually(t, func() bool { _, err := os.Stat(name); return err == nil }, 2*time.Minute, 10*time.Millisecond, name)
}

// command returns a command that finds the cluster.
func (c *cluster) command(words ...string) *exec.Cmd {
	x := exec.Command(words[0], words[1:]...)
	x.Env = append(os.Environ(), "SLURM_CONF="+c.conf)
	return x
}

// start starts a daemon, in a process group of its own.
func (c *cluster) start(t *testing.T, words ...string) {
	x := c.command(words...)
	x.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	require.NoError(t, x.Start())
	c.running = append(c.running, x)
}

// stop ends the daemons.
func (c *cluster) stop(t *testing.T) {
	for _, x := range slices.Backward(c.running) {
		_ = unix.Kill(-x.Process.Pid, unix.SIGTERM)
		ended := time.AfterFunc(20*time.Second, func() { _ = unix.Kill(-x.Process.Pid, unix.SIGKILL) })
		_ = x.Wait()
		ended.Stop()
	}
	require.NoError(t, os.RemoveAll(c.dir))
}

// srun runs a command under srun in a directory.
func (c *cluster) srun(dir string, args ...string) (out, said string, err error) {
	x := c.command(append([]string{"srun", "--immediate=120"}, args...)...)
	var stdout, stderr bytes.Buffer
	x.Dir, x.Stdout, x.Stderr = dir, &stdout, &stderr
	err = x.Run()
	return stdout.String(), stderr.String(), err
}

func TestRanksUnderSlurm(t *testing.T) {
	t.Parallel()
	c := startSlurm(t, [4][]string{})
	trace := ranksTrace(t, ringScript(4, 10, ringGap))
	for name, args := range map[string][]string{
		"pmi2":      {"-n", "4", "--mpi=pmi2"},
		"directory": {"-n", "4"},
		"eight":     {"-n", "8", "--mpi=pmi2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			words := slices.Concat([]string{"-N", "4"}, args, []string{"pianola", "replay", "--ranks", "--log", "log", "--json"})
			if name == "directory" {
				words = append(words, "--rendezvous", ".")
			}
			out, said, err := c.srun(dir, append(words, trace)...)
			require.NoError(t, err, said)
			r := parseRanks(t, []byte(out))
			require.Zero(t, r.Events.Differed)
			nodes := map[string]bool{}
			for _, one := range r.Ranks {
				nodes[one.Node] = true
			}
			require.Equal(t, map[string]bool{"n1": true, "n2": true, "n3": true, "n4": true}, nodes)
			requireRing(t, filepath.Join(dir, "log"), 4, 10, r)
		})
	}
}

// otherClocks are the words that start nodes whose clocks are not that of the machine.
func otherClocks(t *testing.T) (wrap [4][]string) {
	unshare := requireTimeNamespaces(t)
	for i, seconds := range []string{1: "1000", 2: "-10"} {
		if seconds != "" {
			wrap[i] = []string{unshare, "--time", "--monotonic", seconds, "--boottime", seconds, "--fork"}
		}
	}
	return wrap
}

// headersIn returns the headers of the recordings in a directory, by node.
func headersIn(t *testing.T, dir string) map[string]*format.Header {
	all := map[string]*format.Header{}
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	require.NoError(t, err)
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		r := script.NewReader(f, name)
		events := make([]format.Event, 256)
		for err == nil {
			_, err = r.Read(events)
		}
		require.NoError(t, f.Close())
		all[strings.TrimSuffix(filepath.Base(name), ".txt")] = r.Header()
	}
	return all
}

// otherMachines copies the recordings of nodes, as if each node were a machine of its own.
func otherMachines(t *testing.T, from, to string) {
	require.NoError(t, os.Mkdir(to, 0o755))
	names, err := filepath.Glob(filepath.Join(from, "*.txt"))
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		base := filepath.Base(name)
		text = bytes.Replace(text, []byte(" machine="), []byte(" machine="+base), 1)
		require.NoError(t, os.WriteFile(filepath.Join(to, base), text, 0o600))
	}
}

// requireClocks requires that the recorders of the nodes have measured the clocks: all have
// that of this machine, on which their recordings began at different times.
func requireClocks(t *testing.T, headers map[string]*format.Header, measured int) {
	first, ok := headers["n1"].Program()
	require.True(t, ok)
	for node, h := range headers {
		p, ok := h.Program()
		require.True(t, ok)
		require.Equal(t, first.Run, p.Run)
		clocks, err := h.Clocks()
		require.NoError(t, err)
		if node == "n1" {
			require.Empty(t, clocks)
			continue
		}
		require.Len(t, clocks, measured, node)
		for _, c := range clocks {
			require.InDelta(t, p.Begun-first.Begun, c.Offset, float64(c.Round/2+1), "%s: %v", node, &c)
		}
	}
}

func TestRecordUnderSlurm(t *testing.T) {
	t.Parallel() // beside other tests; its cases share one cluster, and one of them takes the only step
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	requireProgram(t, "mpicc", "libmpich-dev")
	c := startSlurm(t, otherClocks(t))
	program := filepath.Join(t.TempDir(), "mpi")
	out, err := exec.Command("mpicc", "-O2", "-I../../scripts/load", "-o", program, "../../scripts/load/mpi.c").CombinedOutput()
	require.NoError(t, err, "%s", out)

	// record records into the directory run of a new one, which it returns.
	record := func(t *testing.T, words ...string) (dir, said string, err error) {
		dir = t.TempDir()
		_, said, err = c.srun(dir, append([]string{"--mpi=pmi2"}, words...)...)
		return dir, said, err
	}
	recorder := []string{"pianola", "record", "--ranks", "--layer", "mpi", "--slow-functions", "-o", "run", "--"}
	pipeline := append(slices.Clip(recorder), program, "pipeline", "out", "5")
	pianola := func(t *testing.T, dir string, words ...string) (out, said string) {
		x := exec.Command("pianola", words...)
		var stdout, stderr bytes.Buffer
		x.Dir, x.Stdout, x.Stderr = dir, &stdout, &stderr
		require.NoError(t, x.Run(), "%s", &stderr)
		return stdout.String(), stderr.String()
	}

	for name, test := range map[string]struct {
		args  []string
		nodes []string // of ranks 0 to 3
	}{
		"four nodes": {[]string{"-N", "4", "-n", "4"}, []string{"n1", "n2", "n3", "n4"}},
		"two nodes":  {[]string{"-w", "n1,n3", "-N", "2", "-n", "4", "--ntasks-per-node=2"}, []string{"n1", "n1", "n3", "n3"}},
		"cyclic":     {[]string{"-w", "n1,n2", "-N", "2", "-n", "4", "--ntasks-per-node=2", "-m", "cyclic"}, []string{"n1", "n2", "n1", "n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, said, err := record(t, append(test.args, pipeline...)...)
			require.NoError(t, err, said)
			headers := headersIn(t, filepath.Join(dir, "run"))
			requireClocks(t, headers, 2)
			nodes := slices.Compact(slices.Sorted(slices.Values(test.nodes)))
			require.Equal(t, nodes, slices.Sorted(maps.Keys(headers)))

			otherMachines(t, filepath.Join(dir, "run"), filepath.Join(dir, "machines"))
			for _, run := range []string{"machines", "run"} { // by the measured clocks, and by the one that they share
				report, said := pianola(t, dir, "compile", "--report", "-", run)
				require.NotContains(t, said, "warning")
				require.Regexp(t, `(?m)^MPI: 15 messages and [0-9]+ collective calls follow other ranks`, report)
				require.NotContains(t, report, "not paired")
			}

			out, _ := pianola(t, dir, "profile", "--by", "rank", "--format", "csv", "run")
			for rank, node := range test.nodes {
				require.Regexp(t, fmt.Sprintf(`(?m)^%d,%s,`, rank, node), out)
			}
			out, _ = pianola(t, dir, "profile", "--by", "node", "--format", "csv", "run")
			for _, node := range nodes {
				require.Regexp(t, fmt.Sprintf(`(?m)^%s,%d,`, node, 4/len(nodes)), out)
			}

			out, said, err = c.srun(dir, append(test.args, "--mpi=pmi2", "pianola", "replay", "--ranks", "--root", "root", "--json", "trace.bin")...)
			require.NoError(t, err, said)
			r := parseRanks(t, []byte(out))
			require.Zero(t, r.Events.Differed)
			require.Len(t, r.Ranks, 4)
			for rank, one := range r.Ranks {
				require.Equal(t, test.nodes[rank], one.Node)
				require.Equal(t, []int32{int32(rank)}, one.Recorded)
				require.Less(t, one.Elapsed, 900.0, "the difference of the clocks is not a time of the program")
			}
			require.NotZero(t, r.Between.Edges)
		})
	}

	// A program without MPI, and a clock of another time in the step of a rank only.
	t.Run("clock of the step", func(t *testing.T) {
		dir, said, err := record(t, "-w", "n1,n4", "-N", "2", "-n", "2", "sh", "-c",
			`[ $SLURM_PROCID = 0 ] || ahead="unshare --time --monotonic 1000 --fork"; exec $ahead pianola record --ranks -o run -- sh -c 'cat /proc/self/timens_offsets; : >out'`)
		require.NoError(t, err, said)
		requireClocks(t, headersIn(t, filepath.Join(dir, "run")), 2)
		_, said = pianola(t, dir, "compile", "run")
		require.NotContains(t, said, "warning")
		out, _ := pianola(t, dir, "convert", "trace.bin")
		for _, m := range regexp.MustCompile(`compute \( ([0-9.]+) \)`).FindAllStringSubmatch(out, -1) {
			seconds, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.Less(t, seconds, 900.0)
		}
	})

	// The recording of a rank that fails is complete, and names the rank.
	for name, test := range map[string]struct {
		options []string
		command string // of rank 2; the others sleep
		status  int    // of srun
		said    string // by compile
	}{
		"fails":                {nil, "exit 3", 3, "rank 2 ended with status 3"},
		"is killed":            {nil, "kill -9 $$", 137, "rank 2 was ended by signal 9"},
		"fails, with srun -K1": {[]string{"-K1"}, "exit 3", 143, "rank 2 ended with status 3"},
	} {
		t.Run("a rank "+name, func(t *testing.T) {
			others := "exec true"
			if test.options != nil {
				others = "exec sleep 600"
			}
			dir, said, err := record(t, slices.Concat(test.options, []string{"-N", "4", "-n", "4", "pianola", "record", "--ranks", "-o", "run", "--", "sh", "-c",
				"[ $SLURM_PROCID = 2 ] || " + others + "; " + test.command})...)
			exit, ok := errors.AsType[*exec.ExitError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, test.status, exit.ExitCode(), said)
			requireClocks(t, headersIn(t, filepath.Join(dir, "run")), 2)
			_, said = pianola(t, dir, "compile", "run")
			require.Contains(t, said, "run: warning: "+test.said)
			require.NotContains(t, said, "without an end")
		})
	}

	// Slurm kills the recorders as well, and what they have not written is lost. So the ranks
	// go on until all recordings have events. The recorder of the rank that aborts can end
	// before it is killed.
	const written = `until [ $(grep -l '^[0-9]' run/*.txt | wc -l) = 4 ]; do sleep 0.1; done; `
	killed := func(t *testing.T, dir string) {
		require.Len(t, headersIn(t, filepath.Join(dir, "run")), 4)
		for _, command := range []string{"compile", "profile"} {
			_, said := pianola(t, dir, command, "run")
			require.Regexp(t, "run: warning: [34] recordings without an end: n1, n2, (n3, )?n4\n", said)
		}
	}
	t.Run("MPI_Abort", func(t *testing.T) {
		dir, said, err := record(t, slices.Concat([]string{"-N", "4", "-n", "4"}, recorder, []string{"sh", "-c",
			written + `[ $SLURM_PROCID = 2 ] || exec ` + program + ` pipeline out 1000000; exec ` + program + " --help"})...)
		require.Error(t, err)
		require.Contains(t, said, "application called MPI_Abort")
		killed(t, dir)
	})
	for name, test := range map[string]struct {
		command string
		stop    func(t *testing.T, srun *exec.Cmd)
		then    func(t *testing.T, dir string)
	}{
		"Ctrl-C": {"trap '' INT; ", func(t *testing.T, srun *exec.Cmd) { require.NoError(t, srun.Process.Signal(unix.SIGINT)) }, killed},
		"scancel": {"", func(t *testing.T, srun *exec.Cmd) {
			step, err := c.command("squeue", "-h", "-s", "-o", "%i").Output()
			require.NoError(t, err)
			require.NoError(t, c.command("scancel", "--signal=INT", strings.TrimSpace(string(step))).Run(), "%s", step)
		}, func(t *testing.T, dir string) {
			_, said := pianola(t, dir, "compile", "run")
			require.NotContains(t, said, "without an end")
			for rank := range 4 {
				require.Contains(t, said, fmt.Sprintf("run: warning: rank %d was ended by signal 2", rank))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			srun := c.command(slices.Concat([]string{"srun", "--immediate=120", "--quit-on-interrupt", "-N", "4", "-n", "4", "pianola", "record", "--ranks", "-o", "run", "--",
				"sh", "-c", test.command + written + "echo >begun.$SLURM_PROCID; exec sleep 600"})...)
			srun.Dir = dir
			require.NoError(t, srun.Start())
			for rank := range 4 {
				requireFile(t, filepath.Join(dir, fmt.Sprint("begun.", rank)))
			}
			test.stop(t, srun)
			require.Error(t, srun.Wait())
			test.then(t, dir)
		})
	}
}
