package compile_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// Results of calls that overlap are explained by the order of their effects, if there is
// one. Thread 11 is a process that thread 10 made.
func TestOverlaps(t *testing.T) {
	const head = "# pianola script 1\n# cwd: \"/w\"\n10 0.000010000 mkdir(\"/w/d\", 0700) = 0 <0.000001000>\n10 0.000010000 clone(SIGCHLD) = 11 <0.000001000>\n"
	const made = "10 0.000010000 mkdir(\"/w/d/x\", 0700) = 0 <0.000001000>\n"
	const opened = `10 0.000010000 open("/w/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0 new}
11 0.000010000 open("d/f", O_RDWR) = 3 <0.000001000> {type=reg mode=0600 size=0}
`
	for _, c := range []struct {
		name, script string
		unexplained  int64
		want         []string // the calls in the order of their effects
	}{
		{"mkdir sees one that returns later", head + `11 0.000010000 mkdir("d/x", 0700) = -1 EEXIST (x) <0.000010000>
10 -0.000001000 mkdir("d/x", 0700) = 0 <0.000012000>
11 0.000010000 mkdir("d/x/y", 0700) = 0 <0.000001000>
`, 0, []string{"1 mkdir = 0", "2 mkdir = -17", "2 mkdir = 0"}},
		{"a stat saw what was before", head + `10 0.000010000 mkdir("d/x", 0700) = 0 <0.000005000>
11 -0.000001000 stat("d/x", 0x1) = -1 ENOENT (x) <0.000020000>
`, 0, []string{"2 stat = -2", "1 mkdir = 0"}},
		{"a removal that returns later", head + made + `11 0.000010000 stat("d/x", 0x1) = -1 ENOENT (x) <0.000010000>
10 -0.000001000 rmdir("d/x") = 0 <0.000012000>
`, 0, []string{"1 mkdir = 0", "1 rmdir = 0", "2 stat = -2"}},
		{"no call overlaps", head + made + `11 0.000010000 stat("d/x", 0x1) = -1 ENOENT (x) <0.000010000>
10 0.000020000 rmdir("d/x") = 0 <0.000012000>
`, 2, nil},
		{"the call that overlaps has another name", head + made + `11 0.000010000 stat("d/x", 0x1) = -1 ENOENT (x) <0.000010000>
10 -0.000001000 mkdir("d/y", 0700) = 0 <0.000012000>
`, 1, nil},
		{"a directory above", head + `11 0.000010000 mkdir("d/x/y", 0700) = 0 <0.000010000>
10 -0.000001000 mkdir("d/x", 0700) = 0 <0.000012000>
`, 0, []string{"1 mkdir = 0", "2 mkdir = 0"}},
		{"a directory that is emptied", head + made + `11 0.000010000 rmdir("d") = 0 <0.000010000>
10 -0.000001000 rmdir("d/x") = 0 <0.000012000>
`, 0, []string{"1 mkdir = 0", "1 rmdir = 0", "2 rmdir = 0"}},
		{"a directory that is still full", head + made + `10 0.000010000 rmdir("d/x") = 0 <0.000005000>
11 -0.000001000 rmdir("d") = -1 ENOTEMPTY (x) <0.000020000>
`, 0, []string{"1 mkdir = 0", "2 rmdir = -39", "1 rmdir = 0"}},
		{"a renaming that returns later", head + made + `11 0.000010000 stat("d/z", 0x1) = 0 <0.000010000>
10 -0.000001000 rename("d/x", "d/z") = 0 <0.000012000>
11 0.000020000 stat("d/x", 0x1) = -1 ENOENT (x) <0.000001000>
`, 0, []string{"1 mkdir = 0", "1 rename = 0", "2 stat = 0", "2 stat = -2"}},
		{"a link that returns later", head + made + `10 0.000010000 open("d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0 new}
11 0.000010000 unlink("d/g") = 0 <0.000010000>
10 -0.000001000 link("d/f", "d/g") = 0 <0.000012000>
`, 0, []string{"1 mkdir = 0", "1 openm = 3", "1 link = 0", "2 unlink = 0"}},
		{"three calls", head + made + `11 0.000010000 mkdir("d/x", 0700) = 0 <0.000020000>
10 -0.000001000 rmdir("d/x") = 0 <0.000022000>
11 0.000000000 rmdir("d/x") = 0 <0.000010000>
`, 0, []string{"1 mkdir = 0", "1 rmdir = 0", "2 mkdir = 0", "2 rmdir = 0"}},
		{"a read that saw a write", head + opened + `11 0.000010000 pread64(3, 0x1, 4096, 0) = 100 <0.000010000> {type=reg}
10 -0.000001000 write(3, 0x1, 100) = 100 <0.000012000> {type=reg}
`, 0, []string{"1 openm = 3", "2 open = 3", "1 write = 100", "2 pread64 = 100"}},
		{"a read that did not see a write", head + opened + `10 0.000010000 write(3, 0x1, 100) = 100 <0.000005000> {type=reg}
11 -0.000001000 read(3, 0x1, 4096) = 0 <0.000020000> {type=reg}
`, 0, []string{"1 openm = 3", "2 open = 3", "2 read = 0", "1 write = 100"}},
		{"a seek to the end sees a truncation", head + opened + `11 0.000010000 lseek(3, 0, SEEK_END) = 50 <0.000010000> {type=reg}
10 -0.000001000 ftruncate(3, 50) = 0 <0.000012000> {type=reg}
`, 0, []string{"1 openm = 3", "2 open = 3", "1 ftruncate = 0", "2 lseek = 50"}},
		{"an open empties a file", head + opened + `10 0.000010000 write(3, 0x1, 100) = 100 <0.000005000> {type=reg}
11 0.000010000 pread64(3, 0x1, 4096, 0) = 0 <0.000010000> {type=reg}
10 -0.000001000 open("d/f", O_WRONLY|O_TRUNC) = 4 <0.000012000> {type=reg mode=0600 size=0}
`, 0, []string{"1 openm = 3", "2 open = 3", "1 write = 100", "1 open = 4", "2 pread64 = 0"}},
		{"a read of what nothing wrote", head + opened + `11 0.000010000 pread64(3, 0x1, 4096, 0) = 200 <0.000010000> {type=reg}
10 -0.000001000 write(3, 0x1, 100) = 100 <0.000012000> {type=reg}
`, 1, nil},
		{"refused by a lock that returns later", head + opened + `11 0.000010000 flock(3, LOCK_EX|LOCK_NB) = -1 EAGAIN (x) <0.000010000> {type=reg}
10 -0.000001000 flock(3, LOCK_EX) = 0 <0.000012000> {type=reg}
`, 0, []string{"1 openm = 3", "2 open = 3", "1 flock = 0", "2 flock = -11"}},
		{"locked before the release returned", head + opened + `10 0.000010000 fcntl(3, F_SETLK, SEEK_SET, F_WRLCK, 0, 10) = 0 <0.000001000> {type=reg}
11 0.000010000 fcntl(3, F_SETLK, SEEK_SET, F_WRLCK, 5, 10) = 0 <0.000010000> {type=reg}
10 -0.000001000 close(3) = 0 <0.000012000> {type=reg}
`, 0, []string{"1 openm = 3", "2 open = 3", "1 fcntl = 0", "1 close = 0", "2 fcntl = 0"}},
		{"a listing of a directory that is removed", head + made + `11 0.000010000 open("d/x", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir mode=0700}
10 0.000010000 rmdir("d/x") = 0 <0.000005000>
11 -0.000001000 getdents64(3, 0x1, 32768) = 48 <0.000020000>
11 0.000010000 getdents64(3, 0x1, 32768) = -1 ENOENT (x) <0.000020000>
`, 0, []string{"1 mkdir = 0", "2 open = 3", "2 getdents64 = 48", "1 rmdir = 0", "2 getdents64 = -2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &checker{}
			r, err := compile.Compile(script.NewReader(strings.NewReader(c.script), "test.txt"), new(testkit.Spool), k, compile.Options{Names: true})
			require.NoError(t, err)
			require.NoError(t, k.fault)
			require.Equal(t, c.unexplained, r.Unexplained, r.Examples)
			require.Zero(t, r.GivenUp())
			if c.want == nil {
				return
			}
			var got []string
			for _, e := range k.events[2:] {
				got = append(got, fmt.Sprintf("%d %v = %d", e.TID, e.Op, e.Ret))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// tree is a file system of names. Names of one file have one inode.
type tree map[string]*inode

type inode struct {
	dir   bool
	size  int64
	locks []heldLock
}

// heldLock is a lock on bytes of a file, or of flock on the whole file.
type heldLock struct {
	owner            any // a *description, or the number of a process
	whole, exclusive bool
	off, end         int64
}

// description is an open file description. It can be shared.
type description struct {
	*inode
	off     int64
	appends bool
	users   int
}

// lock takes or gives up a lock, which is refused if another owner has one that conflicts.
func (nd *inode) lock(k heldLock, gives bool) int64 {
	meets := func(h heldLock) bool { return h.whole == k.whole && h.off < k.end && k.off < h.end }
	refused := !gives && slices.ContainsFunc(nd.locks, func(h heldLock) bool {
		return meets(h) && h.owner != k.owner && (h.exclusive || k.exclusive)
	})
	if refused && !k.whole {
		return -11 // EAGAIN
	}
	var kept []heldLock
	for _, h := range nd.locks {
		if !meets(h) || h.owner != k.owner {
			kept = append(kept, h)
			continue
		}
		if h.off < k.off {
			kept = append(kept, heldLock{h.owner, h.whole, h.exclusive, h.off, k.off})
		}
		if k.end < h.end {
			kept = append(kept, heldLock{h.owner, h.whole, h.exclusive, k.end, h.end})
		}
	}
	if nd.locks = kept; refused {
		return -11
	}
	if !gives {
		nd.locks = append(nd.locks, k)
	}
	return 0
}

// call makes a call of a process on the file, and returns its result.
func (d *description) call(e *format.Event, process int) int64 {
	at, end := e.Offset(), e.Offset()+e.Size()
	if e.Offset() < 0 {
		at, end = d.off, d.off+e.Size()
	}
	switch e.Op.Info().Effect {
	case format.EffectRead:
		n := max(min(end, d.size)-at, 0)
		if e.Offset() < 0 {
			d.off += n
		}
		return n
	case format.EffectWrite:
		if d.appends {
			end = d.size + e.Size()
		}
		if d.size = max(d.size, end); e.Offset() < 0 {
			d.off = end
		}
		return e.Size()
	case format.EffectTruncate:
		d.size = e.Size()
	case format.EffectSeek:
		if d.off = e.Offset(); e.Word(format.Whence) == format.SeekEnd {
			d.off += d.size
		}
		return d.off
	case format.EffectLock:
		return d.lock(heldLock{d, true, e.Args[1]&format.FlockExclusive != 0, 0, 1 << 40}, e.Args[1]&format.FlockNone != 0)
	case format.EffectFcntl:
		k := heldLock{process, false, e.Args[3] == format.LockWrite, e.Args[4], e.Args[4] + e.Args[5]}
		if e.Args[1] == format.FOfdSetlk {
			k.owner = d
		}
		return d.lock(k, e.Args[3] == format.LockNone)
	case format.EffectClose:
		d.users--
		d.locks = slices.DeleteFunc(slices.Clone(d.locks), func(h heldLock) bool { return h.owner == process || d.users == 0 && h.owner == d })
	}
	return 0
}

// onFile returns a random call on descriptor 3, and its text without the result.
func onFile(r *rand.Rand) (e format.Event, text string) {
	n, off := 1+r.Int64N(20), r.Int64N(30)
	e.Args[0] = 3
	switch r.IntN(12) {
	case 0, 1:
		e.Op, e.Args[2] = format.OpRead, n
		return e, fmt.Sprintf("read(3, 0x1, %d)", n)
	case 2, 3:
		e.Op, e.Args[2], e.Args[3] = format.OpPread64, n, off
		return e, fmt.Sprintf("pread64(3, 0x1, %d, %d)", n, off)
	case 4, 5:
		e.Op, e.Args[2] = format.OpWrite, n
		return e, fmt.Sprintf("write(3, 0x1, %d)", n)
	case 6:
		e.Op, e.Args[2], e.Args[3] = format.OpPwrite64, n, off
		return e, fmt.Sprintf("pwrite64(3, 0x1, %d, %d)", n, off)
	case 7:
		e.Op, e.Args[1] = format.OpFtruncate, off
		return e, fmt.Sprintf("ftruncate(3, %d)", off)
	case 8:
		e.Op, e.Args[2] = format.OpLseek, format.SeekEnd
		if r.IntN(3) == 0 {
			e.Args[2] = format.SeekSet
			return e, "lseek(3, 0, SEEK_SET)"
		}
		return e, "lseek(3, 0, SEEK_END)"
	case 9:
		how := r.IntN(3)
		e.Op, e.Args[1] = format.OpFlock, [...]int64{format.FlockExclusive, 1, format.FlockNone}[how]
		return e, fmt.Sprintf("flock(3, %s)", [...]string{"LOCK_EX|LOCK_NB", "LOCK_SH|LOCK_NB", "LOCK_UN"}[how])
	case 10:
		how, cmd := r.IntN(3), r.IntN(2)
		off, n = 10*(off%3), 10*(1+n%2)
		e.Op, e.Args = format.OpFcntl, [format.MaxArgs]int64{3, [...]int64{format.FSetlk, format.FOfdSetlk}[cmd], 0, [...]int64{format.LockWrite, 0, format.LockNone}[how], off, n}
		return e, fmt.Sprintf("fcntl(3, %s, SEEK_SET, %s, %d, %d)", [...]string{"F_SETLK", "F_OFD_SETLK"}[cmd], [...]string{"F_WRLCK", "F_RDLCK", "F_UNLCK"}[how], off, n)
	}
	e.Op = format.OpClose
	return e, "close(3)"
}

// above returns why the directory of a name can't be reached, 0 if it can.
func (fs tree) above(name string) int64 {
	dir := path.Dir(name)
	if dir == "." {
		return 0
	}
	if e := fs.above(dir); e != 0 {
		return e
	}
	switch nd := fs[dir]; {
	case nd == nil:
		return -2 // ENOENT
	case !nd.dir:
		return -20 // ENOTDIR
	}
	return 0
}

func (fs tree) holds(name string) bool {
	for k := range fs {
		if path.Dir(k) == name {
			return true
		}
	}
	return false
}

// call makes a call and returns its result, and whether it made a file.
func (fs tree) call(op format.Op, flags int64, name, to string) (ret int64, made bool) {
	if e := fs.above(name); e != 0 {
		return e, false
	}
	nd := fs[name]
	switch effect := op.Info().Effect; {
	case effect == format.EffectOpen:
		switch {
		case nd != nil && flags&format.EXCL != 0:
			return -17, false
		case nd == nil && flags&format.CREAT == 0:
			return -2, false
		case nd == nil:
			fs[name] = &inode{}
		case flags&format.TRUNC != 0:
			nd.size = 0
		}
		return 3, nd == nil
	case effect == format.EffectMkdir && nd != nil:
		return -17, false
	case effect == format.EffectMkdir:
		fs[name] = &inode{dir: true}
	case nd == nil:
		return -2, false
	case effect == format.EffectUnlink && nd.dir:
		return -21, false
	case effect == format.EffectRmdir && !nd.dir:
		return -20, false
	case effect == format.EffectRmdir && fs.holds(name):
		return -39, false
	case effect == format.EffectUnlink, effect == format.EffectRmdir:
		delete(fs, name)
	case fs.above(to) != 0:
		return fs.above(to), false
	case effect == format.EffectLink && fs[to] != nil:
		return -17, false
	case effect == format.EffectLink:
		fs[to] = nd
	case strings.HasPrefix(to, name+"/"):
		return -22, false
	case strings.HasPrefix(name, to+"/"):
		return -39, false
	case fs[to] == nd:
	case fs[to] != nil && nd.dir && !fs[to].dir:
		return -20, false
	case fs[to] != nil && !nd.dir && fs[to].dir:
		return -21, false
	case nd.dir && fs.holds(to):
		return -39, false
	default:
		fs.move(name, to)
	}
	return 0, false
}

// move renames a file, or a directory with all that is below it.
func (fs tree) move(name, to string) {
	for k, nd := range maps.Clone(fs) {
		if below, ok := strings.CutPrefix(k, name); ok && (below == "" || below[0] == '/') {
			delete(fs, k)
			fs[to+below] = nd
		}
	}
}

// raced is a call of a random program.
type raced struct {
	thread             int
	start, effect, end int64
	op                 format.Op
	flags              int64
	name, to           string
	file               format.Event // the call if descriptor 3 is open; none without an operation
	text               string
}

// race returns the script of a random program whose processes use the same few names at
// the same time. A recorder by ptrace notes that an open made its file if the name was
// missing when the call began. With contents, the processes read, write, truncate and lock the
// files that they open, and some of them share a description.
func race(r *rand.Rand, ptrace, contents bool) string {
	dirs := []string{"a", "b", "a/c"}
	files := []string{"x", "a/x", "b/x", "a/c/x", "a/y"}
	threads := 2 + r.IntN(5)
	var calls []*raced
	for thread := range threads {
		now := r.Int64N(1000)
		for range 10 + r.IntN(60) {
			c := &raced{thread: thread, start: now + r.Int64N(300)}
			length := 1 + r.Int64N(2000)
			if r.IntN(20) == 0 {
				length *= 20
			}
			c.end = c.start + length
			c.effect = c.start + r.Int64N(length)
			now = c.end + 1
			c.name = files[r.IntN(len(files))]
			switch r.IntN(10) {
			case 0, 1:
				c.op, c.name = format.OpMkdir, dirs[r.IntN(len(dirs))]
			case 2:
				c.op, c.name = format.OpRmdir, dirs[r.IntN(len(dirs))]
			case 3:
				c.op = format.OpUnlink
			case 4:
				if c.op, c.to = format.OpRename, files[r.IntN(len(files))]; r.IntN(4) == 0 {
					c.name, c.to = dirs[r.IntN(len(dirs))], dirs[r.IntN(len(dirs))]
				}
			case 5:
				c.op, c.to = format.OpLink, files[r.IntN(len(files))]
			case 6:
				c.op, c.flags = format.OpOpen, format.CREAT|format.EXCL
			case 7:
				c.op, c.flags = format.OpOpen, format.CREAT
			default:
				c.op = format.OpOpen
			}
			if contents && (c.op == format.OpOpen || r.IntN(3) > 0) {
				if c.op != format.OpOpen || r.IntN(2) > 0 {
					c.file, c.text = onFile(r)
				} else {
					c.file, c.text = format.Event{Op: format.OpClose}, "close(3)"
				}
				if c.op == format.OpOpen && r.IntN(2) == 0 {
					c.flags |= format.TRUNC
				}
				if c.op == format.OpOpen && r.IntN(4) == 0 {
					c.flags |= format.APPEND
				}
				if c.op == format.OpOpen {
					c.flags |= format.RDWR
				}
			}
			calls = append(calls, c)
		}
	}
	byEffect := slices.Clone(calls)
	slices.SortStableFunc(byEffect, func(a, b *raced) int { return int(a.effect - b.effect) })
	starts := slices.Clone(calls)
	slices.SortStableFunc(starts, func(a, b *raced) int { return int(a.start - b.start) })
	fs, absent, open := tree{}, map[*raced]bool{}, make([]*description, threads)
	if contents && r.IntN(2) == 0 {
		shared := &description{inode: &inode{}, users: threads}
		fs["x"] = shared.inode
		for i := range open {
			open[i] = shared
		}
	}
	shares := open[0] != nil
	for _, c := range byEffect {
		for len(starts) > 0 && starts[0].start <= c.effect {
			_, exists := fs[starts[0].name]
			absent[starts[0]] = !exists
			starts = starts[1:]
		}
		ret, made, onFile := int64(0), false, c.file.Op != 0 && open[c.thread] != nil
		if onFile {
			if ret = open[c.thread].call(&c.file, c.thread); c.file.Op == format.OpClose {
				open[c.thread] = nil
			}
		} else if ret, made = fs.call(c.op, c.flags, c.name, c.to); contents && c.op == format.OpOpen && ret >= 0 {
			open[c.thread] = &description{inode: fs[c.name], appends: c.flags&format.APPEND != 0, users: 1}
		}
		result := fmt.Sprint(ret)
		if ret < 0 {
			result = fmt.Sprintf("-1 %s (x)", map[int64]string{-2: "ENOENT", -11: "EAGAIN", -17: "EEXIST", -20: "ENOTDIR", -21: "EISDIR", -22: "EINVAL", -39: "ENOTEMPTY"}[ret])
		}
		notes := ""
		if ret >= 0 && c.op == format.OpOpen {
			if notes = " {type=reg mode=0600 size=0}"; ptrace && c.flags&format.CREAT != 0 && absent[c] || !ptrace && made {
				notes = " {type=reg mode=0600 size=0 new}"
			}
		}
		if onFile {
			c.text = fmt.Sprintf("%s = %s <%.9f> {type=reg}\n", c.text, result, float64(c.end-c.start)/1e9)
			continue
		}
		args := fmt.Sprintf("%q", "/w/"+c.name)
		switch c.op {
		case format.OpMkdir:
			args += ", 0700"
		case format.OpRename, format.OpLink:
			args += fmt.Sprintf(", %q", "/w/"+c.to)
		case format.OpOpen:
			args += map[int64]string{0: ", O_RDONLY", format.RDWR: ", O_RDWR", format.CREAT: ", O_RDWR|O_CREAT, 0600", format.CREAT | format.EXCL: ", O_RDWR|O_CREAT|O_EXCL, 0600"}[c.flags&^(format.TRUNC|format.APPEND)&^c.also()]
			for flag, name := range map[int64]string{format.TRUNC: "|O_TRUNC", format.APPEND: "|O_APPEND"} {
				if c.flags&flag != 0 {
					args = strings.Replace(args, "O_RDWR", "O_RDWR"+name, 1)
				}
			}
		}
		c.text = fmt.Sprintf("%v(%s) = %s <%.9f>%s\n", c.op, args, result, float64(c.end-c.start)/1e9, notes)
		if ret >= 0 && c.op == format.OpOpen && !contents {
			c.text += fmt.Sprintf("%d %.9f close(3) = 0 <0.000000000>\n", 10+c.thread, float64(c.end-c.start)/1e9)
		}
	}
	slices.SortStableFunc(calls, func(a, b *raced) int { return int(a.end - b.end) })
	b := strings.Builder{}
	tool := "ebpf"
	if ptrace {
		tool = "ptrace"
	}
	fmt.Fprintf(&b, "# pianola script 1\n# recorder: %s\n# cwd: \"/w\"\n", tool)
	for _, name := range append(dirs, files...) { // else a renaming that fails doesn't tell which name is missing
		fmt.Fprintf(&b, "10 0.000000000 stat(\"/w/%s\", 0x1) = -1 ENOENT (x) <0.000000000>\n", name)
	}
	if shares {
		b.WriteString("10 0.000000000 open(\"/w/x\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000000000> {type=reg mode=0600 size=0 new}\n")
	}
	for i := 1; i < threads; i++ {
		fmt.Fprintf(&b, "10 0.000000000 clone(SIGCHLD) = %d <0.000000000>\n", 10+i)
	}
	last := int64(0)
	for _, c := range calls {
		fmt.Fprintf(&b, "%d %.9f %s", 10+c.thread, float64(c.start-last)/1e9, c.text)
		if last = c.start; strings.Contains(c.text, "\n"+fmt.Sprint(10+c.thread)) { // with its close
			last = c.end
		}
	}
	return b.String()
}

// also returns the flags that say how a file is opened that may be made.
func (c *raced) also() int64 {
	if c.flags&format.CREAT != 0 {
		return format.RDWR
	}
	return 0
}

// Random programs whose processes race for names and for what is in files: every result is
// explained, and every order of the events that their edges allow gives the same results.
func TestRaces(t *testing.T) {
	from, to := uint64(0), uint64(199)
	if testing.Short() {
		to = 39
	}
	if text := os.Getenv("PIANOLA_RANDOM_SEEDS"); text != "" {
		_, err := fmt.Sscanf(text, "%d-%d", &from, &to)
		require.NoError(t, err)
	}
	for seed := from; seed <= to; seed++ {
		for kind := range 4 {
			r, ptrace, contents := rand.New(rand.NewPCG(seed, 1)), kind&1 != 0, kind&2 != 0
			input := race(r, ptrace, contents)
			k := &checker{}
			report, err := compile.Compile(script.NewReader(strings.NewReader(input), "test.txt"), new(testkit.Spool), k, compile.Options{Names: true})
			require.NoError(t, err)
			if k.fault != nil && !strings.Contains(k.fault.Error(), "called") { // files of a directory that is made again have another name there
				require.NoError(t, k.fault)
			}
			if report.Unexplained > 0 || report.GivenUp() > 0 {
				t.Errorf("seed %d, ptrace %v, contents %v: unexplained %d, not searched to the end %d: %v", seed, ptrace, contents, report.Unexplained, report.GivenUp(), report.Examples)
				continue
			}
			for round := range 3 {
				if fault := play(k, r, round == 0); fault != "" {
					t.Errorf("seed %d, ptrace %v, contents %v, round %d: %s", seed, ptrace, contents, round, fault)
					break
				}
			}
		}
	}
}

// play makes the calls of a trace in its order, or in another one that its edges allow.
func play(k *checker, r *rand.Rand, inOrder bool) string {
	fs := tree{}
	for _, f := range k.header.Files {
		fs[path.Clean(f.Path)] = &inode{dir: f.Type == format.TypeDir}
	}
	threads := make([][]*format.Event, len(k.header.Threads)+1)
	for i := range k.events {
		e := &k.events[i]
		threads[e.TID] = append(threads[e.TID], e)
	}
	did, next := make([]int64, len(threads)), 0
	open := make([]map[int64]*description, len(threads)) // every thread is a process
	for i := range open {
		open[i] = map[int64]*description{}
	}
	for range k.events {
		e := (*format.Event)(nil)
		if inOrder {
			e = &k.events[next]
			next++
		}
		for e == nil {
			n := 1 + r.IntN(len(threads)-1)
			if did[n] == int64(len(threads[n])) {
				continue
			}
			e = threads[n][did[n]]
			for _, g := range e.Edges {
				if did[g.Thread] <= g.Event {
					e = nil
					break
				}
			}
		}
		did[e.TID]++
		if e.Op.Info().Effect == format.EffectFork {
			for fd, d := range open[e.TID] {
				open[e.Ret][fd] = d
				d.users++
			}
			continue
		}
		paths := e.Op.Info().At.Paths
		if d := open[e.TID][e.FD()]; d != nil && paths[0].Arg < 0 {
			if got := d.call(e, int(e.TID)); got != e.Ret {
				return fmt.Sprintf("event %d of thread %d: %v %v = %d, want %d", did[e.TID]-1, e.TID, e.Op, e.Args, got, e.Ret)
			}
			if e.Op == format.OpClose {
				delete(open[e.TID], e.FD())
			}
			continue
		}
		if paths[0].Arg < 0 || e.Op.Info().Effect == format.EffectStat {
			continue
		}
		name, to := strings.ReplaceAll(string(e.Path(0)), "//", "/"), strings.ReplaceAll(string(e.Path(1)), "//", "/")
		got, _ := fs.call(e.Op, e.OpenFlags(), name, to)
		if got >= 0 && e.Op.Info().Effect == format.EffectOpen {
			open[e.TID][e.Ret] = &description{inode: fs[name], appends: e.OpenFlags()&format.APPEND != 0, users: 1}
		}
		if (got < 0) != (e.Ret < 0) || got < 0 && got != e.Ret {
			return fmt.Sprintf("event %d of thread %d: %v(%s, %s) = %d, want %d", did[e.TID]-1, e.TID, e.Op, name, to, got, e.Ret)
		}
	}
	return ""
}

// overlapped returns the beginning of a script whose calls get another order than that of
// their lines, and the lines after it, which lines writes: the start of a call in
// nanoseconds, its duration, and what comes after the thread.
func overlapped(lines func(line func(tid int, start, length int64, text string, args ...any))) string {
	b := strings.Builder{}
	b.WriteString("# pianola script 1\n# recorder: ebpf\n# cwd: \"/w\"\n")
	last := int64(0)
	line := func(tid int, start, length int64, text string, args ...any) {
		call, notes, _ := strings.Cut(fmt.Sprintf(text, args...), " {")
		if notes != "" {
			notes = " {" + notes
		}
		fmt.Fprintf(&b, "%d %.9f %s <%.9f>%s\n", tid, float64(start-last)/1e9, call, float64(length)/1e9, notes)
		last = start
	}
	line(10, 1, 1, `mkdir("/w/d", 0700) = 0`)
	line(10, 2, 1, `clone(SIGCHLD) = 11`)
	line(10, 3, 1, `clone(SIGCHLD) = 12`)
	line(11, 10, 10, `mkdir("/w/d/x", 0700) = -1 EEXIST (x)`)
	line(12, 9, 12, `mkdir("/w/d/x", 0700) = 0`)
	lines(line)
	return b.String()
}

// ordered compiles a script whose calls need an order.
func ordered(t *testing.T, input string, memory int64) *compile.Report {
	t.Helper()
	r, err := compile.Compile(script.NewReader(strings.NewReader(input), "test.txt"), new(testkit.Spool), &checker{}, compile.Options{Names: true, Memory: memory})
	require.NoError(t, err)
	return r
}

// The names that the reader follows take memory for each component, not for each path.
func TestOverlapsOfLongPaths(t *testing.T) {
	input := overlapped(func(line func(int, int64, int64, string, ...any)) {
		for i := range int64(4) {
			line(12, 100+10*i, 1, `chdir("%s") = 0`, strings.Repeat("a/", 2000)+"a")
		}
		for i := range int64(500) {
			line(12, 1000+10*i, 1, `stat("/w/d/%s%d", 0x1) = -1 ENOENT (x)`, strings.Repeat("a/", 40), i)
		}
	})
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	r := ordered(t, input, 32<<20)
	runtime.ReadMemStats(&after)
	require.Zero(t, r.Unexplained, r.Examples)
	require.Zero(t, r.GivenUp())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20))
}

// Where the order takes too much memory, the calls are in the order of their lines, and the
// report says so.
func TestOverlapsWithoutMemory(t *testing.T) {
	input := overlapped(func(line func(int, int64, int64, string, ...any)) {
		for i := range int64(1000) {
			line(12, 100+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
		}
		line(11, 50, 20_000, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
	})
	r := ordered(t, input, 0)
	require.Zero(t, r.Unexplained, r.Examples)
	require.Zero(t, r.GivenUp())
	r = ordered(t, input, 1<<20)
	require.EqualValues(t, 2, r.Unexplained, r.Examples)
	require.EqualValues(t, 1, r.GivenUp())
	require.Contains(t, reported(t, r), "not searched to the end: 1\n  1: too much memory; all calls are in the order of their lines\n")
}

// reported returns the report as text.
func reported(t *testing.T, r *compile.Report) string {
	t.Helper()
	b := strings.Builder{}
	_, err := r.WriteTo(&b)
	require.NoError(t, err)
	return b.String()
}

// Calls that overlap are found however many others are between them.
func TestOverlapsFarApart(t *testing.T) {
	for _, c := range []struct {
		name        string
		memory      int64
		script      string
		unexplained int64
		want        string // in the report
	}{
		{"returns much later", 0, overlapped(func(line func(int, int64, int64, string, ...any)) {
			line(11, 100, 10, `mkdir("/w/d/y", 0700) = -1 EEXIST (x)`)
			for i := range int64(6000) {
				line(11, 200+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
			}
			line(12, 50, 100_000, `mkdir("/w/d/y", 0700) = 0`)
		}), 0, ""},
		{"began much earlier", 0, overlapped(func(line func(int, int64, int64, string, ...any)) {
			line(10, 100, 1, `mkdir("/w/d/y", 0700) = 0`)
			line(10, 110, 1, `rmdir("/w/d/y") = 0`)
			line(12, 125, 1, `rmdir("/w/d/y") = 0`)
			for i := range int64(600) {
				line(12, 200+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
			}
			line(11, 120, 10_000, `mkdir("/w/d/y", 0700) = 0`)
			line(12, 10_200, 1, `stat("/w/d/y", 0x1) = -1 ENOENT (x)`)
		}), 0, ""},
		{"further than memory allows", 16 << 20, overlapped(func(line func(int, int64, int64, string, ...any)) {
			line(11, 100, 10, `mkdir("/w/d/y", 0700) = -1 EEXIST (x)`)
			for i := range int64(3000) {
				line(11, 200+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
			}
			line(12, 50, 100_000, `mkdir("/w/d/y", 0700) = 0`)
		}), 2, "not searched to the end: 2\n  2: calls that overlap are too many lines apart\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ordered(t, c.script, c.memory)
			require.Equal(t, c.unexplained, r.Unexplained, r.Examples)
			if c.want == "" {
				require.Zero(t, r.GivenUp())
			}
			require.Contains(t, reported(t, r), c.want)
		})
	}
}

// crowded returns a script with many links to files of a directory, which are made while
// that is removed: no order explains it, and there are very many.
func crowded(links int) string {
	return overlapped(func(line func(int, int64, int64, string, ...any)) {
		now := int64(100)
		for i := range links {
			line(10, now, 1, `open("/w/d/a%d", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 {type=reg mode=0600 size=0 new}`, i)
			line(10, now+2, 1, `close(3) = 0`)
			line(10, now+4, 1, `clone(SIGCHLD) = %d`, 100+i)
			now += 10
		}
		line(10, now+200, 100, `rmdir("/w/d") = 0`)
		for i := range links {
			line(100+i, now, 1_000_000+int64(i), `link("/w/d/a%d", "/w/d/b%d") = 0`, i, i)
		}
	})
}

// A search that has too much to try is given up, after a time that doesn't grow with the
// size of its states.
func TestOverlapsGivenUp(t *testing.T) {
	for _, c := range []struct {
		links int
		want  string
	}{
		{400, "too many steps in one search"},
		{1100, "too many calls that overlap on the same names"},
	} {
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		r := ordered(t, crowded(c.links), 0)
		runtime.ReadMemStats(&after)
		require.Positive(t, r.GivenUp())
		require.Contains(t, reported(t, r), c.want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20)) // mostly states
	}
}

// Recordings in which names are reused while calls overlap.
func TestOverlapsOfReusedNames(t *testing.T) {
	for _, name := range []string{
		"dead",  // a descriptor of a directory that was removed, while another one has its name
		"list",  // a listing of such a directory
		"alias", // two names of one directory, one through a link
		"mv1",   // a renaming onto a directory in which a name is known before
	} {
		text, err := os.ReadFile("testdata/overlaps/" + name + ".txt")
		require.NoError(t, err)
		r := ordered(t, string(text), 0)
		require.Zero(t, r.Unexplained, "%s: %v", name, r.Examples)
		require.Zero(t, r.GivenUp(), name)
	}
}

// A listing that no order explains is unexplained.
func TestListingOfRemoved(t *testing.T) {
	r := ordered(t, overlapped(func(line func(int, int64, int64, string, ...any)) {
		line(10, 100, 1, `mkdir("/w/e", 0700) = 0`)
		line(10, 110, 1, `open("/w/e", O_RDONLY|O_DIRECTORY) = 3 {type=dir mode=0700}`)
		line(10, 120, 1, `rmdir("/w/e") = 0`)
		line(10, 130, 1, `mkdir("/w/e", 0700) = 0`)
		line(10, 140, 1, `getdents64(3, 0x1, 32768) = 48`)
	}), 0)
	require.EqualValues(t, 1, r.Unexplained)
	require.Contains(t, r.Examples[0], "listed, but it was removed")
}

// A result that nothing explains names the recorded calls that overlap with it. Only if there
// are none, another program is held responsible.
func TestUnexplainedBesideOverlaps(t *testing.T) {
	r := ordered(t, overlapped(func(line func(int, int64, int64, string, ...any)) {
		line(10, 100, 1, `mkdir("/w/d/y", 0700) = 0`)
		line(10, 110, 1, `rmdir("/w/d/y") = 0`)
		line(10, 120, 1, `stat("/w/d/y", 0x1) = 0 {type=dir mode=0700}`)
		line(10, 130, 1, `rmdir("/w/d/y") = 0`)
		line(12, 200, 10, `mkdir("/w/d/z", 0700) = 0`)
		line(11, 199, 12, `mkdir("/w/d/z", 0700) = 0`)
	}), 0)
	require.Equal(t, []string{
		`stat "/w/d/y" in thread 10 at 0.000000120 s: exists, but the recording did not create it`,
		`mkdir "/w/d/z" in thread 11 at 0.000000199 s: created, but it existed; no order was found for it and mkdir in thread 12 at 0.000000200 s`,
	}, r.Examples)

	r = ordered(t, overlapped(func(line func(int, int64, int64, string, ...any)) {
		line(11, 100, 10, `mkdir("/w/d/y", 0700) = -1 EEXIST (x)`)
		for i := range int64(3000) {
			line(11, 200+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
		}
		line(12, 50, 100_000, `mkdir("/w/d/y", 0700) = 0`)
	}), 1<<20)
	require.NotEmpty(t, r.Examples)
	require.NotContains(t, strings.Join(r.Examples, "; "), "the recording did not")

	r = ordered(t, crowded(1100), 0)
	require.NotEmpty(t, r.Examples)
	require.Contains(t, r.Examples[0], "was given up")
}

// Calls that returned long before a result are named, too.
func TestUnexplainedAfterOverlaps(t *testing.T) {
	r := ordered(t, overlapped(func(line func(int, int64, int64, string, ...any)) {
		line(12, 200, 10, `mkdir("/w/d/z", 0700) = 0`)
		for i := range int64(100) {
			line(12, 300+10*i, 1, `stat("/w/q", 0x1) = -1 ENOENT (x)`)
		}
		line(11, 199, 5000, `mkdir("/w/d/z", 0700) = 0`)
	}), 0)
	require.Equal(t, []string{
		`mkdir "/w/d/z" in thread 11 at 0.000000199 s: created, but it existed; no order was found for it and mkdir in thread 12 at 0.000000200 s`,
	}, r.Examples)
}
