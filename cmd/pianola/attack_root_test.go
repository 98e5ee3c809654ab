package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
)

// shown waits until a trace has come to its sleep.
func (c *cage) shown(t *testing.T, cmd *exec.Cmd, said *bytes.Buffer, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Lstat(path)
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil || !bytes.Contains(stat, []byte(") ")) || bytes.Contains(stat, []byte(") Z "))
	}, waitLimit, waitTick)
	require.FileExists(t, path, said)
}

// TestAttackEndless plays what would never end, and takes as much as it may
// before. A signal ends it.
func TestAttackEndless(t *testing.T) {
	for _, e := range []struct {
		name string
		make func(h *hostile)
	}{
		{"a sleep", func(h *hostile) { h.sleep(1, "shown") }},
		{"a thread that is never made", func(h *hostile) {
			h.Threads = append(h.Threads, format.Thread{Process: 2, Parent: 1})
			h.add(2, format.OpStat, 0, "shown", 0)
			h.sleep(1, "shown")
		}},
		{"a wait for a sleep", func(h *hostile) {
			h.Threads = append(h.Threads, format.Thread{Process: 2})
			h.sleep(1, "shown")
			h.add(2, format.OpStat, 0, "shown", 0).Edges = []format.Edge{{Thread: 1, Event: 1}}
		}},
		{"a lock", func(h *hostile) {
			h.Threads = append(h.Threads, format.Thread{Process: 2})
			h.create(1, "f", 5)
			h.add(1, format.OpFlock, 0, 5, unix.LOCK_EX)
			h.sleep(1, "shown")
			h.create(2, "f", 5)
			h.last.Edges = []format.Edge{{Thread: 1, Event: 2}}
			h.add(2, format.OpFlock, 0, 5, unix.LOCK_EX)
		}},
		{"many descriptors", func(h *hostile) {
			for process := range int32(20) {
				h.Threads = append(h.Threads, format.Thread{Process: process + 2, Parent: process + 1})
				h.create(process+1, "f", 0)
				for fd := range 3000 {
					h.add(process+1, format.OpOpen, int64(fd), "f", format.RDWR)
				}
				h.add(process+1, format.OpClone, int64(process+2), 0)
			}
			h.sleep(21, "shown")
		}},
		{"much memory", func(h *hostile) {
			for at := 1 << 12; at < 1<<40; at <<= 1 {
				h.add(1, format.OpMmap, int64(at), 0, at, 3, format.MapPopulate|unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			}
			h.sleep(1, "shown")
		}},
	} {
		t.Run(e.name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, u attacker) {
				c := newCage(t, u)
				h := newHostile(1)
				e.make(h)
				c.trace(t, "a.bin", h)
				c.forget(t)
				cmd, said := c.command(t, "--root", c.root, "--memory", "a.bin")
				require.NoError(t, cmd.Start())
				c.shown(t, cmd, said, c.root+"/shown")
				tables, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/fd", cmd.Process.Pid))
				require.NoError(t, err)
				for _, table := range tables {
					open, err := os.ReadDir(table)
					if os.IsNotExist(err) {
						continue // the thread has ended
					}
					require.NoError(t, err)
					// The limit, closes that are late (64 at most), and Pianola's own.
					require.LessOrEqual(t, len(open), 1024+64+64, table)
				}
				require.NoError(t, cmd.Process.Signal(unix.SIGINT))
				o := c.ended(t, cmd, said)
				require.Equal(t, 130, o.status, o.said)
				c.unharmed(t)
				left, err := os.ReadDir(c.root)
				require.NoError(t, err)
				require.Empty(t, left)
			})
		})
	}
}

// TestAttackNested has two replays in nested roots: one that moves directories
// about, and one whose paths begin in them.
func TestAttackNested(t *testing.T) {
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		outer := newHostile(1)
		outer.file(format.File{Path: "sub", Type: format.TypeDir, Mode: 0o777})
		outer.add(1, format.OpUnlink, 0, ".pianola-root")
		outer.sleep(1, "shown")
		inner := newHostile(1)
		inner.file(format.File{Path: "d", Type: format.TypeDir, Mode: 0o777})
		inner.create(1, "d//../../../secret", 5)
		c.trace(t, "outer.bin", outer)
		c.trace(t, "inner.bin", inner)
		c.forget(t)
		refused := func(root, trace string) {
			o := c.replay(t, "--root", root, trace)
			require.Equal(t, cli.ExitFailure, o.status, o.said)
			require.Contains(t, o.said, "another replay uses this directory")
			c.unharmed(t)
		}
		cmd, said := c.command(t, "--root", c.root, "--keep", "outer.bin")
		require.NoError(t, cmd.Start())
		c.shown(t, cmd, said, c.root+"/shown")
		refused(c.root+"/sub", "inner.bin")
		refused(c.root+"/new", "inner.bin")
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		o := c.ended(t, cmd, said)
		require.Equal(t, 130, o.status, o.said)
		require.NoError(t, os.WriteFile(c.root+"/.pianola-root", nil, 0o600))
		refused(c.root+"/sub", "inner.bin")
	})
}

