package ranks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Config describes how a player joins the others.
type Config struct {
	Rank, Size int
	Node       string        // where this player runs
	Job        string        // Join.Job
	Rendezvous string        // Join.Rendezvous
	Wait       time.Duration // the maximum wait until all have joined
}

// Session is a player's part in a replay by several.
type Session struct {
	Rank, Size int
	Joined

	link    *Link
	carrier *exec.Cmd
	memory  int    // file of the boards
	board   *Board // of the last replay
	replays uint32 // that were wired
	free    int64  // where the next board begins in the file
	inbox   [numMessages]chan Message
	failed  chan struct{} // closed once failure is set
	failure error
	ended   chan Carried
	left    atomic.Bool
	others  []atomic.Int64 // at rank 0: events that each player has replayed so far, then all of its events
}

// The kinds of messages.
const (
	msgGather   MessageKind = iota // to rank 0: a part of a Gather
	msgTogether                    // from rank 0: the parts of all
	msgWanted                      // to the player of a thread: events that are waited for
	msgResult                      // to rank 0: a piece of a result
	msgTaken                       // from rank 0: the piece was taken
	msgProgress                    // to rank 0: events so far, and all events
	numMessages
)

// program is the name of the carrier's program, beside this one.
const program = "pianola-ranks"

// ErrNoProgram says that the carrier's program is missing.
var ErrNoProgram = fmt.Errorf("the program %s is neither in the directory of pianola nor in PATH", program)

// findProgram returns the path of the carrier's program.
func findProgram() (string, error) {
	own, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(own), program)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", ErrNoProgram
	}
	return path, nil
}

// NewSession joins the other players, once all have started. A single player needs no
// others, and no carrier. Leave ends the session.
func NewSession(ctx context.Context, c Config) (*Session, error) {
	s := &Session{Rank: c.Rank, Size: c.Size, memory: -1, failed: make(chan struct{}), ended: make(chan Carried, 1), others: make([]atomic.Int64, 2*c.Size)}
	if c.Size == 1 {
		s.Joined = Joined{Run: strconv.Itoa(os.Getpid()), Nodes: []string{c.Node}}
		return s, nil
	}
	for i := range s.inbox {
		s.inbox[i] = make(chan Message, 2*c.Size+1<<14) // more would be an error of the others
	}
	if err := s.start(c); err != nil {
		return nil, err
	}
	joined := make(chan error, 1)
	go s.read(joined)
	select {
	case err := <-joined:
		if err != nil {
			s.Leave()
			return nil, err
		}
	case <-ctx.Done():
		s.Abort(errors.New("interrupted"))
		s.Leave()
		return nil, context.Cause(ctx)
	}
	return s, nil
}

// start starts the carrier.
func (s *Session) start(c Config) error {
	path, err := findProgram()
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("connect with %s: %w", program, err)
	}
	own, its := os.NewFile(uintptr(pair[0]), "link"), os.NewFile(uintptr(pair[1]), "link")
	defer its.Close()
	defer own.Close()
	if s.memory, err = NewMemory(); err != nil {
		return fmt.Errorf("make shared memory: %w", err)
	}
	memory, err := unix.FcntlInt(uintptr(s.memory), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("share memory: %w", err)
	}
	files := []*os.File{its, os.NewFile(uintptr(memory), "board")}
	defer files[1].Close()
	join := Join{Rank: c.Rank, Size: c.Size, Node: c.Node, Job: c.Job, Rendezvous: c.Rendezvous, Wait: int64(c.Wait)}
	if fd, err := strconv.Atoi(os.Getenv("PMI_FD")); err == nil && c.Rendezvous == "" {
		join.PMI = true
		files = append(files, os.NewFile(uintptr(fd), "PMI_FD"))
		defer files[2].Close()
	}
	s.carrier = exec.Command(path)
	s.carrier.ExtraFiles, s.carrier.Stderr = files, os.Stderr
	// An interrupt of the terminal is for the player: the carrier tells the others.
	s.carrier.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := s.carrier.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	conn, err := net.FileConn(own)
	if err != nil {
		return fmt.Errorf("connect with %s: %w", program, err)
	}
	s.link = NewLink(conn)
	return s.link.SendJSON(FrameJoin, &join)
}

