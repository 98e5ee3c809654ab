package format

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable holds what every row must have for the parts that derive from it.
func TestTable(t *testing.T) {
	numbers := [numArch]map[int]string{{}, {}}
	for op := OpNone + 1; op.Valid(); op++ {
		info := op.Info()
		t.Run(info.Name, func(t *testing.T) {
			require.NotEmpty(t, info.Name)
			require.Less(t, info.Class, NumClasses)
			require.LessOrEqual(t, len(info.Args), MaxArgs)
			found, ok := Lookup([]byte(info.Name))
			require.True(t, ok)
			require.Equal(t, op, found)
			require.Equal(t, info.Name, op.String())

			strs, optional := 0, false
			names := make(map[string]bool)
			for k, a := range info.Args {
				require.NotEmpty(t, a.Name)
				require.False(t, names[a.Name], "two arguments %s", a.Name)
				names[a.Name] = true
				require.Equal(t, k, info.ArgIndex(a.Name))
				require.Equal(t, a.Kind == Flags, a.Flags != nil, a.Name)
				if a.Kind.IsString() {
					require.Equal(t, strs, info.StringIndex(k))
					strs++
				}
				if a.Kind == OptMode {
					require.Equal(t, len(info.Args)-1, k, "only the last argument can be left out")
					require.Same(t, OpenFlags, info.Args[k-1].Flags, "the flags that ask for a mode stand before it")
				}
				if a.Kind == DirFD {
					require.Equal(t, Path, info.Args[k+1].Kind, "what starts from the directory")
				}
				require.True(t, a.Opt || !optional, "%s after an optional argument", a.Name)
				optional = a.Opt
			}
			require.LessOrEqual(t, strs, MaxStrings)
			require.Equal(t, -1, info.ArgIndex("no such argument"))
			require.Zero(t, info.Synthetic>>len(info.Args), "synthetic arguments beyond the last")

			for a, n := range info.Sys {
				if n == none {
					continue
				}
				require.Less(t, n, MaxSys)
				require.Empty(t, numbers[a][n], "two rows of one number")
				numbers[a][n] = info.Name
				require.Equal(t, op, BySyscall(Arch(a), n))
			}
			if info.Canon != nil {
				canon := info.Canon(&Event{Op: op})
				require.True(t, canon.Valid())
				require.False(t, canon.Info().Dropped)
			}
		})
	}
	require.Equal(t, NumOps, len(table))
	require.False(t, OpNone.Valid())
	require.False(t, Op(NumOps).Valid())
	require.Equal(t, "none", Op(NumOps).String())
	for _, nr := range []int{-1, MaxSys, 1 << 40} {
		require.Equal(t, OpNone, BySyscall(AMD64, nr))
	}
	_, ok := Lookup([]byte("mmap_of_nothing"))
	require.False(t, ok)
}

func TestCanon(t *testing.T) {
	tests := []struct {
		event Event
		want  Op
	}{
		{Event{Op: OpOpenat, Args: [6]int64{AtFDCWD, 0, RDWR}}, OpOpen},
		{Event{Op: OpOpenat, Args: [6]int64{AtFDCWD, 0, RDWR | CREAT}}, OpOpenm},
		{Event{Op: OpOpen, Args: [6]int64{0, RDWR | TMPFILE}}, OpOpenm},
		{Event{Op: OpCreat}, OpOpenm},
		{Event{Op: OpNewfstatat, Args: [6]int64{3, 0, 0, AtEmptyPath}, Str: [2][]byte{{}}}, OpFstat},
		{Event{Op: OpNewfstatat, Args: [6]int64{3, 0, 0, AtEmptyPath}, Str: [2][]byte{[]byte("a")}}, OpStat},
		{Event{Op: OpNewfstatat, Args: [6]int64{AtFDCWD, 0, 0, AtEmptyPath}}, OpStat},
		{Event{Op: OpNewfstatat, Args: [6]int64{AtFDCWD, 0, 0, AtSymlinkNofollow}, Str: [2][]byte{[]byte("a")}}, OpLstat},
		{Event{Op: OpStatx, Args: [6]int64{3, 0, AtEmptyPath}}, OpFstatx},
		{Event{Op: OpStatx, Args: [6]int64{3}, Str: [2][]byte{[]byte("a")}}, OpStatx},
		{Event{Op: OpUnlinkat}, OpUnlink},
		{Event{Op: OpUnlinkat, Args: [6]int64{AtFDCWD, 0, AtRemovedir}}, OpRmdir},
		{Event{Op: OpRenameat2}, OpRename},
		{Event{Op: OpRenameat2, Args: [6]int64{AtFDCWD, 0, AtFDCWD, 0, RenameExchange}}, OpRenameat2},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.event.Op.Info().Canon(&tt.event), "%+v", tt.event)
	}
}

