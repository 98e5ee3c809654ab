package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// An open that empties a file says nothing of the size that it had before.
func TestSizeBeforeTruncation(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
1 0.001 open("/f", O_RDONLY) = 3 <0.000001> {size=12 type=reg}
1 0.001 read(3, 0x10, 12) = 12 <0.000001>
1 0.001 open("/f", O_WRONLY|O_TRUNC) = 4 <0.000001> {size=0 type=reg}
1 0.001 open("/g", O_WRONLY|O_TRUNC) = 5 <0.000001> {size=0 type=reg}
`, compile.Options{})
	sizes := map[string]int64{}
	for _, f := range s.header.Files {
		sizes[f.Path] = f.Size
	}
	require.Equal(t, map[string]int64{"f": 12, "g": 0}, sizes)
}
