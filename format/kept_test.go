package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Kept events are equal to the borrowed ones, also in NULL and empty strings, and share no memory with them.
func TestKept(t *testing.T) {
	name := []byte("a")
	events := []Event{
		{Op: OpRename, Str: [2][]byte{{}, nil}},
		{Op: OpRename, Str: [2][]byte{name, []byte("b")}, Notes: &Notes{Has: NotedTarget, Target: name, Text: []byte{}}, Edges: []Edge{{Event: 1}}},
		{Op: OpSync, Edges: []Edge{{Event: 2}, {Event: 3}}},
	}
	want := append([]Event{}, events...)
	for i := range want {
		want[i] = want[i].Clone()
	}
	require.Equal(t, events, want)
	var k Kept
	for range 2 {
		got := append([]Event{}, events...)
		k.Keep(got)
		require.Equal(t, want, got)
	}
	one := events[:1:1][0]
	new(Kept).KeepOne(&one)
	require.Equal(t, want[0], one)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		e := events[1]
		k.KeepOne(&e)
	}))
	name[0] = 'x'
	require.Equal(t, "a", string(want[1].Str[0])+string(want[1].Notes.Target)[1:])
}
