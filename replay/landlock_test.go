package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// A replay may be confined by Landlock on top of everything else.
func TestLandlockInReplay(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Size: 100, Mode: 0o600})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
	r.Add(1, format.OpRename, 0, "f", "d/f")
	r.Add(1, format.OpUnlink, 0, "d/f")
	res, err := Run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Landlock: true, Timing: AFAP})
	require.NoError(t, err)
	faultless(t, r, res)
}

// A replay releases its resources: Landlock rules, and memory reserved for the
// application's memory.
func TestRunGivesBack(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		const memory = 8 << 30
		rules := func() (n int) {
			links, err := filepath.Glob("/proc/thread-self/fd/*")
			require.NoError(t, err)
			for _, link := range links {
				if to, err := os.Readlink(link); err == nil && to == "anon_inode:[landlock-ruleset]" {
					n++
				}
			}
			return n
		}
		mapped := func() (pages int) {
			text, err := os.ReadFile("/proc/self/statm")
			require.NoError(t, err)
			_, err = fmt.Sscan(string(text), &pages)
			require.NoError(t, err)
			return pages
		}
		r := replaykit.New(1)
		r.Child(2, 1)
		rulesBefore, mappedBefore := rules(), mapped()
		for range 3 {
			_, err := run(t.Context(), r, Options{Root: t.TempDir(), Memory: true, Limits: Limits{Memory: memory}}, bind)
			require.NoError(t, err)
		}
		require.Equal(t, rulesBefore, rules())
		require.Less(t, mapped()-mappedBefore, memory/2/os.Getpagesize())
	})
}
