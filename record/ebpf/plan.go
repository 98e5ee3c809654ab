package ebpf

import (
	"slices"

	"golang.org/x/sys/unix"

	"pianola/coverage"
	"pianola/format"
	"pianola/record"
)

// kinds are those of the calls of which the program reads more than registers
// and strings.
var kinds = [format.NumReads]recorderKind{
	format.ReadOpened:     recorderKindKIND_OPEN,
	format.ReadOpenHow:    recorderKindKIND_OPENAT2,
	format.ReadIovec:      recorderKindKIND_IOVEC,
	format.ReadStat:       recorderKindKIND_STAT,
	format.ReadStatx:      recorderKindKIND_STATX,
	format.ReadTarget:     recorderKindKIND_READLINK,
	format.ReadLock:       recorderKindKIND_FCNTL,
	format.ReadPipe:       recorderKindKIND_PIPE,
	format.ReadFork:       recorderKindKIND_FORK,
	format.ReadCloneArgs:  recorderKindKIND_CLONE3,
	format.ReadWaited:     recorderKindKIND_WAIT,
	format.ReadChild:      recorderKindKIND_WAITID,
	format.ReadRange:      recorderKindKIND_IOCTL,
	format.ReadOffsets:    recorderKindKIND_OFFSETS,
	format.ReadAttrArgs:   recorderKindKIND_ATTR,
	format.ReadAccessList: recorderKindKIND_ACL,
	format.ReadAddress:    recorderKindKIND_ADDRESS,
	format.ReadRing:       recorderKindKIND_SETUP,
	format.ReadRegistered: recorderKindKIND_REGISTER,
	format.ReadContext:    recorderKindKIND_CONTEXT,
	format.ReadBatch:      recorderKindKIND_BATCH,
	format.ReadExec:       recorderKindKIND_EXEC,
	format.ReadExit:       recorderKindKIND_EXIT,
}

// counts are the calls of which more is counted than that they were made.
var counts = map[int]recorderKind{unix.SYS_MMAP: recorderKindKIND_MAP}

// batches are the calls that submit requests or await them. They are recorded, and
// their time is counted.
var batches = map[int]recorderKind{
	unix.SYS_IO_SUBMIT:      recorderKindKIND_SUBMIT,
	unix.SYS_IO_GETEVENTS:   recorderKindKIND_GETEVENTS,
	unix.SYS_IO_PGETEVENTS:  recorderKindKIND_GETEVENTS,
	unix.SYS_IO_URING_ENTER: recorderKindKIND_RING,
}

// plans returns what the program does for each system call of an architecture.
// Operations on memory are planned only if asked for, or for faults, where they concern
// mappings of files.
func plans(a format.Arch, memory, faults bool) (plans [format.MaxSys]recorderPlan) {
	for nr := range plans {
		op := format.BySyscall(a, nr)
		recorded := record.Records(op, memory)
		switch {
		case faults && op != format.OpNone && record.Maps(op):
			plans[nr] = recorderPlan{Kind: uint8(recorderKindKIND_SPACE)}
			if recorded && !memory {
				plans[nr].Reg = 1 // whatever it concerns
			}
		case recorded:
			plans[nr] = planOf(op)
		}
	}
	return plans
}

// inSpaces are the calls of the host whose records have an address space where others
// have a channel.
var inSpaces = func() (in [format.MaxSys]bool) {
	for nr := range in {
		op := format.BySyscall(format.HostArch, nr)
		in[nr] = op != format.OpNone && (record.Maps(op) || op.Info().Acts.Any(format.Execs))
	}
	return in
}()

// planCounts plans for calls of the host that are counted: those of which the
// program can't count the requests are, and nothing of them is recorded.
func planCounts(plans *[format.MaxSys]recorderPlan, uncounted []coverage.Kind) {
	count := func(nr int, kind coverage.Kind) {
		plans[nr] = recorderPlan{Kind: uint8(recorderKindKIND_COUNT), Reg: uint8(slices.Index(missingKinds[:], kind))}
	}
	for nr, kind := range record.Unrecorded {
		count(nr, kind)
		if counted, ok := counts[nr]; ok {
			plans[nr].Kind = uint8(counted)
		}
	}
	for nr, kind := range batches {
		plans[nr] = recorderPlan{Kind: uint8(kind)}
	}
	if slices.Contains(uncounted, coverage.Uring) {
		count(unix.SYS_IO_URING_ENTER, coverage.Uring)
	}
}

