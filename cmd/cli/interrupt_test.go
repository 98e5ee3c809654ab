package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/interrupt"
	"pianola/record"
)

// signalSelf sends a signal to the calling thread, which has it before the call returns.
func signalSelf(t *testing.T, s unix.Signal) {
	t.Helper()
	require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), s))
}

// A recording that a signal ends before its command starts leaves nothing, and the status says
// which signal it was. The command's signals are not the recorder's.
func TestRecordInterrupted(t *testing.T) {
	run := func(t *testing.T, r record.Recorder) (status int) {
		t.Chdir(t.TempDir())
		real := recorders["ebpf"]
		recorders["ebpf"] = r
		t.Cleanup(func() { recorders["ebpf"] = real })
		program, end := context.WithCancelCause(context.Background())
		defer end(nil)
		ends := func() { end(&interrupt.Error{Signal: unix.SIGTERM}) }
		ctx := context.WithValue(program, endsKey{}, ends)
		return report(ctx, newApp().RunContext(ctx, []string{"pianola", "record", "--quiet", "--tracer", "ebpf", "-o", "t.txt", "--", "true"}))
	}
	t.Run("at first", func(t *testing.T) {
		require.Equal(t, 143, run(t, func(ctx context.Context, o record.Options, s record.Sink) (r record.Result, err error) {
			ctx.Value(endsKey{}).(func())()
			<-ctx.Done()
			return r, fmt.Errorf("load the program: %w", ctx.Err())
		}))
		require.NoFileExists(t, "t.txt")
	})
	t.Run("just before the start", func(t *testing.T) {
		require.Equal(t, 143, run(t, func(ctx context.Context, o record.Options, s record.Sink) (r record.Result, err error) {
			signalSelf(t, unix.SIGTERM)
			signals, err := o.Ready(ctx)
			if err == nil {
				signals.Release()
				return r, errors.New("the command would start")
			}
			return r, err
		}))
		require.NoFileExists(t, "t.txt")
	})
	t.Run("after the start", func(t *testing.T) {
		require.Equal(t, 5, run(t, func(ctx context.Context, o record.Options, s record.Sink) (r record.Result, err error) {
			signals, err := o.Ready(ctx)
			if err != nil {
				return r, err
			}
			defer signals.Release()
			ctx.Value(endsKey{}).(func())()
			signalSelf(t, unix.SIGTERM)
			r.Status = 5
			return r, errors.Join(ctx.Err(), s.WriteHeader(&format.Header{}))
		}))
		require.FileExists(t, "t.txt")
	})
}

// endsKey is the key of a function that ends the context of the program, as a signal does.
type endsKey struct{}

// Only what writing to standard output says means that its reader is gone.
func TestIsUnread(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, r.Close())
	_, err = w.WriteString("text")
	require.ErrorIs(t, err, unix.EPIPE)
	require.False(t, isUnread(err))
	require.False(t, isUnread(&fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: unix.ENOSPC}))
	require.True(t, isUnread(fmt.Errorf("print: %w", &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: unix.EPIPE})))
}