// read takes frames from the carrier until it ends.
func (s *Session) read(joined chan<- error) {
	for {
		kind, b, err := s.link.Receive()
		if err == nil {
			err = s.take(kind, b, joined)
		} else {
			err = fmt.Errorf("%s has ended", program)
		}
		if err != nil {
			s.failure = err
			close(s.failed)
			signalJoined(joined, err)
			return
		}
	}
}

// signalJoined sends once whether the players have joined. The channel has room for one
// error, so it does not block if the receiver has gone.
func signalJoined(joined chan<- error, err error) {
	select {
	case joined <- err:
	default:
	}
}

func (s *Session) take(kind FrameKind, b []byte, joined chan<- error) error {
	switch kind {
	case FrameJoined:
		if err := json.Unmarshal(b, &s.Joined); err != nil || len(s.Nodes) != s.Size {
			return fmt.Errorf("%s sent no list of players", program)
		}
		signalJoined(joined, nil)
	case FrameMessage:
		m, err := ParseMessage(b)
		if err != nil {
			return err
		}
		return s.deliver(m)
	case FrameEnd:
		var c Carried
		if err := json.Unmarshal(b, &c); err != nil {
			return fmt.Errorf("%s sent no figures", program)
		}
		s.ended <- c
	case FrameFailure:
		if len(b) > 0 && b[0] == FromPeer {
			return &PeerError{string(b[1:])}
		}
		return errors.New(string(b[min(1, len(b)):]))
	}
	return nil
}

func (s *Session) deliver(m Message) error {
	switch {
	case m.Kind >= numMessages || m.Peer < 0 || m.Peer >= s.Size:
		return fmt.Errorf("rank %d sent a message of an unknown kind", m.Peer)
	case m.Kind == msgProgress:
		if len(m.Payload) == 16 {
			s.others[2*m.Peer].Store(int64(binary.LittleEndian.Uint64(m.Payload)))
			s.others[2*m.Peer+1].Store(int64(binary.LittleEndian.Uint64(m.Payload[8:])))
		}
		return nil
	}
	select {
	case s.inbox[m.Kind] <- m:
		return nil
	default:
		return fmt.Errorf("%s sent more messages than expected", s.Name(m.Peer))
	}
}

// List prints ranks that are in order, consecutive ones as a range.
func List(list []int32) string {
	var text strings.Builder
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprint(&text, list[i])
		if last > i {
			fmt.Fprint(&text, "-", list[last])
		}
		i = last + 1
	}
	return text.String()
}

// Name returns the name of a player in messages.
func (s *Session) Name(rank int) string { return fmt.Sprintf("rank %d on %s", rank, s.Nodes[rank]) }

// Failed is closed when the replay can't go on, because another player has failed or died.
// Then Failure says why. It may be used by any goroutine.
func (s *Session) Failed() <-chan struct{} { return s.failed }

// Failure returns why the replay can't go on, once Failed is closed.
func (s *Session) Failure() error { return s.failure }

// PeerError is a failure that rank 0 also knows.
type PeerError struct{ text string }

func (e *PeerError) Error() string { return e.text }

// Abort tells the others that this player has failed.
func (s *Session) Abort(err error) {
	if s.link == nil {
		return
	}
	select {
	case <-s.failed: // they know
	default:
		_ = s.link.Send(FrameFailure, []byte(err.Error()))
	}
}

// Leave ends the session.
func (s *Session) Leave() {
	if s.link == nil || s.left.Swap(true) {
		return
	}
	_ = s.link.Send(FrameLeave)
	_ = s.carrier.Wait()
	_ = s.link.Close()
	if s.board != nil {
		_ = s.board.Close()
	}
	_ = unix.Close(s.memory)
}

