//go:build linux && (amd64 || arm64)

package format

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSyscallNumbers compares the table with what the system's headers say on
// the architecture that the test runs on.
func TestSyscallNumbers(t *testing.T) {
	for op := OpNone + 1; op.Valid(); op++ {
		number, ok := sysNumbers[op.String()]
		if !ok {
			number = none
		}
		require.Equal(t, number, op.Info().Sys[HostArch], op.String())
	}
	require.Greater(t, len(sysNumbers), 40)
}

// aliases are second names of an errno, and the first ones.
var aliases = map[string]string{"ENOTSUP": "EOPNOTSUPP", "EFSCORRUPTED": "EUCLEAN", "EFSBADCRC": "EBADMSG"}

func TestErrnoNames(t *testing.T) {
	for n := 1; n <= int(unix.EHWPOISON); n++ {
		name := unix.ErrnoName(syscall.Errno(n))
		if name == "" {
			_, ok := errnoNames[n]
			require.False(t, ok, "errno %d has no name", n)
			continue
		}
		if first, ok := aliases[name]; ok {
			name = first
		}
		require.Equal(t, name, ErrnoName(n))
	}
}
