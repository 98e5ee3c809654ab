package ranks

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first player with other terms than rank 0 is named, and how they differ.
func TestAgreed(t *testing.T) {
	s := &Session{Size: 2, Joined: Joined{Nodes: []string{"a", "b"}}}
	own := Terms{7, "1", []string{"--speed 1", "--wait auto"}}
	require.NoError(t, s.agreed([]Terms{own, own}))
	for want, other := range map[string]Terms{
		"rank 1 on b has another trace than rank 0":                               {8, "1", own.Options},
		"rank 1 on b has version 2 of pianola, rank 0 has 1":                      {7, "2", own.Options},
		"rank 1 on b has other options than rank 0: --wait spin, not --wait auto": {7, "1", []string{"--speed 1", "--wait spin"}},
		"rank 1 on b has other options than rank 0: ":                             {7, "1", nil},
	} {
		require.EqualError(t, s.agreed([]Terms{own, other}), want)
	}
}

// Rank 0 shows the sums of all, and every other player reports to it.
func TestPlaying(t *testing.T) {
	var events, all int64
	show := func(e, a int64) { events, all = e, a }
	var none *Session
	none.Playing(show)(1, 2)
	require.Equal(t, [2]int64{1, 2}, [2]int64{events, all})
	s := &Session{Size: 2, others: make([]atomic.Int64, 4)}
	s.others[2].Store(10)
	s.others[3].Store(20)
	s.Playing(show)(3, 4)
	require.Equal(t, [2]int64{13, 24}, [2]int64{events, all})
	require.Nil(t, s.Playing(nil))
	require.NotNil(t, (&Session{Size: 2, Rank: 1}).Playing(nil), "rank 0 may have a screen")
}