func (s *Session) send(to int, kind MessageKind, payload []byte) error {
	m := Message{Peer: to, Kind: kind}
	return s.link.Send(FrameMessage, m.AppendHead(nil), payload)
}

func (s *Session) receive(ctx context.Context, kind MessageKind) (Message, error) {
	select {
	case m := <-s.inbox[kind]:
		return m, nil
	case <-s.failed:
		return Message{}, s.failure
	case <-ctx.Done():
		return Message{}, context.Cause(ctx)
	}
}

// Gather returns the parts of all players, in the order of ranks. All players have to call
// it.
func (s *Session) Gather(ctx context.Context, part []byte) ([][]byte, error) {
	return s.gather(ctx, part, true)
}

// gather is Gather, or gives the parts to rank 0 only: all of them together can be too long for
// a message.
func (s *Session) gather(ctx context.Context, part []byte, toAll bool) ([][]byte, error) {
	if s.Size == 1 {
		return [][]byte{part}, nil
	}
	if s.Rank != 0 {
		if err := s.send(0, msgGather, part); err != nil {
			return nil, s.linkError(err)
		}
		m, err := s.receive(ctx, msgTogether)
		if err != nil || !toAll {
			return nil, err
		}
		return s.split(m.Payload)
	}
	parts := make([][]byte, s.Size)
	parts[0] = part
	for range s.Size - 1 {
		m, err := s.receive(ctx, msgGather)
		if err != nil {
			return nil, err
		}
		parts[m.Peer] = m.Payload
	}
	var all []byte
	for _, p := range parts {
		if toAll {
			all = append(binary.AppendUvarint(all, uint64(len(p))), p...)
		}
	}
	for to := 1; to < s.Size; to++ {
		if err := s.send(to, msgTogether, all); err != nil {
			return nil, s.linkError(err)
		}
	}
	return parts, nil
}

func (s *Session) split(all []byte) (parts [][]byte, err error) {
	for range s.Size {
		n, k := binary.Uvarint(all)
		if k <= 0 || n > uint64(len(all)-k) {
			return nil, fmt.Errorf("rank 0 sent a message that is cut off")
		}
		parts = append(parts, all[k:k+int(n)])
		all = all[k+int(n):]
	}
	return parts, nil
}

// Union replaces set by the union of the sets of all players, bit by bit. All have to call
// it, with sets of one length.
func (s *Session) Union(ctx context.Context, set []byte) error {
	for s.Size > 1 && len(set) > 0 {
		piece := set[:min(len(set), pieceBytes)]
		set = set[len(piece):]
		if s.Rank != 0 {
			if err := s.send(0, msgGather, piece); err != nil {
				return s.linkError(err)
			}
			m, err := s.receive(ctx, msgTogether)
			if err != nil {
				return err
			}
			if copy(piece, m.Payload) != len(piece) {
				return errUnion
			}
			continue
		}
		for range s.Size - 1 {
			m, err := s.receive(ctx, msgGather)
			if err != nil {
				return err
			}
			if len(m.Payload) != len(piece) {
				return errUnion
			}
			for i, b := range m.Payload {
				piece[i] |= b
			}
		}
		for to := 1; to < s.Size; to++ {
			if err := s.send(to, msgTogether, piece); err != nil {
				return s.linkError(err)
			}
		}
	}
	return nil
}

var errUnion = errors.New("a player sent a set of another length")

// linkError returns why the link is broken.
func (s *Session) linkError(err error) error {
	select {
	case <-s.failed:
		return s.failure
	case <-time.After(time.Second):
		return err
	}
}

// GatherJSON is Gather of documents.
func GatherJSON[T any](ctx context.Context, s *Session, part T) ([]T, error) {
	return gatherJSON(ctx, s, part, true)
}

