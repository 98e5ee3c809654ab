package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// discard is a Sink that drops everything.
type discard struct{}

func (discard) Write([]format.Event) error       { return nil }
func (discard) WriteHeader(*format.Header) error { return nil }

// flushed is a Sink that counts how often it is flushed.
type flushed struct {
	discard
	times int
}

func (f *flushed) Flush() error { f.times++; return nil }

func TestFlush(t *testing.T) {
	var s flushed
	w := Writer{sink: &s, flushed: time.Now().Add(-2 * flushInterval)}
	require.NoError(t, w.Flush())
	require.Zero(t, s.times, "nothing to flush")
	w.dirty = true
	require.NoError(t, w.Flush())
	require.Equal(t, 1, s.times)
	w.dirty = true
	require.NoError(t, w.Flush())
	require.Equal(t, 1, s.times, "too soon")
	require.NoError(t, (&Writer{sink: discard{}, dirty: true}).Flush(), "a sink need not have a Flush")
}

func TestWriterBatches(t *testing.T) {
	w := NewWriter(discard{}, 0)
	call := Call{Nr: uint32(format.OpRead.Info().Sys[format.HostArch])}
	for i := range batchEvents {
		full, err := w.Add(&call)
		require.NoError(t, err)
		require.Equal(t, i == batchEvents-1, full)
	}
	require.Zero(t, w.Events(), "the sink has taken none")
	require.NoError(t, w.Write())
	require.NoError(t, w.Write(), "an empty batch")
	require.Equal(t, int64(batchEvents), w.Events())
}
