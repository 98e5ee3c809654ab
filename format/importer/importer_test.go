package importer

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

func text(name, content string) File {
	return File{name, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

// read reads a recording twice, in batches of different sizes.
func read(o Options, files ...File) (*Recording, *format.Header, []format.Event, error) {
	rec, err := Inspect(files, o)
	if err != nil {
		return nil, nil, nil, err
	}
	var last []format.Event
	for _, size := range []int{1, 100} {
		r, err := rec.Open()
		if err != nil {
			return rec, nil, nil, err
		}
		events, err := testkit.ReadAll(r, size)
		h := *r.Header()
		r.Close()
		if err != nil || size == 100 {
			if size == 100 && !equal(last, events) {
				panic("batches of another size give other events")
			}
			return rec, &h, events, err
		}
		last = events
	}
	return rec, nil, last, nil
}

func equal(a, b []format.Event) bool {
	return bytes.Equal(printed(&format.Header{}, a), printed(&format.Header{}, b))
}

// printed returns events as a script.
func printed(h *format.Header, events []format.Event) []byte {
	var out bytes.Buffer
	w := script.NewWriter(&out)
	w.WriteHeader(h)
	w.Write(events)
	w.Flush()
	return out.Bytes()
}

// TestGolden reads a file of each kind.
func TestGolden(t *testing.T) {
	for name, kind := range map[string]Kind{
		"fio2.log": FioV2, "fio3.log": FioV3, "iozone.txt": Iozone, "ioprof.log": IOProf,
		"strace_y.txt": Strace, "strace_plain.txt": Strace,
		"dxt.txt": Other, "dftracer.pfw": Other, "blkparse.txt": Other,
		"msr.csv": Other, "alibaba.csv": Other, "tencent.csv": Other, "spc.csv": Other, "fiu.txt": Other,
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			rec, h, events, err := read(Options{}, text(name, string(content)))
			require.NoError(t, err)
			require.Equal(t, kind, rec.Kind)
			testkit.Golden(t, strings.TrimSuffix(name, filepath.Ext(name))+".golden", printed(h, events))
		})
	}
}

func TestWrites(t *testing.T) {
	_, _, events, err := read(Options{Write: true}, text("t", "0 10 1\n"))
	require.NoError(t, err)
	require.Equal(t, format.OpPwrite64, events[1].Op)
	require.EqualValues(t, 1e6, events[1].Start)
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		kind          Kind
		dialect       script.Dialect
		log           bool
	}{
		{"version line", "# pianola script 1\n1 0.5 close(3) = 0\n", Script, script.Recorded, false},
		{"log", "# pianola script 1\n# replay: x\n1 0.5 close(3) = 0\n", Script, script.Recorded, true},
		{"nine decimals", "1 0.500000000 close(3) = 0\n", Script, script.Recorded, false},
		{"older", "0.50000000 close(3) = 0\n", Script, script.Older, false},
		{"intermediate", "close ( 3 ) = 0\n", Script, script.Intermediate, false},
		{"empty", "", Script, script.Unrecognised, false},
		{"remarks only", "# a: b\n\n", Script, script.Unrecognised, false},
		{"strace -f -r", "1 0.500000 close(3) = 0\n", Strace, script.Recorded, false},
		{"strace", "close(3) = 0\n", Strace, script.Recorded, false},
		{"fio", "fio version 2 iolog\n", FioV2, 0, false},
		{"telemetry", "# offset length ms\n\n 1 2 3.5 \n", Iozone, 0, false},
		{"IOProf", "Time:1:2:3\n", IOProf, 0, false},
	} {
		rec, err := Inspect([]File{text(tt.name, tt.content)}, Options{})
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.kind, rec.Kind, tt.name)
		require.Equal(t, tt.dialect == 0, rec.Dialect == 0, tt.name)
		require.Equal(t, tt.log, rec.Log, tt.name)
	}
}

