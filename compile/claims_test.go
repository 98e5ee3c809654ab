package compile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The log of titles is moved seldom, however far back it goes.
func TestForget(t *testing.T) {
	ts := newTitles()
	name := ts.of([]byte("/a"), false)
	const events = 1 << 14
	for ts.at = range int64(events) {
		ts.set(name, kindAbsent+kind(ts.at%2))
	}
	moves, last := 0, len(ts.log)
	for at := range int64(events) {
		if ts.forget(at); len(ts.log) != last {
			moves, last = moves+1, len(ts.log)
		}
	}
	require.Less(t, moves, 20)
	ts.undo(0)
	require.Equal(t, kindAbsent+kind(events%2), name.now()) // before the last event
	require.Nil(t, ts.of(make([]byte, maxPath+1), false))
}