// TestAttackRoot leaves in the root what the next replay could stumble over, in
// the place of everything that it prepares, in one way after the other.
func TestAttackRoot(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		left := newHostile(1)
		for _, name := range []string{"d", "d/f", "f", "g", ".pianola_fill_00000000", ".pianola-lifted-1", ".pianola-root"} {
			left.add(1, format.OpUnlink, 0, name)
			left.add(1, format.OpSymlink, 0, c.base+"/dir", name)
		}
		left.add(1, format.OpUnlink, 0, "d")
		left.add(1, format.OpMkdir, 0, "d", 0)
		left.add(1, format.OpUnlink, 0, ".pianola-root")
		left.create(1, ".pianola-root", 5)
		left.add(1, format.OpWrite, 19, 5, 0, 19)
		left.add(1, format.OpChmod, 0, ".pianola-root", 0)
		left.add(1, format.OpSymlink, 0, "../secret", "x")
		left.add(1, format.OpLink, 0, "x", "h")

		next := newHostile(1)
		for _, f := range []format.File{
			{Path: ".", Type: format.TypeDir, Mode: 0o777, Size: 1 << 10}, {Path: "d", Type: format.TypeDir, Mode: 0o777, Size: 1 << 10},
			{Path: "d/f", Type: format.TypeReg, Mode: 0o6777, Size: 100, Attrs: []format.Attr{{Name: "user.a", Size: 10}, {Name: "security.capability", Size: 20}}},
			{Path: "f", Type: format.TypeReg, Mode: 0o777, Size: 1 << 20, Sparse: true}, {Path: "g", Type: format.TypeReg, Mode: 0o777, Link: "x"},
			{Path: "x", Type: format.TypeLnk, Target: "../secret"}, {Path: "pipe", Type: format.TypeFifo, Mode: 0o666}, {Path: "h", Type: format.TypeReg, Link: "f"},
			{Path: "socket", Type: format.TypeSock, Mode: 0o666}, {Path: "device", Type: format.TypeBlk, Mode: 0o666}, {Path: "new\nline", Type: format.TypeChr},
		} {
			if f.Link != "x" {
				next.file(f)
			}
		}
		next.Files = append(next.Files, format.File{Path: "g", Type: format.TypeReg, Link: "x"})
		next.add(1, format.OpChmod, 0, "x", 0o777)
		next.create(1, "x", 5)
		c.trace(t, "left.bin", left)
		c.trace(t, "next.bin", next)
		c.forget(t)
		for _, way := range []string{"auto", "never", "always", "only"} {
			for _, args := range [][]string{{"left.bin"}, {"--prepare", way, "--cache", "warm", "next.bin"}} {
				o := c.replay(t, append([]string{"--root", c.root, "--keep"}, args...)...)
				if way != "never" {
					require.Zero(t, o.status, o.said)
				}
				c.unharmed(t)
			}
		}
		require.NoError(t, filepath.WalkDir(c.root, func(name string, d os.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			require.Zero(t, info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice|os.ModeNamedPipe|os.ModeSocket), name)
			return nil
		}))
	})
}

// TestAttackFileset prepares files through links of the fileset itself, twice
// under one name, and with links to other files.
func TestAttackFileset(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		for _, files := range [][]format.File{
			{{Path: "out", Type: format.TypeLnk, Target: c.base}, {Path: "out/new", Type: format.TypeReg}},
			{{Path: "out", Type: format.TypeLnk, Target: c.base}, {Path: "out", Type: format.TypeDir}, {Path: "out/new", Type: format.TypeReg}},
			{{Path: "out", Type: format.TypeDir, Mode: 0o777}, {Path: "out/", Type: format.TypeLnk, Target: c.base}, {Path: "out/new", Type: format.TypeReg}},
			{{Path: "out", Type: format.TypeLnk, Target: c.base}, {Path: "own", Type: format.TypeReg, Link: "out/secret"}},
			{{Path: "own", Type: format.TypeReg, Link: "../secret"}},
			{{Path: "own", Type: format.TypeReg, Link: c.base + "/secret"}},
			{{Path: "../new", Type: format.TypeReg}},
			{{Path: "a/../../new", Type: format.TypeReg}},
			{{Path: c.base + "/new", Type: format.TypeReg}},
			{{Path: "..", Type: format.TypeDir, Mode: 0o777}},
			{{Path: ".", Type: format.TypeLnk, Target: c.base}},
			{{Path: ".pianola-root", Type: format.TypeLnk, Target: c.base + "/secret"}},
			{{Path: "a\x00b", Type: format.TypeReg}},
			{{Path: "", Type: format.TypeDir}},
		} {
			h := newHostile(1)
			h.Files = files
			c.trace(t, "a.bin", h)
			c.forget(t)
			o := c.replay(t, "--root", c.root, "a.bin")
			require.Equal(t, cli.ExitFailure, o.status, "%+v", files)
			c.unharmed(t)
		}
	})
}

