package diagnosis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format/script"
	"pianola/profile"
)

// Findings of any recording have words and a share from the minimum to 1, and are
// sorted.
func FuzzOf(f *testing.F) {
	file := opens(3, "/f", "O_RDWR|O_DSYNC")
	f.Add(recording("", file, act{call: always("write(3, 0x1000, 212) = 212"), micros: 90}.times(200), pause(90_000)))
	f.Add(recording("# recorder: ebpf\n", file, opens(4, "/f-journal", "O_RDWR"), act{n: 1, call: always("fsync(4) = 0"), micros: 60_000, gap: 40_000, notes: "timer=30000000"}))
	f.Add("# pianola script 1\n# recorder: ebpf\n1 0.000000 open(\"f\", O_RDWR) = 3 <0.000010>\n1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000005>\n" +
		"2 0.000010 fdatasync(3) = 0 <0.500000>\n1 0.000050 wait(FUTEX, 0x1000) = 0 <0.490000> {by=2}\n1 0.490000 splice(3, NULL, 4, NULL, 10, 0) = 10 <0.000030>\n1 0.000030 exit_group(0) = ?\n")
	f.Add("# pianola script 1\n1 0.000010 io_uring:pread64(3, 0x1000, 4096, 0) = 4096 <0.100000> {ring=1 batch=1 reaped=0 submitted=0.000001}\n" +
		"1 0.000001 io_uring_enter(4, 1, 1, 1, NULL, 8) = 1 <0.110000>\n1 0.110000 fsync(3) = 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := profile.Read(script.NewReader(strings.NewReader(text), "fuzz"))
		if err != nil {
			t.Skip()
		}
		list := Of(p, Subject{Name: "trace.txt"})
		require.LessOrEqual(t, len(list), maxFindings)
		for i, one := range list {
			require.NotEmpty(t, one.Text)
			if one.Rule == "coverage" {
				continue
			}
			require.GreaterOrEqual(t, one.Share, minShare, one.Text)
			require.LessOrEqual(t, one.Share, 1.000001, one.Text)
			require.True(t, i == 0 || list[i-1].Rule == "idle" || one.Seconds <= list[i-1].Seconds)
		}
	})
}
