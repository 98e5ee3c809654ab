package record

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// It runs in a process of its own, for it changes all threads for good.
func TestYield(t *testing.T) {
	const variable = "PIANOLA_TEST_YIELD"
	if os.Getenv(variable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestYield$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	var allowed unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &allowed))
	first := 0
	for !allowed.IsSet(first) {
		first++
	}
	require.NoError(t, Yield(7, []int{first}))
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	require.Greater(t, len(threads), 1)
	blocked := make(chan struct{})
	defer close(blocked)
	nices := func() (all [2]int) { // of threads of their own, later ones too
		later := make(chan int)
		for range all {
			go func() {
				var set unix.CPUSet
				nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
				if err != nil || unix.SchedGetaffinity(0, &set) != nil || set.Count() != 1 || !set.IsSet(first) {
					nice = -1
				}
				later <- 20 - nice // as the system call has it
				<-blocked
			}()
		}
		for i := range all {
			all[i] = <-later
		}
		return all
	}
	require.Equal(t, [2]int{7, 7}, nices())
	// It gives way while the buffer has room, and no more when that fills.
	if !mayTake(7) {
		t.Skip("this process may not raise its nice value")
	}
	b, err := NewBackground(0, nil)
	require.NoError(t, err)
	for _, look := range []struct{ used, nice int }{{0, awayNice}, {25, awayNice}, {26, 7}, {13, 7}, {12, awayNice}, {13, awayNice}} {
		require.NoError(t, b.Look(look.used, 100))
		require.Equal(t, [2]int{look.nice, look.nice}, nices(), "%d", look.used)
	}
	require.NoError(t, b.End())
	require.Equal(t, [2]int{7, 7}, nices(), "as before")
	require.NoError(t, (*Background)(nil).Look(100, 100))
	require.NoError(t, (*Background)(nil).End())
	require.ErrorContains(t, Yield(0, []int{1023}), "set processors [1023] of the recorder")
}

func TestParseProcessors(t *testing.T) {
	for list, want := range map[string][]int{"": nil, "3": {3}, "0-2,8": {0, 1, 2, 8}, "1023": {1023}} {
		got, err := ParseProcessors(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"x", "1,", "3-1", "-1", "1024", "0-99999999"} {
		_, err := ParseProcessors(list)
		require.Error(t, err, list)
	}
}
