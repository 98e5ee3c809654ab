package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// randomWork makes the test binary run programs that do random work on files, one after
// the other. Its value is a list of seeds. Each has a directory of its name.
const randomWork = "PIANOLA_RANDOM_WORK"

// randomDone is the file that a batch creates when all of its programs have ended.
const randomDone = "done"

// randomChild says that it is the child of one, with its turn.
const randomChild = "PIANOLA_RANDOM_CHILD"

// randomSeed makes the test binary such a program. Its value is the seed.
const randomSeed = "PIANOLA_RANDOM_SEED"

func init() {
	if text := os.Getenv(randomSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		must(err)
		work(seed)
		os.Exit(0)
	}
	if list := os.Getenv(randomWork); list != "" {
		for seed := range strings.SplitSeq(list, ",") {
			c := program(randomSeed + "=" + seed)
			c.Dir = seed
			if mix&mixUser != 0 {
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			must(c.Run())
		}
		must(os.WriteFile(randomDone, nil, 0o600))
		os.Exit(0)
	}
}

// program returns a command that runs this program with one more variable.
func program(variables ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env, c.Stderr = append(os.Environ(), variables...), os.Stderr
	return c
}

// worker is a thread of the random program.
type worker struct {
	rng  *rand.Rand
	fds  *[]int // of the process; guarded by the turn
	dirs *[]int
	text []*byte // that the current call has
}

// turn is a pipe that holds one byte. The thread that has read the byte may make a call, so
// that calls never overlap, also across processes, and each result follows from the
// calls before. The recording does not show it, because a pipe is not a file.
var turn [2]int

// work is the random program: processes with threads, in the directory w.
func work(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	depth := 0
	if text := os.Getenv(randomChild); text != "" {
		depth = 1
		turn = [2]int{3, 4}
	} else {
		must(os.Chdir("w"))
		must(syscall.Pipe(turn[:]))
		give()
	}
	var children []*exec.Cmd
	for i := range rng.IntN(3) {
		if depth > 0 || mix&mixThreads == 0 {
			break
		}
		c := program(fmt.Sprint(randomSeed, "=", seed*10+uint64(i)), randomChild+"=1")
		c.ExtraFiles = []*os.File{os.NewFile(uintptr(turn[0]), "turn"), os.NewFile(uintptr(turn[1]), "turn")}
		take()
		must(c.Start())
		give()
		children = append(children, c)
	}
	var (
		wg        sync.WaitGroup
		fds, dirs []int
	)
	threads := 1
	if mix&mixThreads != 0 {
		threads += rng.IntN(3)
	}
	for i := range threads {
		wg.Go(func() {
			runtime.LockOSThread() // never unlocked: the thread ends with its work
			w := &worker{rng: rand.New(rand.NewPCG(seed, uint64(i+2))), fds: &fds, dirs: &dirs}
			for range 150 {
				take()
				w.step()
				give()
			}
		})
	}
	wg.Wait()
	for _, c := range children {
		must(c.Wait())
	}
}

func take() {
	var b [1]byte
	for {
		if n, err := syscall.Read(turn[0], b[:]); n == 1 || err != syscall.EINTR {
			must(err)
			return
		}
	}
}

func give() {
	_, err := syscall.Write(turn[1], []byte{0})
	must(err)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "random work:", err)
		os.Exit(1)
	}
}

// name returns a path, among few, so that calls meet.
func (w *worker) name() string {
	parts := []string{"a", "b", "c", "d", "e"}
	p := parts[w.rng.IntN(5)]
	for w.rng.IntN(3) == 0 && mix&mixNested != 0 {
		k := w.rng.IntN(12)
		switch {
		case k == 0 && mix&mixDots != 0:
			p += "/.."
		case k == 1 && mix&mixDots != 0:
			p += "/."
		default:
			p += "/" + parts[w.rng.IntN(5)]
		}
	}
	switch w.rng.IntN(16) {
	case 0:
		p = "../w/" + p
	case 1:
		p = "./" + p
	case 2:
		if mix&mixSlashes != 0 {
			p += "/"
		}
	}
	return p
}

func (w *worker) fd() int {
	if len(*w.fds) == 0 {
		return -1
	}
	return (*w.fds)[w.rng.IntN(len(*w.fds))]
}

