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
	format.OpClone3:     {recorderKindKIND_CLONE3, ""},
	format.OpExecve:     {recorderKindKIND_EXEC, ""},
	format.OpExecveat:   {recorderKindKIND_EXEC, ""},
	format.OpExit:       {recorderKindKIND_EXIT, ""},
	format.OpExitGroup:  {recorderKindKIND_EXIT, ""},
}

// plans returns what the program does for each system call of an architecture.
func plans(a format.Arch) (plans [format.MaxSys]recorderPlan) {
	for nr := range plans {
		if op := format.BySyscall(a, nr); op != format.OpNone {
			plans[nr] = planOf(op)
		}
	}
	return plans
}

func planOf(op format.Op) recorderPlan {
	info := op.Info()
	p := recorderPlan{Kind: uint8(recorderKindKIND_PLAIN)}
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
	}
	return p
}
