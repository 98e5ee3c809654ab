package schedstat

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time grows while the thread runs, and not while it sleeps.
func TestRead(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := Open()
	defer s.Close()
	if s == nil {
		t.Skip("the kernel does not tell how long threads run")
	}
	before := Ran()
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
	}
	after := Ran()
	require.Greater(t, after, before)
	later := Ran()
	require.Greater(t, later, after, "the time since the kernel's last tick counts")
	require.Zero(t, testing.AllocsPerRun(10, func() { Ran(); s.Waited() }))
}
