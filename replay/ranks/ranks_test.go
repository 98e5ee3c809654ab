package ranks

import (
	"io"
	"math"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestAsked(t *testing.T) {
	s := &Session{Size: 3}
	list := func(numbers ...byte) []byte { return numbers }
	asked := make(map[int32]*Asked)
	require.NoError(t, s.ask(asked, 1, list(4, 10, 2, 5, 9)))
	require.NoError(t, s.ask(asked, 2, list(4, 0, 3, 1, 5, 20, 7, 3, 1, 2)))
	for _, a := range asked {
		a.sort()
	}
	require.Equal(t, map[int32]*Asked{
		4: {Events: []int64{1, 5, 9, 20}, To: [][]Place{{{2, 0}}, {{1, 10}, {2, 1}}, {{1, 11}}, {{2, 2}}}},
		7: {Events: []int64{2}, To: [][]Place{{{2, 3}}}},
	}, asked)
	for _, wrong := range [][]byte{{4}, {4, 0}, {4, 0, 2, 1}, {4, 0, 255, 255, 255, 255, 15, 1}, {255, 255, 255, 255, 255, 1, 0, 1, 1}} {
		require.ErrorIs(t, s.ask(asked, 1, wrong), errWanted, "%v", wrong)
	}
}

// A session whose carrier ends is told so, though the one who waited for the players has given up.
func TestReadAfterInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, its := net.Pipe()
		require.NoError(t, its.Close())
		s := &Session{Size: 2, link: NewLink(own), failed: make(chan struct{})}
		joined := make(chan error, 1)
		joined <- nil
		s.read(joined)
		<-s.failed
		require.ErrorContains(t, s.failure, "has ended")
	})
}

// A board in two mappings, as in two processes.
func TestBoard(t *testing.T) {
	fd, err := NewMemory()
	require.NoError(t, err)
	sizes := Sizes{Sources: 2, Out: 3, In: 4}
	player, err := OpenBoard(fd, 0, sizes)
	require.NoError(t, err)
	defer player.Close()
	carrier, err := OpenBoard(fd, 0, sizes)
	require.NoError(t, err)
	defer carrier.Close()

	_, posted := carrier.Out[2].When()
	require.False(t, posted)
	seq := carrier.Sleeper.Value()
	player.Post(2, 1000, 0)
	at, posted := carrier.Out[2].When()
	require.True(t, posted)
	require.Zero(t, at)
	require.EqualValues(t, 1000, carrier.Out[2].Due.Load())
	carrier.Sleeper.Wait(seq) // returns, because a post came

	seq = carrier.Sleeper.Value()
	woken := make(chan struct{})
	go func() {
		carrier.Sleeper.Wait(seq)
		close(woken)
	}()
	player.Post(1, 2000, 2000)
	<-woken

	source := &player.Sources[1]
	source.Awaited.Store(Unawaited)
	ends := source.Ends.Value()
	carrier.In[3].Fill(5000, 4000)
	carrier.Sources[1].Arrive(7)
	require.Equal(t, ends, source.Ends.Value(), "nobody sleeps")
	require.EqualValues(t, 8, source.Done.Load())
	require.EqualValues(t, 5000, player.In[3].Due.Load())
	source.Expect(9)
	source.Expect(12)
	carrier.Sources[1].Arrive(8)
	require.Equal(t, ends, source.Ends.Value())
	carrier.Sources[1].Arrive(9)
	require.Equal(t, ends+1, source.Ends.Value())
	require.EqualValues(t, Unawaited, source.Awaited.Load())

	for _, wrong := range []Sizes{{Sources: -1}, {Out: math.MaxInt}, {In: maxPosts + 1}} {
		_, err := OpenBoard(fd, 0, wrong)
		require.ErrorContains(t, err, "not possible")
	}
}

