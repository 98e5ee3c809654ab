package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// A replay meets the results that random programs met with names, descriptors, threads
// and processes: each of randomReplays does, in both mappings. A recording holds a batch
// of programs, each with a directory of its own, because a recorder takes 50 times as
// long to start as a program does to run. The directory of a batch is kept where a result
// differs: threads take other turns in the next run.
func TestRandom(t *testing.T) {
	t.Parallel()
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	programs, differ, listed := map[string]int{}, map[string]int{}, map[string]int{}
	for _, batch := range randomBatches(randomSeeds(t)) {
		mix := mixOf(batch[0])
		t.Run(fmt.Sprintf("%d/%d-%d", mix, batch[0], batch[len(batch)-1]), func(t *testing.T) {
			dir := openDir(t)
			for name, fault := range playRandom(t, dir, mix, batch, listed) {
				programs[name] += len(batch)
				if fault != "" {
					differ[name]++
					t.Errorf("%s: %s: %s", dir, name, fault)
				}
			}
		})
	}
	t.Logf("programs: %v, batches that differ: %v, results that may: %v", programs, differ, listed)
}

// randomReplays are the replays of a trace of random programs, by name. The fast ones
// have only the edges to keep threads in order.
var randomReplays = []struct {
	name string
	user uint32 // 0 is who runs the test
	args []string
}{
	{"timed", 0, []string{"--timing", "compute"}},
	{"fast", 0, []string{"--timing", "afap"}},
	{"nobody", nobody, []string{"--timing", "afap"}},
	{"memory", 0, []string{"--timing", "afap", "--backend", "memory"}},
}

// playRandom records the programs of some seeds in dir and replays them. By the name of
// the step or the replay, it returns what went wrong. It counts the results that differ
// and may in listed.
func playRandom(t *testing.T, dir string, mix int, seeds []uint64, listed map[string]int) map[string]string {
	var list []string
	for _, seed := range seeds {
		list = append(list, fmt.Sprint(seed))
	}
	faults := map[string]string{}
	run := func(name, dir string, user uint32, args ...string) bool {
		out, err := play(dir, user, args...)
		faults[name] = ""
		for line := range strings.Lines(out) {
			var n int
			if _, err := fmt.Sscanf(line, "differed: %d", &n); err != nil {
				continue
			}
			if expected(line, name, mix) {
				listed[name] += n
			} else {
				faults[name] += line
			}
		}
		if err != nil {
			faults[name] += fmt.Sprintf("%v: %s", err, out)
		}
		return err == nil
	}
	program, err := os.Executable()
	require.NoError(t, err)
	record := func(dir, tracer string) bool {
		for _, seed := range list {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, seed, "w"), 0o755))
		}
		return run("record "+tracer, dir, 0, "record", "--tracer", tracer, "-o", "trace.txt", "--", "env", randomWork+"="+strings.Join(list, ","), fmt.Sprint(randomMix, "=", mix), program)
	}
	if !record(dir, "ebpf") {
		return faults
	}
	require.FileExists(t, filepath.Join(dir, randomDone))
	inProcess := openDir(t)
	if !record(inProcess, "in-process") {
		return faults
	}
	// Which page faults of programs and libraries wait depends on what else the machine does.
	const calls = `!((op == map_read || op == map_write) && path !~ "*/pianola-random-*")`
	compiled := func(name, dir, paths, trace string) bool {
		return run(name+" "+paths, dir, 0, "compile", "--strict", "--filter", calls, "--paths", paths, "-o", trace, "trace.txt")
	}
	for _, paths := range []string{"tree", "flat"} {
		trace, other := filepath.Join(dir, paths+".bin"), filepath.Join(inProcess, paths+".bin")
		if !compiled("compile", dir, paths, trace) {
			continue
		}
		// Threads take other turns in the next run.
		if mix&mixThreads == 0 && compiled("compile in-process", inProcess, paths, other) {
			faults["compile in-process "+paths] += sameCalls(t, trace, other)
		}
		require.NoError(t, os.Chmod(trace, 0o644))
		for _, r := range randomReplays {
			if paths == "flat" && mix&flatLimits != 0 || r.user != 0 && os.Geteuid() != 0 {
				continue
			}
			run(r.name+" "+paths, openDir(t), r.user, slices.Concat([]string{"replay"}, r.args, []string{trace})...)
		}
	}
	return faults
}

