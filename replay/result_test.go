package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestReason(t *testing.T) {
	open := format.Record{Op: format.OpOpen, Args: [6]int64{0, format.RDONLY | format.DIRECT}}
	require.Equal(t, refusedDirect, reason(&open, errInvalid))
	require.Empty(t, reason(&open, errBadFD))
	open.Args[1] = format.RDONLY
	require.Empty(t, reason(&open, errInvalid))
	require.Empty(t, reason(&format.Record{Op: format.OpLseek, Args: open.Args}, errInvalid))
}
