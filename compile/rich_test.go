package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// The cost of recording names and files is subtracted only after events that have them.
func TestRichCost(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# cost: inside=0 outside=100 rich=300
1 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg size=10}
1 0.000002000 openat(AT_FDCWD, "/w/a", O_RDONLY) = 3 <0.000001000> {type=reg size=10}
1 0.000002000 read(3, 0x1000, 10) = 10 <0.000001000>
1 0.000002000 fstat(3, 0x1) = 0 <0.000001000>
1 0.000002000 chdir("/w") = 0 <0.000001000>
1 0.000002000 close(3) = 0 <0.000001000>
`, compile.Options{Compensate: true})
	var computes []int64
	for _, e := range s.events {
		computes = append(computes, e.Compute)
	}
	require.Equal(t, []int64{1000, 600, 600, 900, 3000 - 400 - 400}, computes)
}
