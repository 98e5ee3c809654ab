package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
)

// controls are what a container bounds, with the file of its limit in each version of
// control groups.
var controls = []struct {
	controller string
	file       [3]string // by version
	limit      int64
}{
	{"memory", [3]string{1: "memory.limit_in_bytes", 2: "memory.max"}, 64 << 20},
	{"pids", [3]string{1: "pids.max", 2: "pids.max"}, 64},
}

// newContainer makes control groups with the limits of controls, and returns the files
// that take processes in. In version 1 each controller has a group of its own. No other
// container of this process may have the name.
func newContainer(t *testing.T, name string) (procs []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a control group takes root")
	}
	for _, c := range controls {
		made := false
		for _, above := range groupsOf(t, c.controller) {
			dir := filepath.Join(above.dir, fmt.Sprintf("pianola-test-%d-%s", os.Getpid(), name))
			if err := os.Mkdir(dir, 0o755); err == nil {
				t.Cleanup(func() { require.NoError(t, unix.Rmdir(dir)) })
			} else if !os.IsExist(err) {
				continue
			}
			if os.WriteFile(filepath.Join(dir, c.file[above.version]), fmt.Append(nil, c.limit), 0o600) != nil {
				continue // version 2 has the controller only where the group above gives it to those below
			}
			made = true
			if file := filepath.Join(dir, "cgroup.procs"); !slices.Contains(procs, file) {
				procs = append(procs, file)
			}
			break
		}
		if !made && c.controller == "memory" {
			t.Skip("no control group for memory can be made")
		}
		if !made {
			t.Logf("no control group for %s can be made", c.controller)
		}
	}
	return procs
}

// group is a control group, in a hierarchy of a version.
type group struct {
	dir     string
	version int
}

// groupsOf returns the group of this process and those above it, in the hierarchies that
// may have a controller.
func groupsOf(t *testing.T, controller string) (groups []group) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		version := map[string]int{"cgroup": 1, "cgroup2": 2}[kind[0]]
		if version == 0 || version == 1 && !slices.Contains(strings.Split(kind[2], ","), controller) {
			continue
		}
		for line := range strings.Lines(string(own)) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if version == 1 && !slices.Contains(strings.Split(f[1], ","), controller) || version == 2 && f[1] != "" {
				continue
			}
			below, err := filepath.Rel(place[3], f[2])
			if err != nil || !filepath.IsLocal(below) {
				below = "." // only a part of the hierarchy is mounted
			}
			for ; ; below = filepath.Dir(below) {
				groups = append(groups, group{filepath.Join(place[4], below), version})
				if below == "." {
					break
				}
			}
		}
	}
	return groups
}

// enter is a script that enters control groups, up to an operand --, and becomes Pianola.
const enter = `while [ "$1" != -- ]; do echo $$ >"$1" || exit 99; shift; done; shift; exec -a pianola /proc/self/fd/3 "$@"`

// TestAttackContainer plays what takes as much of everything as the defaults allow,
// in a container of 64 MiB and 64 threads. The kernel kills none of them.
func TestAttackContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one replay at a time")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for name, make := range map[string]func(h *hostile){
		"record locks": func(h *hostile) {
			const files = 500
			for i := range files {
				h.create(1, fmt.Sprint(i), 5+i)
			}
			for i := range 400_000 {
				h.add(1, format.OpFcntl, 0, 5+i%files, format.FSetlk, 0, unix.F_WRLCK, 2*(400_000-i), 1)
			}
		},
		"open files": func(h *hostile) {
			for i := range 60_000 {
				h.create(1, "f", 5+i)
				h.add(1, format.OpUnlink, 0, "f")
			}
		},
		"files": func(h *hostile) {
			for i := range 60_000 {
				h.create(1, fmt.Sprint("a file with a name that is not short ", i), 5)
				h.add(1, format.OpWrite, 1, 5, 0, 1)
				h.add(1, format.OpClose, 0, 5)
			}
		},
		"memory": func(h *hostile) {
			h.add(1, format.OpMmap, 4096, 0, 1<<30, 3, format.MapPopulate|unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			h.create(1, "f", 5)
			for i := range 1000 {
				h.add(1, format.OpRead, 0, 5, i<<20, 1<<20)
			}
		},
		"names": func(h *hostile) {
			for i := range 100_000 {
				h.add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o600, 0)
			}
		},
		"fewer names": func(h *hostile) {
			for i := range 16_000 {
				h.add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o600, 0)
			}
		},
		"writes": func(h *hostile) {
			h.create(1, "f", 5)
			for range 500 {
				h.add(1, format.OpWrite, 1<<20, 5, 0, 1<<20)
			}
		},
		"long names": func(h *hostile) {
			for i := range 25 {
				h.add(1, format.OpStat, 0, strings.Repeat(string(rune('a'+i)), 4<<20), 0)
			}
		},
		"threads": func(h *hostile) {
			for i := range 1000 {
				h.Threads = append(h.Threads, format.Thread{Process: int32(i + 2)})
				h.add(int32(i+2), format.OpStat, 0, "f", 0)
			}
		},
		"rings": func(h *hostile) {
			for range 20 {
				h.add(1, format.OpRingOpen, 0, int64(h.ring(format.ViaUring)), 1<<15, 0, 1<<16, 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // in a container of its own
			container := newContainer(t, strings.ReplaceAll(name, " ", "-"))
			c := newCage(t, attacker{id: 0})
			h := newHostile(1)
			make(h)
			c.trace(t, "a.bin", h)
			const fast = " --memory --timing afap a.bin"
			for _, words := range []string{
				"replay --root " + c.root + fast, "replay --backend memory" + fast, "lab --runs 1 --try order=thread --root " + c.root + fast,
				"profile --html page.html a.bin", "compare --tolerance 10% a.bin a.bin", "convert -o /dev/null a.bin",
			} {
				t.Run(strings.Join(strings.Fields(words)[:2], ""), func(t *testing.T) {
					c.forget(t)
					cmd, said := c.command(t)
					cmd.Path, cmd.Args = bash, slices.Concat([]string{"bash", "-c", enter, "enter"}, container, []string{"--"}, strings.Fields(words))
					require.NoError(t, cmd.Start())
					o := c.ended(t, cmd, said) // not by a signal
					if o.status == cli.ExitFailure {
						require.Contains(t, o.said, "limit", name)
					}
					c.unharmed(t)
				})
			}
		})
	}
}