// CollectJSON is GatherJSON for rank 0 only. The others wait until it has all documents, and get
// none.
func CollectJSON[T any](ctx context.Context, s *Session, part T) ([]T, error) {
	return gatherJSON(ctx, s, part, false)
}

func gatherJSON[T any](ctx context.Context, s *Session, part T, toAll bool) ([]T, error) {
	b, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	parts, err := s.gather(ctx, b, toAll)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(parts))
	for i := range parts {
		if err := json.Unmarshal(parts[i], &all[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(i), err)
		}
	}
	return all, nil
}

// Start returns when the replay starts, once all players are ready: nanoseconds of
// CLOCK_MONOTONIC. The time is the same for all, by their offsets.
func (s *Session) Start(ctx context.Context) (int64, error) {
	// The start is soon for the user, and late enough for the messages to all.
	ahead := 20*time.Millisecond + time.Duration(s.Size)*2*time.Millisecond
	if s.Size == 1 {
		return Monotonic() + int64(time.Millisecond), nil
	}
	if _, err := s.Gather(ctx, nil); err != nil { // all are ready
		return 0, err
	}
	var at [8]byte
	if s.Rank == 0 {
		binary.LittleEndian.PutUint64(at[:], uint64(Monotonic()+int64(ahead)))
		for to := 1; to < s.Size; to++ {
			if err := s.send(to, msgTogether, at[:]); err != nil {
				return 0, s.linkError(err)
			}
		}
	} else {
		m, err := s.receive(ctx, msgTogether)
		if err != nil {
			return 0, err
		}
		if copy(at[:], m.Payload) != len(at) {
			return 0, errors.New("rank 0 sent no start")
		}
	}
	start := int64(binary.LittleEndian.Uint64(at[:])) - s.Offset
	return start, s.link.SendJSON(FrameStart, &Start{Monotonic: start})
}

// Monotonic returns CLOCK_MONOTONIC in nanoseconds.
func Monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// End ends the carrying of edges, and returns what was carried to this player.
func (s *Session) End(ctx context.Context) (Carried, error) {
	if s.Size == 1 {
		return Carried{}, nil
	}
	if err := s.link.Send(FrameEnd); err != nil {
		return Carried{}, s.linkError(err)
	}
	select {
	case c := <-s.ended:
		return c, nil
	case <-s.failed:
		return Carried{}, s.failure
	case <-ctx.Done():
		return Carried{}, context.Cause(ctx)
	}
}

// Report tells rank 0 how many events of this player have been replayed, of all its
// events. Any goroutine may call it.
func (s *Session) Report(events, all int64) {
	if s.Rank == 0 {
		s.others[0].Store(events)
		s.others[1].Store(all)
		return
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(events))
	_ = s.send(0, msgProgress, binary.LittleEndian.AppendUint64(b, uint64(all)))
}

// Progress returns the sums of what all players have reported to rank 0.
func (s *Session) Progress() (events, all int64) {
	for i := 0; i < len(s.others); i += 2 {
		events += s.others[i].Load()
		all += s.others[i+1].Load()
	}
	return events, all
}

// pieceBytes is how many bytes of a result are sent at a time.
const pieceBytes = 256 << 10

// SendResult sends a piece of the result to rank 0, and waits until rank 0 has taken it.
func (s *Session) SendResult(ctx context.Context, piece []byte) error {
	if err := s.send(0, msgResult, piece); err != nil {
		return s.linkError(err)
	}
	_, err := s.receive(ctx, msgTaken)
	return err
}

// TakeResult returns the next piece of a result that another player sends to rank 0.
// It is valid until then.
func (s *Session) TakeResult(ctx context.Context) (from int, piece []byte, err error) {
	m, err := s.receive(ctx, msgResult)
	if err != nil {
		return 0, nil, err
	}
	return m.Peer, m.Payload, s.send(m.Peer, msgTaken, nil)
}
