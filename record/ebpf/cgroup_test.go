package ebpf

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/mounts"
	"pianola/record"
	"pianola/record/recordkit"
)

// hierarchies returns where the hierarchies of cgroups are mounted: one of version 2, of a
// controller, and one without.
func hierarchies(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	found := map[string]string{}
	for _, m := range mounts.Parse(string(text)) {
		switch {
		case m.Type == "cgroup2":
			found["v2"] = m.Point
		case m.Type == "cgroup" && strings.Contains(strings.Join(m.Options, ","), "name="):
			found["v1 named"] = m.Point
		case m.Type == "cgroup" && found["v1"] == "":
			found["v1"] = m.Point
		}
	}
	if len(found) == 0 {
		t.Skip("no cgroups")
	}
	return found
}

// makeCgroup makes a cgroup, which is removed at the end if the test has not done so.
func makeCgroup(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	return dir
}

func enter(t *testing.T, dir string, pid int) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
}

// A process that is in the cgroup is recorded with its threads and children, one below
// it, and one that enters it, from then on; one beside it is not, nor one that has left.
func TestCgroup(t *testing.T) {
	program := func(name string) record.Options {
		return recordkit.Python(t, "import os, sys, threading",
			"f = os.open('"+name+".file', os.O_RDWR | os.O_CREAT, 0o600); os.write(f, b'x' * 7)",
			"lines = []; ready = threading.Semaphore(0); went = threading.Semaphore(0)",
			"def work():",
			"  while ready.acquire() and lines[-1]: os.access('"+name+".thread.' + lines[-1], 0); went.release()",
			"threading.Thread(target=work).start()",
			"print(flush=True)",
			"for line in sys.stdin:",
			"  line = line.strip(); lines.append(line); ready.release(); went.acquire()",
			"  os.access('"+name+".' + line, 0)",
			"  p = os.fork()",
			"  if p == 0: os.access('"+name+".child.' + line, 0); os._exit(0)",
			"  os.waitpid(p, 0)",
			"  print(flush=True)",
			"lines.append(''); ready.release()")
	}
	for version, mount := range hierarchies(t) {
		t.Run(version, func(t *testing.T) {
			type running_ struct {
				cmd   *exec.Cmd
				in    *os.File
				lines *bufio.Reader
			}
			all := map[string]*running_{}
			dir := makeCgroup(t, mount, "pianola-test-"+strings.ReplaceAll(version, " ", "-"))
			below := makeCgroup(t, dir, "below")
			for name, at := range map[string]string{"in": dir, "below": below, "beside": "", "later": ""} {
				cmd, in, lines, _ := running(t, program(name))
				all[name] = &running_{cmd, in, lines}
				if at != "" {
					enter(t, at, cmd.Process.Pid)
				}
			}
			say := func(what string) {
				for _, r := range all {
					_, err := r.in.WriteString(what + "\n")
					require.NoError(t, err)
					_, err = r.lines.ReadString('\n')
					require.NoError(t, err)
				}
			}
			// The threads of a process that moves are found by the recorder's next look.
			looked := watch(func(e *format.Event) bool { return strings.HasPrefix(string(e.Str[0]), "later.thread") })
			result := make(chan error, 1)
			go func() {
				_, err := Attach(context.Background(), record.Options{Cgroup: dir, RingBytes: 1 << 20}, looked)
				result <- err
			}()
			select {
			case <-looked.began:
			case err := <-result:
				t.Fatal("no recording: ", err)
			}
			say("first")
			enter(t, dir, all["later"].cmd.Process.Pid)
			enter(t, mount, all["below"].cmd.Process.Pid)
			for n := 0; ; n++ {
				say("then" + strconv.Itoa(n))
				select {
				case <-looked.seen:
				default:
					continue
				}
				break
			}
			for _, r := range all {
				require.NoError(t, r.in.Close())
				require.NoError(t, r.cmd.Wait())
			}
			require.NoError(t, os.Remove(below))
			require.NoError(t, os.Remove(dir))
			require.NoError(t, <-result, "it ends with the cgroup")

			names := func(prefix string) (found []string) {
				for _, e := range looked.Events {
					if strings.HasPrefix(string(e.Str[0]), prefix+".") {
						found = append(found, string(e.Str[0]))
					}
				}
				return found
			}
			for _, want := range []string{"in.first", "in.thread.first", "in.child.first", "in.then0", "below.first", "below.thread.first", "below.child.first", "later.then0", "later.child.then0"} {
				name, _, _ := strings.Cut(want, ".")
				require.Contains(t, names(name), want)
			}
			require.Empty(t, names("beside"))
			require.NotContains(t, names("later"), "later.first")
			require.NotContains(t, names("below"), "below.then0")

			told := looked.Headers[0]
			cgroup, _ := told.Value(format.MetaCgroup)
			require.Equal(t, string(format.AppendQuoted(nil, []byte(dir))), cgroup)
			stood := func(h *format.Header, name string) {
				pid := int32(all[name].cmd.Process.Pid)
				var cwd string
				for _, p := range h.Running() {
					if p.Process == pid {
						require.Len(t, p.Threads, 2)
						cwd = p.Cwd
					}
				}
				require.Equal(t, all[name].cmd.Dir, cwd)
				var found []string
				for _, d := range h.Descriptors {
					if d.Process == pid && d.Path == filepath.Join(cwd, name+".file") {
						found = append(found, fmt.Sprint(d.Offset))
					}
				}
				require.Equal(t, []string{"7"}, found)
			}
			stood(told, "in")
			stood(told, "below")
			stood(looked.Headers[1], "later")
			require.Len(t, told.Running(), 2)
		})
	}
}

func TestCgroupByItsPath(t *testing.T) {
	for version, mount := range hierarchies(t) {
		dir := makeCgroup(t, mount, "pianola-path")
		found, err := findCgroup("/pianola-path")
		require.NoError(t, err, version)
		require.Equal(t, dir, found)
		require.NoError(t, os.Remove(dir))
	}
	_, err := findCgroup("/nosuch.slice")
	require.EqualError(t, err, "cgroup /nosuch.slice: file does not exist")
	_, err = findCgroup(t.TempDir())
	require.ErrorContains(t, err, "not the directory of a cgroup")
}

// A cgroup that holds the recorder is told from one that does not.
func TestLookAtCgroup(t *testing.T) {
	for version, mount := range hierarchies(t) {
		all, err := LookAtCgroup(mount)
		require.NoError(t, err, version)
		require.True(t, all.Own, version)
		require.Positive(t, all.Processes, version)
		dir := makeCgroup(t, mount, "pianola-look")
		below := makeCgroup(t, dir, "below")
		sleeper := exec.Command("sleep", "1000")
		require.NoError(t, sleeper.Start())
		enter(t, below, sleeper.Process.Pid)
		c, err := LookAtCgroup("/pianola-look")
		require.NoError(t, sleeper.Process.Kill())
		_ = sleeper.Wait()
		require.NoError(t, err)
		require.Equal(t, Cgroup{Dir: dir, Processes: 1}, c, version)
		require.NoError(t, os.Remove(below))
		require.NoError(t, os.Remove(dir))
	}
	_, err := LookAtCgroup("/nosuch.slice")
	require.EqualError(t, err, "cgroup /nosuch.slice: file does not exist")
}
