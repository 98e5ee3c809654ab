package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
	"pianola/internal/roottest"
)

// TestAttackMounts has canaries mounted below the root: in one that was kept, and in one
// in which a trace is playing, which then calls each operation on them.
func TestAttackMounts(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		fileset := func(h *hostile) {
			for _, f := range []format.File{
				{Path: "d", Type: format.TypeDir, Mode: 0o777}, {Path: "d/m", Type: format.TypeDir, Mode: 0o777},
				{Path: "d/m/secret", Type: format.TypeReg, Mode: 0o644, Size: 6}, {Path: "d/file", Type: format.TypeReg, Mode: 0o600},
				{Path: "lock", Type: format.TypeReg, Mode: 0o600}, {Path: "link", Type: format.TypeLnk, Target: "d/m/secret"},
			} {
				h.file(f)
			}
		}
		h := newHostile(1)
		fileset(h)
		h.create(1, "shown", 60)
		h.create(1, "lock", 61)
		h.add(1, format.OpFlock, 0, 61, unix.LOCK_EX)
		h.everyWay([]string{"d/m/secret", "d/m", "d/m/", "d/m/empty", "d/m/new", "d/file", "link", "d/m/../m/secret"}, 0, -1, 3, 1)
		c.trace(t, "a.bin", h)
		own := newHostile(1)
		fileset(own)
		own.sleep(1, "shown")
		c.trace(t, "own.bin", own)
		o := c.replay(t, "--root", c.root, "--keep", "a.bin")
		require.Equal(t, h.events, o.executed, o.said)
		o = c.replay(t, "--root", c.root, "--prepare", "only", "a.bin")
		require.Zero(t, o.status, o.said)
		c.forget(t)

		places := []struct{ from, at string }{{c.base + "/dir", "d/m"}, {c.base + "/secret", "d/file"}}
		mount := func(root string) (unmount func()) {
			var all []func()
			for _, m := range places {
				all = append(all, roottest.Bind(t, m.from, filepath.Join(root, m.at)))
			}
			return func() {
				for _, f := range all {
					f()
				}
			}
		}
		refusedAt := func(point, root string, args ...string) {
			t.Helper()
			o := c.replay(t, append([]string{"--root", root}, args...)...)
			require.Equal(t, cli.ExitFailure, o.status, o.said)
			require.Contains(t, o.said, `"`+point+`" is a mount point`)
			c.unharmed(t)
		}
		refused := func(root string, args ...string) {
			t.Helper()
			refusedAt("d/m", root, args...)
		}
		unmount := mount(c.root)
		for _, way := range []string{"auto", "never", "always", "only"} {
			refused(c.root, "--prepare", way, "a.bin")
		}
		unmount()

		lock, err := os.Open(c.root + "/lock")
		require.NoError(t, err)
		defer lock.Close()
		require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
		cmd, said := c.command(t, "--timing", "afap", "--root", c.root, "a.bin")
		require.NoError(t, cmd.Start())
		c.shown(t, cmd, said, c.root+"/shown")
		unmount = mount(c.root)
		require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_UN))
		o = c.ended(t, cmd, said)
		require.Equal(t, h.events, o.executed, o.said)
		c.unharmed(t)
		refused(c.root, "a.bin")
		unmount()

		root := c.root + "/d" // made by nothing but the next replay, which also removes it
		require.NoError(t, os.RemoveAll(c.root))
		require.NoError(t, os.Mkdir(c.root, 0o700))
		require.NoError(t, os.Lchown(c.root, u.id, u.id))
		cmd, said = c.command(t, "--root", root, "own.bin")
		require.NoError(t, cmd.Start())
		c.shown(t, cmd, said, root+"/shown")
		unmount = mount(root)
		c.forget(t) // of the directory above
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		o = c.ended(t, cmd, said)
		require.Equal(t, 130, o.status, o.said)
		c.unharmed(t)
		require.FileExists(t, root+"/.pianola-root", "nothing is removed")
		require.FileExists(t, root+"/lock")
		unmount()

		require.NoError(t, os.RemoveAll(c.root))
		require.NoError(t, os.Mkdir(c.root, 0o700)) // of several traces from now on
		require.NoError(t, os.Lchown(c.root, u.id, u.id))
		for _, name := range []string{"first.bin", "second.bin"} {
			h := newHostile(1)
			h.create(1, "f", 60)
			c.trace(t, name, h)
		}
		c.forget(t)
		o = c.replay(t, "--root", c.root, "--keep", "first.bin", "second.bin")
		require.Zero(t, o.status, o.said)
		for _, m := range []struct{ from, at string }{{c.base + "/dir/empty", "first"}, {c.base + "/secret", "second/f"}, {c.base + "/secret", ".pianola-root"}} {
			unmount := roottest.Bind(t, m.from, filepath.Join(c.root, m.at))
			for _, way := range []string{"auto", "never", "always", "only"} {
				refusedAt(m.at, c.root, "--prepare", way, "first.bin", "second.bin")
			}
			unmount()
		}
	})
}
