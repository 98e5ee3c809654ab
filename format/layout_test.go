package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// demands says what a row needs for its effect.
var demands = map[Effect]func(*Info, *Event) bool{
	EffectOpen: func(i *Info, _ *Event) bool {
		return i.Result == ResultFD && (i.At.Paths[0].Arg < 0 || role(i, 0) == RoleOpen)
	},
	EffectClose:    func(i *Info, _ *Event) bool { return i.At.FD >= 0 },
	EffectDup:      func(i *Info, e *Event) bool { return i.At.FD >= 0 && i.Result == ResultFD && e.Copies() },
	EffectFork:     func(i *Info, _ *Event) bool { return i.At.Flags >= 0 || i.Implied != 0 },
	EffectExec:     func(i *Info, _ *Event) bool { return i.Reads == ReadExec && i.At.Paths[0].Arg >= 0 },
	EffectWait:     func(i *Info, _ *Event) bool { return i.At.PID >= 0 && (i.At.Child >= 0 || i.Result == ResultThread) },
	EffectRead:     func(i *Info, _ *Event) bool { return i.Class == ClassRead && moves(i) },
	EffectWrite:    func(i *Info, _ *Event) bool { return i.Class == ClassWrite && moves(i) },
	EffectCopy:     func(i *Info, _ *Event) bool { return i.At.FD >= 0 && i.At.OutFD >= 0 && i.At.Size >= 0 },
	EffectSeek:     func(i *Info, _ *Event) bool { return i.At.FD >= 0 && i.At.Offset >= 0 && i.Result == ResultBytes },
	EffectTruncate: func(i *Info, _ *Event) bool { return i.At.Size >= 0 && (i.At.FD >= 0) != (i.At.Paths[0].Arg >= 0) },
	EffectAllocate: func(i *Info, _ *Event) bool { return i.At.FD >= 0 && i.At.Offset >= 0 && i.At.Size >= 0 },
	EffectAdvise:   func(i *Info, _ *Event) bool { return i.At.FD >= 0 && i.At.Offset >= 0 && i.At.Size >= 0 },
	EffectList:     func(i *Info, _ *Event) bool { return i.At.FD >= 0 },
	EffectReadlink: func(i *Info, _ *Event) bool { return i.At.Buf >= 0 && role(i, 0) == RoleName },
	EffectGetAttr:  func(i *Info, _ *Event) bool { return i.At.Text >= 0 },
	EffectSetAttr:  func(i *Info, _ *Event) bool { return i.At.Text >= 0 },
	EffectMkdir:    func(_ *Info, e *Event) bool { return e.Creates(0) },
	EffectMknod:    func(_ *Info, e *Event) bool { return e.Creates(0) },
	EffectBind:     func(i *Info, e *Event) bool { return e.Creates(0) && i.Reads == ReadAddress },
	EffectSymlink:  func(i *Info, e *Event) bool { return e.Creates(0) && i.At.Text >= 0 },
	EffectLink:     func(i *Info, e *Event) bool { return role(i, 0) == RoleName && e.Creates(1) },
	EffectRename:   func(_ *Info, e *Event) bool { return e.Removes(0) && e.Creates(1) },
	EffectUnlink:   func(_ *Info, e *Event) bool { return e.Removes(0) },
	EffectRmdir:    func(_ *Info, e *Event) bool { return e.Removes(0) },
	EffectFault:    func(i *Info, _ *Event) bool { return i.At.Offset >= 0 && i.At.Size >= 0 && i.Result == ResultBytes },
	EffectMap:      func(i *Info, _ *Event) bool { return i.At.FD >= 0 && i.At.Size >= 0 },
}

