package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
	"pianola/format/bin"
	"pianola/internal/testkit"
)

// hostile is a compiled trace that no compile would make. Its events are written
// as they come, for the program that is attacked begins with the memory of the
// one that makes it.
type hostile struct {
	format.Header
	events int64
	last   format.Event // the youngest, not yet written
	writer *bin.Writer
	out    bytes.Buffer
}

// newHostile returns a trace of so many threads of one process, there from the
// start.
func newHostile(threads int) *hostile {
	h := &hostile{}
	h.writer = bin.NewWriter(&h.out, new(testkit.Spool))
	for range threads {
		h.Threads = append(h.Threads, format.Thread{Process: 1})
	}
	return h
}

// add adds an event and returns it, to be changed until the next is added.
// Arguments are numbers, or strings for those that are.
func (h *hostile) add(thread int32, op format.Op, ret int64, args ...any) *format.Event {
	h.write()
	h.last = format.Event{Op: op, TID: thread, Ret: ret}
	n := 0
	for i, a := range args {
		switch v := a.(type) {
		case string:
			h.last.Str[n] = []byte(v)
			n++
		case int:
			h.last.Args[i] = int64(v)
		case int64:
			h.last.Args[i] = v
		default:
			panic("argument of another type")
		}
	}
	h.events++
	return &h.last
}

// write writes the youngest event; errors are those of bytes, at last.
func (h *hostile) write() {
	if h.last.TID != 0 {
		_ = h.writer.Write([]format.Event{h.last})
	}
}

// file adds a file to the fileset.
func (h *hostile) file(f format.File) { h.Files = append(h.Files, f) }

// create adds events that make a file open under a number.
func (h *hostile) create(thread int32, path string, fd int) {
	h.add(thread, format.OpOpenm, int64(fd), path, format.RDWR|format.CREAT, 0o644)
}

// sleep adds an event that shows, by a file of that name, that all before it
// were played, and one that is never due.
func (h *hostile) sleep(thread int32, shown string) {
	h.create(thread, shown, 60)
	h.add(thread, format.OpClose, 0, 60).Compute = 1 << 62
}

// bytes returns the file, once.
func (h *hostile) bytes(t *testing.T) []byte {
	t.Helper()
	h.write()
	require.NoError(t, h.writer.Close(&h.Header))
	return h.out.Bytes()
}

// attacker is who replays, and in which way he is confined.
type attacker struct {
	name    string
	id      int
	options []string
}

const nobody = 65534

// attackers are those of each way of confinement: root has the root as his root
// directory, with Landlock or without, others have openat2 and Landlock.
func attackers() []attacker {
	if id := os.Geteuid(); id != 0 {
		return []attacker{{"who may not be root", id, nil}}
	}
	return []attacker{{"root", 0, nil}, {"nobody", nobody, nil}, {"root with Landlock", 0, []string{"--landlock"}}}
}

// eachUser runs an attack of each, at the same time: most of the time of a short
// replay goes into measuring the clock. Under the race detector it is eachWay: Landlock
// takes rights from threads, and adds none.
func eachUser(t *testing.T, attack func(t *testing.T, u attacker)) {
	if raceDetector() {
		eachWay(t, attack)
		return
	}
	for _, u := range attackers() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			attack(t, u)
		})
	}
}

// eachWay is eachUser without Landlock for root, which adds nothing to how much
// of anything a trace may use.
func eachWay(t *testing.T, attack func(t *testing.T, u attacker)) {
	for _, u := range attackers() {
		if u.options == nil {
			t.Run(u.name, func(t *testing.T) {
				t.Parallel()
				attack(t, u)
			})
		}
	}
}

// cage is where a hostile trace is replayed: a root among canaries, all of which
// belong to who replays it, so that nothing but Pianola protects them.
type cage struct {
	attacker
	base   string // of the root and the canaries
	root   string
	work   string   // working directory, with the traces, and for temporary files
	maps   []string // other roots, among the canaries
	before map[string]string
}

const canary = "canary"

func newCage(t *testing.T, u attacker) *cage {
	t.Helper()
	dir, err := os.MkdirTemp("", "pianola-attack-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	c := &cage{attacker: u, base: filepath.Join(dir, "base"), work: filepath.Join(dir, "work")}
	c.root = filepath.Join(c.base, "root")
	for _, name := range []string{c.base, c.root, c.work, c.base + "/dir", c.base + "/dir/empty"} {
		require.NoError(t, os.Mkdir(name, 0o700))
	}
	for _, name := range []string{"/secret", "/dir/secret", "/setuid"} {
		require.NoError(t, os.WriteFile(c.base+name, []byte(canary), 0o644))
	}
	require.NoError(t, os.Chmod(c.base+"/setuid", 0o755|os.ModeSetuid))
	require.NoError(t, os.Link(c.base+"/secret", c.base+"/twin"))
	require.NoError(t, os.Symlink("secret", c.base+"/link"))
	require.NoError(t, unix.Mkfifo(c.base+"/pipe", 0o644))
	require.NoError(t, unix.Mknod(c.base+"/socket", unix.S_IFSOCK|0o644, 0))
	if err := unix.Setxattr(c.base+"/secret", "user.canary", []byte(canary), 0); err != nil {
		require.ErrorIs(t, err, unix.EOPNOTSUPP)
	}
	require.NoError(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(name, u.id, u.id)
	}))
	c.before = c.look(t)
	return c
}

