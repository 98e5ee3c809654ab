package rings

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Only what the table has reaches the kernel: nothing with a path, and nothing that makes or
// closes a descriptor.
func TestOnlyTable(t *testing.T) {
	each(t, kinds, Config{Entries: 4}, func(t *testing.T, k kind, q Queue) {
		fd, mem := file(t, 100), mapping(t, 4096)
		allowed := make(map[Op]bool)
		for op := range operationCases {
			allowed[op] = true
		}
		for i := range 256 {
			if op := Op(i); !allowed[op] {
				require.Equal(t, unix.EINVAL, q.Prepare(&Request{Op: op, FD: fd, Addr: addr(mem), Length: 1}), op)
			}
		}
		for _, c := range []struct {
			name string
			r    Request
			want unix.Errno
		}{
			{"selected buffer", Request{Op: OpRead, Flags: 1 << 5, FD: fd, Addr: addr(mem), Length: 1}, unix.EINVAL},
			{"no completion", Request{Op: OpNop, Flags: 1 << 6}, unix.EINVAL},
			{"flags of a read", Request{Op: OpRead, OpFlags: 1 << 20, FD: fd, Addr: addr(mem), Length: 1}, unix.EINVAL},
			{"no descriptor", Request{Op: OpFsync, FD: -1}, unix.EBADF},
			{"working directory", Request{Op: OpFsync, FD: unix.AT_FDCWD}, unix.EBADF},
			{"long vector", Request{Op: OpReadv, FD: fd, Vector: make([]unix.Iovec, 1025)}, unix.EINVAL},
		} {
			if !k.plays(c.r.Op, c.r.Flags) {
				c.want = unix.EINVAL
			}
			require.Equal(t, c.want, q.Prepare(&c.r), c.name)
		}
		n, err := q.Submit(1)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}