func TestErrors(t *testing.T) {
	const head = "Time:1:2:3\nTpS:10\nPID:5\n"
	long := strings.Repeat("x", maxLine+1)
	for _, tt := range []struct{ content, want string }{
		{"Dear Sir,\n", "f:1: not an event: expected a call and its result, as strace -f -r -T prints it"},
		{"fio version 1 iolog\n", `f:1: "fio version 1 iolog": only versions 2 and 3 of fio's iolog are supported`},
		{"fio version 2 iolog\n\na fly\n", `f:3: unknown action "fly"`},
		{"fio version 2 iolog\na\n", "f:2: expected a file and an action"},
		{"fio version 2 iolog\na add 5\n", "f:2: unexpected text after add"},
		{"fio version 2 iolog\na read 0 5\n", `f:2: "a" is not open`},
		{"fio version 2 iolog\na open\na read 0 x\n", "f:3: expected an offset and a length in bytes"},
		{"fio version 2 iolog\na open\na read 0 9223372036854775808\n", "f:3: expected an offset and a length in bytes"},
		{"fio version 2 iolog\na wait 9223372036854775807 0\n", "f:2: time out of range"},
		{"fio version 3 iolog\nx a add\n", "f:2: malformed time, expected microseconds"},
		{"fio version 3 iolog\n9223372036854775807 a add\n", "f:2: malformed time, expected microseconds"},
		{"fio version 3 iolog\n1 a wait 5 0\n", "f:2: version 3 has no action wait"},
		{"fio version 2 iolog\n" + long + "\n", "f:2: line longer than 64 KiB"},
		{"fio version 2 iolog\na open\na read 0 4", "f:3: cut off in mid-line: no newline after the last line, so its number may be truncated"},
		{"fio version 2 iolog\na open\na rea", `f:3: cut off in mid-line: unknown action "rea"`},
		{"1 2 3\n1 2\n", "f:2: expected offset, length and delay in milliseconds"},
		{"1 2 -3\n", "f:1: expected a call"},
		{"1 2 2000000000000000\n", "f:1: expected a call"},
		{"Time:1:2:3\nopen:4:5:0:0:7:x\n", "f:2: a call before Time, TpS and PID"},
		{"Time:1:2:3\nTpS:0\n", "f:2: malformed number of ticks in a second"},
		{"Time:1:2:3\nPID:0\n", "f:2: malformed process id"},
		{head + "Time:1\n", "f:4: malformed time, expected seconds, microseconds and ticks"},
		{head + "open:2:5:0:0:7:x\n", "f:4: malformed call, expected NAME:START:END:RESULT:…:FD in ticks since Time"},
		{head + "open:4:5:0:0:7\n", "f:4: open without a path"},
		{head + "read:4:5:x:0:7\n", "f:4: malformed call, expected NAME:START:END:RESULT:…:FD"},
		{head + "read:4:5:1:0:9999999999\n", "f:4: descriptor or process id out of range"},
		{head + "dup:4:5:9999999999:0:7\n", "f:4: descriptor or process id out of range"},
		{head + "read:4:9223372036854775807:1:0:7\n", "f:4: time out of range"},
	} {
		_, _, _, err := read(Options{}, text("f", tt.content))
		require.EqualError(t, err, tt.want, "%.80q", tt.content)
		var syntax *script.SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
}

// Faults of the source itself are not faults of its text.
func TestSourceErrors(t *testing.T) {
	broken := File{"f", func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("fio version 2 iolog\na op"), iotest.ErrReader(io.ErrClosedPipe))), nil
	}}
	_, _, _, err := read(Options{}, broken)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.EqualError(t, err, "f:2: io: read/write on closed pipe")
	missing := File{"f", func() (io.ReadCloser, error) { return nil, os.ErrNotExist }}
	_, err = Inspect([]File{missing}, Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Inspect(nil, Options{})
	require.EqualError(t, err, "no files")
	_, err = Inspect(make([]File, maxFiles+1), Options{})
	require.EqualError(t, err, "more than 4096 files")
}

