package ebpf

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
	"pianola/record/recordkit"
)

// built builds a program of testdata.
func built(tb testing.TB, name string) string {
	tb.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		tb.Skip("no C compiler")
	}
	program := filepath.Join(tb.TempDir(), name)
	out, err := exec.Command(cc, "-O2", "-o", program, "testdata/"+name+".c").CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return program
}

// benchFaults says which kinds of faults testdata/faults.c can take.
var benchFaults = []string{"anonymous", "zero", "around", "dirty", "cow", "cold"}

// BenchmarkFaults measures what recording adds to a page fault: on anonymous memory that is written,
// or only read, and on a mapping of a file. There it maps 16 pages from the page cache, makes a page
// dirty, copies one, or reads one from storage. without is a recording with --no-faults. The
// rounds take turns, and the fastest of each counts.
//
//	go test ./record/ebpf -run '^$' -bench BenchmarkFaults -benchtime 9x
func BenchmarkFaults(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	program := built(b, "faults")
	data := filepath.Join(storage(b), "data")
	with := config{RingBytes: 64 << 20, Type: true, Faults: true, Off: true, Messages: true, Maps: true}
	without := with
	without.Maps = false
	for _, kind := range benchFaults {
		b.Run(kind, func(b *testing.B) {
			var times [3][]float64
			for b.Loop() {
				for i, c := range []*config{nil, &without, &with} {
					times[i] = append(times[i], nanosOf(b, c, program, kind, data))
				}
			}
			free := slices.Min(times[0])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(free, "free-ns/fault")
			b.ReportMetric(slices.Min(times[1])-free, "without-ns/fault")
			b.ReportMetric(slices.Min(times[2])-free, "added-ns/fault")
		})
	}
}

// faultsOf returns the faults of a recording on its mapped files, as page, result and
// notes, and checks that each address is in a mapping that was made, at the place of the page.
func faultsOf(t *testing.T, events []format.Event) (faults []string) {
	t.Helper()
	type made struct{ start, end, offset int64 }
	var mappings []made
	for _, e := range events {
		switch e.Op.Info().Effect {
		case format.EffectMap:
			if e.Ret > 0 && e.Args[4] >= 0 {
				mappings = append(mappings, made{e.Ret, e.Ret + e.Size(), e.Offset()})
			}
		case format.EffectRemap:
			i := slices.IndexFunc(mappings, func(m made) bool { return m.start == e.Args[0] })
			require.GreaterOrEqual(t, i, 0)
			mappings = append(mappings, made{e.Ret, e.Ret + e.Args[2], mappings[i].offset})
		case format.EffectFault:
			require.Equal(t, int64(4096), e.Size())
			if e.Notes.Known(format.NotedPath) {
				continue // of the program
			}
			require.True(t, slices.ContainsFunc(mappings, func(m made) bool {
				return e.Args[0] >= m.start && e.Args[0] < m.end && e.Args[0]-m.start == e.Offset()-m.offset
			}), "%s(%x, %d)", e.Op, e.Args[0], e.Offset())
			text := fmt.Sprint(strings.TrimPrefix(e.Op.String(), "map_"), " ", e.Offset()/4096, " ", e.Ret/4096)
			if e.Failed() {
				text = fmt.Sprint(strings.TrimPrefix(e.Op.String(), "map_"), " ", e.Offset()/4096, " ", format.ErrnoName(int(-e.Ret)))
			}
			if e.Notes.Known(format.NotedFilled) {
				text += " filled"
			}
			if e.Notes.Known(format.NotedCow) {
				text += " cow"
			}
			faults = append(faults, text)
		}
	}
	return faults
}

