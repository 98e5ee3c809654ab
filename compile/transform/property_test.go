package transform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Whatever a program does, after its calls have been transformed files have the
// sizes, the holes and the contents that the program left, and each call has the
// result that it had.
func TestMeaningIsKept(t *testing.T) {
	for _, with := range [][]string{
		{},
		{"coalesce=1"}, {"coalesce=300"}, {"coalesce=4KiB"}, {"coalesce=1MiB"},
		{"vectored"}, {"vectored=3"},
		{"direct"}, {"buffered"}, {"direct", "buffered"}, {"reroot=/nowhere:/v"},
		{"prefetch"}, {"prefetch=1"}, {"prefetch=20"}, {"prefetch=50us"}, {"readahead=64KiB"},
		{"block=4KiB"}, {"block=100"},
		{"sync=none"}, {"sync=fdatasync"}, {"sync=fsync"},
		{"scale-compute=0"}, {"scale-compute=2.5"},
		{"coalesce=8KiB", "sync=none", "vectored"}, {"prefetch=4", "coalesce=256KiB"},
		{"uring-batch=1"}, {"uring-batch=2"}, {"uring-batch=256"}, {"coalesce=4KiB", "uring-batch=8"},
		{"uring-batch=8", "coalesce=64KiB"}, {"uring-batch=16", "vectored"}, {"uring-batch=4", "block=1000"},
		{"uring-batch=8", "direct"}, {"uring-batch=8", "direct", "buffered"}, {"uring-batch=8", "prefetch=3"}, {"uring-batch=8", "readahead=64KiB"},
		{"uring-batch=8", "sync=none", "reroot=/nowhere:/v"}, {"uring-batch=8", "sync=fdatasync", "scale-compute=2"},
	} {
		t.Run(fmt.Sprint(with), func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					aligned := slices.Contains(with, "direct") || slices.Contains(with, "buffered")
					requests := slices.ContainsFunc(with, func(one string) bool { return strings.HasPrefix(one, "uring-batch") })
					events, want := recorded(t, seed, aligned)
					out, _ := transformed(t, format.Header{}, events, with...)
					got := newMachine(t)
					got.aligned = aligned
					got.populate("")
					if requests {
						out = anyhow(t, seed, out)
					}
					got.run(out)
					for _, name := range fileNames {
						require.Equal(t, want.look(name), got.look(name), name)
					}
				})
			}
		})
	}
}

// anyhow returns events with the requests of each batch in any order that links and
// drains allow. A call that submits has as many requests as it says, or as transforms
// behind have left.
func anyhow(t *testing.T, seed uint64, events []format.Event) (out []format.Event) {
	rng := newRand(seed)
	waiting := map[int32][]format.Event{}
	for _, e := range events {
		if e.Via != format.ViaCall {
			require.True(t, isPlaced(&e))
			waiting[e.TID] = append(waiting[e.TID], e)
			continue
		}
		if e.Op == format.OpUringEnter {
			require.LessOrEqual(t, e.Args[2], e.Args[1])
		}
		all := waiting[e.TID]
		delete(waiting, e.TID)
		for len(all) > 0 {
			i := rng.IntN(len(all))
			if how := &all[i].Notes.Request; how.Flags&format.ReqDrain != 0 || how.Chain != 0 {
				i = 0 // after all before
			}
			out = append(out, all[i])
			all = slices.Delete(all, i, i+1)
		}
		if e.Op != format.OpUringEnter {
			out = append(out, e)
		}
	}
	require.Empty(t, waiting)
	return out
}

// programs is how many random programs a property is tested with.
func programs(t *testing.T) int {
	if testing.Short() {
		return 12
	}
	return 60
}

// run does what events say. Each must have the result that it says.
func (m *machine) run(events []format.Event) {
	for i := range events {
		e := &events[i]
		got := m.do(e)
		require.True(m.t, format.SameResult(e.Op, e.Ret, got), "event %d, %v %v %q = %d, not %d", i, e.Op, e.Args, e.Str, got, e.Ret)
	}
}

// Padding a block reads and writes what the program did not, but not beyond the
// end of a file.
func TestPaddingKeepsSizes(t *testing.T) {
	for _, with := range []string{"block=100,pad", "block=4KiB,pad", "block=1MiB,pad"} {
		t.Run(with, func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					events, want := recorded(t, seed, false)
					out, _ := transformed(t, format.Header{}, events, with)
					got := newMachine(t)
					got.populate("")
					got.run(out)
					for _, name := range fileNames {
						require.Equal(t, want.size(name), got.size(name), name)
					}
				})
			}
		})
	}
}

// size returns the size of a file in bytes, or an error.
func (m *machine) size(name string) string {
	text, _, _ := strings.Cut(m.look(name), " bytes")
	return text
}