// Calls that failed, or of which the log doesn't say enough, are counted.
func TestIOProfSkips(t *testing.T) {
	_, h, events, err := read(Options{}, text("f", "Time:1:2:3\nTpS:10\nPID:5\nopen:4:5:-1:0:-1:x\nfcntl:5:6:1:0:3\nfcntl:6:7:1:0:3\nfdopen:6:7:0:0:3\nfseek:6:7:0:0:3\ndup:6:7:0:0:3\nlseek:7:8:100:0:3\n"))
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, format.Event{Op: format.OpLseek, TID: 5, Line: 10, Start: 4e8, Dur: 1e8, Ret: 100, Args: [6]int64{3, 100}}, events[0])
	skipped, _ := h.Value(format.MetaSkipped)
	require.Equal(t, "dup=1 failed open=1 fcntl=2 fseek=1", skipped)
	require.Equal(t, []string{"lines that are not taken: dup=1 failed open=1 fcntl=2 fseek=1"}, h.Foreign())
	_, ended := h.Value(format.MetaLost)
	require.False(t, ended, "a log without an end must be found to be one")
}

func TestIOProfCalls(t *testing.T) {
	for call, want := range map[string]format.Event{
		"read:4:5:7:9:3":     {Op: format.OpRead, Ret: 7, Args: [6]int64{3, 0, 7}},
		"read:4:5:0:9:3":     {Op: format.OpRead, Args: [6]int64{3}},
		"write:4:5:7:9:3":    {Op: format.OpWrite, Ret: 7, Args: [6]int64{3, 0, 7}},
		"write:4:5:0:9:3":    {Op: format.OpWrite, Ret: 9, Args: [6]int64{3, 0, 9}},
		"vfprintf:4:5:0:9:3": {Op: format.OpWrite, Ret: 9, Args: [6]int64{3, 0, 9}},
		"fputc:4:5:0:65:3":   {Op: format.OpWrite, Ret: 1, Args: [6]int64{3, 0, 1}},
		"getc:4:5:65:0:3":    {Op: format.OpRead, Ret: 1, Args: [6]int64{3, 0, 1}},
		"pread:4:5:7:90:3":   {Op: format.OpPread64, Ret: 7, Args: [6]int64{3, 0, 7, 90}},
		"pread:4:5:7:0:3":    {Op: format.OpRead, Ret: 7, Args: [6]int64{3, 0, 7}},
		"pwrite:4:5:7:90:3":  {Op: format.OpPwrite64, Ret: 7, Args: [6]int64{3, 0, 7, 90}},
		"pwrite:4:5:0:7:3":   {Op: format.OpWrite, Ret: 7, Args: [6]int64{3, 0, 7}},
		"rewind:4:5:0:0:3":   {Op: format.OpLseek, Args: [6]int64{3}},
		"fsetpos:4:5:0:90:3": {Op: format.OpLseek, Ret: 90, Args: [6]int64{3, 90}},
		"dup:4:5:6:0:3":      {Op: format.OpDup, Ret: 6, Args: [6]int64{3}},
		"dup2:4:5:0:6:3":     {Op: format.OpDup2, Ret: 6, Args: [6]int64{3, 6}},
		"sendmsg:4:5:0:9:3":  {Op: format.OpSendmsg, Ret: 9, Args: [6]int64{3}},
		"recv:4:5:7:0:3":     {Op: format.OpRecvfrom, Ret: 7, Args: [6]int64{3, 0, 7}},
		"fclose:4:5:7:9:3":   {Op: format.OpClose, Args: [6]int64{3}},
		"fork:4:5:9:0:0":     {Op: format.OpFork, Ret: 9},
		"fork:4:5:9:0:-1":    {Op: format.OpFork, Ret: 9},
		"fork:4:5:0:0:9":     {Op: format.OpFork, Ret: 9},
	} {
		_, _, events, err := read(Options{}, text("f", "Time:1:2:4\nTpS:10\nPID:5\n"+call+"\n"))
		require.NoError(t, err, call)
		want.TID, want.Line, want.Dur = 5, 4, 1e8
		require.Equal(t, []format.Event{want}, events, call)
	}
}

