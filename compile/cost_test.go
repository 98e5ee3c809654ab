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
