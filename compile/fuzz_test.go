package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// check compiles from src with both mappings, twice each, and demands that
// the traces keep the rules and are the same both times.
func check(t *testing.T, src func() format.Reader) {
	t.Helper()
	for _, paths := range []compile.Paths{compile.Tree, compile.Flat} {
		c := &checker{paths: paths}
		r, err := compile.Compile(src(), new(testkit.Spool), c, compile.Options{Paths: paths, Compensate: true, Names: true})
		require.NotNil(t, r)
		if err != nil {
			continue
		}
		if r.Unexplained == 0 {
			c.names()
		}
		require.NoError(t, c.fault, "mapping %d\n%s", paths, (&text{events: c.events, header: c.header}).String())
		again := &checker{paths: paths}
		_, err = compile.Compile(src(), new(testkit.Spool), again, compile.Options{Paths: paths, Compensate: true, Names: true})
		require.NoError(t, err)
		require.Equal(t, c.header, again.header)
		require.Equal(t, c.events, again.events)
	}
}

// FuzzCompile compiles whatever the reader takes for a script.
func FuzzCompile(f *testing.F) {
	f.Add([]byte("1 0.1 open(\"/w/a\", O_RDWR|O_CREAT, 0600) = 3 <0.1>\n1 0.1 rename(\"/w/a\", \"/w/b\") = 0 <0.1>\n"))
	f.Add([]byte("# cwd: \"/w\"\n1 0.1 clone(SIGCHLD) = 2 <0.1>\n2 0.1 stat(\"../../x\", 0x1) = 0 <0.1>\n2 0.1 exit(0) = ?\n2 0.1 exit(0) = ?\n"))
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("# cost: inside=-50 outside=2147483647\n-1 0.1 close(-3) = 0 <0.1>\n0 0.1 lseek(2147483648, 9223372036854775807, SEEK_END) = 9223372036854775807 <0.1>\n"))
	f.Add([]byte("# pianola script 1\n# recorder: ebpf\n1 0.1 stat(\"/w/a\", 0x1) = 0 <0.1>\n1 0.1 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.1>\n2 0.1 sendto(7, 0x1, 10, 0, NULL, 0) = 10 <0.1> {sent=tcp:9f+10}\n" +
		"2 0.1 recvfrom(7, 0x1, 10, 0, NULL, NULL) = 10 <0.1> {by=1+5 got=tcp:a0+7}\n1 0.1 recvfrom(8, 0x1, 10, 0, NULL, NULL) = 10 <0.1> {got=tcp:9f+10 ready=70000 wait=30000}\n" +
		"1 0.1 wait(FUTEX, 0x10) = 0 <0.1> {by=2+20 cut=-5 timer=9}\n2 0.1 stat(\"/w/a\", 0x1) = 0 <0.1> {by=2}\n2 0.1 exit(0) = ?\n1 0.1 wait(POLL) = 0 <0.1> {by=2+2305843009213693951}\n1 0.1 stat(\"/w/a\", 0x1) = 0 <0.1>\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			t.Skip("longer than needed to show a fault")
		}
		check(t, func() format.Reader { return script.NewReader(bytes.NewReader(text), "fuzz") })
	})
}