// Reads and writes of a socket are messages, also through copies of its descriptor, in
// children, and until its close.
func TestIOProfSockets(t *testing.T) {
	_, h, events, err := read(Options{}, text("f", `Time:1:2:4
TpS:10
PID:5
socket:4:4:0:0:3
accept:4:4:6:0:3
read:4:4:100:0:6
fork:4:4:9:0:0
dup:4:4:7:0:6
write:4:4:0:20:7
fsync:4:4:0:0:7
PID:9
read:4:4:50:0:6
PID:5
close:4:4:0:0:6
read:4:4:1:0:6
open:4:4:0:0:7:a
write:4:4:0:1:7
read:4:4:8:0:3
accept:4:4:0:0:0
accept:4:4:-1:0:3
accept:4:4:0:0:8
read:4:4:2:0:8
`))
	require.NoError(t, err)
	require.Equal(t, `5 0.000000000 read(6, NULL, 100) = 100 <0.000000000> {type=sock got=tcp:4+100}
5 0.000000000 fork() = 9 <0.000000000>
5 0.000000000 dup(6) = 7 <0.000000000> {type=sock}
5 0.000000000 write(7, NULL, 20) = 20 <0.000000000> {type=sock sent=tcp:5+20}
5 0.000000000 fsync(7) = 0 <0.000000000> {type=sock}
9 0.000000000 read(6, NULL, 50) = 50 <0.000000000> {type=sock got=tcp:4+150}
5 0.000000000 close(6) = 0 <0.000000000> {type=sock}
5 0.000000000 read(6, NULL, 1) = 1 <0.000000000>
5 0.000000000 open("a", O_RDWR) = 7 <0.000000000>
5 0.000000000 write(7, NULL, 1) = 1 <0.000000000>
5 0.000000000 read(3, NULL, 8) = 8 <0.000000000> {type=sock got=tcp:2+8 connected}
5 0.000000000 read(8, NULL, 2) = 2 <0.000000000> {type=sock got=tcp:6+2}
`, string(printed(&format.Header{}, events)[len("# pianola script 1\n"):]))
	require.Equal(t, []string{"lines that are not taken: accept=1 failed accept=1"}, h.Foreign())
}

// The sockets that are followed are bounded.
func TestIOProfManySockets(t *testing.T) {
	var log strings.Builder
	log.WriteString("Time:1:2:4\nTpS:10\nPID:5\n")
	for fd := range maxSockets {
		fmt.Fprintf(&log, "socket:4:4:0:0:%d\n", fd+1)
	}
	for _, last := range []string{"fork:4:4:9:0:0", "PID:9", "read:4:4:1:0:1", "PID:5", "read:4:4:1:0:1", "socket:4:4:0:0:70000", "read:4:4:1:0:70000", "close:4:4:0:0:1", "socket:4:4:0:0:70000", "read:4:4:1:0:70000"} {
		log.WriteString(last + "\n")
	}
	_, _, events, err := read(Options{}, text("f", log.String()))
	require.NoError(t, err)
	require.Len(t, events, 6)
	for i, followed := range []bool{false, false, true, false, true, true} {
		require.Equal(t, followed, events[i].Notes != nil, i)
	}
}

