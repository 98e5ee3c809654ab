package script

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// trickle is a source that gives few bytes at a time.
type trickle struct {
	text string
	most int
	err  error // at the end, instead of io.EOF
}

func (r *trickle) Read(p []byte) (int, error) {
	if r.text == "" {
		if r.err != nil {
			return 0, r.err
		}
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.most)], r.text)
	r.text = r.text[n:]
	return n, nil
}

const olderScript = `0.00010284 openm("/home/john/somefile.txt", 548, 384) = 7 <0.00012080>
0.00014123 openm("/home/john/otherfile.txt", 626, 436) = 8 <0.00003775>
0.00004879 close(8) = 0 <0.00002225>
0.00002949 open("/home/john/otherfile.txt", 516) = 8 <0.00002033>
0.00003065 lseek(8, 2147479512, 2147479512, 0) = 0 <0.00000561>
0.00001730 write(8, -1078271740, 24) = 24 <0.00009151>
`

// TestOlderToIntermediate does what compile does with the older dialect: file
// names are mapped, times become compute, durations and addresses are dropped.
func TestOlderToIntermediate(t *testing.T) {
	events, r := parse(t, olderScript)
	require.Equal(t, Older, r.Dialect())
	names := map[string]string{"/home/john/somefile.txt": "pianola_tmp1", "/home/john/otherfile.txt": "pianola_tmp2"}
	var end int64
	for i := range events {
		e := &events[i]
		e.Compute, end = e.Start-end, e.End()
		if e.Str[0] != nil {
			e.Str[0] = []byte(names[string(e.Str[0])])
		}
		if e.Op == format.OpWrite {
			e.Args[1] = 0
		}
		e.Dur = format.Unknown
	}
	require.Equal(t, `compute ( 0.000102840 )
openm ( pianola_tmp1 548 384 ) = 7
compute ( 0.000020430 )
openm ( pianola_tmp2 626 436 ) = 8
compute ( 0.000011040 )
close ( 8 ) = 0
compute ( 0.000007240 )
open ( pianola_tmp2 516 ) = 8
compute ( 0.000010320 )
lseek ( 8 2147479512 0 ) = 2147479512
compute ( 0.000011690 )
write ( 8 24 ) = 24
`, printIntermediate(t, &format.Header{}, events))
}

// TestOlderToRecorded shows the same events in the newer words.
func TestOlderToRecorded(t *testing.T) {
	events, r := parse(t, olderScript)
	require.Equal(t, `# pianola script 1
1 0.000102840 openm("/home/john/somefile.txt", O_RDWR|O_CREAT|O_LARGEFILE, 0600) = 7 <0.000120800>
1 0.000141230 openm("/home/john/otherfile.txt", O_WRONLY|O_CREAT|O_EXCL|O_TRUNC|O_LARGEFILE, 0664) = 8 <0.000037750>
1 0.000048790 close(8) = 0 <0.000022250>
1 0.000029490 open("/home/john/otherfile.txt", O_RDWR|O_LARGEFILE) = 8 <0.000020330>
1 0.000030650 lseek(8, 2147479512, SEEK_SET) = 2147479512 <0.000005610>
1 0.000017300 write(8, 0xffffffffbfbae104, 24) = 24 <0.000091510>
`, printRecorded(t, r.Header(), events))
}