func TestSameResult(t *testing.T) {
	tests := []struct {
		op            Op
		recorded, got int64
		want          bool
	}{
		{OpRead, 10, 10, true},
		{OpRead, 10, 9, false},
		{OpRead, -11, -11, true},
		{OpRead, -11, 0, false},
		{OpRead, 0, -5, false},
		{OpRead, NoResult, 7, true},
		{OpOpen, 3, 9, true},
		{OpOpen, 3, -2, false},
		{OpGetdents64, 100, 48, true},
		{OpGetdents64, 0, 48, false},
		{OpReadlink, 7, 9, true},
		{OpClose, 0, 0, true},
		{OpClone, 4711, 12, true},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, SameResult(tt.op, tt.recorded, tt.got), "%s %d %d", tt.op, tt.recorded, tt.got)
	}
}

func TestEvent(t *testing.T) {
	e := Event{Op: OpRename, Start: 5, Dur: 7, Ret: -2, Str: [2][]byte{[]byte("a"), {}}, Faults: 3, Off: Off{Wait: 4}, Notes: &Notes{Has: NotedTarget, Target: []byte("t"), Text: []byte("n")}, Edges: []Edge{{Thread: 1, Event: 2}}}
	require.Equal(t, int64(12), e.End())
	require.True(t, e.Failed())
	c := e.Clone()
	require.Equal(t, e, c)
	e.Str[0][0], e.Notes.Text[0], e.Notes.Target[0], e.Edges[0].Event = 'x', 'x', 'x', 9
	require.Equal(t, Event{Op: OpRename, Start: 5, Dur: 7, Ret: -2, Str: [2][]byte{[]byte("a"), {}}, Faults: 3, Off: Off{Wait: 4}, Notes: &Notes{Has: NotedTarget, Target: []byte("t"), Text: []byte("n")}, Edges: []Edge{{Thread: 1, Event: 2}}}, c)
	require.Equal(t, int64(5), (&Event{Start: 5, Dur: Unknown}).End())
	for ret, failed := range map[int64]bool{0: false, 1: false, -1: true, -MaxErrno: true, -MaxErrno - 1: false, NoResult: false} {
		require.Equal(t, failed, (&Event{Ret: ret}).Failed(), ret)
	}
}

func TestErrno(t *testing.T) {
	for n, name := range errnoNames {
		require.Equal(t, name, ErrnoName(n))
		got, ok := ErrnoNumber([]byte(name))
		require.True(t, ok)
		require.Equal(t, n, got)
		text := ErrnoText(n)
		require.NotEmpty(t, text)
		require.Equal(t, strings.ToUpper(text[:1]), text[:1])
	}
	require.Equal(t, "41", ErrnoName(41))
	n, ok := ErrnoNumber([]byte("EWOULDBLOCK"))
	require.True(t, ok)
	require.Equal(t, 11, n)
	_, ok = ErrnoNumber([]byte("ENOSUCH"))
	require.False(t, ok)
	require.Equal(t, "No such file or directory", ErrnoText(2))
}
