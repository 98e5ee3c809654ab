package posix

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Pinned workers ask for the free space with a lock, so they ask by the guard's kernel,
// whose calls the Go scheduler does not see.
func TestSpaceIsAskedByTheGuard(t *testing.T) {
	asked := 0
	e := bare(Options{})
	e.guard.Root = 7
	e.guard.Kernel = func(nr, fd, stat, _, _, _, _ uintptr) int64 {
		require.EqualValues(t, unix.SYS_FSTATFS, nr)
		require.EqualValues(t, 7, fd)
		asked++
		e.space.stat = unix.Statfs_t{Bavail: 10, Bsize: 4096, Type: unix.TMPFS_MAGIC}
		return 0
	}
	e.space.begin, e.space.share = 12*4096, 5*4096
	require.True(t, e.space.renew(e, 4096))
	require.EqualValues(t, 2*4096, e.bytes.Load())
	require.True(t, e.inMemory())
	require.Equal(t, 2, asked)
}

// A run that has stopped does not wait until all locks are counted.
func TestCountLocksStops(t *testing.T) {
	var stopped atomic.Bool
	require.Less(t, countLocks("/proc/locks", stopped.Load), int64(math.MaxInt32))
	stopped.Store(true)
	require.Zero(t, countLocks("/dev/zero", stopped.Load)) // it has no end
}

// TestKernelSizes compares the sizes with those of this kernel.
func TestKernelSizes(t *testing.T) {
	text, err := os.ReadFile("/proc/slabinfo")
	if err != nil {
		t.Skip(err)
	}
	sizes := map[string]int64{}
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 3 {
			sizes[string(f[0])], _ = strconv.ParseInt(string(f[3]), 10, 64)
		}
	}
	for name, size := range map[string]int64{
		"filp": sizeFile, "dentry": sizeDentry, "ext4_inode_cache": sizeInode, "xfs_inode": sizeInode, "btrfs_inode": sizeInode, "shmem_inode_cache": sizeInode,
		"file_lock_cache": sizeLock, "vm_area_struct": sizeMapping, "maple_node": sizeNode, "io_kiocb": sizeRequest,
	} {
		require.LessOrEqual(t, sizes[name], size, name) // 0 if the kernel doesn't tell
	}
}
