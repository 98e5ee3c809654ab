package recordkit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
	"pianola/record"
)

// Programs are shell commands for the comparison, by name. Their calls do not depend on
// timing: for example, git has no file as new as its index, which it would read again.
// They run in an empty directory.
var Programs = []struct{ Name, Script string }{
	{"pipeline", "ls / | wc -l"},
	{"names", "mkdir d; echo text > d/f; mv d/f d/g; ln -s g d/h; cat d/h nosuch; rm -r d"},
	{"files", "dd if=/dev/zero of=f bs=4096 count=20 conv=fsync status=none; cp f g; truncate -s 7 g; stat g"},
	{"git", "git init -q .; echo text > f; touch -d 2001-01-01 f; git add f; git -c user.name=n -c user.email=e@x -c core.fsync=all -c gc.auto=0 commit -q -m text"},
	{"sqlite3", `sqlite3 f "CREATE TABLE t (a); INSERT INTO t VALUES (1); VACUUM"`},
	{"cp", `echo text > a; cp --reflink=auto a b; cp --reflink=never a c; chmod 600 a; touch b; mkfifo p; exec ` + python + ` -S -c "
import os, fcntl
f = os.open('a', os.O_RDWR); g = os.open('c', os.O_RDWR)
for call in (lambda: os.setxattr('a', 'user.x', b'v'), lambda: os.getxattr('a', 'user.x'), lambda: os.getxattr(f, 'user.none'),
             lambda: os.listxattr('a'), lambda: os.removexattr('a', 'user.x')):
  try: call()
  except OSError: pass
os.copy_file_range(f, g, 3, 1, 1)
os.copy_file_range(f, g, 2)
os.sendfile(g, f, 1, 3)
os.posix_fadvise(f, 0, 4, os.POSIX_FADV_WILLNEED)
os.chmod('c', 0o640); os.utime('c', (1, 2)); os.utime(f, (3, 4)); os.mkfifo('q', 0o600)
os.close(os.memfd_create('memory'))
fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
os.statvfs('a'); os.chown('a', -1, -1); os.truncate('c', 1); os.sync()
import _socket
a, b = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
a.send(b'xy'); b.recv(1); a.sendmsg([b'x', b'y']); b.recvmsg(9); os.write(a.fileno(), b'x'); os.read(b.fileno(), 1)
os.close(os.eventfd(1))
for family, address in (1, 's'), (1, 's'), (1, 'no/s'), (1, b'\\0abstract'), (1, ''), (1, 'n' * 107), (2, ('127.0.0.1', 0)):
  try: _socket.socket(family, 1).bind(address)
  except OSError: pass
"`},
	{"tar", "mkdir d; echo 1 > d/1; echo 2 > d/2; tar cf f d; rm -r d; tar xf f"},
	{"python3", `exec ` + python + ` -S -c "
import os, threading
def f(n):
  for i in range(20):
    fd = os.open('f%d' % n, os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(fd, b'x' * 100, i * 100)
    os.writev(fd, [b'a', b'bc'])
    os.close(fd)
for n in range(4):
  t = threading.Thread(target=f, args=(n,)); t.start(); t.join()
fd, to = os.open('f0', os.O_RDWR), os.open('to', os.O_RDWR | os.O_CREAT)
os.copy_file_range(fd, to, 50, 3, 4)
os.sendfile(to, fd, 2, 60)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fallocate(to, 0, 9999)
os.chmod('to', 0o600); os.utime('to', (1, 2)); os.chown('to', -1, -1); os.mkfifo('p'); os.statvfs('to')
os.memfd_create('m'); os.truncate('to', 77); os.link('to', 'l'); os.rename('l', 'k'); os.sync()
try: os.setxattr('to', 'user.a', b'v'); os.getxattr('to', 'user.a'); os.listxattr('to'); os.removexattr('to', 'user.a')
except OSError: pass
"`},
}

// byNature reports whether the results of an operation may differ between two runs: a
// process id, or a wait that a signal can interrupt.
func byNature(info *format.Info) bool { return info.Result == format.ResultThread }

// random matches parts of file names that programs choose at random.
var random = regexp.MustCompile(`(tmp_obj_|\.git/t|etilqs_)[A-Za-z0-9]+`)

// Threads returns the calls of each thread as "operation strings = result". Threads are
// in the order of their creation.
func Threads(events []format.Event) [][]string {
	calls := map[int32][]string{}
	order := []int32{events[0].TID}
	for i := range events {
		e := &events[i]
		info := e.Op.Info()
		if e.Did().Any(format.Starts) {
			order = append(order, int32(e.Ret))
		}
		if !byNature(info) && info.Class != format.ClassMemory && !info.Acts.Any(format.Faults) && e.Op != format.OpWait {
			calls[e.TID] = append(calls[e.TID], random.ReplaceAllString(fmt.Sprintf("%s %s = %d", e.Op, e.Str, e.Ret), "$1*"))
		}
	}
	threads := make([][]string, len(order))
	for i, tid := range order {
		threads[i] = calls[tid]
	}
	return threads
}

// ReadScript returns the events of a script.
func ReadScript(tb testing.TB, path string) (events []format.Event) {
	tb.Helper()
	f, err := os.Open(path)
	require.NoError(tb, err)
	defer f.Close()
	events, err = testkit.ReadAll(script.NewReader(f, path), 100)
	require.NoError(tb, err)
	return events
}

// SameAsStrace runs all Programs under a recorder and under strace, in the same
// directory. It requires the same events of each thread in number, order and result.
func SameAsStrace(t *testing.T, run record.Recorder) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	for _, p := range Programs {
		t.Run(p.Name, func(t *testing.T) {
			if _, err := exec.LookPath(p.Name); err != nil && p.Name != "pipeline" && p.Name != "names" && p.Name != "files" {
				t.Skip("no " + p.Name)
			}
			base := t.TempDir()
			work := filepath.Join(base, "work")
			o := record.Options{Command: []string{"/bin/sh", "-c", p.Script}, Dir: work}
			o.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "PWD=" + work, "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
				"GIT_AUTHOR_DATE=1 +0000", "GIT_COMMITTER_DATE=1 +0000"}
			o.Stdin, err = os.Open(os.DevNull)
			require.NoError(t, err)
			defer o.Stdin.Close()
			o.Stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			require.NoError(t, err)
			defer o.Stderr.Close()
			// Programs check the type of their output, so both runs write to a file.
			o.Stdout, err = os.Create(filepath.Join(base, "stdout"))
			require.NoError(t, err)
			defer o.Stdout.Close()

			fresh := func() {
				require.NoError(t, os.RemoveAll(work))
				require.NoError(t, os.Mkdir(work, 0o700))
				require.NoError(t, o.Stdout.Truncate(0))
				_, err := o.Stdout.Seek(0, io.SeekStart)
				require.NoError(t, err)
			}
			fresh()
			var c Collect
			r, err := run(t.Context(), o, &c)
			require.NoError(t, err)
			require.Zero(t, r.Lost, r.LostByOp)

			fresh()
			log := filepath.Join(base, "strace")
			cmd := exec.Command(strace, append([]string{"-f", "-r", "-T", "-s", "8192", "-o", log}, o.Command...)...)
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = o.Dir, o.Env, o.Stdin, o.Stdout
			if err := cmd.Run(); err != nil {
				require.ErrorAs(t, err, new(*exec.ExitError), "it ran, and may have failed")
			}
			other := ReadScript(t, log)
			require.Equal(t, format.OpExecve, other[0].Op)
			require.Equal(t, Threads(other[1:]), Threads(c.Events), "all but the first execve, which starts the command")
		})
	}
}
