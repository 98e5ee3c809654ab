package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
)

// waysOut puts links that lead out of the root into the fileset, and returns
// paths that do, or that no application has.
func (c *cage) waysOut(h *hostile) (paths []string) {
	links := map[string]string{
		"absolute": c.base + "/secret", "up": "../secret", "far": strings.Repeat("../", 40) + c.base + "/secret", "outer": c.base, "above": "..",
		"magic": "/proc/self/root" + c.base + "/secret", "cwd": "/proc/self/cwd", "fd": "/proc/self/fd/3", "device": "/dev/null", "loop": "loop",
		"trace": c.work + "/a.bin",
	}
	h.file(format.File{Path: "in", Type: format.TypeDir, Mode: 0o777})
	for name, target := range links {
		h.file(format.File{Path: "in/" + name, Type: format.TypeLnk, Target: target})
		paths = append(paths, "in/"+name, "in/"+name+"/", "in/"+name+"/secret", "in/"+name+"/dir/../secret", "in/"+name+"//secret")
	}
	slices.Sort(paths)
	return append(paths, c.base+"/secret", "//"+c.base+"/secret", "../secret", "in/../../secret", "/../secret", "..", "../..", "/", ".", "", "in//../../secret", "..//secret",
		"/proc/self/root"+c.base+"/secret", "/proc/self/fd/0", "/proc/1/root", "/dev/mem", "/dev/null", "../pipe", "../setuid", "../new",
		strings.Repeat("../", 1300)+c.base, strings.Repeat("x", 4095), strings.Repeat("x", 5000), strings.Repeat("x/", 2047), "a\nb", "\x1b[2Jc", "\xff\xfe")
}

// everyWay adds each operation of the table with each of the paths, in each of its
// arguments, and with one of the recorded results.
func (h *hostile) everyWay(paths []string, results ...int64) {
	numbers := []int64{0, -1, 3, 1, 0o6777, math.MinInt64, format.AtFDCWD}
	texts := []string{"taken", "in/up", "user.a", "security.capability", "in"}
	for op := format.OpNone + 1; op.Valid(); op++ {
		info := op.Info()
		if info.Canon != nil || info.Dropped || info.Effect == format.EffectExit || info.Effect == format.EffectExitGroup {
			continue
		}
		for i, p := range paths {
			for turn := range len(info.Args) {
				e := h.add(1, op, results[i%len(results)])
				k := 0
				for n, a := range info.Args {
					switch {
					case !a.Kind.IsString():
						e.Args[n] = numbers[(i+n*turn)%len(numbers)]
						continue
					case n == turn:
						e.Str[k] = []byte(p)
					default:
						e.Str[k] = []byte(texts[(i+turn)%len(texts)])
					}
					k++
				}
			}
		}
	}
}

// TestAttackPaths plays each operation of the table with each path that may lead
// out, in each of its arguments.
func TestAttackPaths(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(1)
		paths := c.waysOut(h)
		h.everyWay(paths, 0, -1, 3, 1)
		c.trace(t, "a.bin", h)
		for _, options := range [][]string{{"--memory"}, {"--order", "total", "--prepare", "always"}, {"--backend", "memory"}} {
			c.forget(t)
			if !slices.Contains(options, "--backend") {
				options = append(options, "--root", c.root)
			}
			o := c.replay(t, append(options, "a.bin")...)
			require.Equal(t, h.events, o.executed, o.said)
			c.unharmed(t)
		}
	})
}

