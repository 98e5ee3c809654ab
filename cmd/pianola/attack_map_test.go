package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
)

// newMaps makes roots of maps, among the canaries.
func (c *cage) newMaps(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		dir := filepath.Join(c.base, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Lchown(dir, c.id, c.id))
		c.maps = append(c.maps, dir)
	}
	c.forget(t)
}

// TestAttackMaps plays each operation with each path that may lead out, with names
// that lie in the roots of maps. All recorded calls fail, because maps
// refuse traces with links that lead out and renames across roots.
func TestAttackMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		c.newMaps(t, "map1", "map2")
		shown := newHostile(1)
		paths := c.waysOut(shown)
		h := newHostile(1)
		h.file(format.File{Path: "in", Type: format.TypeDir, Mode: 0o777})
		h.file(format.File{Path: "in/file", Type: format.TypeReg, Mode: 0o666, Size: 100})
		for _, f := range shown.Files {
			if f.Type == format.TypeLnk {
				h.add(1, format.OpSymlink, -1, f.Target, f.Path)
			}
		}
		h.everyWay(append(paths, "in/file", "in/file/../../../secret", "in/../../map2/x", "../map1/in/file", "../root/in"), -1)
		c.trace(t, "a.bin", h)
		for _, options := range [][]string{
			{"--map", "*=" + c.maps[0]},
			{"--map", "*/in/*=" + c.maps[0], "--map", "*secret*=" + c.maps[1]},
			{"--map", "*/in=" + c.maps[0], "--map", "/in/??*=" + c.maps[1], "--keep"},
			{"--map", "*/in=" + c.maps[1], "--map", "/in/??*=" + c.maps[0]}, // in what that has left
		} {
			o := c.replay(t, append(options, "--limit", "files=10000", "--root", c.root, "a.bin")...)
			require.Equal(t, h.events, o.executed, o.said)
			c.unharmed(t)
		}
		c.trace(t, "shown.bin", shown)
		o := c.replay(t, "--limit", "files=10000", "--root", c.root, "--map", "*/in/?????*="+c.maps[0], "shown.bin")
		require.Equal(t, cli.ExitFailure, o.status, o.said)
		require.Contains(t, o.said, "symbolic link")
		c.unharmed(t)
	})
}

// TestAttackMapRace swaps directories and links of a map's root while other
// threads, with and without names in it, go that way; a neighbour moves
// directories out of it.
func TestAttackMapRace(t *testing.T) {
	const rounds = 200
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		c.newMaps(t, "map1")
		outside := filepath.Join(filepath.Dir(c.base), "neighbour")
		for _, dir := range []string{outside, outside + "/empty"} {
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Lchown(dir, u.id, u.id))
		}
		h := newHostile(4)
		for _, f := range []format.File{
			{Path: "m", Type: format.TypeDir, Mode: 0o755}, {Path: "m/way", Type: format.TypeDir, Mode: 0o755},
			{Path: "m/way/secret", Type: format.TypeReg, Mode: 0o644, Size: 6}, {Path: "m/in", Type: format.TypeDir, Mode: 0o755},
			{Path: "m/in/deep", Type: format.TypeDir, Mode: 0o755}, {Path: "m/secret", Type: format.TypeReg, Mode: 0o644},
		} {
			h.file(f)
		}
		h.add(1, format.OpSymlink, -1, c.base, "m/out")
		for range rounds {
			h.add(1, format.OpRenameat2, 0, format.AtFDCWD, "m/way", format.AtFDCWD, "m/out", format.RenameExchange)
			h.add(2, format.OpRename, 0, "m/in/deep", "m/deep")
			h.add(2, format.OpRename, 0, "m/deep", "m/in/deep")
			for k, p := range []string{"m/way/secret", "m/in/deep//../../../secret"} {
				thread, fd := int32(3+k), 10+k
				h.create(thread, p, fd)
				h.add(thread, format.OpWrite, 7, fd, 0, 7)
				h.add(thread, format.OpClose, 0, fd)
				h.add(thread, format.OpTruncate, 0, p, 3)
				h.add(thread, format.OpChmod, 0, p, 0o777)
				h.add(thread, format.OpSetxattr, 0, p, "user.canary", 0, 3, 0)
				h.add(thread, format.OpUtimens, 0, p, 0, 0)
				h.add(thread, format.OpMkdir, 0, p+"2", 0o777)
				h.add(thread, format.OpRmdir, 0, p+"2")
				h.add(thread, format.OpSymlink, -1, c.base, p+"5")
				h.add(thread, format.OpUnlink, 0, p)
			}
		}
		c.trace(t, "a.bin", h)
		c.forget(t)
		stop, swapped := newSwap([][2]string{{c.maps[0] + "/m/in/deep", outside + "/empty"}})
		o := c.replay(t, "--limit", "bytes=256MiB", "--root", c.root, "--map", "/m="+c.maps[0], "a.bin")
		close(stop)
		<-swapped
		if o.status != cli.ExitFailure { // the neighbour can have spoiled the preparation
			require.Equal(t, h.events, o.executed, o.said)
		}
		c.unharmed(t)
	})
}

// TestAttackMapRoots gives maps directories that can't be roots, and changes all
// attributes of one that can.
func TestAttackMapRoots(t *testing.T) {
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		c.newMaps(t, "map1")
		make := func() *hostile {
			h := newHostile(1)
			h.file(format.File{Path: "m", Type: format.TypeDir, Mode: 0o777})
			return h
		}
		h := make()
		c.trace(t, "a.bin", h)
		for _, dir := range []string{c.base, c.root, c.root + "/in", c.maps[0] + "/../root", c.base + "/link", c.base + "/pipe", "/", "/proc"} {
			o := c.replay(t, "--root", c.root, "--map", "/m="+dir, "a.bin")
			require.Equal(t, cli.ExitFailure, o.status, "%s: %s", dir, o.said)
			c.unharmed(t)
		}
		h = make()
		for _, path := range []string{"m/..", "m/../..", "m/.././", "m/l"} {
			if path == "m/l" {
				h.add(1, format.OpSymlink, -1, "..", path)
			}
			h.add(1, format.OpOpen, 5, path, format.DIRECTORY)
			h.add(1, format.OpFchmod, 0, 5, 0o777)
			h.add(1, format.OpFchmodat2, 0, format.AtFDCWD, path, 0o777, 0)
			h.add(1, format.OpChmod, 0, path, 0o777)
			h.add(1, format.OpFsetxattr, 0, 5, "user.a", 0, 3, 0)
			h.add(1, format.OpSetxattr, 0, path, "user.b", 0, 3, 0)
			h.add(1, format.OpRename, -1, path, "m/x")
			h.add(1, format.OpRmdir, 0, path)
		}
		c.trace(t, "b.bin", h)
		look := func() string {
			var s unix.Stat_t
			require.NoError(t, unix.Stat(c.maps[0], &s))
			return describe(t, c.maps[0], s, 0)
		}
		before := look()
		o := c.replay(t, "--root", c.root, "--map", "/m="+c.maps[0], "b.bin")
		require.Equal(t, h.events, o.executed, o.said)
		c.unharmed(t)
		require.Equal(t, before, look())
	})
}