// sameCalls compares the traces of two recordings of the same random programs, whose calls never
// overlap, and returns how they differ. Addresses do, and which threads the runtime of Go makes.
func sameCalls(t *testing.T, one, other string) (differ string) {
	calls := map[string]int{}
	for sign, trace := range map[int]string{1: one, -1: other} {
		text := trace + ".txt"
		out, err := play(filepath.Dir(trace), 0, "convert", "-o", text, trace)
		require.NoError(t, err, out)
		for _, e := range recordkit.ReadScript(t, text) {
			switch info := e.Op.Info(); {
			case info.Acts.Any(format.Starts), e.Op == format.OpExit, e.Op == format.OpWait, strings.HasPrefix(e.Op.String(), "pipe_"):
			default:
				for i := range e.Args {
					if info.At.Addrs>>i&1 != 0 {
						e.Args[i] = 0
					}
				}
				call := fmt.Sprintf("%s %q %d = %d", e.Op, e.Str, e.Args, e.Ret)
				calls[temporaries.ReplaceAllString(strings.ReplaceAll(call, filepath.Base(filepath.Dir(trace)), ""), "")] += sign
			}
		}
	}
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		if n := calls[call]; n != 0 {
			differ += fmt.Sprintf("%+d %s\n", n, call)
		}
	}
	return differ
}

// temporaries matches the numbers in names of temporary files, which are in the order of their times.
var temporaries = regexp.MustCompile(`pianola_tmp[0-9]+`)

// flatLimits are the mixes of which some results differ in the mapping flat: it has
// no directories that are missing, full or within one another.
const flatLimits = mixNested | mixDirFDs

// expected reports whether a result may differ (docs/internals/conformance.md): root and memory
// deny nothing, the modes of directories above are not known, and what SEEK_DATA finds in blocks that are set aside depends on the file
// system, which memory is not.
func expected(line, replay string, mix int) bool {
	nobody, memory := strings.HasPrefix(replay, "nobody"), strings.HasPrefix(replay, "memory")
	// go test builds the program in a directory of root's, whose mode no recording has.
	above := strings.Contains(line, ` × open: `) && strings.Contains(line, "/"+filepath.Base(os.Args[0])+`"`)
	return mix&mixUser != 0 && (!nobody || above) && strings.Contains(line, " recorded EACCES, got ") ||
		mix&mixRare != 0 && memory && strings.Contains(line, " × lseek: ")
}

// openDir makes a directory that every user can write to. That of a test that fails stays.
func openDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "pianola-random-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(dir))
		}
	})
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// play runs pianola as a user, or as who runs the tests if that is 0, and returns what
// it said.
func play(dir string, user uint32, args ...string) (string, error) {
	c := exec.Command("/proc/self/exe", args...) // another user can't reach the program by its name
	c.Args[0], c.Dir = "pianola", dir
	if user != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

// randomSeeds are those of every run, or the range "from-to" in the environment, for a
// longer search.
func randomSeeds(t *testing.T) (seeds []uint64) {
	from, to := uint64(1), uint64(40)
	if testing.Short() {
		to = 8 // under the race detector
	}
	if text := os.Getenv("PIANOLA_RANDOM_SEEDS"); text != "" {
		_, err := fmt.Sscanf(text, "%d-%d", &from, &to)
		require.NoError(t, err)
	}
	for ; from <= to; from++ {
		seeds = append(seeds, from)
	}
	return seeds
}

// randomBatches groups seeds by what their programs do.
func randomBatches(seeds []uint64) (batches [][]uint64) {
	const most = 100      // in a batch
	open := map[int]int{} // the batch that a mix can still go to
	for _, seed := range seeds {
		mix := mixOf(seed)
		i, ok := open[mix]
		if !ok || len(batches[i]) == most {
			i, batches = len(batches), append(batches, nil)
			open[mix] = i
		}
		batches[i] = append(batches[i], seed)
	}
	return batches
}
