package ebpf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/record/recordkit"
)

func TestInPlace(t *testing.T) {
	cost, in := format.Cost{Inside: -20, Outside: 320, Rich: 300, Call: 150}, loop{plain: 100, rich: 250}
	var before, after measured
	before[bpf.CSampleKindSAMPLE_PLAIN] = bpf.CSample{Runs: 1000, Nanos: 1}
	require.Equal(t, cost, inPlace(cost, in, before, before), "nothing was measured")

	after = before
	add := func(kind bpf.CSampleKind, runs, mean uint64) {
		after[kind].Runs += runs
		after[kind].Nanos += runs * mean
	}
	add(bpf.CSampleKindSAMPLE_PLAIN, enoughRuns, 200)
	want := format.Cost{Inside: -40, Outside: 790, Rich: 750, Call: 375}
	require.Equal(t, want, inPlace(cost, in, before, after), "all takes twice as long as in the loop, and displaces half as much that the application needs")

	add(bpf.CSampleKindSAMPLE_RICH, 100, 250)
	add(bpf.CSampleKindSAMPLE_SWITCH, 100, 200)
	add(bpf.CSampleKindSAMPLE_MESSAGE, 100, 20)
	want.Rich = -150
	want.Switch, want.Message = 200*3*5/4, 20*3*5/4 // a third of a call is in the program, and its whole cost is 5/4 with the reload
	require.Equal(t, want, inPlace(cost, in, before, after))

	add(bpf.CSampleKindSAMPLE_SWITCH, enoughRuns, 0)
	after[bpf.CSampleKindSAMPLE_PLAIN].Runs = before[bpf.CSampleKindSAMPLE_PLAIN].Runs + enoughRuns - 1
	require.Equal(t, cost.Call, inPlace(cost, in, before, after).Call, "too few runs: as much more as the rich calls")
	add(bpf.CSampleKindSAMPLE_RICH, 100, 750)
	require.Equal(t, 5*cost.Call/2, inPlace(cost, in, before, after).Call)
}

// TestUnrecordedCalls counts calls that are not recorded between two that are, few
// and more than a plain record has room for, in a thread that is off the processor
// meanwhile too.
func TestUnrecordedCalls(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, time",
		"def calls(n):",
		"  for _ in range(n): os.getppid()",
		"os.access('begin', 0); calls(100)",
		"os.access('few', 0); calls(1000)",
		"os.access('many', 0); calls(1000); time.sleep(0.001); calls(1000)",
		"os.access('asleep', 0); os.access('none', 0)")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	for name, want := range map[string]int64{"few": 100, "many": 1000, "asleep": 2000, "none": 0} {
		calls := c.One(t, format.OpAccess, name).Calls
		require.GreaterOrEqual(t, calls, want, name)
		require.Less(t, calls, want+50, name) // of the interpreter, for memory
	}
}

// The end of a recording says what it cost while the program ran.
func TestCostInPlace(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os",
		"for _ in range(5000): os.access('a', 0); os.lseek(0, 0, 1)")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	require.Len(t, c.Headers, 2)
	loop, place := c.Headers[0].Cost(), c.Headers[1].Cost()
	require.Positive(t, loop.Outside)
	require.Zero(t, loop.Switch)
	require.Positive(t, place.Outside)
	require.NotEqual(t, loop, place)
}
