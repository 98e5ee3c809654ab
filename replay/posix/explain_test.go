package posix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestReason(t *testing.T) {
	w := &worker{}
	open := format.Record{Op: format.OpOpen, Args: [6]int64{0, format.RDONLY | format.DIRECT}}
	require.Equal(t, refusedDirect, w.reason(&open, errInvalid))
	require.Empty(t, w.reason(&open, errBadFD))
	open.Args[1] = format.RDONLY
	require.Empty(t, w.reason(&open, errInvalid))
	require.Empty(t, w.reason(&format.Record{Op: format.OpLseek, Args: open.Args}, errInvalid))
	w.e = bare(Options{Limits: Limits{Descriptors: 10}})
	require.Equal(t, noOpenFiles, w.reason(&format.Record{Op: format.OpOpen, Ret: 9}, errNoFD))
	require.Equal(t, noDescriptors, w.reason(&format.Record{Op: format.OpOpen, Ret: 10}, errNoFD))
	require.Empty(t, w.reason(&format.Record{Op: format.OpOpen, Ret: errNoFD}, errNoFD))
}
