package posix

import (
	"cmp"
	"math"

	"pianola/internal/available"
	"pianola/replay/fileset"
	"pianola/replay/ranks"
	"pianola/replay/sandbox"
)

// Options are the choices of an executor. The zero values of optional ones are those of
// package replay.
type Options struct {
	Root            string // directory to work in; created if missing
	Maps            []Map  // names placed in other directories
	InMemory        bool   // the kernel is a file system in memory; there is no root
	Prepare         fileset.Prepare
	Cache           fileset.Cache
	Keep            bool // keep the files below the root
	Memory          bool // execute memory calls too
	Landlock        bool // also confine threads with Landlock
	Compressibility int  // per cent
	Session         *ranks.Session
	Progress        func(fileset.Progress)

	Limits  Limits  // of this trace
	OfFree  bool    // Limits.Bytes is not given: see freeSpace
	Parts   int     // traces of the run
	Parents Parents // of the roots; none for a single trace

	Left   func(sandbox.Kernel) // for tests: called with the memory file system before it is closed
	Faulty sandbox.Kernel       // for tests: a kernel in the place of Linux, whose calls can fail
}

// Limits bound the resources of a run, because a trace can be untrusted. They are
// checked as far as possible before anything is written, and again during the replay.
// They hold for all traces of the run together, and each trace has an equal share,
// except for Descriptors, which holds for each process. A field that is 0 means its
// default, which is lower if the machine, or the control group of a container, has
// less: see Limits.Complete.
type Limits struct {
	Files       int64 // files and directories of the fileset: 1 Mi
	Bytes       int64 // bytes of the fileset plus those written by events; also the length of any file: 1 TiB, and for events nine tenths of the free space
	Descriptors int64 // of a process, as the recording numbers them: 64 Ki
	Threads     int   // threads alive at a time: 1024; a ring always counts as one
	Kernel      int64 // bytes of kernel memory caused by events, of all processes together: 1 GiB
	Mapped      int64 // bytes of address space for mapped files, of all processes together: 64 TiB
	Memory      int64 // bytes of buffers, descriptor tables and the log, not of Options.Memory: 1 GiB
}

var defaults = Limits{Files: 1 << 20, Bytes: 1 << 40, Descriptors: 1 << 16, Threads: 1024, Mapped: 64 << 40, Memory: 1 << 30, Kernel: 1 << 30}

// Complete returns l with defaults filled in for traces that are replayed at the same
// time, copies included. Each trace has its own defaults, as far as the machine has the
// resources. Memory, Kernel and Threads each get an eighth of the available memory,
// because names and the trace itself take one and a half times Memory in addition, and
// the program and the page cache need the rest.
func (l Limits) Complete(traces int) Limits {
	free, err := available.Memory()
	if err != nil {
		free = math.MaxInt64
	}
	n := int64(max(traces, 1))
	most := max(free/8, n*MinMemory)
	orDefault(&l.Files, n*defaults.Files)
	orDefault(&l.Bytes, n*defaults.Bytes)
	orDefault(&l.Descriptors, defaults.Descriptors)
	orDefault(&l.Threads, int(min(n*int64(defaults.Threads), most/threadMemory, max(available.Threads()/2, n))))
	orDefault(&l.Mapped, n*defaults.Mapped)
	orDefault(&l.Memory, min(n*defaults.Memory, most))
	orDefault(&l.Kernel, min(n*defaults.Kernel, most))
	return l
}

// Share returns the limits of one of several traces, given complete limits.
func (l Limits) Share(traces int) Limits {
	n := int64(traces)
	for _, v := range []*int64{&l.Files, &l.Bytes, &l.Mapped, &l.Memory, &l.Kernel} {
		*v /= n
	}
	l.Threads /= traces
	return l
}

// threadMemory is the memory of a thread, in bytes: its slot, and its stacks in the
// kernel and in the program.
const threadMemory = 256 << 10

// MinMemory is the memory of the smallest replay: a page of descriptors and one
// of buffers for a process.
const MinMemory = 1 << 20

func orDefault[T int | int64 | float64](v *T, def T) { *v = cmp.Or(*v, def) }
