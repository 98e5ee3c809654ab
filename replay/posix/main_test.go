package posix

import (
	"os"
	"runtime/debug"
	"testing"
)

// The collector is off, as in a run: it waits for a worker that is pinned, and the worker can
// wait for a goroutine that the collector has stopped.
func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	os.Exit(m.Run())
}
