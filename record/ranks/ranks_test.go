package ranks

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/launcher"
)

// began is the time 0 of the clocks.
var began = time.Now()

// clockOf returns a clock that is ahead of the others.
func clockOf(ahead time.Duration) func() int64 {
	return func() int64 { return int64(time.Since(began) + ahead) }
}

// The recorders of two nodes, with a rank each, meet and part.
func TestMeeting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	fail := func(err error) { require.NoError(t, err) }
	one, err := NewNode(dir, "n1", launcher.Place{Rank: 0, Size: 2, LocalSize: 1, Node: "n1"}, fail)
	require.NoError(t, err)
	defer one.Close()
	two, err := NewNode(dir, "n2", launcher.Place{Rank: 1, Size: 2, LocalSize: 1, Node: "n2"}, fail)
	require.NoError(t, err)
	defer two.Close()

	// A file of an earlier run, whose recorder is gone, does not matter.
	require.NoError(t, os.WriteFile(filepath.Join(dir, meetingFile), []byte(`{"run": "old", "addresses": ["127.0.0.1:1"]}`), 0o600))

	type met struct {
		h   *format.Header
		err error
	}
	first, second := make(chan met, 1), make(chan met, 1)
	meet := func(n *Node, clock func() int64, out chan met) {
		_, err := n.Gather(t.Context(), 100)
		if err != nil {
			out <- met{nil, err}
			return
		}
		h, err := n.Meet(t.Context(), 5, clock)
		out <- met{h, err}
	}
	clock1, clock2 := clockOf(0), clockOf(1000*time.Second)
	go meet(two, clock2, second)
	go meet(one, clock1, first)
	a, b := <-first, <-second
	require.NoError(t, a.err)
	require.NoError(t, b.err)
	require.Equal(t, []format.Rank{{Rank: 0, Process: 100, Node: "n1"}}, a.h.Ranks)
	require.Equal(t, []format.Rank{{Rank: 1, Process: 100, Node: "n2"}}, b.h.Ranks)
	p, ok := a.h.Program()
	require.True(t, ok)
	q, _ := b.h.Program()
	require.Equal(t, p, q)
	require.Equal(t, int32(2), p.Ranks)
	require.Equal(t, int64(5), p.Begun)
	clocks, err := a.h.Clocks()
	require.NoError(t, err)
	require.Empty(t, clocks)

	parted := make(chan *format.Header, 1)
	go func() { parted <- one.Part(t.Context(), clock1) }()
	for _, h := range []*format.Header{b.h, two.Part(t.Context(), clock2)} {
		clocks, err := h.Clocks()
		require.NoError(t, err)
		require.Len(t, clocks, 1)
		c := clocks[0]
		wrong := c.Offset + int64(1000*time.Second)
		require.LessOrEqual(t, max(wrong, -wrong), c.Round/2+1, "half of the round trip, rounded")
		require.Positive(t, c.Round)
	}
	<-parted
	require.NoError(t, one.Close())
	require.NoFileExists(t, filepath.Join(dir, meetingFile))
}

// Only who has the token is let in, and a recorder of another program is told why not.
func TestStrangers(t *testing.T) {
	dir := t.TempDir()
	s, err := newServer(dir, "7.0", greeting{"n1", []int{0}, 2}, clockOf(0))
	require.NoError(t, err)
	defer s.close()
	info, err := os.Stat(filepath.Join(dir, meetingFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	conn, err := net.Dial("tcp", s.Addresses[0])
	require.NoError(t, err)
	defer conn.Close()
	stranger := invitation{Token: make([]byte, 32)}
	hello, err := json.Marshal(greeting{"n2", []int{1}, 2})
	require.NoError(t, err)
	require.Error(t, stranger.introduce(conn, hello))
	require.Equal(t, []int{1}, s.missing())

	_, err = join(t.Context(), dir, "7.0", greeting{"n2", []int{0}, 2})
	require.EqualError(t, err, "the recorder of rank 0: nodes n1 and n2 both have rank 0")
	_, err = join(t.Context(), dir, "7.0", greeting{"n2", []int{1}, 3})
	require.EqualError(t, err, "the recorder of rank 0: node n2 belongs to a program of 3 ranks, not 2")
	_, err = attempt(t.Context(), s.file, "8.0", greeting{"n2", []int{1}, 2})
	require.EqualError(t, err, s.file+` is of job "7.0", not of "8.0"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.await(ctx), context.Canceled)
}

// A recorder that ends without a word is reported.
func TestRecorderGone(t *testing.T) {
	dir := t.TempDir()
	s, err := newServer(dir, "7.0", greeting{"n1", []int{0}, 2}, clockOf(0))
	require.NoError(t, err)
	defer s.close()
	c, err := join(t.Context(), dir, "7.0", greeting{"n2", []int{1}, 2})
	require.NoError(t, err)
	require.NoError(t, s.await(t.Context()))
	require.NoError(t, c.conn.Close())
	require.ErrorContains(t, s.finish(t.Context()), "the recorder of node n2 is gone")
}

// The other ranks of a node register with its recorder, and wait until they may go.
func TestRegister(t *testing.T) {
	dir := t.TempDir()
	place := func(rank int) launcher.Place {
		return launcher.Place{Rank: rank, Size: 3, Local: rank, LocalSize: 3, Node: "n"}
	}
	joined := make(chan error, 2)
	for rank := 1; rank < 3; rank++ {
		go func() { joined <- Join(dir, place(rank)) }() // before there is a recorder
	}
	n, err := NewNode(dir, "n", place(0), nil)
	require.NoError(t, err)
	_, err = NewNode(dir, "n", place(0), nil)
	require.ErrorContains(t, err, "another recorder of node n writes to")
	pids, err := n.Gather(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []int{os.Getpid(), os.Getpid()}, pids)
	require.Empty(t, joined)
	require.NoError(t, n.Release())
	require.NoError(t, <-joined)
	require.NoError(t, <-joined)
	require.NoError(t, n.Close())

	// A recorder that fails ends those that wait.
	n, err = NewNode(dir, "n", place(0), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = n.Gather(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, n.host.listener.SetDeadline(time.Time{}))
	go func() { joined <- Join(dir, place(1)) }()
	conn, err := n.host.listener.AcceptUnix()
	require.NoError(t, err)
	m, err := n.host.admit(conn)
	require.NoError(t, err)
	n.host.members = append(n.host.members, m)
	require.NoError(t, n.Close())
	require.ErrorContains(t, <-joined, "the recorder of node n has ended")
}

func TestName(t *testing.T) {
	require.Equal(t, "d/a_b.txt", Name("d", "a/b"))
	require.Equal(t, "d/meeting.txt", Name("d", "..meeting"))
}
