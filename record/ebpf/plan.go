package ebpf

import (
	"slices"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
)

// kinds are the kinds of calls whose record has more than registers
// and strings.
var kinds = [format.NumReads]bpf.CKind{
	format.ReadOpened:     bpf.CKindKIND_OPEN,
	format.ReadOpenHow:    bpf.CKindKIND_OPENAT2,
	format.ReadIovec:      bpf.CKindKIND_IOVEC,
	format.ReadStat:       bpf.CKindKIND_STAT,
	format.ReadStatx:      bpf.CKindKIND_STATX,
	format.ReadTarget:     bpf.CKindKIND_READLINK,
	format.ReadLock:       bpf.CKindKIND_FCNTL,
	format.ReadPipe:       bpf.CKindKIND_PIPE,
	format.ReadFork:       bpf.CKindKIND_FORK,
	format.ReadCloneArgs:  bpf.CKindKIND_CLONE3,
	format.ReadWaited:     bpf.CKindKIND_WAIT,
	format.ReadChild:      bpf.CKindKIND_WAITID,
	format.ReadRange:      bpf.CKindKIND_IOCTL,
	format.ReadOffsets:    bpf.CKindKIND_OFFSETS,
	format.ReadAttrArgs:   bpf.CKindKIND_ATTR,
	format.ReadAccessList: bpf.CKindKIND_ACL,
	format.ReadAddress:    bpf.CKindKIND_ADDRESS,
	format.ReadRing:       bpf.CKindKIND_SETUP,
	format.ReadRegistered: bpf.CKindKIND_REGISTER,
	format.ReadContext:    bpf.CKindKIND_CONTEXT,
	format.ReadBatch:      bpf.CKindKIND_BATCH,
	format.ReadExec:       bpf.CKindKIND_EXEC,
	format.ReadExit:       bpf.CKindKIND_EXIT,
}

// counts are the calls of which more is counted than that they were made.
var counts = map[int]bpf.CKind{unix.SYS_MMAP: bpf.CKindKIND_MAP}

// batches are the calls that submit requests or await them. They are recorded, and
// their time is counted.
var batches = map[int]bpf.CKind{
	unix.SYS_IO_SUBMIT:      bpf.CKindKIND_SUBMIT,
	unix.SYS_IO_GETEVENTS:   bpf.CKindKIND_GETEVENTS,
	unix.SYS_IO_PGETEVENTS:  bpf.CKindKIND_GETEVENTS,
	unix.SYS_IO_URING_ENTER: bpf.CKindKIND_RING,
}

// plans returns what the program does for each system call of an architecture.
// Operations on memory are planned only if asked for, or for faults, where they concern
// mappings of files.
func plans(a format.Arch, memory, faults bool) (plans [format.MaxSys]bpf.CPlan) {
	for nr := range plans {
		op := format.BySyscall(a, nr)
		recorded := record.Records(op, memory)
		switch {
		case faults && op != format.OpNone && record.Maps(op):
			plans[nr] = bpf.CPlan{Kind: bpf.CKindKIND_SPACE}
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
func planCounts(plans *[format.MaxSys]bpf.CPlan, uncounted []coverage.Kind) {
	count := func(nr int, kind coverage.Kind) {
		plans[nr] = bpf.CPlan{Kind: bpf.CKindKIND_COUNT, Reg: uint8(slices.Index(missingKinds[:], kind))}
	}
	for nr, kind := range record.Unrecorded {
		count(nr, kind)
		if counted, ok := counts[nr]; ok {
			plans[nr].Kind = counted
		}
	}
	for nr, kind := range batches {
		plans[nr] = bpf.CPlan{Kind: kind}
	}
	if slices.Contains(uncounted, coverage.Uring) {
		count(unix.SYS_IO_URING_ENTER, coverage.Uring)
	}
}

// requestPlans returns what the program reads of requests of io_uring.
func requestPlans() (plans [format.NumOpcodes]bpf.CRequestPlan) {
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
			p.String[i] = bpf.CPlace(place)
		}
	}
	return plans
}

func planOf(op format.Op) bpf.CPlan {
	info := op.Info()
	p := bpf.CPlan{Kind: bpf.CKindKIND_PLAIN}
	switch {
	case info.Acts.Any(format.Messages):
		p.Kind = bpf.CKindKIND_WIDE // the type of the descriptor is known
		if info.Acts.Any(format.ReadsBytes) {
			p.Reg = 1
		}
	case info.Class == format.ClassRead || info.Class == format.ClassWrite:
		p.Kind = bpf.CKindKIND_IO
		if info.Class == format.ClassRead {
			p.Reg = 1
		}
	case len(info.Args) > int(bpf.CLimitPLAIN_ARGS):
		p.Kind = bpf.CKindKIND_WIDE
	}
	n := 0
	for i := range info.Args {
		if info.Args[i].Kind.IsString() {
			p.Kind = bpf.CKindKIND_RICH
			p.String[n] = uint8(i + 1)
			n++
		}
	}
	if info.Reads != format.ReadNothing {
		p.Kind = kinds[info.Reads]
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

// requests returns the ioctls that are recorded. There is room for more, so a 0 ends them.
func requests() (all [bpf.CLimitMAX_IOCTLS]uint32) {
	for i, f := range format.IoctlRequest.Flags {
		all[i] = uint32(f.Native[format.HostArch])
	}
	return all
}
