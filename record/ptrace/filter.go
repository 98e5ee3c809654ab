package ptrace

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// Places in struct seccomp_data. The lower half of an argument comes first on
// both architectures.
const (
	dataNr       = 0
	dataArch     = 4
	dataIP       = 8  // of the instruction after the call
	dataArgument = 16 // the first; 8 bytes each
)

// The reasons of a stop by the filter.
const (
	stopCall   = 1
	stopCompat = 2 // a call through the table of another architecture
)

// The operations of futex (futex(2)).
const (
	futexTimeout    = 3    // the argument
	futexCommand    = 0x7f // the operation without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME
	futexWait       = 0
	futexWaitBitset = 9
)

var auditArch = [...]uint32{format.AMD64: unix.AUDIT_ARCH_X86_64, format.ARM64: unix.AUDIT_ARCH_AARCH64}

// action is what the filter does at a system call.
type action uint8

const (
	pass        action = iota
	stop               // always
	stopIoctl          // where the request is one of the table
	stopFile           // where mmap maps a file
	stopLarge          // where munmap takes away much
	stopUntimed        // where futex does not wait for a limited time
	stopEnds           // where the call makes recording in the process impossible
	numActions
)

// endsInProcess are the calls after which a process can't be recorded in the process any more, and
// the first argument for which that is so.
var endsInProcess = map[int]struct {
	argument uint32
	why      string
}{
	unix.SYS_SECCOMP: {1, ownFilter}, // SECCOMP_SET_MODE_FILTER
	unix.SYS_PRCTL:   {unix.PR_SET_SECCOMP, ownFilter},
	archPrctl:        {archSetGS, "it uses the register GS"},
}

const ownFilter = "it has a seccomp filter of its own"

// wanted returns the action at the system call nr.
func wanted(a format.Arch, nr int, memory bool) action {
	op := format.BySyscall(a, nr)
	switch {
	case op == format.OpMmap && !memory:
		return stopFile
	case op == format.OpMunmap && !memory:
		return stopLarge
	case a == format.HostArch && endsInProcess[nr].why != "":
		return stopEnds
	case a == format.HostArch && nr == unix.SYS_FUTEX:
		return stopUntimed
	case op == format.OpNone && a == format.HostArch && nr < len(plans) && plans[nr].reads():
		return stop // it is counted, or the thread may wait in it
	case !record.Records(op, memory):
		return pass
	case op.Info().Reads == format.ReadRange:
		return stopIoctl
	}
	return stop
}

// span is a run of system call numbers, up to the next one's first.
type span struct {
	first uint32
	action
}

// filter returns the program that stops an application at the calls of the table, and at those that
// are counted or in which threads wait. It finds a number by binary search, because it runs at each
// call that it stops. For other calls the kernel caches its answer.
func filter(a format.Arch, memory bool) []unix.SockFilter {
	spans := []span{{0, pass}}
	for nr := range format.MaxSys + 1 {
		if w := wanted(a, nr, memory); w != spans[len(spans)-1].action {
			spans = append(spans, span{uint32(nr), w})
		}
	}
	code := append([]unix.SockFilter{
		load(dataArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch[a], Jt: 1},
		give(unix.SECCOMP_RET_TRACE | stopCompat),
		load(dataNr),
	}, choose(spans)...)
	var at [numActions]int
	for w := stop; w < numActions; w++ {
		at[w] = len(code)
		code = append(append(code, passBlob(a)...), perform(a, w)...)
	}
	for i := range code {
		if jump := &code[i]; jump.Code == unix.BPF_JMP|unix.BPF_JA {
			jump.K = uint32(at[jump.K] - i - 1)
		}
	}
	return code
}

// choose returns the code that finds the number's span. Its jumps without a condition lead to
// actions.
func choose(spans []span) []unix.SockFilter {
	if len(spans) == 1 {
		if spans[0].action == pass {
			return []unix.SockFilter{give(unix.SECCOMP_RET_ALLOW)}
		}
		return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(spans[0].action)}}
	}
	middle := len(spans) / 2
	below, above := choose(spans[:middle]), choose(spans[middle:])
	code := []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: spans[middle].first, Jt: uint8(len(below))}}
	return append(append(code, below...), above...)
}

// passBlob returns the code that lets calls of the blob pass.
func passBlob(a format.Arch) []unix.SockFilter {
	if a != format.AMD64 {
		return nil
	}
	return []unix.SockFilter{
		load(dataIP + 4),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jf: 4},
		load(dataIP),
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: ^uint32(blobBytes - 1)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: blobAddr, Jf: 1},
		give(unix.SECCOMP_RET_ALLOW),
	}
}

// perform returns the code of an action.
func perform(a format.Arch, w action) []unix.SockFilter {
	switch w {
	case stop:
		return []unix.SockFilter{give(unix.SECCOMP_RET_TRACE | stopCall)}
	case stopFile:
		return []unix.SockFilter{
			load(dataArgument + 8*mmapFlags),
			// The loader of glibc maps libraries with MAP_DENYWRITE, which nothing else has.
			{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.MAP_ANONYMOUS | unix.MAP_DENYWRITE, Jt: 1},
			give(unix.SECCOMP_RET_TRACE | stopCall),
			give(unix.SECCOMP_RET_ALLOW),
		}
	case stopEnds:
		code := []unix.SockFilter{load(dataArgument)}
		for _, end := range endsInProcess {
			code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: end.argument, Jf: 1}, give(unix.SECCOMP_RET_TRACE|stopCall))
		}
		return append(code, give(unix.SECCOMP_RET_ALLOW))
	case stopLarge:
		return []unix.SockFilter{
			load(dataArgument + 8*mmapSize + 4),
			{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: ^uint32(0), Jt: 2},
			load(dataArgument + 8*mmapSize),
			{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: largeUnmapped, Jf: 1},
			give(unix.SECCOMP_RET_TRACE | stopCall),
			give(unix.SECCOMP_RET_ALLOW),
		}
	case stopUntimed:
		// Threads of an interpreter wait for its lock for milliseconds at a time, again
		// and again: a thousand of them would spend all their time in stops.
		return []unix.SockFilter{
			load(dataArgument + 8),
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: futexCommand},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: futexWait, Jt: 1},
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: futexWaitBitset, Jf: 4},
			load(dataArgument + 8*futexTimeout),
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jf: 3},
			load(dataArgument + 8*futexTimeout + 4),
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jf: 1},
			give(unix.SECCOMP_RET_TRACE | stopCall),
			give(unix.SECCOMP_RET_ALLOW),
		}
	}
	requests := format.IoctlRequest.Flags
	code := []unix.SockFilter{load(dataArgument + 8)}
	for i := range requests {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(requests[i].Native[a]), Jt: uint8(len(requests) - i)})
	}
	return append(code, give(unix.SECCOMP_RET_ALLOW), give(unix.SECCOMP_RET_TRACE|stopCall))
}

func load(place uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: place}
}

func give(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}

// install installs the filter for the calling thread, which must be locked, and for
// its descendants.
func install(program []unix.SockFilter) error {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	set := func() unix.Errno {
		_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
		return e
	}
	e := set()
	if e == unix.EACCES {
		// An unprivileged thread may install a filter only if it can never gain privileges.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
		e = set()
	}
	if e != 0 {
		return fmt.Errorf("install the seccomp filter: %w", e)
	}
	return nil
}
