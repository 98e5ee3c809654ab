package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cli"
	"pianola/format"
)

// newContainer makes a control group below that of this process, with a limit of
// memory, and returns its directory.
func newContainer(t *testing.T, memory int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a control group takes root")
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		above, limit := filepath.Join("/sys/fs/cgroup/memory", f[2]), "memory.limit_in_bytes"
		switch f[1] {
		case "memory":
		case "":
			above, limit = filepath.Join("/sys/fs/cgroup", f[2]), "memory.max"
		default:
			continue
		}
		dir := filepath.Join(above, fmt.Sprint("pianola-test-", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { require.NoError(t, unix.Rmdir(dir)) })
		if os.WriteFile(filepath.Join(dir, limit), fmt.Append(nil, memory), 0o600) == nil {
			return dir
		}
	}
	t.Skip("no control group for memory can be made below that of this process")
	return ""
}

// TestAttackContainer plays what takes as much of everything as the defaults allow,
// in a container of 64 MiB. The kernel kills none of them.
func TestAttackContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one replay at a time")
	}
	container := newContainer(t, 64<<20)
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
		"writes": func(h *hostile) {
			h.create(1, "f", 5)
			for range 500 {
				h.add(1, format.OpWrite, 1<<20, 5, 0, 1<<20)
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
		for _, options := range [][]string{{"--root"}, {"--backend", "memory"}} {
			t.Run(name+options[len(options)-1], func(t *testing.T) {
				c := newCage(t, attacker{id: 0})
				h := newHostile(1)
				make(h)
				c.trace(t, "a.bin", h)
				c.forget(t)
				if options[0] == "--root" {
					options = append(options, c.root)
				}
				cmd, said := c.command(t, append(options, "--memory", "--timing", "afap", "a.bin")...)
				args := append([]string{"-c", `echo $$ > "$0" && exec -a pianola /proc/self/fd/3 "$@"`, container + "/cgroup.procs", "replay"}, cmd.Args[2+len(limits):]...)
				bash, err := exec.LookPath("bash")
				if err != nil {
					t.Skip(err)
				}
				cmd.Path, cmd.Args = bash, append([]string{"bash"}, args...)
				require.NoError(t, cmd.Start())
				o := c.ended(t, cmd, said) // not by a signal
				if o.status == cli.ExitFailure {
					require.Contains(t, o.said, "limit", name)
				}
				c.unharmed(t)
			})
		}
	}
}