func (w *worker) dir() int {
	const cwd = -100 // AT_FDCWD
	if mix&mixDirFDs == 0 || len(*w.dirs) == 0 || w.rng.IntN(3) > 0 {
		return cwd
	}
	return (*w.dirs)[w.rng.IntN(len(*w.dirs))]
}

func (w *worker) keep(fd int, err error, flags int) {
	switch {
	case err != nil:
	case flags&syscall.O_DIRECTORY != 0:
		*w.dirs = append(*w.dirs, fd)
	default:
		*w.fds = append(*w.fds, fd)
	}
}

func (w *worker) forget(fd int) {
	for _, list := range []*[]int{w.fds, w.dirs} {
		for i := 0; i < len(*list); i++ {
			if (*list)[i] == fd {
				*list = append((*list)[:i], (*list)[i+1:]...)
				i--
			}
		}
	}
}

// path calls a system call on a path with up to three more arguments.
func path(nr uintptr, dirfd int, name string, args ...uintptr) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	must(err)
	args = append(args, 0, 0, 0)
	r, _, e := syscall.Syscall6(nr, uintptr(dirfd), uintptr(unsafe.Pointer(p)), args[0], args[1], args[2], 0)
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

// step makes one call. Only the replay checks its result.
func (w *worker) step() {
	var (
		r   = w.rng
		buf [256]byte
		n   = r.IntN(len(buf))
		st  syscall.Stat_t
	)
	if mix&mixRare != 0 && r.IntN(4) == 0 {
		w.rare()
		return
	}
	if mix&mixUser != 0 && r.IntN(12) == 0 {
		// The directory that all are in keeps its rights.
		if name := w.name(); !strings.Contains(name, "/..") {
			syscall.Chmod(name, uint32(r.IntN(8))<<6)
		}
		return
	}
	switch k := r.IntN(32); k {
	case 0, 1, 2, 3, 4, 5:
		flags := []int{syscall.O_RDONLY, syscall.O_RDWR, syscall.O_WRONLY, syscall.O_RDWR | syscall.O_CREAT, syscall.O_RDWR | syscall.O_CREAT, syscall.O_WRONLY | syscall.O_CREAT | syscall.O_EXCL,
			syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC, syscall.O_RDWR | syscall.O_CREAT | syscall.O_APPEND, syscall.O_RDONLY | syscall.O_DIRECTORY, syscall.O_RDONLY | syscall.O_NOFOLLOW}[r.IntN(10)]
		fd, err := path(syscall.SYS_OPENAT, w.dir(), w.name(), uintptr(flags|syscall.O_CLOEXEC), 0o640)
		w.keep(fd, err, flags)
	case 6, 7:
		syscall.Write(w.fd(), buf[:n])
	case 8:
		syscall.Pwrite(w.fd(), buf[:n], int64(r.IntN(2000)))
	case 9, 10:
		syscall.Read(w.fd(), buf[:n])
	case 11:
		syscall.Pread(w.fd(), buf[:n], int64(r.IntN(2000)))
	case 12:
		syscall.Seek(w.fd(), int64(r.IntN(1000)), r.IntN(3))
	case 13:
		syscall.Ftruncate(w.fd(), int64(r.IntN(1000)))
	case 14, 15:
		fd := w.fd()
		if len(*w.dirs) > 4 {
			fd = (*w.dirs)[0]
		}
		if fd >= 0 {
			w.forget(fd)
			syscall.Close(fd)
		}
	case 16, 17:
		dir, name := w.dir(), w.name()
		unix.Fstatat(dir, name, new(unix.Stat_t), r.IntN(2)*unix.AT_SYMLINK_NOFOLLOW)
	case 18, 19:
		path(syscall.SYS_MKDIRAT, w.dir(), w.name(), 0o750)
	case 20:
		path(syscall.SYS_UNLINKAT, w.dir(), w.name(), 0x200) // AT_REMOVEDIR
	case 21, 22:
		path(syscall.SYS_UNLINKAT, w.dir(), w.name(), 0)
	case 23, 24, 25, 26:
		to, err := syscall.BytePtrFromString(w.name())
		must(err)
		nr, flags := uintptr(unix.SYS_RENAMEAT2), uintptr(max(r.IntN(4)-1, 0)) // none, none, NOREPLACE, EXCHANGE
		if mix&mixExchange == 0 {
			flags = 0
		}
		if k == 26 {
			nr, flags = syscall.SYS_LINKAT, 0
		}
		path(nr, w.dir(), w.name(), uintptr(w.dir()), uintptr(unsafe.Pointer(to)), flags)
	case 27:
		if mix&mixSymlinks == 0 {
			break
		}
		if err := syscall.Symlink(w.name(), w.name()); err != nil {
			break // as good a result as any
		}
	case 28:
		syscall.Readlink(w.name(), buf[:])
	case 29:
		fd, err := syscall.Dup(w.fd())
		w.keep(fd, err, 0)
	case 30:
		syscall.Fstat(w.fd(), &st)
		if fd := w.fd(); fd >= 0 {
			other := w.fd()
			syscall.Dup3(fd, other, 0)
		}
	case 31:
		syscall.Truncate(w.name(), int64(r.IntN(500)))
		syscall.Access(w.name(), 4)
	}
}

