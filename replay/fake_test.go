package replay

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/internal/testkit"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// eachBinding runs a test in both ways to keep a thread in its root.
func eachBinding(t *testing.T, test func(t *testing.T, bind func(*sandbox.Guard) error)) {
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		test(t, func(g *sandbox.Guard) error { return g.Enter(jail) })
	})
}

// byOpenat2 is the way that needs no privileges.
func byOpenat2(g *sandbox.Guard) error { return g.Enter(false) }

// play replays as fast as possible in a new root, fails the test on an error, and
// returns the root, which is kept, and the result.
func play(t *testing.T, r *replaykit.Trace, bind func(*sandbox.Guard) error) (string, *Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	res, err := run(context.Background(), r, Options{Root: dir, Timing: AFAP, Keep: true}, bind)
	require.NoError(t, err)
	return dir, res
}

// faultless checks that every event had the recorded result.
func faultless(t *testing.T, r *replaykit.Trace, res *Result) {
	t.Helper()
	require.Empty(t, res.Differences)
	require.Zero(t, res.Differed)
	var want int64
	for i := range r.Threads {
		want += r.Len(int32(i + 1))
	}
	require.Equal(t, want, res.Executed)
	require.False(t, res.Interrupted)
}

// readAll returns all events of a log.
func readAll(t testing.TB, r format.Reader) []format.Event {
	t.Helper()
	all, err := testkit.ReadAll(r, 7)
	require.NoError(t, err)
	return all
}

// pageSize is that of a replay's memory.
const pageSize = 4096

// own is PROT_READ|PROT_WRITE.
const own = 3
