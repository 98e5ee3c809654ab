package ptrace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

// TestAwkward runs what is hard for a recorder within the process. Each case must go as it does
// without one, and have the calls that it has where all of them stop.
func TestAwkward(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no cc")
	}
	program := filepath.Join(t.TempDir(), "awkward")
	out, err := exec.Command(cc, "-O2", "-pthread", "-w", "-o", program, "testdata/awkward.c").CombinedOutput()
	require.NoError(t, err, string(out))
	const byTimers = "calls depend on timers"
	for _, test := range []struct{ name, stopped, varies string }{
		{"signals", "", byTimers}, {"restarts", "", byTimers}, {"jumps", "", byTimers}, {"pointers", "", ""}, {"threads", "", ""},
		{"forks", "", ""}, {"cancels", "", byTimers}, {"crowd", "", ""}, {"bomb", "", ""}, {"sandbox", ownFilter, ""}, {"gs", endsInProcess[archPrctl].why, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorded := func(run record.Recorder) (map[string]int, record.Result) {
				var c recordkit.Collect
				output, err := os.Create(filepath.Join(t.TempDir(), "out"))
				require.NoError(t, err)
				defer output.Close()
				r, err := run(t.Context(), record.Options{Command: []string{program, test.name}, Dir: t.TempDir(), Stdout: output, Stderr: output}, &c)
				require.NoError(t, err)
				text, err := os.ReadFile(output.Name())
				require.NoError(t, err)
				require.Zero(t, r.Status, string(text))
				calls := map[string]int{}
				for i := range c.Events {
					e := &c.Events[i]
					const restarted = -512 // and below: a signal came, and the kernel makes the call again
					if e.Op != format.OpWait && e.Ret > restarted {
						calls[strings.Join([]string{e.Op.String(), string(e.Str[0]), string(e.Str[1])}, " ")]++
					}
				}
				return calls, r
			}
			got, r := recorded(Run)
			if inProcess() == nil {
				if test.stopped != "" {
					require.Contains(t, r.Stopped, test.stopped)
				} else {
					require.Empty(t, r.Stopped)
				}
			}
			if want, _ := recorded(Stops); test.varies == "" {
				require.Equal(t, want, got)
			}
		})
	}
}
