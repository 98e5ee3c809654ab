package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// withTracers runs a test with each recorder that the machine can have.
func withTracers(t *testing.T, test func(t *testing.T, tracer string)) {
	for _, tracer := range []string{"ebpf", "in-process", "ptrace"} {
		t.Run(tracer, func(t *testing.T) {
			t.Parallel()
			if tracer == "ebpf" {
				recordkit.RequireEBPF(t, ebpf.MeasureCost)
			}
			test(t, tracer)
		})
	}
}

// Directories and files that were closed to the application are closed to the user who
// replays, whether or not their modes were recorded.
func TestClosedToTheUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a command as another user")
	}
	withTracers(t, func(t *testing.T, tracer string) {
		dir := openDir(t)
		make := exec.Command("sh", "-c", `mkdir -p closed/deep seen/deep open
				echo 1 >closed/deep/f; echo 1 >closed/f; echo 1 >seen/f; echo 1 >open/f; echo 1 >open/secret; echo 1 >open/found
				chmod 700 closed seen; chmod 600 open/secret open/found`)
		make.Dir = dir
		out, err := make.CombinedOutput()
		require.NoError(t, err, string(out))
		const script = `cat closed/f closed/deep/f open/f; echo 2 >closed/new; mkdir closed/sub
				ls -d seen; ls seen; cat seen/f seen/none; ls seen/deep; cd seen
				cat open/secret; cat open/found; ls -l open/found; exit 0`
		said, err := play(dir, 0, "record", "-q", "--user", "nobody", "--tracer", tracer, "-o", "t.txt", "--", "sh", "-c", script)
		require.NoError(t, err, said)
		require.NoError(t, os.Chmod(filepath.Join(dir, "t.txt"), 0o644))
		for _, args := range [][]string{{"compile", "--strict", "-o", "t.bin", "t.txt"}, {"replay", "--strict", "--timing", "afap", "t.bin"}} {
			said, err = play(dir, nobody, args...)
			require.NoError(t, err, said)
		}
		require.Regexp(t, `all +[0-9]+ +[0-9]+ +0 +0\n`, said)
		said, err = play(dir, 0, "replay", "--timing", "afap", "t.bin")
		require.NoError(t, err, said)
		require.Contains(t, said, "recorded EACCES", "to root nothing is closed")
	})
}
