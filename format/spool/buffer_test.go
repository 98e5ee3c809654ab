package spool

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestBuffer(t *testing.T) {
	var b Buffer
	events := []format.Event{
		{Op: format.OpOpenat, TID: 7, Start: 100, Dur: 5, Ret: 3, Str: [format.MaxStrings][]byte{[]byte("file")}, Notes: &format.Notes{Has: format.NotedSize, Size: 9}},
		{Op: format.OpRead, TID: 8, Start: 90, Dur: 50, Ret: 4096, Args: [format.MaxArgs]int64{3, 1 << 40, 4096}},
	}
	for round := range 2 {
		for i := range events {
			require.NoError(t, b.Append(&events[i]))
		}
		require.Positive(t, b.Len())
		taken := make([]byte, b.Size())
		b.Take(taken)
		require.Zero(t, b.Len(), round)
		var got []format.Event
		require.NoError(t, Each(taken, func(e *format.Event) error { got = append(got, e.Clone()); return nil }))
		require.Equal(t, events, got)
	}
	require.NoError(t, Each(make([]byte, b.Size()), func(*format.Event) error { panic("there is none") }))
	require.Error(t, b.Append(&format.Event{Op: format.Op(format.NumOps)}))
	stop := errors.New("stop")
	require.NoError(t, b.Append(&events[1]))
	taken := make([]byte, b.Size())
	b.Take(taken)
	require.ErrorIs(t, Each(taken, func(*format.Event) error { return stop }), stop)
	require.NoError(t, b.Append(&events[1]))
	b.Take(nil)
	require.Zero(t, b.Len())
	require.ErrorIs(t, Each(append(make([]byte, 20), 0xff, 0xff, 0xff), func(*format.Event) error { return nil }), errDamaged)
}
