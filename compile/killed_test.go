package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// The end of a thread that exit_group kills depends on that alone, and not on what the thread
// did before: here timers of 2 s, and compute.
func TestKilled(t *testing.T) {
	const program = twoThreads + `102 0.000001000 wait(FUTEX, 0x10) = -1 ETIMEDOUT (Connection timed out) <2.000000000>
101 0.500000000 fdatasync(3) = 0 <3.000000000>
101 3.000001000 exit_group(0) = ?
102 0.000100000 exit(0) = ?`
	out, report := compiled(t, program+" {killed}\n", compile.Options{})
	require.Regexp(t, `(?m)^2 exit \( 0 \).*\{after=1:3:wake held=3\.500\d+\}$`, out.String())
	require.Less(t, report.Floor.Total, int64(600_000_000))
	out, _ = compiled(t, program+"\n", compile.Options{})
	require.NotContains(t, out.String(), "after=1:3")
}