// The words of which FuzzCalls makes recordings: few, so that calls meet.
var (
	fuzzPaths = []string{"/", "a", "b", "a/x", "b/x", "a/b/c", "/w/a", "../w/b", "a/../b", "a/.", "b/", "/usr/lib/a", "/proc/a", "/dev/shm/a", "..", ".", "", "l", "l/x", "/w/l", "pianola_tmp1", "a//x/../../l"}
	fuzzRets  = []int64{0, 0, 0, 0, 0, 0, 3, 4, 5, 6, 7, 1, 10, 4096, 1 << 62, -1, -2, -2, -4, -9, -13, -17, -17, -20, -21, -22, -39, -40, format.NoResult, -512}
	fuzzArgs  = []int64{0, 1, 2, 3, 3, 4, 5, 6, 7, format.AtFDCWD, format.RDWR, format.RDONLY, format.WRONLY | format.CREAT, format.RDWR | format.CREAT | format.EXCL, format.RDWR | format.TMPFILE,
		format.RDONLY | format.DIRECTORY, format.RDWR | format.TRUNC, format.APPEND | format.WRONLY, 100, 4096, -1, 1 << 62, -1 << 63, 1<<63 - 1, format.CloneThread | format.CloneFiles, format.CloneFiles, format.CloneVfork, format.CloneFS, 5<<32 | 4, format.CLOEXEC}
	fuzzNotes = []*format.Notes{
		nil, nil,
		{Has: format.NotedType | format.NotedSize | format.NotedNew, Type: format.TypeReg},
		{Has: format.NotedType | format.NotedMode | format.NotedSize | format.NotedCached, Type: format.TypeReg, Mode: 0o644, Size: 5000, Cached: 1},
		{Has: format.NotedType | format.NotedMode | format.NotedSize, Type: format.TypeDir, Mode: 0o755, Size: 4096},
		{Has: format.NotedType, Type: format.TypeLnk},
		{Has: format.NotedTarget, Target: []byte("a")}, {Has: format.NotedTarget, Target: []byte("../w/l")}, {Has: format.NotedTarget, Target: []byte("/proc/x")},
		{Has: format.NotedType, Type: format.TypeFifo},
		{Has: format.NotedType | format.NotedSize | format.NotedLinks | format.NotedDev | format.NotedIno, Type: format.TypeReg, Size: 3, Links: 2, Dev: format.Device{Major: 8, Minor: 1}, Ino: 7},
		{Has: format.NotedWas, Was: 2}, {Has: format.NotedWas, Was: 3},
		{Strings: [format.MaxStrings]format.StringState{format.StringCut}},
		{Has: format.NotedWaker, Waker: 1}, {Has: format.NotedWaker, Waker: 2, Woken: 10}, {Has: format.NotedWaker, Waker: 3, Woken: format.MaxNote},
		{Has: format.NotedMessage | format.NotedType, Type: format.TypeSock, Channel: 1, Pos: 5}, {Has: format.NotedMessage, Channel: 1, Pos: 10},
		{Has: format.NotedMessage, Channel: 2, Pos: 1<<32 - 1}, {Has: format.NotedMessage | format.NotedWaker, Channel: 3, Waker: 4, Woken: 1},
		ringNotes(1, 1, 0, 0), ringNotes(1, 1, 1, format.ReqFixed), ringNotes(1, 2, 1<<32-1, 4), ringNotes(2, 3, 5, 0), ringNotes(2, 3, 0, format.ReqSkip),
	}
)

func ringNotes(ring int32, batch int64, reaped uint32, flags int64) *format.Notes {
	return &format.Notes{Has: format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedFlags,
		Request: format.Request{Ring: ring, Batch: batch, Reaped: reaped, Flags: flags}}
}

// called makes a recording from bytes: eight for each event.
func called(data []byte) testkit.Reader {
	l := testkit.Reader{Batch: math.MaxInt, Err: io.EOF}
	l.Head.Set(format.MetaCwd, `"/w"`)
	l.Head.Set(format.MetaCost, "inside=10 outside=20")
	pick := func(b byte, n int) int { return int(b) % n }
	if len(data) > 0 && data[0]&1 != 0 {
		l.Head.Set(format.MetaTool, "ebpf")
	}
	now := int64(0)
	for len(data) >= 8 && len(l.Events) < 200 {
		op := format.Op(1 + pick(data[0], format.NumOps-1))
		e := format.Event{Op: op, TID: int32(1 + pick(data[1]>>4, 5)), Ret: fuzzRets[pick(data[2], len(fuzzRets))]}
		now += int64(data[1]&15) * 10
		e.Start, e.Dur = now, int64(data[3]>>2)*5-1
		if data[3]&3 == 3 && e.Dur > 0 {
			e.Dur *= 1000 // long enough to count as a wait
		}
		if data[6]&3 == 3 {
			e.Off.Wait, e.Off.Ready = int64(data[5])*500, int64(data[4])*500
		}
		n := 0
		for i, a := range op.Info().Args {
			b := data[3+(i+1)%5] + byte(i)
			if a.Kind.IsString() {
				e.Str[n] = []byte(fuzzPaths[pick(b, len(fuzzPaths))])
				n++
			} else {
				e.Args[i] = fuzzArgs[pick(b, len(fuzzArgs))]
			}
		}
		if e.Notes = fuzzNotes[pick(data[7], len(fuzzNotes))]; e.Notes.Known(format.NotedReaped) {
			if via := format.Via(e.Notes.Request.Ring); via.Asks(op) {
				e.Via = via
			}
		}
		l.Events = append(l.Events, e)
		data = data[8:]
	}
	return l
}