// Faults are recorded, each once, as the program took them.
func TestFaults(t *testing.T) {
	program := built(t, "maps")
	for _, test := range []struct {
		name string
		want []string
	}{
		{"cold", []string{"read 3 1 filled", "read 40 1 filled", "read 17 1 filled"}},
		{"around", []string{"read 16 16", "read 50 1 filled"}},
		{"shared", []string{"write 8 1", "write 40 1 filled", "write 8 1"}},
		{"private", []string{"read 8 1 cow", "read 32 1"}},
		{"truncated", []string{"read 20 1 filled", "read 20 EFAULT", "read 3 1 filled"}},
		{"removed", []string{"read 5 1 filled"}},
		{"moved", []string{"read 1 1 filled", "read 60 1 filled", "read 42 1 filled"}},
		{"forked", []string{"read 2 1 filled", "read 34 1 filled"}},
		{"called", []string{"write 6 1 filled", "read 30 1 filled"}},
		{"populated", nil},
		{"anonymous", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c recordkit.Collect
			dir := storage(t)
			r, out := recordOne(t, record.Options{Command: []string{program, test.name, filepath.Join(dir, "data")}, Dir: dir}, &c)
			require.Zero(t, r.Status, out)
			require.Equal(t, test.want, faultsOf(t, c.Events))
			require.Zero(t, missing(&r, coverage.Mapped))
		})
	}
}

// evict writes a file back and takes it out of the page cache.
func evict(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Sync())
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// Only faults that waited are recorded for a program. Its name is noted, because no
// recorded call has mapped it, also if it has ended before the recorder looks.
func TestProgramFaults(t *testing.T) {
	dir := storage(t)
	program := filepath.Join(dir, "program")
	text, err := os.ReadFile(built(t, "maps"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, text, 0o700))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(program, &st))
	arguments := []string{program, "program", filepath.Join(dir, "data")}
	recorded := func(command ...string) (faults []format.Event) {
		var c recordkit.Collect
		r, out := recordOne(t, record.Options{Command: command, Dir: dir}, &c)
		require.Zero(t, r.Status, out)
		require.Empty(t, c.Of(format.OpMmap), "no file of its own")
		for _, e := range c.Of(format.OpMapRead) {
			require.False(t, e.Notes.Known(format.NotedIno) && e.Notes.Ino == st.Ino, "without a name")
			if string(e.Notes.Path) == program {
				require.Positive(t, e.Dur)
				faults = append(faults, e)
			}
		}
		return faults
	}
	evict(t, program)
	require.NotEmpty(t, recorded(arguments...))
	require.Empty(t, recorded(arguments...), "it is in the page cache")
	evict(t, program)
	require.NotEmpty(t, recorded("/bin/sh", "-c", strings.Join(arguments, " ")+"; true"), "a child of the command")
}

// Mappings from before the recorder started are found, with the names of their files.
func TestFaultsAfterAttach(t *testing.T) {
	const size = 1 << 20
	o := doing(t, fmt.Sprintf("fill(%d); m = mmap.mmap(f, %[1]d, prot=mmap.PROT_READ)", size), "print(flush=True); os.read(0, 1)",
		fmt.Sprintf("for i in range(0, %d, 4096): m[i]", size), "m.close(); os.close(f)")
	o.Command = append([]string{"/usr/bin/env", "--chdir", o.Dir}, o.Command...)
	cmd, in, _, _ := running(t, o)
	s := watch(nil)
	go func() {
		<-s.began
		_, _ = in.WriteString("x")
	}()
	_, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, s)
	require.NoError(t, err)
	var bytes int64
	for _, e := range s.Of(format.OpMapRead) {
		if string(e.Notes.Path) != filepath.Join(o.Dir, "data") {
			continue // a library that was not in the page cache
		}
		require.NotZero(t, e.Args[0])
		bytes += e.Ret
	}
	require.InDelta(t, size, bytes, size/8)
	require.NotEmpty(t, s.Of(format.OpMunmap))
}

// Threads that map files far apart at the same time both extend what the program knows of their
// address space: it records that each mapping ends.
func TestSpacesOfThreads(t *testing.T) {
	const processes, length = 300, 3 * 65536
	program := built(t, "spaces")
	dir := storage(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), make([]byte, length), 0o600))
	var c recordkit.Collect
	r, out := recordOne(t, record.Options{Command: []string{program, fmt.Sprint(processes)}, Dir: dir}, &c)
	require.Zero(t, r.Status, out)
	require.Zero(t, r.Lost)
	count := map[format.Op]int{}
	for _, op := range []format.Op{format.OpMmap, format.OpMunmap} {
		for _, e := range c.Of(op) {
			if e.Args[1] == length {
				count[op]++
			}
		}
	}
	require.Equal(t, map[format.Op]int{format.OpMmap: 2 * processes, format.OpMunmap: 2 * processes}, count)
}
