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
	} {
		t.Run(fmt.Sprint(with), func(t *testing.T) {
			for seed := range uint64(programs(t)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					aligned := slices.Contains(with, "direct") || slices.Contains(with, "buffered")
					events, want := recorded(t, seed, aligned)
					out, _ := transformed(t, format.Header{}, events, with...)
					got := newMachine(t)
					got.aligned = aligned
					got.populate("")
					got.run(out)
					for _, name := range fileNames {
						require.Equal(t, want.look(name), got.look(name), name)
					}
				})
			}
		})
	}
}

// programs is how many random programs a property is tested with.
func programs(t *testing.T) int {
	if testing.Short() {
		return 20
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
