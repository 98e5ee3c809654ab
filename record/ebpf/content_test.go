package ebpf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/recordkit"
)

func TestOpenNotes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), make([]byte, 5000), 0o640))
	holes, err := os.Create(filepath.Join(dir, "holes"))
	require.NoError(t, err)
	require.NoError(t, holes.Truncate(1<<30))
	require.NoError(t, holes.Close())
	var st unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(dir, "old"), &st))

	var c recordkit.Collect
	o := recordkit.Shell("umask 077; : < old; : < holes; : > new; : > new; : < /dev/zero; cat nosuch 2>/dev/null")
	o.Dir = dir
	recordLong(t, o, &c)

	e := c.One(t, format.OpOpenat, "old")
	require.Equal(t, fmt.Sprintf("type=reg mode=0640 size=5000 cached=%d dev=%d:%d ino=%d nlink=1",
		(5000+os.Getpagesize()-1)/os.Getpagesize(), unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino), recordkit.Notes(e))
	require.Equal(t, int64(format.AtFDCWD), e.Args[0])
	require.Equal(t, int64(format.RDONLY), e.Args[2])

	e = c.One(t, format.OpOpenat, "holes")
	require.Equal(t, "1073741824", recordkit.Note(e, "size"))
	require.Equal(t, "", recordkit.Note(e, "sparse"))

	created := c.Named("new")
	require.Len(t, created, 2)
	require.Equal(t, "", recordkit.Note(created[0], "new"))
	require.Equal(t, "0600", recordkit.Note(created[0], "mode"), "as the umask left it")
	require.Equal(t, int64(0o666), created[0].Args[3], "as the call asked for it")
	require.Equal(t, "-", recordkit.Note(created[1], "new"))

	require.Equal(t, "chr", recordkit.Note(c.One(t, format.OpOpenat, "/dev/zero"), "type"))
	e = c.One(t, format.OpOpenat, "nosuch")
	require.Equal(t, -int64(unix.ENOENT), e.Ret)
	require.Nil(t, e.Notes)
}

func TestPaths(t *testing.T) {
	odd := "odd \x01\xff\"\\\n name"
	long := strings.Repeat("d/", 2000) + "end" // short enough for the kernel, and not there
	cut := strings.Repeat("x", 5000)
	var c recordkit.Collect
	recordLong(t, recordkit.Python(t, "import os",
		"def access(p):",
		"  try: os.rename(p, b'never')",
		"  except OSError: pass",
		fmt.Sprintf("access(%s)", pythonBytes(odd)),
		"access(b'd/' * 2000 + b'end')",
		"access(b'x' * 4095)",
		"access(b'x' * 5000)",
		"import ctypes; libc = ctypes.CDLL(None)",
		"libc.access(ctypes.c_char_p(0), 0)",
		"libc.access(ctypes.c_void_p(8), 0)"), &c)

	require.Equal(t, "never", string(c.One(t, format.OpRename, odd).Str[1]))
	require.Nil(t, c.One(t, format.OpRename, long).Notes)
	require.Nil(t, c.One(t, format.OpRename, strings.Repeat("x", 4095)).Notes, "the longest path there is")
	e := c.One(t, format.OpRename, cut[:4096])
	require.Equal(t, "old=cut", recordkit.Notes(e))
	require.Equal(t, -int64(unix.ENAMETOOLONG), e.Ret)

	var bad []format.Event
	for _, e := range c.Of(format.OpAccess) {
		if e.Str[0] == nil {
			bad = append(bad, e)
		}
	}
	require.Len(t, bad, 2)
	require.Nil(t, bad[0].Notes)
	require.Equal(t, "path=unreadable", recordkit.Notes(bad[1]))
}

