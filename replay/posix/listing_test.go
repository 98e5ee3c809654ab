package posix

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Entries that a kernel would not return are counted up to there.
func TestCountNames(t *testing.T) {
	entry := func(size byte, name string) []byte {
		e := make([]byte, max(int(size), 24))
		e[16] = size
		copy(e[19:], name)
		return e
	}
	whole := append(entry(24, "."), append(entry(24, ".."), entry(24, "..a")...)...)
	require.EqualValues(t, 1, countNames(whole))
	require.EqualValues(t, 0, countNames(whole[:60]), "cut")
	require.EqualValues(t, 1, countNames(append(entry(24, "a"), entry(0, "b")...)), "of no length")
	require.EqualValues(t, 0, countNames(entry(200, "a")[:100]), "longer than there is")
	require.Zero(t, countNames(nil))
}
