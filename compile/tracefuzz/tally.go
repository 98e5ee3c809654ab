package tracefuzz

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tallyDir names the environment variable for the directory in which fuzz targets count
// their inputs. A fuzzer does not show the output of its processes.
const tallyDir = "PIANOLA_FUZZ_TALLY"

// Tally counts the inputs of a fuzz target, and those that passed all checks and were
// replayed or read to their end. Most is the largest number of bytes of memory that one
// took, if the target sets it. Each process writes its counts as a line to a file in
// $PIANOLA_FUZZ_TALLY, which make fuzz adds up.
type Tally struct {
	Inputs, Passed, Most int64
	file                 *os.File
}

// Count counts one input of the running target.
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