// Records of one name are made in two ways, by its length, and both say the same.
func TestNamesOfAllLengths(t *testing.T) {
	lengths := []int{0, 1, 61, 62, 63, 64, 65, 66, 127, 128, 255}
	var c recordkit.Collect
	o := recordkit.Python(t, asleep, "import ctypes, mmap, os",
		"os.umask(0)",
		"libc, page = ctypes.CDLL(None), mmap.PAGESIZE",
		"m = mmap.mmap(-1, 2 * page); at = ctypes.addressof(ctypes.c_char.from_buffer(m))",
		"libc.mprotect(ctypes.c_void_p(at + page), page, 0)",
		fmt.Sprintf("for n in %s:", strings.ReplaceAll(fmt.Sprint(lengths), " ", ", ")),
		"  m[page - n - 1:page] = b'x' * n + bytes(1)", // up to the end of what can be read
		"  name = ctypes.c_void_p(at + page - n - 1)",
		"  libc.open(name, os.O_RDWR | os.O_CREAT, 0o640)",
		"  sleep()",
		"  libc.access(name, 0)",
		"  m[page - n - 1:page] = b'y' * (n + 1)", // without an end
		"  libc.access(name, 0)")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	checked := c.Of(format.OpAccess)
	checked = checked[len(checked)-2*len(lengths):] // before come the interpreter's own
	for i, n := range lengths {
		name := strings.Repeat("x", n)
		whole, endless := checked[2*i], checked[2*i+1]
		require.Equal(t, name, string(whole.Str[0]))
		require.Positive(t, whole.Off.Timer, "what it slept, for %d bytes", n)
		require.Nil(t, endless.Str[0])
		require.Equal(t, "path=unreadable", recordkit.Notes(endless))
		require.Equal(t, -int64(unix.EFAULT), endless.Ret)
		if n > 0 {
			opened := c.One(t, format.OpOpenat, name)
			require.Equal(t, "reg 0640 0", recordkit.Note(opened, "type")+" "+recordkit.Note(opened, "mode")+" "+recordkit.Note(opened, "size"))
		}
	}
}

func pythonBytes(s string) string {
	var b strings.Builder
	b.WriteString("b'")
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String() + "'"
}

func TestLinksAndStat(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("to \"there\"", filepath.Join(dir, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), make([]byte, 77), 0o604))
	var c recordkit.Collect
	o := recordkit.Python(t, "import os", "os.readlink('link')", "os.stat('file')", "os.lstat('link')", "os.symlink('text', 'path')",
		"f = os.open('file', 0)", "os.fstat(f)")
	o.Dir = dir
	recordLong(t, o, &c)

	e := c.One(t, format.OpReadlink, "link")
	require.Equal(t, `target="to \"there\""`, recordkit.Notes(e))
	require.Nil(t, e.Str[1])
	var found int
	for _, e := range c.Events {
		switch {
		case recordkit.Notes(e) == "type=reg mode=0604 size=77":
			found++
		case string(e.Str[0]) == "link" && e.Op != format.OpReadlink:
			require.Equal(t, "type=lnk mode=0777 size=10", recordkit.Notes(e))
			found++
		}
	}
	require.Equal(t, 3, found, "stat, lstat, fstat")
	e = c.One(t, format.OpSymlink, "text")
	require.Equal(t, "path", string(e.Str[1]))
}