// requestPlans returns what the program reads of requests of io_uring.
func requestPlans() (plans [format.NumOpcodes]recorderRequestPlan) {
	for opcode := range plans {
		o := format.OpcodeOf(format.ViaUring, uint8(opcode))
		if o == nil {
			continue
		}
		p, info := &plans[opcode], o.Op.Info()
		p.Recorded = 1
		if info.At.Vector >= 0 {
			p.Vector = 1
		}
		if info.Acts.Any(format.Opens) {
			p.Opens = 1
		}
		for i, place := range o.Strings() {
			p.String[i] = uint8(place)
		}
	}
	return plans
}

func planOf(op format.Op) recorderPlan {
	info := op.Info()
	p := recorderPlan{Kind: uint8(recorderKindKIND_PLAIN)}
	switch {
	case info.Acts.Any(format.Messages):
		p.Kind = uint8(recorderKindKIND_WIDE) // the type of the descriptor is known
		if info.Acts.Any(format.ReadsBytes) {
			p.Reg = 1
		}
	case info.Class == format.ClassRead || info.Class == format.ClassWrite:
		p.Kind = uint8(recorderKindKIND_IO)
		if info.Class == format.ClassRead {
			p.Reg = 1
		}
	case len(info.Args) > plainArgs:
		p.Kind = uint8(recorderKindKIND_WIDE)
	}
	n := 0
	for i := range info.Args {
		if info.Args[i].Kind.IsString() {
			p.Kind = uint8(recorderKindKIND_RICH)
			p.String[n] = uint8(i + 1)
			n++
		}
	}
	if info.Reads != format.ReadNothing {
		p.Kind = uint8(kinds[info.Reads])
	}
	switch info.Reads {
	case format.ReadIovec:
		p.Reg = uint8(info.At.Size)
	case format.ReadStat, format.ReadStatx, format.ReadTarget:
		p.Reg = uint8(info.At.Buf)
	case format.ReadRegistered:
		p.String = [format.MaxStrings]uint8{} // it is made of memory
	case format.ReadAddress:
		p.Reg, p.String = uint8(info.At.Paths[0].Arg), [format.MaxStrings]uint8{} // the path is in what that points to
	case format.ReadOffsets:
		p.Reg = info.Synthetic // a bit for each argument
	}
	return p
}

// plainArgs is how many arguments a plain record holds.
const plainArgs = len(recorderEvent{}.Args)

const maxIoctls = 16 // MAX_IOCTLS; the table has fewer, so a 0 ends them

// requests returns the ioctls that are recorded.
func requests() (all [maxIoctls]uint32) {
	for i, f := range format.IoctlRequest.Flags {
		all[i] = uint32(f.Native[format.HostArch])
	}
	return all
}

// timed returns by what result calls end because a time has come (their pages of
// the manual).
func timed() (by [format.MaxSys]uint8) {
	for how, numbers := range map[recorderTimedBy][]int{
		recorderTimedByTIMED_ALWAYS: {unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP},
		recorderTimedByTIMED_ZERO:   append([]int{unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS}, olderPolls...),
		recorderTimedByTIMED_ERROR: {unix.SYS_FUTEX, unix.SYS_IO_URING_ENTER, unix.SYS_FUTEX_WAITV, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_TIMEDSEND,
			unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_ACCEPT, unix.SYS_ACCEPT4},
	} {
		for _, nr := range numbers {
			by[nr] = uint8(how)
		}
	}
	return by
}

// waits returns what the calls wait for that are not recorded.
func waits() (kinds [format.MaxSys]uint8) {
	for kind, numbers := range map[recorderWaitKind][]int{
		recorderWaitKindWAIT_FUTEX:  {unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV},
		recorderWaitKindWAIT_POLL:   append([]int{unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_IO_URING_ENTER}, olderPolls...),
		recorderWaitKindWAIT_SOCKET: {unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_CONNECT},
		recorderWaitKindWAIT_SIGNAL: {unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_RT_SIGSUSPEND},
	} {
		for _, nr := range numbers {
			kinds[nr] = uint8(kind)
		}
	}
	return kinds
}