// rare makes a call that few programs make: on names in /proc, on files without a
// name or with holes, on names of sockets, with another umask, on another file
// system, on locks of the process, or on directories that change while they are listed.
func (w *worker) rare() {
	var (
		r    = w.rng
		buf  [256]byte
		name = w.name()
	)
	proc, of := w.ownFile()
	text := func(p string) uintptr {
		b, err := syscall.BytePtrFromString(p)
		must(err)
		w.text = append(w.text[max(len(w.text)-1, 0):], b)
		return uintptr(unsafe.Pointer(b))
	}
	switch k := r.IntN(32); k {
	case 24, 25, 26:
		lock := unix.Flock_t{Type: []int16{unix.F_RDLCK, unix.F_WRLCK, unix.F_WRLCK, unix.F_UNLCK}[r.IntN(4)], Start: int64(r.IntN(4)) * 10, Len: int64(r.IntN(3)) * 10}
		unix.FcntlFlock(uintptr(w.fd()), unix.F_SETLK, &lock)
	case 27, 28, 29:
		// Few entries at a time, so that names come and go while a listing goes on.
		if len(*w.dirs) > 0 {
			syscall.Getdents((*w.dirs)[r.IntN(len(*w.dirs))], buf[:96])
		}
	case 30:
		if len(*w.dirs) > 0 {
			syscall.Seek((*w.dirs)[r.IntN(len(*w.dirs))], 0, 0)
		}
	case 31:
		fd, err := path(syscall.SYS_OPENAT, unix.AT_FDCWD, []string{".", name}[r.IntN(2)], uintptr(syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC))
		w.keep(fd, err, syscall.O_DIRECTORY)
	case 0, 1, 2:
		flags := []int{syscall.O_RDONLY, syscall.O_RDWR, syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC, unix.O_PATH, syscall.O_RDWR | syscall.O_APPEND}[r.IntN(5)]
		fd, err := path(syscall.SYS_OPENAT, unix.AT_FDCWD, proc, uintptr(flags|syscall.O_CLOEXEC), 0o640)
		w.keep(fd, err, flags)
	case 3:
		unix.Fstatat(unix.AT_FDCWD, proc, new(unix.Stat_t), 0)
		// A replay can truncate a file without a name only if it can write to it.
		if flags, err := unix.FcntlInt(uintptr(of), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
			syscall.Truncate(proc, int64(r.IntN(3000)))
		}
	case 4:
		syscall.Chmod(proc, 0o700|uint32(r.IntN(8)))
		unix.Utimes(proc, nil)
	case 5, 6, 7:
		fd, err := path(syscall.SYS_OPENAT, w.dir(), []string{".", name}[r.IntN(2)], unix.O_TMPFILE|uintptr(syscall.O_RDWR|syscall.O_CLOEXEC|r.IntN(8)/7*syscall.O_EXCL), 0o666)
		w.keep(fd, err, 0)
	case 8, 9:
		unix.Linkat(unix.AT_FDCWD, proc, w.dir(), name, unix.AT_SYMLINK_FOLLOW)
	case 10:
		path(syscall.SYS_LINKAT, w.fd(), "", uintptr(w.dir()), text(name), unix.AT_EMPTY_PATH)
	case 11, 12:
		syscall.Umask([]int{0, 0o022, 0o077, 0o027}[r.IntN(4)])
	case 13, 14:
		if s, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err == nil {
			if syscall.Bind(s, &syscall.SockaddrUnix{Name: name}) == nil {
				syscall.Chmod(name, 0o700)
			}
			syscall.Close(s)
		}
	case 15:
		syscall.Mknod(name, syscall.S_IFSOCK|0o666, 0)
	case 16:
		syscall.Pwrite(w.fd(), buf[:r.IntN(len(buf))], int64(r.IntN(20))*4096)
		syscall.Ftruncate(w.fd(), int64(r.IntN(20))*4096)
	case 17:
		unix.Fallocate(w.fd(), uint32([]int{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE}[r.IntN(3)]), int64(r.IntN(5))*4096, int64(1+r.IntN(5))*4096)
	case 18:
		fd, st := w.fd(), unix.Stat_t{}
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG { // directories have offsets that only their file system knows
			unix.Seek(fd, int64(r.IntN(20))*2048, unix.SEEK_DATA+r.IntN(2))
		}
	case 19:
		if mix&mixUser == 0 && unix.Rename(name, "/dev/shm/pianola_random") == nil {
			must(os.RemoveAll("/dev/shm/pianola_random"))
		}
	case 20:
		if fd := w.fd(); fd >= 0 {
			syscall.Syscall6(unix.SYS_COPY_FILE_RANGE, uintptr(fd), 0, uintptr(w.fd()), 0, 1<<63-4096, 0)
		}
	case 21:
		path(unix.SYS_FCHMODAT2, w.dir(), name, 0o740, uintptr(r.IntN(2)*unix.AT_SYMLINK_NOFOLLOW))
		path(unix.SYS_FACCESSAT2, w.dir(), name, uintptr(r.IntN(8)), uintptr(r.IntN(2)*unix.AT_SYMLINK_NOFOLLOW))
	case 22:
		if mix&mixExchange != 0 {
			path(unix.SYS_RENAMEAT2, w.dir(), w.name(), uintptr(w.dir()), text(name), unix.RENAME_WHITEOUT)
		}
	case 23:
		if mix&mixNested != 0 && len(*w.dirs) > 0 {
			dir := (*w.dirs)[r.IntN(len(*w.dirs))]
			fd, err := path(syscall.SYS_OPENAT, unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d/%s", dir, w.name()), uintptr(syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC), 0o666)
			w.keep(fd, err, 0)
		}
	}
}

// ownFile returns a name in /proc or /dev for a descriptor of the program, and that.
func (w *worker) ownFile() (name string, fd int) {
	fd = w.fd()
	switch w.rng.IntN(4) {
	case 0:
		return fmt.Sprintf("/dev/fd/%d", fd), fd
	case 1:
		return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), fd
	case 2:
		return fmt.Sprintf("/proc/thread-self/fd/%d", fd), fd
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), fd
}

