package hub

import (
	"encoding/binary"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"pianola/replay/ranks"
)

// The end of an event of the replay before, which comes late, is left out.
func TestLateEdge(t *testing.T) {
	fd, err := ranks.NewMemory()
	require.NoError(t, err)
	sizes := ranks.Sizes{Sources: 1, In: 1}
	board, err := ranks.OpenBoard(fd, 0, sizes)
	require.NoError(t, err)
	defer board.Close()
	c := &carrier{}
	edge := func(replay uint32) *nats.Msg {
		b := binary.LittleEndian.AppendUint32(nil, replay)
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint64(b, 100)
		return &nats.Msg{Data: binary.LittleEndian.AppendUint64(b, 200)}
	}
	c.takeEdges(edge(1)) // before the first board
	c.wired.Store(&wired{Wiring: ranks.Wiring{Sizes: sizes, Replay: 2, From: []int32{0}, Event: []int64{7}}, Board: board})
	c.takeEdges(edge(1))
	require.Zero(t, c.edges)
	require.Zero(t, board.Sources[0].Done.Load())
	c.takeEdges(edge(2))
	require.EqualValues(t, 1, c.edges)
	require.EqualValues(t, 8, board.Sources[0].Done.Load())
	at, posted := board.In[0].When()
	require.True(t, posted)
	require.EqualValues(t, 200, at)
}
