package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flushed is a Sink that counts how often it is flushed.
type flushed struct {
	collect
	times int
}

func (f *flushed) Flush() error { f.times++; return nil }

func TestFlush(t *testing.T) {
	var s flushed
	d := drain{sink: &s, flushed: time.Now().Add(-2 * flushInterval)}
	require.NoError(t, d.flush())
	require.Zero(t, s.times, "nothing to flush")
	d.dirty = true
	require.NoError(t, d.flush())
	require.Equal(t, 1, s.times)
	d.dirty = true
	require.NoError(t, d.flush())
	require.Equal(t, 1, s.times, "too soon")
	require.NoError(t, (&drain{sink: &s.collect, dirty: true}).flush(), "a sink need not have a Flush")
}

func TestLongestPause(t *testing.T) {
	require.Equal(t, maxPause, longestPause(DefaultRingBytes))
	require.Equal(t, minPause, longestPause(4096))
	middle := longestPause(16 << 20)
	require.Greater(t, middle, minPause)
	require.Less(t, middle, maxPause)
}