// The next board in the same memory is empty, whatever the one before holds.
func TestBoards(t *testing.T) {
	fd, err := NewMemory()
	require.NoError(t, err)
	sizes := Sizes{Sources: 1, Out: 300, In: 2}
	first, err := OpenBoard(fd, 0, sizes)
	require.NoError(t, err)
	defer first.Close()
	for slot := range int32(300) {
		first.Post(slot, 1, 1)
	}
	second, err := OpenBoard(fd, sizes.after(0), sizes)
	require.NoError(t, err)
	defer second.Close()
	for slot := range second.Out {
		_, posted := second.Out[slot].When()
		require.False(t, posted, "slot %d", slot)
	}
	second.Post(0, 5, 5)
	at, _ := first.Out[0].When()
	require.EqualValues(t, 1, at)

	for _, wrong := range []int64{-4096, maxBoards + 4096, 17} {
		_, err := OpenBoard(fd, wrong, sizes)
		require.Error(t, err, "%d", wrong)
	}
}

func TestList(t *testing.T) {
	for want, list := range map[string][]int32{"": {}, "3": {3}, "0-2": {0, 1, 2}, "0,2-3,7": {0, 2, 3, 7}} {
		require.Equal(t, want, List(list))
	}
}

// A post allocates nothing: threads that post have no garbage collector.
func TestPostAllocatesNothing(t *testing.T) {
	fd, err := NewMemory()
	require.NoError(t, err)
	b, err := OpenBoard(fd, 0, Sizes{Out: 1})
	require.NoError(t, err)
	defer b.Close()
	require.Zero(t, testing.AllocsPerRun(100, func() { b.Post(0, 1, 2) }))
}

func TestLink(t *testing.T) {
	one, other := net.Pipe()
	a, b := NewLink(one), NewLink(other)
	go func() {
		m := Message{Peer: 3, Kind: msgResult}
		_ = a.Send(FrameMessage, m.AppendHead(nil), []byte("piece"))
		_ = a.SendJSON(FrameStart, &Start{17})
		_ = a.Close()
	}()
	kind, text, err := b.Receive()
	require.NoError(t, err)
	require.Equal(t, FrameMessage, kind)
	m, err := ParseMessage(text)
	require.NoError(t, err)
	require.Equal(t, Message{Peer: 3, Kind: msgResult, Payload: []byte("piece")}, m)
	kind, text, err = b.Receive()
	require.NoError(t, err)
	require.Equal(t, FrameStart, kind)
	require.JSONEq(t, `{"Monotonic":17}`, string(text))
	_, _, err = b.Receive()
	require.ErrorIs(t, err, io.EOF)
	_, err = ParseMessage([]byte{1, 2})
	require.Error(t, err)

	one, other = net.Pipe()
	b = NewLink(other)
	go one.Write([]byte{255, 255, 255, 255, 1})
	_, _, err = b.Receive()
	require.ErrorContains(t, err, "not possible")
}

func TestParts(t *testing.T) {
	s := &Session{Size: 3}
	parts, err := s.split([]byte{1, 'a', 0, 2, 'b', 'c'})
	require.NoError(t, err)
	require.Equal(t, [][]byte{{'a'}, {}, {'b', 'c'}}, parts)
	for _, wrong := range []string{"", "\x01", "\x01a\x00", "\x01a\x00\x05b", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, err := s.split([]byte(wrong))
		require.Error(t, err, "%q", wrong)
	}
}

// A player alone needs no carrier.
func TestAlone(t *testing.T) {
	s, err := NewSession(t.Context(), Config{Size: 1, Node: "n1"})
	require.NoError(t, err)
	defer s.Leave()
	parts, err := GatherJSON(t.Context(), s, "own")
	require.NoError(t, err)
	require.Equal(t, []string{"own"}, parts)
	asked, err := s.Exchange(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, asked)
	before := Monotonic()
	start, err := s.Start(t.Context())
	require.NoError(t, err)
	require.Greater(t, start, before)
}
