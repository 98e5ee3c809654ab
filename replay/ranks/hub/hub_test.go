package hub

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/replay/ranks"
)

// Rank 0 prints what ranks find out of one another. If it is rank 0 that is silent, the player
// prints that itself.
func TestLose(t *testing.T) {
	for rank, from := range []byte{ranks.FromCarrier, ranks.FromPeer} {
		own, its := net.Pipe()
		c := &carrier{link: ranks.NewLink(own), nodes: []string{"a", "b", "c"}, join: ranks.Join{Rank: 2, Size: 3}}
		go c.failRank(rank, "has said nothing")
		kind, text, err := ranks.NewLink(its).Receive()
		require.NoError(t, err)
		require.Equal(t, ranks.FrameFailure, kind)
		require.Equal(t, from, text[0])
		require.Regexp(t, `^rank \d on [ab] has said nothing$`, string(text[1:]))
		require.NoError(t, own.Close())
	}
}
