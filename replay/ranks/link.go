package ranks

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"pianola/internal/stats"
)

// Link is the connection of a player and its carrier: frames in both directions. Send may
// be called concurrently, Receive by one goroutine.
//
//	byte  bytes
//	   0      4  length of the contents, little-endian
//	   4      1  kind
//	   5         contents
type Link struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	out  sync.Mutex
}

// FrameKind is the kind of a frame.
type FrameKind uint8

// The kinds of frames, with their contents.
const (
	FrameJoin    FrameKind = 1 + iota // to the carrier: Join
	FrameJoined                       // to the player: Joined
	FrameMessage                      // a Message, to another player or from one
	FrameWiring                       // to the carrier: Wiring, once the board has its size
	FrameStart                        // to the carrier: Start
	FrameEnd                          // to the carrier: nothing; to the player: Carried
	FrameLeave                        // to the carrier, the last one: nothing
	FrameFailure                      // why the replay fails: to the carrier a text, to the player with FromPeer or FromCarrier before it
)

// The first byte of a FrameFailure to the player.
const (
	FromCarrier = iota // rank 0 may not know it
	FromPeer           // all have it, and rank 0 prints it
)

// maxFrame bounds the length of a frame.
const maxFrame = 1 << 30

// NewLink returns the link over a connection.
func NewLink(conn io.ReadWriteCloser) *Link {
	return &Link{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}
}

// Close closes the connection.
func (l *Link) Close() error { return l.conn.Close() }

// Send sends a frame whose contents are the parts in a row.
func (l *Link) Send(kind FrameKind, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 5, 5+n)
	binary.LittleEndian.PutUint32(b, uint32(n))
	b[4] = byte(kind)
	for _, p := range parts {
		b = append(b, p...)
	}
	l.out.Lock()
	defer l.out.Unlock()
	_, err := l.conn.Write(b)
	return err
}

// SendJSON sends a frame with a document.
func (l *Link) SendJSON(kind FrameKind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.Send(kind, b)
}

// Receive returns the next frame. At the end of the connection the error is io.EOF.
func (l *Link) Receive() (FrameKind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes is not possible", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(l.in, b); err != nil {
		return 0, nil, err
	}
	return FrameKind(head[4]), b, nil
}

// Join tells a carrier which run to join.
type Join struct {
	Rank, Size int
	Node       string // where the player runs
	Job        string // identifies this replay; "" if it is unknown
	Rendezvous string // a directory, a URL of a NATS server, or "" for PMI or MASTER_ADDR
	PMI        bool   // descriptor 5 is that of PMI_FD
	Wait       int64  // nanoseconds, at most, until all have joined
}

// Joined says that all players have joined.
type Joined struct {
	Run    string   // a name of this run, the same for all players
	Nodes  []string // of all players
	Offset int64    // nanoseconds by which the clock of rank 0 is ahead of this one
	Error  int64    // nanoseconds, at most, of the offset
}

// Message is a message between players.
type Message struct {
	Peer    int // the sender, or the receiver
	Kind    MessageKind
	Payload []byte
}

// MessageKind is the purpose of a message.
type MessageKind uint8

const messageHead = 5

// AppendHead appends the head of a message.
func (m *Message) AppendHead(dst []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(m.Peer)), byte(m.Kind))
}

// ParseMessage parses the message in a frame, or in a message of NATS.
func ParseMessage(b []byte) (Message, error) {
	if len(b) < messageHead {
		return Message{}, fmt.Errorf("a message of %d bytes is not possible", len(b))
	}
	return Message{Peer: int(int32(binary.LittleEndian.Uint32(b))), Kind: MessageKind(b[4]), Payload: b[messageHead:]}, nil
}

// Wiring tells a carrier the destinations of the slots of a board.
type Wiring struct {
	Sizes
	Replay uint32    // of this session, from 1: each has its own board
	At     int64     // where the board begins in the shared memory, in bytes
	Runs   []int32   // how many slots of Out each thread has, thread after thread
	To     [][]Place // of each slot of Out
	Event  []int64   // of each slot of In: the event, counted from 0
	From   []int32   // of each slot of In: the number of its source
}

// Place is a slot of In of a player.
type Place struct{ Player, Slot int32 }

// Start says when the replay starts.
type Start struct{ Monotonic int64 } // by CLOCK_MONOTONIC of this player, in nanoseconds

// Carried counts the ends that a carrier has carried to its player.
type Carried struct {
	Edges   int64        // ends of events
	Latency stats.Counts // of their latencies
	Memory  int64        // bytes that the carrier had in memory at most
}
