package ranks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Wanted are the events of a thread of another player that this one waits for, in order.
type Wanted struct {
	Thread int32
	Player int
	Events []int64
}

// Asked are the events of an own thread that other players wait for, in order, and their
// slots on the boards of these players.
type Asked struct {
	Events []int64
	To     [][]Place
}

// Exchange tells the players of other threads which of their events this one waits for,
// and returns which events of own threads others wait for. All players have to call it.
// The slots of the wanted events are numbered in their order.
func (s *Session) Exchange(ctx context.Context, wanted []Wanted) (map[int32]*Asked, error) {
	asked := make(map[int32]*Asked)
	if s.Size == 1 {
		return asked, nil
	}
	lists, slot := make([][]byte, s.Size), 0
	for _, w := range wanted {
		if w.Player < 0 || w.Player >= s.Size || w.Player == s.Rank {
			return nil, fmt.Errorf("internal error: thread %d is of player %d", w.Thread, w.Player)
		}
		events := w.Events
		for len(events) > 0 {
			n := min(len(events), pieceBytes/binary.MaxVarintLen64)
			list := &lists[w.Player]
			*list = binary.AppendUvarint(*list, uint64(w.Thread))
			*list = binary.AppendUvarint(*list, uint64(slot))
			*list = binary.AppendUvarint(*list, uint64(n))
			for _, event := range events[:n] {
				*list = binary.AppendUvarint(*list, uint64(event))
			}
			if len(*list) > pieceBytes {
				if err := s.send(w.Player, msgWanted, append(*list, more)); err != nil {
					return nil, s.linkError(err)
				}
				*list = nil
			}
			events, slot = events[n:], slot+n
		}
	}
	for to := range s.Size {
		if to == s.Rank {
			continue
		}
		if err := s.send(to, msgWanted, append(lists[to], last)); err != nil {
			return nil, s.linkError(err)
		}
	}
	for left := s.Size - 1; left > 0; {
		m, err := s.receive(ctx, msgWanted)
		if err != nil {
			return nil, err
		}
		n := len(m.Payload) - 1
		if n < 0 {
			return nil, errWanted
		}
		if m.Payload[n] == last {
			left--
		}
		if err := s.ask(asked, m.Peer, m.Payload[:n]); err != nil {
			return nil, err
		}
	}
	for _, a := range asked {
		a.sort()
	}
	return asked, nil
}

// The last byte of a list of wanted events.
const (
	more = 1
	last = 0
)

var errWanted = errors.New("a player sent a list of events that is cut off")

// ask adds a list of events that another player waits for.
func (s *Session) ask(asked map[int32]*Asked, from int, list []byte) error {
	next := func() (n uint64, ok bool) {
		n, k := binary.Uvarint(list)
		if ok = k > 0 && n < 1<<62; ok {
			list = list[k:]
		}
		return n, ok
	}
	for len(list) > 0 {
		thread, ok1 := next()
		slot, ok2 := next()
		count, ok3 := next()
		if !ok1 || !ok2 || !ok3 || count == 0 || count > uint64(len(list)) || thread > 1<<31-1 || slot+count > maxPosts {
			return errWanted
		}
		a := asked[int32(thread)]
		if a == nil {
			a = &Asked{}
			asked[int32(thread)] = a
		}
		for i := range count {
			event, ok := next()
			if !ok {
				return errWanted
			}
			a.Events = append(a.Events, int64(event))
			a.To = append(a.To, []Place{{int32(from), int32(slot + i)}})
		}
	}
	return nil
}

// sort puts the events in order, each once.
func (a *Asked) sort() {
	order := make([]int, len(a.Events))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(min(max(a.Events[i]-a.Events[j], -1), 1)) })
	var events []int64
	var to [][]Place
	for _, i := range order {
		if n := len(events); n > 0 && events[n-1] == a.Events[i] {
			to[n-1] = append(to[n-1], a.To[i]...)
			continue
		}
		events, to = append(events, a.Events[i]), append(to, a.To[i])
	}
	a.Events, a.To = events, to
}

// Wire opens the board of the next replay, and makes the carrier carry its posts.
// It ends the use of the previous board.
func (s *Session) Wire(w *Wiring) (*Board, error) {
	if s.Size == 1 {
		return &Board{}, nil
	}
	if s.board != nil {
		_ = s.board.Close()
		s.board = nil
		// The carrier keeps its mapping, but the memory is free.
		_ = unix.Fallocate(s.memory, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, s.free)
	}
	s.replays++
	w.Replay, w.At = s.replays, s.free
	board, err := OpenBoard(s.memory, w.At, w.Sizes)
	if err != nil {
		return nil, fmt.Errorf("share memory with %s: %w", program, err)
	}
	s.free = w.after(w.At)
	for i := range board.Sources {
		board.Sources[i].Awaited.Store(Unawaited)
	}
	s.board = board
	if err := s.link.SendJSON(FrameWiring, w); err != nil {
		return nil, s.linkError(err)
	}
	return board, nil
}