func TestSyntheticArguments(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, fcntl, ctypes, struct",
		"libc = ctypes.CDLL(None, use_errno=True)",
		"f = os.open('file', os.O_RDWR | os.O_CREAT, 0o600)",
		"os.writev(f, [b'x' * n for n in range(1, 301)])",
		"os.preadv(f, [bytearray(10), bytearray(20)], 5)",
		"r, w = os.pipe()",
		"fcntl.lockf(f, fcntl.LOCK_EX, 100, 7)",
		"fcntl.fcntl(f, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 11, 12, 0))",
		"fcntl.lockf(f, fcntl.LOCK_EX, 100, 7, os.SEEK_END); fcntl.lockf(f, fcntl.LOCK_UN, 5, 6, os.SEEK_CUR)",
		"def allow(*rights):",
		"  try: os.setxattr(f, 'system.posix_acl_access', struct.pack('I', 2) + b''.join(struct.pack('HHi', *r) for r in rights))",
		"  except OSError: pass",
		"allow((1, 6, -1), (4, 4, -1), (32, 0, -1)); allow((1, 6, -1), (2, 7, 1), (4, 0, -1), (16, 5, -1), (32, 1, -1)); allow((1, 0, -1), (4, 0, -1), (32, 0, -1)); allow()",
		"how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o640, 8)",
		"d = libc.syscall(437, -100, b'how', how, 24)",
		"print(f, r, w, d)")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var f, r, w, d int64
	_, err := fmt.Sscan(out, &f, &r, &w, &d)
	require.NoError(t, err)

	e := c.Of(format.OpWritev)[0]
	require.Equal(t, []int64{f, 300, 300 * 301 / 2}, []int64{e.Args[0], e.Args[2], e.Args[3]})
	require.Equal(t, e.Args[3], e.Ret)
	preadv := append(c.Of(format.OpPreadv), c.Of(format.OpPreadv2)...)
	require.Len(t, preadv, 1)
	require.Equal(t, []int64{2, 5, 30}, preadv[0].Args[2:5])

	pipes := append(c.Of(format.OpPipe), c.Of(format.OpPipe2)...)
	require.Len(t, pipes, 1)
	require.Equal(t, r|w<<32, pipes[0].Args[0])

	var locks [][]int64
	for _, e := range c.Of(format.OpFcntl) {
		if e.Args[1] == format.FSetlkw || e.Args[1] == format.FGetlk {
			locks = append(locks, e.Args[1:])
		}
	}
	require.Equal(t, [][]int64{{format.FSetlkw, format.SeekSet, 1, 7, 100}, {format.FGetlk, format.SeekSet, 0, 11, 12},
		{format.FSetlkw, format.SeekEnd, 1, 7, 100}, {format.FSetlkw, format.SeekCur, 2, 6, 5}}, locks, "as asked, not as answered")

	var modes []int64
	for _, e := range c.Of(format.OpFsetxattr) {
		modes = append(modes, e.Args[5])
	}
	require.Equal(t, []int64{format.GivesMode | 0o640, format.GivesMode | 0o651, format.GivesMode, 0}, modes, "of access lists")

	e = c.One(t, format.OpOpenat2, "how")
	require.Equal(t, d, e.Ret)
	require.Equal(t, []int64{format.CREAT | format.WRONLY, 0o640, 8}, e.Args[2:5])
	require.Equal(t, "", recordkit.Note(e, "new"))
}

func TestExecve(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0o700))
	var c recordkit.Collect
	o := recordkit.Shell("./script; ./nosuch 2>/dev/null; exec /bin/true")
	o.Dir = dir
	recordLong(t, o, &c)
	require.Zero(t, c.One(t, format.OpExecve, "./script").Ret, "not the interpreter")
	require.Zero(t, c.One(t, format.OpExecve, "/bin/true").Ret)
	require.NotZero(t, c.One(t, format.OpExecve, "/bin/true").Args[1])

	c = recordkit.Collect{}
	recordLong(t, recordkit.Python(t, "import os",
		"try: os.execv('/no/such', ['x'])",
		"except OSError: pass",
		"fd = os.open('/bin/true', os.O_RDONLY)",
		"os.execve(fd, ['true'], {})"), &c)
	require.Equal(t, -int64(unix.ENOENT), c.One(t, format.OpExecve, "/no/such").Ret)
	e := c.Of(format.OpExecveat)
	require.Len(t, e, 1)
	require.Equal(t, c.One(t, format.OpOpenat, "/bin/true").Ret, e[0].Args[0])
	require.True(t, e[0].Str[0] != nil && len(e[0].Str[0]) == 0)
	require.Equal(t, int64(format.AtEmptyPath), e[0].Args[4])
}

func TestTimesAndOrder(t *testing.T) {
	var c recordkit.Collect
	recordLong(t, recordkit.Shell("echo one | cat | cat"), &c)
	last := map[int32]int64{}
	for _, e := range c.Events {
		require.GreaterOrEqual(t, e.Start, last[e.TID], "a thread's events stand in its own order")
		require.GreaterOrEqual(t, e.Dur, int64(format.Unknown))
		last[e.TID] = e.End()
	}
	require.Greater(t, c.Events[0].Start, int64(0))
}
