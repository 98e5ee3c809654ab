package format_test

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// kept is a writer that counts events, and fails after a number of them.
type kept struct{ n, most int }

var errFull = errors.New("full")

func (k *kept) Write(events []format.Event) error {
	k.n += len(events)
	if k.n > k.most {
		return errFull
	}
	return nil
}

// All events come before the end or a fault, whose error is that of the reader.
func TestCopy(t *testing.T) {
	events := make([]format.Event, 2000)
	for i := range events {
		events[i].Ret = int64(i)
	}
	broken := errors.New("broken")
	for _, end := range []error{io.EOF, broken} {
		want := end
		if end == io.EOF {
			want = nil
		}
		next := int64(0)
		require.Equal(t, want, format.Each(&testkit.Reader{Events: events, Batch: 300, Err: end}, func(e *format.Event) error {
			require.Equal(t, next, e.Ret)
			next++
			return nil
		}))
		require.EqualValues(t, len(events), next)
		k := &kept{most: len(events)}
		require.Equal(t, want, format.Copy(k, &testkit.Reader{Events: events, Batch: 300, Err: end}))
		require.Equal(t, len(events), k.n)
	}
	require.Equal(t, errFull, format.Copy(&kept{most: 100}, &testkit.Reader{Events: events, Batch: 300, Err: io.EOF}))
	calls := 0
	require.Equal(t, errFull, format.Each(&testkit.Reader{Events: events, Batch: 300, Err: io.EOF}, func(*format.Event) error {
		calls++
		return errFull
	}))
	require.Equal(t, 1, calls)
}