// reading says what a row needs for what a recorder reads.
var reading = [NumReads]func(*Info) bool{
	ReadOpened:     func(i *Info) bool { return i.Result == ResultFD },
	ReadOpenHow:    func(i *Info) bool { return i.Result == ResultFD && i.Synthetic != 0 },
	ReadIovec:      func(i *Info) bool { return i.At.Vector >= 0 && i.Synthetic == 1<<i.At.Size },
	ReadStat:       func(i *Info) bool { return i.At.Buf >= 0 },
	ReadStatx:      func(i *Info) bool { return i.At.Buf >= 0 },
	ReadTarget:     func(i *Info) bool { return i.At.Buf >= 0 },
	ReadLock:       func(i *Info) bool { return i.Synthetic != 0 },
	ReadPipe:       func(i *Info) bool { return i.Synthetic != 0 && i.Args[0].Kind == FDPair },
	ReadFork:       func(i *Info) bool { return i.Effect == EffectFork },
	ReadCloneArgs:  func(i *Info) bool { return i.Effect == EffectFork && i.Synthetic != 0 },
	ReadWaited:     func(i *Info) bool { return i.Effect == EffectWait },
	ReadChild:      func(i *Info) bool { return i.Synthetic == 1<<i.At.Child },
	ReadRange:      func(i *Info) bool { return i.Synthetic != 0 },
	ReadOffsets:    func(i *Info) bool { return i.Synthetic != 0 },
	ReadAddress:    func(i *Info) bool { return i.At.Strings == 1<<i.At.Paths[0].Arg },
	ReadRing:       func(i *Info) bool { return i.Result == ResultFD && i.Synthetic != 0 },
	ReadRegistered: func(i *Info) bool { return i.At.List >= 0 && i.Synthetic != 0 },
	ReadContext:    func(i *Info) bool { return i.Synthetic != 0 },
	ReadBatch:      func(i *Info) bool { return i.Class == ClassSubmit },
	ReadExec:       func(i *Info) bool { return i.Effect == EffectExec },
	ReadAttrArgs:   func(i *Info) bool { return i.At.Text >= 0 && i.Synthetic != 0 },
	ReadAccessList: func(i *Info) bool { return i.At.Text >= 0 && i.Synthetic == 1<<i.At.Mode },
	ReadExit:       func(i *Info) bool { return i.Result == ResultNone },
}

func role(i *Info, path int) Role { return i.Args[i.At.Paths[path].Arg].Role }

func moves(i *Info) bool {
	return i.At.FD >= 0 && i.At.Size >= 0 && (i.At.Buf >= 0) != (i.At.Vector >= 0) && (i.At.Count >= 0) == (i.At.Vector >= 0) && i.Result == ResultBytes
}

// The columns of a row agree.
func TestRowsAgree(t *testing.T) {
	for op := OpNone + 1; op.Valid(); op++ {
		info := op.Info()
		require.Less(t, info.Effect, NumEffects, op)
		if demand := demands[info.Effect]; demand != nil {
			require.True(t, demand(info, &Event{Op: op}), "%s: what its effect is about", op)
		}
		if info.Reads != ReadNothing {
			require.True(t, reading[info.Reads](info), "%s: what a recorder reads", op)
		}
		require.False(t, info.Synthetic != 0 && info.Reads == ReadNothing, "%s: its arguments must be read from memory", op)
		system := info.Sys[AMD64] != none || info.Sys[ARM64] != none
		require.True(t, system || info.Kind == MadeKind || info.Strace != "", "%s: how strace shows it", op)
		require.Equal(t, info.Effect == EffectNone, info.Acts == 0, "%s: what it does", op)
		require.Equal(t, info.Acts.Any(Removes|Renames), info.At.Gone >= 0, "%s: the name that it removes", op)
		require.Equal(t, info.Acts.Any(Creates|Links|Renames), info.At.Came >= 0, "%s: the name that it makes", op)
		for _, a := range info.Args {
			switch a.Role {
			case RoleFollow:
			case RoleFile:
				require.Equal(t, FD, a.Kind, op)
			default:
				require.Equal(t, Path, a.Kind, op)
			}
		}
		if info.Canon != nil {
			canon := info.Canon(&Event{Op: op}).Info()
			require.Equal(t, info.Effect, canon.Effect, "%s does what %s does", op, canon.Name)
			require.Equal(t, info.Class, canon.Class, op)
		}
	}
}