// TestAttackSeveral gives several traces names that lead out of their roots, and a root
// in which an earlier trace has left links in the place of their files.
func TestAttackSeveral(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		nothing := func() *hostile { h := newHostile(1); h.create(1, "made", 5); return h }
		c.trace(t, "b.bin", nothing())
		names := map[string]int{"..bin": cli.ExitFailure, "...bin": cli.ExitFailure, ".bin": cli.ExitFailure, ".pianola-root.bin": cli.ExitFailure, "-.bin": 0, "a\nb.bin": 0}
		for name := range names {
			c.trace(t, name, nothing())
		}
		left := newHostile(1)
		left.add(1, format.OpSymlink, 0, c.base+"/dir/empty", "b")
		left.add(1, format.OpSymlink, 0, "../dir/empty", "left")
		c.trace(t, "left.bin", left)
		c.forget(t)
		for name, status := range names {
			for _, both := range [][]string{{"b.bin", "./" + name}, {"./" + name, "b.bin"}} {
				o := c.replay(t, append([]string{"--root", c.root}, both...)...)
				require.Equal(t, status, o.status, o.said)
				c.unharmed(t)
				_, files := c.used(t)
				require.Zero(t, files)
			}
		}
		o := c.replay(t, "--root", c.root, "--keep", "left.bin")
		require.Zero(t, o.status, o.said)
		for _, want := range []string{"another replay uses this directory", "not a directory"} {
			o = c.replay(t, "--root", c.root, "b.bin", "left.bin")
			require.Equal(t, cli.ExitFailure, o.status)
			require.Contains(t, o.said, want)
			c.unharmed(t)
			require.NoError(t, os.WriteFile(c.root+"/.pianola-root", []byte("several traces\n"), 0o600)) // as a trace can
		}
	})
}

// TestAttackWhileItRuns takes the root's name away from a replay, and gives it to
// a link that leads outside, while another wants the same root.
func TestAttackWhileItRuns(t *testing.T) {
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(1)
		h.sleep(1, "shown")
		h.create(1, "late", 6)
		c.trace(t, "a.bin", h)
		root := c.root + "/own" // made by the replay, and so removed by it
		c.forget(t)
		cmd, said := c.command(t, "--root", root, "a.bin")
		require.NoError(t, cmd.Start())
		c.shown(t, cmd, said, root+"/shown")

		o := c.replay(t, "--root", root, "a.bin")
		require.Equal(t, cli.ExitFailure, o.status)
		require.Contains(t, o.said, "another replay uses this directory")

		require.NoError(t, os.Rename(root, c.root+"/moved"))
		require.NoError(t, os.Symlink(c.base+"/dir", root))
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		c.ended(t, cmd, said)
		c.unharmed(t)
		target, err := os.Readlink(root)
		require.NoError(t, err, "the link is not Pianola's")
		require.Equal(t, c.base+"/dir", target)
		left, err := os.ReadDir(c.root + "/moved")
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// TestAttackInterruptedPreparation stops preparations wherever they are; the next
// completes them.
func TestAttackInterruptedPreparation(t *testing.T) {
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(1)
		for i := range 250 {
			h.file(format.File{Path: fmt.Sprint(i), Type: format.TypeReg, Mode: 0o644, Size: 50_000})
		}
		c.trace(t, "a.bin", h)
		c.forget(t)
		args := []string{"--root", c.root, "--prepare", "only", "a.bin"}
		for i := range 3 {
			cmd, said := c.command(t, args...)
			require.NoError(t, cmd.Start())
			c.shown(t, cmd, said, fmt.Sprintf("%s/%d", c.root, 50*(i+1)))
			require.NoError(t, cmd.Process.Signal([]os.Signal{unix.SIGINT, unix.SIGKILL, unix.SIGTERM}[i]))
			_ = cmd.Wait()
			c.unharmed(t)
		}
		o := c.replay(t, args...)
		require.Zero(t, o.status, o.said)
		o = c.replay(t, "--root", c.root, "a.bin")
		require.Zero(t, o.status, o.said)
		_, files := c.used(t)
		require.EqualValues(t, 251, files)
		c.unharmed(t)
	})
}
