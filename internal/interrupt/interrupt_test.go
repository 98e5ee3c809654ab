package interrupt

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A signal that comes until a recording begins is found, however late it comes. One that comes
// later is not the program's.
func TestUntilBegun(t *testing.T) {
	for range 100 {
		program, end := context.WithCancelCause(context.Background())
		ctx, begin := UntilBegun(program)
		// The calling thread has the signal before the call returns.
		require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTERM))
		require.ErrorIs(t, begin(), context.Canceled)
		require.Equal(t, 143, Of(ctx).Status())

		ctx, begin = UntilBegun(program)
		require.NoError(t, begin())
		end(&Error{unix.SIGHUP})
		require.NoError(t, begin())
		require.NoError(t, ctx.Err())

		ctx, begin = UntilBegun(program)
		require.ErrorIs(t, begin(), context.Canceled)
		require.Equal(t, 129, Of(ctx).Status())
	}
}
