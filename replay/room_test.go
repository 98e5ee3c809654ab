package replay

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMakeRoom(t *testing.T) {
	makeRoom()

	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	status, err := os.Open("/proc/self/status")
	require.NoError(t, err)
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "FDSize:"); ok {
			size, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, size, min(limit.Cur, maxRoom))
			return
		}
	}
	t.Fatal("/proc/self/status has no FDSize")
}