// Arguments that no row has are absent, also for an invalid operation.
func TestLayout(t *testing.T) {
	require.Equal(t, layoutOf(nil), OpNone.Info().At)
	require.Equal(t, Layout{
		FD: -1, OutFD: -1, NewFD: -1, Offset: -1, OutOffset: -1, Size: -1, Buf: -1, Vector: -1, Count: -1, Flags: 4, OpenFlags: -1, AtFlags: 4,
		Mode: -1, PID: -1, Child: -1, Text: -1, List: -1, Gone: -1, Came: 1, Paths: [2]PathPlace{{Arg: 1, Str: 0, Dir: 0}, {Arg: 3, Str: 1, Dir: 2}}, Strings: 1<<1 | 1<<3,
	}, OpLinkat.Info().At)
	at := OpSplice.Info().At
	require.Equal(t, [5]int8{0, 1, 2, 3, 4}, [5]int8{at.FD, at.Offset, at.OutFD, at.OutOffset, at.Size})
	require.Equal(t, [4]Op{OpRead, OpReadv, OpPread64, OpPreadv},
		[4]Op{Transfer(ClassRead, false, false), Transfer(ClassRead, false, true), Transfer(ClassRead, true, false), Transfer(ClassRead, true, true)})
	require.Equal(t, OpPwritev, Transfer(ClassWrite, true, true))
}

func TestAccessors(t *testing.T) {
	e := Event{Op: OpSplice, Args: [6]int64{3, -1, 4, 500, 100}}
	require.Equal(t, [5]int64{3, -1, 4, 500, 100}, [5]int64{e.FD(), e.Offset(), e.OutFD(), e.OutOffset(), e.Size()})
	e = Event{Op: OpMkdir, Args: [6]int64{7, 7, 7, 7, 7, 7}, Str: [2][]byte{[]byte("d")}}
	require.Equal(t, [7]int64{-1, -1, -1, -1, -1, -1, 1}, [7]int64{e.FD(), e.Offset(), e.OutFD(), e.OutOffset(), e.Size(), e.NewFD(), e.Count()})
	require.Equal(t, "d", string(e.Path(0)))
	require.Nil(t, e.Path(1))
	require.EqualValues(t, AtFDCWD, e.Dir(0))
	require.EqualValues(t, 6, (&Event{Op: OpSymlinkat, Args: [6]int64{0, 6}}).Dir(0))

	require.EqualValues(t, WRONLY|CREAT|TRUNC, (&Event{Op: OpCreat}).OpenFlags())
	require.EqualValues(t, RDWR, (&Event{Op: OpOpenat, Args: [6]int64{0, 0, RDWR}}).OpenFlags())
	require.Zero(t, (&Event{Op: OpMemfdCreate, Args: [6]int64{0, MfdCloexec}}).OpenFlags())
	require.EqualValues(t, CloneVfork|CloneSigchld, (&Event{Op: OpVfork}).CloneFlags())

	for _, e := range []Event{
		{Op: OpMemfdCreate, Args: [6]int64{0, MfdCloexec}}, {Op: OpOpen, Args: [6]int64{0, RDONLY | CLOEXEC}}, {Op: OpDup3, Args: [6]int64{3, 4, CLOEXEC}},
		{Op: OpFcntl, Args: [6]int64{3, FDupfdCloexec}}, {Op: OpPipe2, Args: [6]int64{0, CLOEXEC}}, {Op: OpEventfd2, Args: [6]int64{0, CLOEXEC}},
	} {
		require.True(t, e.Cloexec(), e.Op)
	}
	for _, e := range []Event{{Op: OpCreat}, {Op: OpDup2, Args: [6]int64{3, CLOEXEC}}, {Op: OpFcntl, Args: [6]int64{3, FDupfd, CLOEXEC}}, {Op: OpPipe}, {Op: OpRead}} {
		require.False(t, e.Cloexec(), e.Op)
	}
	require.EqualValues(t, 9, (&Event{Op: OpWaitid, Args: [6]int64{0, 0, 0, 0, 0, 9}}).Child())
	require.EqualValues(t, -10, (&Event{Op: OpWaitid, Ret: -10, Args: [6]int64{0, 0, 0, 0, 0, 9}}).Child())
	require.EqualValues(t, 9, (&Event{Op: OpWait4, Ret: 9}).Child())
}

