package bpf

import "pianola/format"

// extras lists the operations for which the program does more than to note
// registers and strings, and the argument whose register that needs.
var extras = map[format.Op]struct {
	kind recorderKind
	arg  string
}{
	format.OpOpen:       {recorderKindKIND_OPEN, ""},
	format.OpOpenat:     {recorderKindKIND_OPEN, ""},
	format.OpOpenat2:    {recorderKindKIND_OPENAT2, ""},
	format.OpCreat:      {recorderKindKIND_OPEN, ""},
	format.OpReadv:      {recorderKindKIND_IOVEC, "size"},
	format.OpWritev:     {recorderKindKIND_IOVEC, "size"},
	format.OpPreadv:     {recorderKindKIND_IOVEC, "size"},
	format.OpPwritev:    {recorderKindKIND_IOVEC, "size"},
	format.OpPreadv2:    {recorderKindKIND_IOVEC, "size"},
	format.OpPwritev2:   {recorderKindKIND_IOVEC, "size"},
	format.OpStat:       {recorderKindKIND_STAT, "buf"},
	format.OpLstat:      {recorderKindKIND_STAT, "buf"},
	format.OpFstat:      {recorderKindKIND_STAT, "buf"},
	format.OpNewfstatat: {recorderKindKIND_STAT, "buf"},
	format.OpStatx:      {recorderKindKIND_STATX, "buf"},
	format.OpReadlink:   {recorderKindKIND_READLINK, "buf"},
	format.OpReadlinkat: {recorderKindKIND_READLINK, "buf"},
	format.OpFcntl:      {recorderKindKIND_FCNTL, ""},
	format.OpPipe:       {recorderKindKIND_PIPE, ""},
	format.OpPipe2:      {recorderKindKIND_PIPE, ""},
	format.OpClone:      {recorderKindKIND_FORK, ""},
	format.OpFork:       {recorderKindKIND_FORK, ""},
	format.OpVfork:      {recorderKindKIND_FORK, ""},
	format.OpClone3:     {recorderKindKIND_CLONE3, ""},
	format.OpWait4:      {recorderKindKIND_WAIT, ""},
	format.OpWaitid:     {recorderKindKIND_WAITID, ""},
	format.OpIoctl:      {recorderKindKIND_IOCTL, ""},

	format.OpCopyFileRange: {recorderKindKIND_OFFSETS, ""},
	format.OpSendfile:      {recorderKindKIND_OFFSETS, ""},
	format.OpSplice:        {recorderKindKIND_OFFSETS, ""},

	// What these open has no name that the call says.
	format.OpMemfdCreate:    {recorderKindKIND_OPEN, ""},
	format.OpOpenByHandleAt: {recorderKindKIND_OPEN, ""},

	format.OpExecve:    {recorderKindKIND_EXEC, ""},
	format.OpExecveat:  {recorderKindKIND_EXEC, ""},
	format.OpExit:      {recorderKindKIND_EXIT, ""},
	format.OpExitGroup: {recorderKindKIND_EXIT, ""},
}

// plans returns what the program does for each system call of an architecture.
// Operations on memory are planned only if asked for.
func plans(a format.Arch, memory bool) (plans [format.MaxSys]recorderPlan) {
	for nr := range plans {
		if op := format.BySyscall(a, nr); Records(op, memory) {
			plans[nr] = planOf(op)
		}
	}
	return plans
}

// Records reports whether a recording has events of an operation.
func Records(op format.Op, memory bool) bool {
	return op != format.OpNone && (memory || op.Info().Class != format.ClassMemory)
}

func planOf(op format.Op) recorderPlan {
	info := op.Info()
	p := recorderPlan{Kind: uint8(recorderKindKIND_PLAIN)}
	switch {
	case info.Class == format.ClassRead || info.Class == format.ClassWrite:
		p.Kind = uint8(recorderKindKIND_IO)
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
	if x, ok := extras[op]; ok {
		p.Kind = uint8(x.kind)
		if x.arg != "" {
			p.Reg = uint8(info.ArgIndex(x.arg))
		}
		if x.kind == recorderKindKIND_OFFSETS {
			p.Reg = info.Synthetic // a bit for each argument
		}
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