// Features of the program beyond plain calls of one thread, by bit.
const (
	mixDots     = 1 << iota // "..", and "." within a path
	mixSlashes              // a slash at the end
	mixNested               // names in directories
	mixSymlinks             // symbolic links
	mixDirFDs               // calls relative to a directory's descriptor
	mixExchange             // RENAME_NOREPLACE and RENAME_EXCHANGE
	mixRare                 // what rare does
	mixThreads              // threads and processes
	mixUser                 // an unprivileged user, and files and directories without some rights
)

// randomMix is the variable that says what the program does.
const randomMix = "PIANOLA_RANDOM_MIX"

// mix is what this program does.
var mix, _ = strconv.Atoi(os.Getenv(randomMix))

// mixOf returns what the program of a seed is to do: what the environment says, for a
// longer search, or one of mixes in turn.
func mixOf(seed uint64) int {
	if os.Getenv(randomMix) != "" {
		return mix
	}
	return mixes[seed%uint64(len(mixes))]
}

// mixes are: threads alone; everything but threads, which a seed repeats exactly; threads
// that do rare things; everything; and everything as a user without rights.
var mixes = [...]int{
	mixThreads,
	mixDots | mixSlashes | mixNested | mixSymlinks | mixDirFDs | mixExchange | mixRare,
	mixThreads | mixRare,
	mixUser - 1,
	mixUser<<1 - 1,
}