// Only sockets send and receive, and what they return need not be bytes.
func TestSockets(t *testing.T) {
	for _, tt := range []struct {
		event Event
		typ   FileType
		bytes int64
		sends bool
	}{
		{Event{Op: OpSendto, Ret: 7}, TypeSock, 7, true},
		{Event{Op: OpRecvmsg, Ret: -11}, TypeSock, 0, false},
		{Event{Op: OpRecvmsg, Ret: NoResult}, TypeSock, 0, false},
		{Event{Op: OpSendmmsg, Ret: 7}, TypeSock, 0, true},
		{Event{Op: OpRecvmmsg, Ret: 7}, TypeSock, 0, false},
		{Event{Op: OpSendto, Ret: -9}, TypeUnknown, 0, true},
		{Event{Op: OpSendto, Ret: -88}, TypeUnknown, 0, true},
		{Event{Op: OpRead, Ret: 7}, TypeUnknown, 7, false},
		{Event{Op: OpWritev, Ret: 7, Notes: &Notes{Has: NotedType, Type: TypeSock}}, TypeSock, 7, true},
		{Event{Op: OpSendfile, Ret: 7}, TypeUnknown, 7, true},
		{Event{Op: OpLseek, Ret: 7}, TypeUnknown, 0, false},
		{Event{Op: OpEventfd, Ret: 7}, TypeUnknown, 0, false},
	} {
		require.Equal(t, tt.typ, tt.event.FileType(), tt.event)
		require.Equal(t, tt.bytes, tt.event.Bytes(), tt.event)
		require.Equal(t, tt.sends, tt.event.Sends(), tt.event)
	}
}

func TestFollows(t *testing.T) {
	tests := []struct {
		event         Event
		path          int
		want, creates bool
	}{
		{Event{Op: OpStat}, 0, true, false},
		{Event{Op: OpLstat}, 0, false, false},
		{Event{Op: OpNewfstatat}, 0, true, false},
		{Event{Op: OpNewfstatat, Args: [6]int64{0, 0, 0, AtSymlinkNofollow}}, 0, false, false},
		{Event{Op: OpStatx, Args: [6]int64{0, 0, AtSymlinkNofollow}}, 0, false, false},
		{Event{Op: OpFaccessat2, Args: [6]int64{0, 0, 0, AtSymlinkNofollow}}, 0, false, false},
		{Event{Op: OpSetxattr, Args: [6]int64{0, 0, 0, 0, AtSymlinkNofollow}}, 0, true, false},
		{Event{Op: OpLsetxattr}, 0, false, false},
		{Event{Op: OpLink}, 0, false, false},
		{Event{Op: OpLink}, 1, false, true},
		{Event{Op: OpLinkat, Args: [6]int64{0, 0, 0, 0, AtSymlinkFollow}}, 0, true, false},
		{Event{Op: OpLinkat, Args: [6]int64{0, 0, 0, 0, AtSymlinkFollow}}, 1, false, true},
		{Event{Op: OpOpen, Args: [6]int64{0, RDONLY}}, 0, true, false},
		{Event{Op: OpOpen, Args: [6]int64{0, RDONLY | NOFOLLOW}}, 0, false, false},
		{Event{Op: OpOpenat, Args: [6]int64{0, 0, RDWR | CREAT}}, 0, true, true},
		{Event{Op: OpOpenat2, Args: [6]int64{0, 0, RDWR | CREAT | EXCL}}, 0, false, true},
		{Event{Op: OpCreat}, 0, true, true},
		{Event{Op: OpRename}, 0, false, false},
		{Event{Op: OpRename}, 1, false, true},
		{Event{Op: OpUnlink}, 0, false, false},
		{Event{Op: OpUnlink}, 1, false, false},
		{Event{Op: OpRead}, 0, false, false},
	}
	for _, test := range tests {
		require.Equal(t, test.want, test.event.Follows(test.path), "%+v", test)
		require.Equal(t, test.creates, test.event.Creates(test.path), "%+v", test)
	}
}