// FuzzCalls compiles recordings of calls on few names, descriptors and
// threads, with whatever results.
func FuzzCalls(f *testing.F) {
	for seed := uint64(2); seed <= 60; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, 8*12)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := called(data)
		if len(l.Events) == 0 {
			return
		}
		defer func() {
			if t.Failed() {
				t.Log(scriptOf(l))
			}
		}()
		check(t, func() format.Reader { again := l; return &again })
	})
}

// racedCalls makes a recording of processes from bytes, five for each call: the calls are on few
// names, and many overlap. The first ones need another order than that of their lines.
func racedCalls(data []byte) string {
	return overlapped(func(line func(tid int, start, length int64, text string, args ...any)) {
		names := []string{"d", "d/x", "d/x/y", "e", "e/x", "l/x", "d/../e/y"}
		type call struct {
			tid           int
			start, length int64
			text          string
		}
		var calls []call
		now := int64(100)
		for len(data) >= 5 && len(calls) < 400 {
			a, b := names[int(data[1])%len(names)], names[int(data[1]>>3)%len(names)]
			ret := []string{"0", "0", "0", "-1 ENOENT (x)", "-1 EEXIST (x)", "-1 ENOTEMPTY (x)", "-1 ENOTDIR (x)", "-1 EISDIR (x)"}[data[2]&7]
			fd := ret
			if ret == "0" {
				fd = fmt.Sprint(3 + data[2]>>6)
			}
			text := []string{
				fmt.Sprintf("mkdir(%q, 0700) = %s", a, ret), fmt.Sprintf("rmdir(%q) = %s", a, ret), fmt.Sprintf("unlink(%q) = %s", a, ret),
				fmt.Sprintf("rename(%q, %q) = %s", a, b, ret), fmt.Sprintf("link(%q, %q) = %s", a, b, ret), fmt.Sprintf("symlink(%q, %q) = %s", a, b, ret),
				fmt.Sprintf("stat(%q, 0x1) = %s", a, ret), fmt.Sprintf("chdir(%q) = %s", a, ret), fmt.Sprintf("open(%q, O_RDONLY|O_DIRECTORY) = %s", a, fd),
				fmt.Sprintf("open(%q, O_RDWR|O_CREAT, 0600) = %s", a, fd), fmt.Sprintf("mkdirat(%d, %q, 0700) = %s", 3+data[2]>>6, a, ret),
				fmt.Sprintf("unlinkat(%d, %q, AT_REMOVEDIR) = %s", 3+data[2]>>6, a, ret), fmt.Sprintf("getdents64(%d, 0x1, 32768) = %s", 3+data[2]>>6, ret),
			}[int(data[0])%13]
			now += int64(data[3])
			calls = append(calls, call{10 + int(data[0]>>4)%3, now, 1 + int64(data[4])*int64(data[4]), text})
			data = data[5:]
		}
		slices.SortStableFunc(calls, func(a, b call) int { return int(a.start + a.length - b.start - b.length) })
		for _, c := range calls {
			line(c.tid, c.start, c.length, "%s", c.text)
		}
	})
}

// FuzzRaces compiles recordings whose calls need another order than that of their lines. The
// time and the memory that the order takes are bounded, whatever the results.
func FuzzRaces(f *testing.F) {
	for seed := uint64(0); seed < 40; seed++ {
		rng := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 5*(10+seed*4))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := racedCalls(data)
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		c := &checker{}
		_, err := compile.Compile(script.NewReader(strings.NewReader(text), "fuzz"), new(testkit.Spool), c, compile.Options{Names: true})
		runtime.ReadMemStats(&after)
		if err != nil {
			return
		}
		if c.fault != nil && !strings.Contains(c.fault.Error(), "called") { // files of a directory that is made again have another name there
			t.Errorf("%v\n%s", c.fault, text)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<30 { // most steps of a search take some
			t.Errorf("%d bytes for\n%s", bytes, text)
		}
	})
}

// scriptOf prints a recording, for a fault that is to be looked at.
func scriptOf(l testkit.Reader) string {
	var b strings.Builder
	w := script.NewWriter(&b)
	err := errors.Join(w.WriteHeader(&l.Head), w.Write(l.Events), w.Flush())
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return b.String()
}