// look describes everything but the root, whatever can be seen of it: a read
// leaves a later time of access on a file that was never read, too.
func (c *cage) look(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	var walk func(name string)
	walk = func(name string) {
		target, _ := os.Readlink(name) // first, for that is an access
		var s unix.Stat_t
		require.NoError(t, unix.Lstat(name, &s))
		said := fmt.Sprintf("inode %d mode %o links %d owner %d:%d size %d blocks %d device %d times %v %v %v",
			s.Ino, s.Mode, s.Nlink, s.Uid, s.Gid, s.Size, s.Blocks, s.Rdev, s.Atim, s.Mtim, s.Ctim)
		names := make([]byte, 4096)
		if n, err := unix.Llistxattr(name, names); err == nil {
			said += fmt.Sprintf(" attributes %q", names[:n])
		}
		switch s.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			said += " to " + target
		case unix.S_IFREG, unix.S_IFDIR:
			f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOATIME, 0)
			require.NoError(t, err)
			defer f.Close()
			if s.Mode&unix.S_IFMT == unix.S_IFREG {
				sum := sha256.New()
				_, err = io.Copy(sum, f)
				require.NoError(t, err)
				said += " holds " + hex.EncodeToString(sum.Sum(nil))
				break
			}
			inside, err := f.Readdirnames(-1)
			require.NoError(t, err)
			for _, in := range inside {
				if in := filepath.Join(name, in); in != c.root && !slices.Contains(c.maps, in) {
					walk(in)
				}
			}
		}
		seen[name] = said
	}
	walk(c.base)
	return seen
}

// unharmed wants nothing outside the roots to have changed, and the roots to be
// closed to others as before.
func (c *cage) unharmed(t *testing.T) {
	t.Helper()
	require.Equal(t, c.before, c.look(t))
	for _, root := range append(c.maps, c.root) {
		var s unix.Stat_t
		require.NoError(t, unix.Lstat(root, &s))
		require.Equal(t, uint32(unix.S_IFDIR|0o700), s.Mode)
		require.Equal(t, uint32(c.id), s.Uid)
	}
}

// forget takes what is outside the root now for what must not change.
func (c *cage) forget(t *testing.T) { c.before = c.look(t) }

// trace writes a trace and returns its name.
func (c *cage) trace(t *testing.T, name string, h *hostile) string {
	t.Helper()
	name = filepath.Join(c.work, name)
	require.NoError(t, os.WriteFile(name, h.bytes(t), 0o644))
	return name
}

var executed = regexp.MustCompile(`(?m)^ *all +(\d+) `)

// outcome is how a replay ended.
type outcome struct {
	status   int
	said     string // on both outputs
	memory   int64  // the most bytes that were resident at a time
	executed int64  // events
}

// The limits of the attacks. The memory is that of buffers; the trace itself and the
// program come on top of it.
var limits = []string{"--limit", "memory=16MiB", "--limit", "bytes=16MiB", "--limit", "descriptors=1024", "--limit", "files=300", "--limit", "threads=64", "--limit", "kernel=16MiB"}

const mostMemory = 200 << 20

// command returns a replay that isn't started yet. Who runs it could not reach
// the program by its name.
func (c *cage) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	program, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	said := new(bytes.Buffer)
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3")
	cmd.Args = append(append(append([]string{"pianola", "replay"}, limits...), c.options...), args...)
	cmd.ExtraFiles = []*os.File{program}
	cmd.Dir, cmd.Env = c.work, append(os.Environ(), "TMPDIR="+c.work)
	cmd.Stdout, cmd.Stderr = said, said
	if c.id != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.id), Gid: uint32(c.id)}}
	}
	return cmd, said
}

// ended waits for a replay and wants it to have ended in good order: by itself
// or by the signal it was sent, without a panic, within its limits, and
// with nothing left where temporary files go.
func (c *cage) ended(t *testing.T, cmd *exec.Cmd, said *bytes.Buffer) outcome {
	t.Helper()
	err := cmd.Wait()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(t, err)
	}
	o := outcome{
		status: cmd.ProcessState.ExitCode(), said: said.String(),
		memory: cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10,
	}
	if m := executed.FindStringSubmatch(o.said); m != nil {
		o.executed, err = strconv.ParseInt(m[1], 10, 64)
		require.NoError(t, err)
	}
	require.Contains(t, []int{0, cli.ExitFailure, cli.ExitInconclusive, 130}, o.status, o.said)
	require.NotContains(t, o.said, "goroutine ")
	require.NotContains(t, o.said, "internal error")
	most := int64(mostMemory)
	if raceDetector() {
		most *= 5 // what its documentation names as the least: 5 to 10 times
	}
	require.LessOrEqual(t, o.memory, max(most, ownMemory(t)))
	for _, b := range []byte(strings.ReplaceAll(o.said, "\n", " ")) {
		require.GreaterOrEqual(t, b, byte(' '), "a control character in %q", o.said)
	}
	left, err := filepath.Glob(c.work + "/pianola-*")
	require.NoError(t, err)
	require.Empty(t, left)
	return o
}

// raceDetector reports whether the program is built with it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// ownMemory returns the most bytes that were resident of this program at a time,
// with which one that it starts begins.
func ownMemory(t *testing.T) int64 {
	t.Helper()
	var own unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &own))
	return own.Maxrss << 10
}

// replay replays as fast as possible.
func (c *cage) replay(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd, said := c.command(t, append([]string{"--timing", "afap"}, args...)...)
	require.NoError(t, cmd.Start())
	return c.ended(t, cmd, said)
}

// used returns the bytes and the number of what lies in the root and can be seen.
func (c *cage) used(t *testing.T) (size, files int64) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(c.root, func(name string, _ os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir
		}
		require.NoError(t, err)
		var s unix.Stat_t
		require.NoError(t, unix.Lstat(name, &s))
		size, files = size+s.Blocks*512, files+1
		return nil
	}))
	return size, files - 1
}
