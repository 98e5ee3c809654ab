package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A stopped thread releases those that wait for its events, though they have not been
// replayed. A thread that sees this before the stop plays no event for it.
func TestStopReleasesNoEvent(t *testing.T) {
	var of trace
	of.thread(format.Thread{Process: 1}, format.OpRead, 1)
	waiter := of.thread(format.Thread{Process: 1}, format.OpClose, 1)
	of.waits[waiter-1] = []format.Wait{{Event: 0, For: format.Edge{Thread: 1}}}
	e := built(t, &of, options, nil)
	k, w := e.Workers[0], e.Workers[1]
	k.finish() // its event has ended, or it never will
	require.True(t, w.awaitEdges())

	w.wait = 0
	e.Fail(errors.New("stopped"))
	require.False(t, w.awaitEdges())
}