func TestAppendEvent(t *testing.T) {
	tests := []struct {
		name  string
		event format.Event
		delta int64
		want  string
	}{
		{"open with a mode", format.Event{Op: format.OpOpenat, TID: 4711, Ret: 7, Dur: 120800,
			Args: [6]int64{format.AtFDCWD, 0, format.RDWR | format.CREAT, 0o600}, Str: [2][]byte{[]byte("/a b")}, Notes: &format.Notes{Has: format.NotedSize | format.NotedType | format.NotedNew, Type: format.TypeReg}}, 102840,
			`4711 0.000102840 openat(AT_FDCWD, "/a b", O_RDWR|O_CREAT, 0600) = 7 <0.000120800> {type=reg size=0 new}`},
		{"open without, failed", format.Event{Op: format.OpOpenat, TID: 1, Ret: -2, Dur: 0,
			Args: [6]int64{5, 0, format.RDONLY}, Str: [2][]byte{[]byte("nosuch\xff")}}, -5,
			`1 -0.000000005 openat(5, "nosuch\377", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000000000>`},
		{"address, no duration", format.Event{Op: format.OpPread64, TID: 1, Ret: 24, Dur: format.Unknown, Args: [6]int64{7, 0x7ffc1f3a2010, 24, -1}}, 2e9,
			`1 2.000000000 pread64(7, 0x7ffc1f3a2010, 24, -1) = 24`},
		{"two descriptors", format.Event{Op: format.OpPipe2, TID: 1, Dur: format.Unknown, Args: [6]int64{4<<32 | 3, format.CLOEXEC}}, 0,
			`1 0.000000000 pipe2([3, 4], O_CLOEXEC) = 0`},
		{"no result", format.Event{Op: format.OpExitGroup, TID: 1, Ret: format.NoResult, Dur: format.Unknown, Args: [6]int64{3}}, 0,
			`1 0.000000000 exit_group(3) = ?`},
		{"no arguments", format.Event{Op: format.OpVfork, TID: 1, Ret: 4712, Dur: format.Unknown}, 0,
			`1 0.000000000 vfork() = 4712`},
		{"no strings", format.Event{Op: format.OpRename, TID: 1, Ret: -14, Dur: format.Unknown}, 0,
			`1 0.000000000 rename(NULL, NULL) = -1 EFAULT (Bad address)`},
		{"empty mode", format.Event{Op: format.OpMkdir, TID: 1, Dur: format.Unknown, Str: [2][]byte{{}}}, 0,
			`1 0.000000000 mkdir("", 000) = 0`},
		{"lock", format.Event{Op: format.OpFcntl, TID: 1, Dur: format.Unknown, Args: [6]int64{3, format.FSetlk, 0, 1, 100}}, 0,
			`1 0.000000000 fcntl(3, F_SETLK, SEEK_SET, F_WRLCK, 100) = 0`},
		{"no lock", format.Event{Op: format.OpFcntl, TID: 1, Ret: 4, Dur: format.Unknown, Args: [6]int64{3, format.FDupfd, 4}}, 0,
			`1 0.000000000 fcntl(3, F_DUPFD, 4) = 4`},
		{"errno without a name", format.Event{Op: format.OpClose, TID: 1, Ret: -41, Dur: format.Unknown}, 0,
			`1 0.000000000 close(0) = -41`},
		{"errno of the kernel's own", format.Event{Op: format.OpRead, TID: 1, Ret: -512, Dur: format.Unknown}, 0,
			`1 0.000000000 read(0, NULL, 0) = -1 ERESTARTSYS (To be restarted)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := AppendEvent([]byte("x"), &tt.event, tt.delta)
			require.Equal(t, "x"+tt.want+"\n", string(got))
		})
	}
}

func TestIntermediateNotes(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Start: 1000}, {Process: 1, Parent: 2, Start: 50, Ring: format.ViaUring}}}
	events := []format.Event{
		{Op: format.OpRead, TID: 1, Ret: 3, Dur: 5, Compute: 10, Held: 4, Expired: 6, Start: 10, Args: [6]int64{3, 0x1000, 3}},
		{Op: format.OpRename, TID: 2, Start: 1000, Dur: format.Unknown, Str: [2][]byte{[]byte("12"), []byte("b c")},
			Edges: []format.Edge{{Thread: 1, Event: 0, Kind: format.EdgeWake, Delay: 1200}, {Thread: 1, Event: 9}}, Notes: &format.Notes{Text: []byte("new")}},
		{Op: format.OpRename, TID: 2, Start: 1000, Ret: -14, Dur: format.Unknown, Str: [2][]byte{nil, []byte("NULL")}},
		{Op: format.OpPread64, Via: format.ViaUring, TID: 3, Start: 60, Compute: 10, Dur: 500, Ret: 3, Args: [6]int64{3, 0x1000, 3, 4096},
			How: format.How{Flags: 4 | format.ReqFixed, RW: 2, Slot: 7, Buf: 3}},
		{Op: format.OpFstatx, Via: format.ViaUring, TID: 3, Start: 70, Compute: 10, Dur: 5, Args: [6]int64{3, 1, 2}, How: format.How{Flags: 4}},
	}
	text := printIntermediate(t, h, events)
	require.Equal(t, `# pianola intermediate 1
# thread: 1 process=1 parent=0 start=0.000000000
# thread: 2 process=1 parent=1 start=0.000001000
# thread: 3 process=1 parent=2 ring=io_uring start=0.000000050
1 compute ( 0.000000010 )
1 read ( 3 3 ) = 3 <0.000000005> {buf=0x1000 held=0.000000004 expired=0.000000006}
2 rename ( "12" "b c" ) = 0 {after=1:0+0.000001200:wake after=1:9 new}
2 rename ( NULL "NULL" ) = -1 EFAULT (Bad address)
3 compute ( 0.000000010 )
3 pread64 ( 3 3 4096 ) = 3 <0.000000500> {buf=0x1000 flags=fixed|link slot=7 buffer=2 rwf=RWF_DSYNC}
3 compute ( 0.000000010 )
3 fstatx ( 3 1 2 ) = 0 <0.000000005> {flags=link}
`, text)
	got, _ := parse(t, text)
	require.Equal(t, events, got)
}

func TestTrailingCompute(t *testing.T) {
	events, r := parse(t, "compute ( 1.5 )\nclose ( 3 ) = 0\ncompute ( 0.25 )\ncompute ( 0.5 )\n")
	require.Len(t, events, 1)
	require.Equal(t, int64(15e8), events[0].Compute)
	value, ok := r.Header().Value(MetaTrailing)
	require.True(t, ok)
	require.Equal(t, "1 0.750000000", value)
}

func TestWriteHeader(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	require.NoError(t, w.Flush())
	require.Empty(t, out.String())
	require.NoError(t, w.WriteHeader(&format.Header{Meta: []format.Meta{{Key: "command", Value: "./app"}}}))
	require.NoError(t, w.Write([]format.Event{{Op: format.OpClose, TID: 1, Start: 5, Dur: format.Unknown}}))
	require.NoError(t, w.WriteHeader(&format.Header{Meta: []format.Meta{{Key: "lost", Value: "0"}}}))
	require.NoError(t, w.Flush())
	text := out.String()
	require.Equal(t, "# pianola script 1\n# command: ./app\n1 0.000000005 close(0) = 0\n# lost: 0\n", text)
	_, r := parse(t, text)
	require.Equal(t, []format.Meta{{Key: "command", Value: "./app"}, {Key: "lost", Value: "0"}}, r.Header().Meta)
}

type full struct{ room int }

var errFull = errors.New("disk full")

func (w *full) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	events := make([]format.Event, 10_000)
	for i := range events {
		events[i] = format.Event{Op: format.OpClose, TID: 1}
	}
	h := &format.Header{Meta: []format.Meta{{Key: "a", Value: "b"}}}
	var _ format.Writer = NewWriter(io.Discard)
	w := NewWriter(&full{room: bufferSize * 2})
	require.ErrorIs(t, w.Write(events), errFull)
	require.ErrorIs(t, w.WriteHeader(h), errFull)
	require.ErrorIs(t, w.Flush(), errFull)
	i := NewIntermediateWriter(&full{}, h)
	require.ErrorIs(t, i.Write(events[:1]), errFull)
	require.ErrorIs(t, i.Flush(), errFull)

	for _, op := range []format.Op{format.OpNone, format.Op(format.NumOps)} {
		bad := []format.Event{{Op: op}}
		require.ErrorContains(t, NewWriter(io.Discard).Write(bad), "is not in the table")
		require.ErrorContains(t, NewIntermediateWriter(io.Discard, h).Write(bad), "is not in the table")
	}
}
