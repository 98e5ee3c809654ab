package available

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroups reads hierarchies as containers and machines have them.
func TestGroups(t *testing.T) {
	const (
		v2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
		v1 = "30 23 0:27 /docker/1 /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n" +
			"31 23 0:28 /docker/1 /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n"
	)
	for _, c := range []struct {
		name            string
		files           map[string]string
		memory, threads int64
		version         int // of the groups that bound memory
	}{
		{"none", nil, math.MaxInt64, math.MaxInt64, 0},
		{"version 2 without limits", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
		}, math.MaxInt64, math.MaxInt64, 0},
		{"version 2, the group above has less", map[string]string{
			"proc/self/cgroup": "0::/a.slice/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a.slice/b/cgroup.controllers": "cpu memory pids\n",
			"sys/fs/cgroup/a.slice/memory.max":           "1000\n",
			"sys/fs/cgroup/a.slice/memory.high":          "900\n",
			"sys/fs/cgroup/a.slice/memory.current":       "500\n",
			"sys/fs/cgroup/a.slice/memory.stat":          "anon 100\nactive_file 100\ninactive_file 50\nslab_reclaimable 25\n",
			"sys/fs/cgroup/a.slice/b/memory.max":         "max\n",
			"sys/fs/cgroup/a.slice/b/pids.max":           "64\n",
			"sys/fs/cgroup/a.slice/b/pids.current":       "14\n",
			"sys/fs/cgroup/a.slice/pids.max":             "max\n",
		}, 575, 50, 2},
		{"version 2, nothing is left", map[string]string{
			"proc/self/cgroup": "0::/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/b/memory.max":     "1000\n",
			"sys/fs/cgroup/b/memory.current": "2000\n",
		}, 0, math.MaxInt64, 0},
		{"version 1 in a container, with version 2 beside it", map[string]string{
			"proc/self/cgroup": "9:pids:/docker/1\n4:memory,other:/docker/1/c\n0::/\n", "proc/self/mountinfo": v1 + v2,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "700\n",
			"sys/fs/cgroup/memory/c/memory.limit_in_bytes": "600\n",
			"sys/fs/cgroup/memory/c/memory.usage_in_bytes": "150\n",
			"sys/fs/cgroup/memory/c/memory.stat":           "inactive_file 1\ntotal_inactive_file 20\ntotal_active_file 30\n",
			"sys/fs/cgroup/pids/pids.max":                  "10\n",
		}, 500, 10, 1},
		{"a group outside of what is mounted", map[string]string{
			"proc/self/cgroup": "4:memory:/other\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "700\n",
		}, 700, math.MaxInt64, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := groups{t.TempDir()}
			for name, text := range c.files {
				name = filepath.Join(g.root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
				require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
			}
			require.Equal(t, c.memory, g.least(memory))
			require.Equal(t, c.threads, g.least(threads))
			require.Equal(t, c.version, g.controls("memory"))
		})
	}
}

func TestMemory(t *testing.T) {
	n, err := Memory()
	require.NoError(t, err)
	require.Positive(t, n)
	require.Positive(t, Threads())
}
