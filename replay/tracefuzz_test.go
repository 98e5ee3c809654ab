package replay

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/compile/tracefuzz"
	"pianola/format/bin"
	"pianola/internal/roottest"
)

// playMutated replays the trace that bytes stand for, on the backend that their first one
// chooses. Nothing outside the root changes, no descriptor stays open, and it comes to an
// end. It reports whether the trace got past all checks, those during the replay too.
func playMutated(t *testing.T, bases []*tracefuzz.Trace, data []byte) bool {
	t.Helper()
	if len(data) == 0 {
		return false
	}
	choice := data[0]
	file, err := tracefuzz.Mutated(bases, data[1:]).Bytes()
	if err != nil {
		return false
	}
	trace, err := bin.Open(bytes.NewReader(file), int64(len(file)), 64<<20)
	if err != nil {
		require.True(t, errors.Is(err, bin.ErrMalformed) || errors.Is(err, bin.ErrLimit), "%v", err)
		return false
	}
	base := t.TempDir()
	secret := filepath.Join(base, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o600))
	before := roottest.OpenFiles(t)
	o := Options{
		Root: filepath.Join(base, "root"), Backend: []Backend{Posix, Memory, Null}[choice%3], Timing: []Timing{Compute, AFAP}[choice/3%2], Order: Order(choice / 6 % 3),
		Outside: Outside(choice / 18 % 2), Memory: choice&128 != 0, Speed: 1e15,
		Limits: Limits{Bytes: 1 << 20, Memory: 16 << 20, Files: 300, Threads: 64, Descriptors: 512},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // far beyond what any of them takes, on a busy machine too
	defer cancel()
	_, err = run(ctx, trace, o, byOpenat2)
	require.NoError(t, ctx.Err(), "it hangs")
	// A thread that ends can close its last descriptors after the run has ended.
	after := roottest.OpenFiles(t)
	for limit := time.Now().Add(10 * time.Second); after > before && time.Now().Before(limit); after = roottest.OpenFiles(t) {
		runtime.Gosched()
	}
	if after > before {
		open, lerr := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, lerr)
		for i, name := range open {
			target, _ := os.Readlink(name) // that of Glob is closed
			open[i] = name + " " + target
		}
		require.Fail(t, "descriptors stay open", "%d, before %d: %q", after, before, open)
	}
	got, rerr := os.ReadFile(secret)
	require.NoError(t, rerr)
	require.Equal(t, "canary", string(got))
	return err == nil
}

// shareClock has the runs of a test share one clock: measuring it takes most of the time
// of a short run.
func shareClock(tb testing.TB) {
	before := makeClock
	makeClock = sync.OnceValue(makeClock)
	tb.Cleanup(func() { makeClock = before })
}

// FuzzTraces replays compiled traces whose events were changed and whose checksums are
// right.
func FuzzTraces(f *testing.F) {
	shareClock(f)
	bases := tracefuzz.Bases(f, "..")
	for seed := range uint64(100) {
		f.Add(append([]byte{byte(seed)}, tracefuzz.Random(seed)...))
	}
	var tally tracefuzz.Tally
	f.Fuzz(func(t *testing.T, data []byte) { tally.Count(t, playMutated(t, bases, data)) })
}

// Most of what FuzzTraces makes gets past all checks and is played.
func TestMutatedTraces(t *testing.T) {
	shareClock(t)
	bases := tracefuzz.Bases(t, "..")
	var tally tracefuzz.Tally
	seeds := uint64(100)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		tally.Count(t, playMutated(t, bases, append([]byte{byte(seed)}, tracefuzz.Random(seed)...)))
	}
	t.Logf("%d of %d traces got past all checks", tally.Passed, tally.Inputs)
	require.Greater(t, 2*tally.Passed, tally.Inputs)
}
