package ptrace

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/stats"
)

// helperName is the name, argument 0, under which Run starts this program to
// become the command. The arguments after it are the number of a socket to the
// tracer, "memory" or "", the program to execute and the command's words.
const helperName = "pianola: becomes the command"

const helperWords = 4 // before the command's

// hooked says that the program has called Main.
var hooked atomic.Bool

// The tracer holds the first thread, which so must be the one that executes
// the command.
func init() {
	if os.Args[0] == helperName {
		runtime.LockOSThread()
	}
}

// Main makes this program the command to be recorded, where Run has started it
// for that, and then does not return. Otherwise it returns at once. A program
// that calls Run must call it first, in its first goroutine.
func Main() {
	if os.Args[0] != helperName || len(os.Args) <= helperWords {
		hooked.Store(true)
		return
	}
	become(os.Args)
	os.Exit(1)
}

// helperFailed is the errno that the helper reports where it has none.
const helperFailed = unix.EIO

// become measures and then executes the command. It returns only where that
// has failed, which it reports over the socket: an answer is a
// measurement and, or, an errno of 64 bits.
func become(args []string) {
	socket, err := strconv.Atoi(args[1])
	if err != nil {
		return
	}
	unix.CloseOnExec(socket)
	if !greet(socket) {
		return // the tracer is gone
	}
	env := environment()
	m, err := measure(filter(format.HostArch, args[2] == "memory"))
	if err == nil {
		err = send(socket, m)
	}
	if err == nil {
		err = syscall.Exec(args[3], args[helperWords:], env)
	}
	var e syscall.Errno
	if !errors.As(err, &e) {
		e = helperFailed
	}
	_ = send(socket, int64(e))
}

// environment returns the environment as it was given; Go leaves out what
// stands there twice.
func environment() []string {
	text, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return os.Environ()
	}
	return strings.FieldsFunc(string(text), func(c rune) bool { return c == 0 })
}

// greet says that this program is the helper now, and waits until it is traced.
func greet(socket int) bool {
	var word [1]byte
	if _, err := unix.Write(socket, word[:]); err != nil {
		return false
	}
	n, err := unix.Read(socket, word[:])
	return n == 1 && err == nil
}

func send(socket int, value any) error {
	text, err := binary.Append(nil, binary.NativeEndian, value)
	if err == nil {
		_, err = unix.Write(socket, text)
	}
	return err
}

const (
	measureRounds = 18 // half of them with the tracer awake between stops
	measureCalls  = 32 // per round
)

// measurement holds what a cheap system call takes, in nanoseconds, in each of the ways. They
// are medians of rounds, so that one that was interrupted does not count.
type measurement [numWays]int64

const (
	awake   = iota // with the filter, and a tracer that is awake between stops
	asleep         // or asleep
	patched        // in the process
	free           // without the filter
	numWays
)

// measureMark in an argument that lseek does not have tells the tracer which call site it may
// change: other threads of the helper, which it does not trace, don't use it.
const measureMark = 0x7069616e

// measure measures, and installs the filter.
func measure(program []unix.SockFilter) (m measurement, err error) {
	fd, err := unix.MemfdCreate("calibration", unix.MFD_CLOEXEC)
	if err != nil {
		return m, err
	}
	var rounds [2][measureRounds / 2]int64
	run := func(call func()) {
		for i := range measureRounds {
			start := time.Now()
			call()
			rounds[i%2][i/2] = time.Since(start).Nanoseconds() / measureCalls
		}
	}
	calls := func() {
		for range measureCalls {
			_, _, _ = unix.RawSyscall(unix.SYS_LSEEK, uintptr(fd), 0, unix.SEEK_CUR)
		}
	}
	run(calls)
	m[free] = stats.Median(rounds[0][:])
	if err = install(program); err != nil {
		return m, err
	}
	run(calls)
	m[awake], m[asleep] = stats.Median(rounds[0][:]), stats.Median(rounds[1][:])
	run(func() { seek(fd, measureCalls, measureMark) })
	m[patched] = stats.Median(append(rounds[0][1:], rounds[1][1:]...))
	return m, nil
}