// TestAttackRace swaps a directory of the root for a link that leads out of it,
// and a link that leads into the root for one that doesn't, again and again,
// while other threads go that way.
func TestAttackRace(t *testing.T) {
	const rounds = 300
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(6)
		for _, f := range []format.File{
			{Path: "way", Type: format.TypeDir, Mode: 0o755}, {Path: "way/secret", Type: format.TypeReg, Mode: 0o644, Size: 6},
			{Path: "way/dir", Type: format.TypeDir, Mode: 0o755}, {Path: "out", Type: format.TypeLnk, Target: c.base},
			{Path: "in", Type: format.TypeDir, Mode: 0o755}, {Path: "in/deep", Type: format.TypeDir, Mode: 0o755},
			{Path: "secret", Type: format.TypeReg, Mode: 0o644}, {Path: "last", Type: format.TypeReg, Mode: 0o644},
			{Path: "up", Type: format.TypeLnk, Target: "../secret"}, {Path: "self", Type: format.TypeLnk, Target: "."},
		} {
			h.file(f)
		}
		for i := range rounds {
			h.add(1, format.OpRenameat2, 0, format.AtFDCWD, "way", format.AtFDCWD, "out", format.RenameExchange)
			h.add(1, format.OpRenameat2, 0, format.AtFDCWD, "last", format.AtFDCWD, []string{"up", "self"}[i%2], format.RenameExchange)
			h.add(2, format.OpRename, 0, "in/deep", "deep")
			h.add(2, format.OpRename, 0, "deep", "in/deep")
			for k, p := range []string{"way/secret", "last", "in/deep/../../secret", "in/deep/../../way/dir/../secret"} {
				thread, fd := int32(3+k), 10+k
				h.create(thread, p, fd)
				h.add(thread, format.OpWrite, 7, fd, 0, 7)
				h.add(thread, format.OpFsetxattr, 0, fd, "user.canary", 0, 3, 0)
				h.add(thread, format.OpFchmod, 0, fd, 0o777)
				h.add(thread, format.OpClose, 0, fd)
				h.add(thread, format.OpRead, 7, fd, 0, 7)
				h.add(thread, format.OpTruncate, 0, p, 3)
				h.add(thread, format.OpChmod, 0, p, 0o777)
				h.add(thread, format.OpChown, 0, p, 4711, 4711)
				h.add(thread, format.OpUtimens, 0, p, 0, 0)
				h.add(thread, format.OpSetxattr, 0, p, "user.canary", 0, 3, 0)
				h.add(thread, format.OpRemovexattr, 0, p, "user.canary")
				h.add(thread, format.OpRename, 0, p, p+"2")
				h.add(thread, format.OpLink, 0, p+"2", p)
				h.add(thread, format.OpUnlink, 0, p+"2")
				h.add(thread, format.OpMkdir, 0, p+"3", 0o777)
				h.add(thread, format.OpRmdir, 0, p+"3")
				h.add(thread, format.OpMknod, 0, p+"4", unix.S_IFCHR|0o666, 0x0103)
				h.add(thread, format.OpBind, 0, 3, p+"7", 110)
				h.add(thread, format.OpSymlink, 0, c.base, p+"5")
				h.add(thread, format.OpLink, 0, "way/../secret", p+"6")
			}
		}
		c.trace(t, "a.bin", h)
		c.forget(t)
		room := []string{"--limit", "bytes=256MiB", "--root", c.root} // each new name counts as a share of a directory's block
		o := c.replay(t, append(room, "--keep", "a.bin")...)
		require.Equal(t, h.events, o.executed, o.said)
		c.unharmed(t)
		o = c.replay(t, append(room, "a.bin")...) // in what that has left
		require.Equal(t, h.events, o.executed, o.said)
		c.unharmed(t)
	})
}

// TestAttackDescriptors names descriptors that are Pianola's own.
func TestAttackDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(1)
		c.waysOut(h)
		for op := format.OpNone + 1; op.Valid(); op++ {
			info := op.Info()
			if info.Canon != nil || info.Dropped || len(info.Args) == 0 || info.Args[0].Kind != format.FD {
				continue
			}
			for fd := range 40 {
				h.add(1, op, int64(fd), fd, 1, 100, 10, 1, 0)
				h.add(1, op, 0, fd, unix.F_SETFL, unix.O_ASYNC, fd, 100, 0)
			}
		}
		for fd := range 40 { // what was opened by that number is another file than Pianola's
			h.create(1, "taken", fd)
			h.add(1, format.OpDup2, int64(fd+1), fd, fd+1)
			h.add(1, format.OpWrite, 100, fd, 0, 100)
			h.add(1, format.OpFtruncate, 0, fd, 0)
			h.add(1, format.OpClose, 0, fd)
		}
		c.trace(t, "a.bin", h)
		c.forget(t)
		o := c.replay(t, "--root", c.root, "--log", "-", "a.bin")
		require.Equal(t, h.events, o.executed, o.said)
		c.unharmed(t)

		for _, d := range []format.Descriptor{
			{FD: 3, Path: "/proc/self/fd/3"}, {FD: 3, Path: c.base + "/secret"}, {FD: 3, Path: "in/absolute", Flags: format.RDWR}, {FD: 3, Path: "../pipe"},
			{FD: -1, Path: "in"}, {FD: math.MaxInt32, Path: "in"}, {FD: 3, Path: "new", Flags: format.CREAT | format.RDWR},
		} {
			h := newHostile(1)
			c.waysOut(h)
			d.Process = 1
			h.Descriptors = []format.Descriptor{d}
			c.trace(t, "a.bin", h)
			c.forget(t)
			o := c.replay(t, "--root", c.root, "a.bin")
			require.Equal(t, cli.ExitFailure, o.status, "%+v", d)
			require.Contains(t, o.said, fmt.Sprintf("descriptor %d of process 1", d.FD))
			c.unharmed(t)
		}
	})
}
