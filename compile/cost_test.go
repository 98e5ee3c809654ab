package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// The costs measured at the end of a recording count, also for unrecorded calls and for
// context switches.
func TestCostAtTheEnd(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# cost: inside=0 outside=100 rich=300 call=50
1 0.000001000 fstat(3, 0x1) = 0 <0.000001000>
1 0.000005000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg size=10}
1 0.000005000 access("/w/a", F_OK) = 0 <0.000001000> {calls=7}
1 0.000005000 access("/w/a", F_OK) = 0 <0.000001000> {wait=1000}
1 0.000005000 access("/w/a", F_OK) = 0 <0.000001000> {ready=1000 calls=2 cut=1000}
# cost: inside=10 outside=200 rich=0 call=80 switch=300
`, compile.Options{Compensate: true})
	var computes []int64
	for _, e := range s.events {
		computes = append(computes, e.Compute)
		require.EqualValues(t, 990, e.Dur)
	}
	// The fstat is of nothing that the trace has.
	require.Equal(t, []int64{1000 + 1000 + 4000 - 10 - 200, 4000 - 200 - 7*80, 4000 - 200 - 300, 4000 - 200 - 300 - 2*80 - 1000}, computes)
}

// In a merged recording, the threads of each node have the cost of its recorder.
func TestCostOfNodes(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# cost: inside=10 outside=2000 rich=0 call=80 above=100
# cost: inside=0 outside=100 rich=0 call=50
# process: 1 threads=1 cwd="/w" root="/" umask=0022
# process: 101 threads=101 cwd="/w" root="/" umask=0022
1 0.000005000 access("/w/a", F_OK) = 0 <0.000001000>
101 0.000000000 access("/w/a", F_OK) = 0 <0.000001000>
1 0.000005000 access("/w/a", F_OK) = 0 <0.000001000> {calls=2}
101 0.000000000 access("/w/a", F_OK) = 0 <0.000001000> {calls=2}
`, compile.Options{Compensate: true})
	type times struct{ compute, dur int64 }
	of := map[int32][]times{}
	for _, e := range s.events {
		of[e.TID] = append(of[e.TID], times{e.Compute, e.Dur})
	}
	require.Equal(t, map[int32][]times{
		1: {{5000, 1000}, {4000 - 100 - 2*50, 1000}},
		2: {{5000, 990}, {4000 - 2000 - 2*80, 990}},
	}, of)
}
