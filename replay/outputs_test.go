package replay

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/device"
	"pianola/replay/fileset"
	"pianola/replay/replaykit"
)

// readable is a trace of one thread whose events can be read in their order.
type readable struct{ *replaykit.Trace }

type eventReader struct {
	of *replaykit.Trace
	at int
}

func (t readable) Events() format.Reader      { return &eventReader{of: t.Trace} }
func (r *eventReader) Header() *format.Header { return r.of.Header() }
func (r *eventReader) Read(to []format.Event) (n int, _ error) {
	all := r.of.Threads[0].Records
	if r.at == len(all) {
		return 0, io.EOF
	}
	record := &all[r.at]
	to[0] = format.Event{Op: record.Op, TID: 1, Ret: record.Ret, Args: record.Args}
	record.FillStrings(&to[0], r.of.Texts)
	r.at++
	return 1, nil
}

// written is a trace of a file that is written, which took 20 ms, and read.
func written() *replaykit.Trace {
	r := replaykit.New(1)
	r.Add(1, format.OpOpen, 3, "f", format.RDWR|format.CREAT, 0o600)
	r.Add(1, format.OpPwrite64, 100, 3, 0, 100, 0)
	r.Took(1, int64(20*time.Millisecond))
	r.Add(1, format.OpPread64, 100, 3, 0, 100, 0)
	r.Add(1, format.OpClose, 0, 3)
	r.Add(1, format.OpExitGroup, format.NoResult, 0)
	return r
}

// Each backend plays its events, in its root, and has a Result.
func TestBeside(t *testing.T) {
	r := readable{written()}
	one, two := filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "root")
	res, err := Run(t.Context(), r, Options{Root: one, Keep: true, Strict: true, Beside: []Output{
		{Backend: Posix, Root: two},
		{Backend: Null, Only: "class == read"},
		{Backend: Memory, Only: "class != read && class != close"},
		{Backend: Memory, Only: "class == write"},
	}})
	require.NoError(t, err)
	faultless(t, r.Trace, res)
	faultless(t, r.Trace, res.Beside[0])
	for _, dir := range []string{one, two} {
		info, err := os.Stat(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.EqualValues(t, 100, info.Size())
	}
	reads, rest, writes := res.Beside[1], res.Beside[2], res.Beside[3]
	require.EqualValues(t, []int64{1, 0, 3, 0, 2, 1}, []int64{reads.Executed, reads.Differed, rest.Executed, rest.Differed, writes.Executed, writes.Failed},
		"the memory backend also gets the end of the process, and does not know a descriptor whose open it does not get")
	require.Equal(t, OpResult{Executed: 1}, reads.ByOp[format.OpPread64])
	require.Zero(t, reads.ByOp[format.OpPwrite64])

	log := readAll(t, reads.Events())
	require.Len(t, log, 1)
	require.Equal(t, format.OpPread64, log[0].Op)
	require.GreaterOrEqual(t, log[0].Start, int64(20*time.Millisecond), "what it does not get takes its time")

	res, err = Run(t.Context(), r, Options{Backend: Null, Timing: AFAP, Copies: 1, Beside: []Output{{Backend: Null, Only: "op == close"}}})
	require.NoError(t, err)
	require.EqualValues(t, []int64{5, 1}, []int64{res.Executed, res.Beside[0].Executed})

	one, two = filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "root")
	all, err := RunAll(t.Context(), []Part{{"a", r}, {"b", r}}, Options{Root: one, Prepare: fileset.PrepareAlways, Keep: true, Beside: []Output{{Backend: Posix, Root: two}}})
	require.NoError(t, err)
	require.Len(t, all, 2)
	for i, name := range []string{"a", "b"} {
		require.Zero(t, all[i].Differed+all[i].Beside[0].Differed)
		require.FileExists(t, filepath.Join(two, name, "f"))
	}
}

func TestBesideErrors(t *testing.T) {
	ringed := replaykit.New(1)
	ringed.Add(1, format.OpRingSubmit, 0, 1, 0, 0, 0)
	ringed.Ring(format.ViaUring, 1)
	dir := t.TempDir()
	reads := []Output{{Backend: Null, Only: "class == read"}}
	for _, test := range []struct {
		of   format.Trace
		o    Options
		want string
	}{
		{written(), Options{Backend: Null, Beside: []Output{{Backend: Simulated}}}, "the simulated backend has a clock of its own"},
		{written(), Options{Backend: Null, Beside: []Output{{Backend: Posix}}}, "no root given"},
		{written(), Options{Root: dir, Beside: []Output{{Backend: Posix, Root: dir + "/."}}}, "another replay uses this directory"},
		{written(), Options{Root: dir, Device: new(device.Model), Beside: reads}, "go with one backend only"},
		{written(), Options{Root: dir, Prepare: fileset.PrepareOnly, Beside: reads}, "go with one backend only"},
		{written(), Options{Root: dir, Maps: []Map{{Glob: "*", Root: dir + "2"}}, Beside: []Output{{Backend: Posix, Root: dir + "3"}}}, "paths are mapped"},
		{written(), Options{Backend: Null, Beside: reads}, "it takes a compiled trace"},
		{ringed, Options{Backend: Null, Beside: reads}, "a backend gets all events of a trace with rings"},
		{readable{written()}, Options{Backend: Null, Beside: []Output{{Backend: Null, Only: "op == unlink"}}}, `filter "op == unlink" selects no event of the trace`},
		{readable{written()}, Options{Backend: Null, Beside: []Output{{Backend: Memory, Only: "op == unlink"}}}, `filter "op == unlink" selects no event of the trace`},
		{readable{written()}, Options{Backend: Null, Beside: []Output{{Backend: Null, Only: "op = unlink"}}}, `at byte 3`},
	} {
		_, err := Run(t.Context(), test.of, test.o)
		require.ErrorContains(t, err, test.want)
	}
}
