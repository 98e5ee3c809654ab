package posix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Exactly the operations that a compiled trace can contain have a call.
func TestCallsFollowTheTable(t *testing.T) {
	for op := format.OpNone + 1; int(op) < format.NumOps; op++ {
		info := op.Info()
		want := !info.Dropped && info.Canon == nil
		if info.Canon != nil {
			// An operation can stand for itself, by its arguments.
			var e format.Event
			e.Op = op
			e.Str[0] = []byte("x")
			switch want = info.Canon(&e) == op; op {
			case format.OpStatx, format.OpRenameat2, format.OpFaccessat2, format.OpFchmodat2, format.OpLinkat:
				want = true
			}
		}
		require.Equal(t, want, calls[op] != nil, op.String())
	}
}