// The second line Time says whether ticks and the time of day agree.
func TestIOProfClocks(t *testing.T) {
	for last, want := range map[string]string{
		"Time:2:2:1000": "", "Time:2:902:1000": "", "Time:2:2002:1000": "",
		"Time:3:2:1000": "1000 ticks, 1000 per second, in 2.000000 s", "Time:0:2:1000": "1000 ticks, 1000 per second, in -1.000000 s",
		"Time:2:2:2000": "2000 ticks, 1000 per second, in 1.000000 s",
	} {
		_, h, _, err := read(Options{}, text("f", "Time:1:2:0\nTpS:1000\nPID:5\nfsync:4:5:0:0:3\n"+last+"\nendoflog-file\n"))
		require.NoError(t, err)
		drift, _ := h.Value(format.MetaDrift)
		require.Equal(t, want, drift, last)
	}
	_, h, _, err := read(Options{}, text("f", "Time:1:2:9\nTpS:1000\nPID:5\nfsync:9:9:0:0:3\nTime:1:2:8\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"its clocks differ, so times can be wrong: -1 ticks, 1000 per second, in 0.000000 s"}, h.Foreign())
}

// The name of a link in the index of logs says whether the log was complete.
func TestIOProfIndex(t *testing.T) {
	const log, end = "Time:1:2:10\nTpS:1000\nPID:5\nfsync:11:12:0:0:3\n", "Time:1:2:20\nendoflog-file\n"
	for _, tt := range []struct{ name, log, want string }{
		{"sl/10_0", log, "10_0 (still written)"}, {"sl/10_0", log + end, ""}, {"sl/10_20", log + end, ""},
		{"sl/10_20", log, "10_20 (another end)"}, {"sl/10_21", log + end, "10_21 (another end)"},
		{"11_0", log, ""}, {"10", log, ""}, {"10_", log, ""}, {"10_0.log", log, ""},
	} {
		_, h, _, err := read(Options{}, text(tt.name, tt.log))
		require.NoError(t, err)
		parts, _ := h.Value(format.MetaIncomplete)
		require.Equal(t, tt.want, parts, tt.name)
	}
}

// A descriptor is free again after its close, the lowest is given first.
func TestFioDescriptors(t *testing.T) {
	_, _, events, err := read(Options{}, text("f", "fio version 2 iolog\na open\na open\nb open\na close\na close\nc open\n"))
	require.NoError(t, err)
	var got []int64
	for _, e := range events {
		got = append(got, e.Ret, e.Args[0])
	}
	require.Equal(t, []int64{3, 0, 4, 0, 0, 3, 3, 0}, got)
}

func TestAllocations(t *testing.T) {
	for name, s := range map[string]struct{ head, line string }{
		"fio":    {"fio version 3 iolog\n0 a open\n", "12 a read 4096 4096\n"},
		"iozone": {"", "4096 4096 0\n"},
		"ioprof": {"Time:1:2:3\nTpS:10\nPID:5\n", "read:4:5:10:0:7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := Inspect([]File{text(name, s.head+strings.Repeat(s.line, 50000))}, Options{})
			require.NoError(t, err)
			r, err := rec.Open()
			require.NoError(t, err)
			defer r.Close()
			batch := make([]format.Event, 500)
			n, err := r.Read(batch)
			require.NoError(t, err)
			require.Equal(t, len(batch), n)
			require.Zero(t, testing.AllocsPerRun(50, func() { n, err = r.Read(batch) }))
			require.NoError(t, err)
			require.Equal(t, len(batch), n)
		})
	}
}

// FuzzRead demands that nothing panics, and that what is read can be printed
// and read again as a script.
func FuzzRead(f *testing.F) {
	for _, name := range []string{
		"fio2.log", "fio3.log", "iozone.txt", "ioprof.log", "strace_y.txt",
		"dxt.txt", "dftracer.pfw", "blkparse.txt", "msr.csv", "alibaba.csv", "tencent.csv", "spc.csv", "fiu.txt",
	} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		rec, h, events, err := read(Options{}, text("fuzz.7", string(content)))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if rec.Kind == Script {
			return // of package script
		}
		again, err := testkit.ReadAll(script.NewReader(bytes.NewReader(printed(h, events)), "printed"), 10)
		require.NoError(t, err)
		require.Len(t, again, len(events))
	})
}

// repeatedly is a source of a text again and again.
type repeatedly string

func (r repeatedly) Read(b []byte) (n int, err error) {
	for n = 0; n+len(r) <= len(b); n += len(r) {
		copy(b[n:], r)
	}
	return n, nil
}

// A small compressed file can hold any number of empty lines. Reading them ends with an
// error, wherever they are.
func TestEmptyLinesAreBounded(t *testing.T) {
	for _, tt := range []struct{ head, line string }{
		{"", "\n"},
		{"", " \t\r\n"},
		{"# pianola script 1\n", "\n"},
		{"10 0.1 close(3) = 0 <0.1>\n", "\n"},
		{"fio version 2 iolog\n", "\n"},
		{"10 0.1 close(3) = 0 <0.1>\n% time     seconds  usecs/call     calls    errors syscall\n", "x\n"},
	} {
		lines := int64(script.MaxEmpty + 10) // all of them are read without the bound
		open := func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(tt.head), io.LimitReader(repeatedly(tt.line), lines*int64(len(tt.line))))), nil
		}
		_, _, _, err := read(Options{}, File{"f", open})
		require.EqualError(t, err, fmt.Sprintf("f:%d: more than 4194304 empty lines", script.MaxEmpty+1+strings.Count(tt.head, "\n")), "%q", tt.head)
	}
}
