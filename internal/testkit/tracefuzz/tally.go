package tracefuzz

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tallyDir names the directory in which fuzz targets count their inputs. A fuzzer does
// not show the output of its processes.
const tallyDir = "PIANOLA_FUZZ_TALLY"

// Tally counts the inputs of a fuzz target, and those that got past all checks and were
// played or read to their end. Most is the most bytes of memory that one took, where the
// target sets it. The count of each process is a line in a file of
// $PIANOLA_FUZZ_TALLY, which make fuzz sums up.
type Tally struct {
	Inputs, Passed, Most int64
	file                 *os.File
}

// Count counts an input of the target that runs.
func (c *Tally) Count(t *testing.T, passed bool) {
	t.Helper()
	c.Inputs++
	if passed {
		c.Passed++
	}
	dir := os.Getenv(tallyDir)
	if dir == "" {
		return
	}
	if c.file == nil {
		var err error
		c.file, err = os.Create(filepath.Join(dir, fmt.Sprint(os.Getpid())))
		require.NoError(t, err)
	}
	_, err := c.file.WriteAt(fmt.Appendf(nil, "%d %d %d\n", c.Inputs, c.Passed, c.Most), 0)
	require.NoError(t, err)
}
