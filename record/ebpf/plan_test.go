package ebpf

import (
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

func TestPlans(t *testing.T) {
	plan := func(kind bpf.CKind, reg, first, second uint8) bpf.CPlan {
		return bpf.CPlan{Kind: kind, Reg: reg, String: [2]uint8{first, second}}
	}
	tests := []struct {
		op   format.Op
		want bpf.CPlan
	}{
		{format.OpPread64, plan(bpf.CKindKIND_IO, 1, 0, 0)},
		{format.OpPwrite64, plan(bpf.CKindKIND_IO, 0, 0, 0)},
		{format.OpSendto, plan(bpf.CKindKIND_WIDE, 0, 0, 0)},
		{format.OpRecvmsg, plan(bpf.CKindKIND_WIDE, 1, 0, 0)},
		{format.OpEventfd2, plan(bpf.CKindKIND_PLAIN, 0, 0, 0)},
		{format.OpLseek, plan(bpf.CKindKIND_PLAIN, 0, 0, 0)},
		{format.OpMmap, plan(bpf.CKindKIND_WIDE, 0, 0, 0)},
		{format.OpSetxattr, plan(bpf.CKindKIND_ACL, 0, 1, 2)},
		{format.OpFsetxattr, plan(bpf.CKindKIND_ACL, 0, 2, 0)},
		{format.OpMemfdCreate, plan(bpf.CKindKIND_OPEN, 0, 1, 0)},
		{format.OpSendfile, plan(bpf.CKindKIND_OFFSETS, 1<<2, 0, 0)},
		{format.OpCopyFileRange, plan(bpf.CKindKIND_OFFSETS, 1<<1|1<<3, 0, 0)},
		{format.OpRenameat2, plan(bpf.CKindKIND_RICH, 0, 2, 4)},
		{format.OpSymlinkat, plan(bpf.CKindKIND_RICH, 0, 1, 3)},
		{format.OpOpenat, plan(bpf.CKindKIND_OPEN, 0, 2, 0)},
		{format.OpStatx, plan(bpf.CKindKIND_STATX, 4, 2, 0)},
		{format.OpNewfstatat, plan(bpf.CKindKIND_STAT, 2, 2, 0)},
		{format.OpReadlinkat, plan(bpf.CKindKIND_READLINK, 2, 2, 0)},
		{format.OpWritev, plan(bpf.CKindKIND_IOVEC, 3, 0, 0)},
		{format.OpPreadv2, plan(bpf.CKindKIND_IOVEC, 4, 0, 0)},
	}
	for _, test := range tests {
		t.Run(test.op.String(), func(t *testing.T) { require.Equal(t, test.want, planOf(test.op)) })
	}
}

// A row that is added to the table must be one that the program can record.
func TestEveryRowHasAPlan(t *testing.T) {
	for op := format.OpNone + 1; int(op) < format.NumOps; op++ {
		info, p := op.Info(), planOf(op)
		if info.Synthetic != 0 {
			require.NotEqual(t, format.ReadNothing, info.Reads, "%s: its arguments must be read from memory", op)
		}
		if info.Result == format.ResultNone {
			require.Equal(t, bpf.CKindKIND_EXIT, p.Kind, "%s does not return", op)
		}
		if info.Effect == format.EffectExec {
			require.Equal(t, bpf.CKindKIND_EXEC, p.Kind, "%s replaces its registers", op)
		}
		for _, a := range []format.Arch{format.AMD64, format.ARM64} {
			if nr := info.Sys[a]; nr >= 0 {
				require.Equal(t, p, plans(a, true, false)[nr], "%s on %s", op, a)
				if record.Maps(op) {
					require.Equal(t, bpf.CKindKIND_SPACE, plans(a, false, true)[nr].Kind, "%s on %s", op, a)
				}
			}
		}
		require.Less(t, p.Reg, uint8(1<<format.MaxArgs), "%s: an argument that it does not have", op)
	}
	for reads := format.ReadNothing + 1; reads < format.NumReads; reads++ {
		require.NotZero(t, kinds[reads], "no kind for %d", reads)
	}
	require.Zero(t, plans(format.AMD64, true, true)[39], "getpid is no I/O")
	require.Zero(t, plans(format.AMD64, false, false)[format.OpMmap.Info().Sys[format.AMD64]], "memory only if asked for")
	require.NotZero(t, plans(format.AMD64, false, true)[format.OpMsync.Info().Sys[format.AMD64]], "msync writes files")
	require.Less(t, len(format.IoctlRequest.Flags), int(bpf.CLimitMAX_IOCTLS))
}

// The Go types are made from the C ones; this proves that the compiler laid
// them out as view reads them.
func TestLayout(t *testing.T) {
	spec, err := bpf.LoadC()
	require.NoError(t, err)
	var scratch *btf.Struct
	require.NoError(t, spec.Types.TypeByName("scratch", &scratch))
	offsets := map[string]uint32{}
	for _, m := range scratch.Members {
		offsets[m.Name] = m.Offset.Bytes()
	}
	require.Equal(t, map[string]uint32{"event": 0, "details": uint32(eventSize), "data": uint32(eventSize + detailsSize)}, offsets)
	require.Equal(t, 64, plainSize)
	require.Equal(t, 160, eventSize)
	require.Equal(t, 56, detailsSize)
	require.Equal(t, uint32(format.MaxSys), spec.Maps[bpf.CMapLost].MaxEntries)
	require.Equal(t, uint32(4*format.MaxSys), spec.Variables[bpf.CVarPlans].Size())
}
