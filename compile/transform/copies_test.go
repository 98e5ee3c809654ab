package transform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Each copy leaves what the application leaves, on files of its own.
func TestClonesAreApart(t *testing.T) {
	for seed := range uint64(programs(t)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			events, want := recorded(t, seed, false)
			h := format.Header{Meta: []format.Meta{{Key: format.MetaCwd, Value: `"/"`}}}
			out, header := transformed(t, h, events, "clone=3")
			require.Len(t, header.Running(), 3)
			got := newMachine(t)
			for k, p := range header.Running() {
				got.populate(strings.TrimSuffix(p.Cwd, "/"))
				got.of[p.Process], got.tables[p.Process] = p.Process, map[int64]*open{}
				require.Equal(t, []string{"/", "/copy2", "/copy3"}[k], p.Cwd)
			}
			got.run(out)
			for _, name := range fileNames {
				for _, dir := range []string{"", "/copy2", "/copy3"} {
					require.Equal(t, want.look(name), got.look(dir+name), dir+name)
				}
			}
		})
	}
}

// A program that leaves alone what was there before has the same results
// whenever it runs.
func TestSessionsHaveTheResultsOfTheFirst(t *testing.T) {
	const exclusive = format.RDWR | format.CREAT | format.EXCL
	p := &program{machine: newMachine(t), notes: true}
	name := func(s string) [format.MaxStrings][]byte { return [format.MaxStrings][]byte{[]byte(s)} }
	p.rng = newRand(1)
	p.populate("")
	for _, e := range []format.Event{
		{Op: format.OpMkdir, Args: [format.MaxArgs]int64{1: 0o755}, Str: name("/w/dir")},
		{Op: format.OpOpenat, Args: [format.MaxArgs]int64{format.AtFDCWD, 0, exclusive, 0o644}, Str: name("/w/dir/x")},
		{Op: format.OpWrite, Args: [format.MaxArgs]int64{3, 1 << 32, 5000}},
		{Op: format.OpOpenat, Args: [format.MaxArgs]int64{format.AtFDCWD, 0, exclusive, 0o644}, Str: name("/w/y")},
		{Op: format.OpRename, Str: [format.MaxStrings][]byte{[]byte("/w/dir"), []byte("/w/other")}},
		{Op: format.OpUnlink, Str: name("/w/y")},
		{Op: format.OpLink, Str: [format.MaxStrings][]byte{[]byte("/w/b"), []byte("/w/other/b")}},
		{Op: format.OpOpenat, Args: [format.MaxArgs]int64{format.AtFDCWD, 0, format.RDONLY}, Str: name("/w/b")},
		{Op: format.OpRead, Args: [format.MaxArgs]int64{5, 0, 20000}},
	} {
		e.TID = 1
		require.GreaterOrEqual(t, p.record(e), int64(0), e.Op)
	}
	out, _ := transformed(t, format.Header{}, p.events, "sessions=3")
	got := newMachine(t)
	got.populate("")
	got.of[out[0].TID], got.tables[out[0].TID] = out[0].TID, map[int64]*open{}
	got.run(out)
	require.Equal(t, p.look("/w/other/x"), got.look("/w/other/x"))
	// One after the other: each begins where the one before has ended.
	var begins []int64
	for _, e := range out {
		if e.Op == format.OpFork {
			begins = append(begins, e.Start)
		}
	}
	end := p.events[len(p.events)-1].End()
	require.Equal(t, []int64{0, end, 2 * end}, begins)
}

// Notes about other threads and connections refer to those of the copy.
func TestNotesOfCopies(t *testing.T) {
	notes := format.Notes{Has: format.NotedWaker | format.NotedMessage, Waker: 1, Channel: 9, Pos: 7}
	events := []format.Event{{Op: format.OpRead, TID: 1, Ret: 7, Notes: &notes}}
	for _, with := range []string{"clone=3", "sessions=3"} {
		out, _ := transformed(t, format.Header{}, events, with)
		channels := map[uint64]bool{}
		for _, e := range out {
			if e.Op == format.OpRead {
				require.Equal(t, e.TID, e.Notes.Waker)
				require.EqualValues(t, 7, e.Notes.Pos)
				channels[e.Notes.Channel] = true
			}
		}
		require.Len(t, channels, 3, with)
	}
	require.EqualValues(t, 1, notes.Waker)
}

func TestRerootMovesFiles(t *testing.T) {
	for seed := range uint64(programs(t)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			events, want := recorded(t, seed, false)
			out, _ := transformed(t, format.Header{}, events, "reroot=/w:/v/w")
			got := newMachine(t)
			got.populate("/v")
			got.run(out)
			for _, name := range fileNames {
				require.Equal(t, want.look(name), got.look("/v"+name), name)
			}
		})
	}
}

// The remaining events of a program filtered by threads keep their results, except for
// the data that removed events would have read and written.
func TestOnlyKeepsDescriptorsAndNames(t *testing.T) {
	for _, with := range []string{"only=class == sync", "only=thread == 2", "drop=class == read", "drop=thread != 1", "only=path ~ *a"} {
		t.Run(with, func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					events, want := recorded(t, seed, false)
					out, _ := transformed(t, format.Header{}, events, with)
					got := newMachine(t)
					got.populate("")
					for i := range out {
						e := &out[i]
						result := got.do(e)
						switch class := e.Op.Info().Class; {
						case class == format.ClassRead || class == format.ClassWrite || e.Op == format.OpLseek:
							require.Equal(t, e.Ret == -9, result == -9, "event %d, %v %v = %d, not %d", i, e.Op, e.Args, result, e.Ret)
						default:
							require.True(t, format.SameResult(e.Op, e.Ret, result), "event %d, %v %v %q = %d, not %d", i, e.Op, e.Args, e.Str, result, e.Ret)
						}
					}
					for _, name := range fileNames {
						require.Equal(t, want.size(name) == "no such file or directory", got.size(name) == "no such file or directory", name)
					}
				})
			}
		})
	}
}

func TestSessionsNeedABeginning(t *testing.T) {
	h := format.Header{Meta: []format.Meta{{Key: format.MetaProcess, Value: "1 threads=1"}}}
	_, _, err := tryTransforms(h, []format.Event{{Op: format.OpSync, TID: 1}}, "sessions=2")
	require.EqualError(t, err, "sessions: the recorder was attached to a process that ran already, so its beginning is missing")

	f, err := Builtin().Parse("sessions=2")
	require.NoError(t, err)
	_, err = f(&memoryReader{})
	require.EqualError(t, err, "sessions: the recording can't be read more than once")
}

func TestIdsThatAreTooLarge(t *testing.T) {
	for _, with := range []string{"clone=2", "sessions=2"} {
		_, _, err := tryTransforms(format.Header{}, []format.Event{{Op: format.OpSync, TID: 1<<22 + 1}}, with)
		require.ErrorContains(t, err, "thread ids above 4194304 collide with those of copies")
	}
}
