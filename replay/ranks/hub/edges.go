package hub

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"pianola/internal/stats"
	"pianola/replay/ranks"
)

// A message begins with the number of the replay, in edgeHead bytes. The ends of events
// follow, with postBytes each: slot, due, when.
const (
	edgeHead  = 4
	postBytes = 20
)

// maxPosts bounds the ends of events in a message.
const maxPosts = 1024

// wired is a board, and the destinations of its slots.
type wired struct {
	ranks.Wiring
	*ranks.Board
	over atomic.Bool   // the player has posted its last end
	done chan struct{} // closed once all is sent
}

// wire connects the board with the others.
func (c *carrier) wire(b []byte) (err error) {
	w := &wired{done: make(chan struct{})}
	if err := json.Unmarshal(b, &w.Wiring); err != nil {
		return err
	}
	runs := 0
	for _, n := range w.Runs {
		runs += int(n)
	}
	if runs != w.Sizes.Out || len(w.To) != w.Sizes.Out || len(w.Event) != w.Sizes.In || len(w.From) != w.Sizes.In {
		return errors.New("internal error: the board does not fit")
	}
	if w.Board, err = ranks.OpenBoard(c.memory, w.At, w.Sizes); err != nil {
		return fmt.Errorf("share memory with the player: %w", err)
	}
	c.mu.Lock()
	c.edges, c.latency = 0, stats.Histogram{}
	c.wired.Store(w)
	c.mu.Unlock()
	if w.Sizes.Out > 0 {
		go c.carry(w)
	} else {
		close(w.done)
	}
	return nil
}

// carry sends what the player posts.
func (c *carrier) carry(w *wired) {
	defer close(w.done)
	// Sleeping on the board is a system call that takes a thread of its own.
	runtime.LockOSThread()
	type cursor struct{ next, end int }
	var cursors []cursor // of the threads that have events left
	at := 0
	for _, n := range w.Runs {
		cursors = append(cursors, cursor{at, at + int(n)})
		at += int(n)
	}
	batches := make([][]byte, c.join.Size)
	for to := range batches {
		batches[to] = binary.LittleEndian.AppendUint32(nil, w.Replay)
	}
	for len(cursors) > 0 {
		over, seq, some := w.over.Load(), w.Sleeper.Value(), false
		for i := 0; i < len(cursors); i++ {
			k := &cursors[i]
			for ; k.next < k.end; k.next++ {
				p := &w.Board.Out[k.next]
				when, posted := p.When()
				if !posted {
					break
				}
				some = true
				for _, to := range w.To[k.next] {
					b := &batches[to.Player]
					*b = binary.LittleEndian.AppendUint32(*b, uint32(to.Slot))
					*b = binary.LittleEndian.AppendUint64(*b, uint64(p.Due.Load()))
					*b = binary.LittleEndian.AppendUint64(*b, uint64(when))
					if len(*b) >= edgeHead+maxPosts*postBytes {
						c.sendEdges(int(to.Player), b)
					}
				}
			}
			if k.next == k.end {
				cursors[i] = cursors[len(cursors)-1]
				cursors = cursors[:len(cursors)-1]
				i--
			}
		}
		for to := range batches {
			c.sendEdges(to, &batches[to])
		}
		switch {
		case some:
		case over:
			return
		default:
			w.Sleeper.Wait(seq)
		}
	}
}

func (c *carrier) sendEdges(to int, batch *[]byte) {
	if len(*batch) == edgeHead {
		return
	}
	if err := c.conn.Load().Publish(c.subject("edge", to), *batch); err != nil {
		c.fail(fmt.Errorf("send ends of events to rank %d: %w", to, err))
	}
	*batch = (*batch)[:edgeHead]
}

// takeEdges writes ends of events to the board.
func (c *carrier) takeEdges(m *nats.Msg) {
	now := ranks.Monotonic() - c.start.Load()
	w := c.wired.Load()
	if w == nil || len(m.Data) < edgeHead || binary.LittleEndian.Uint32(m.Data) != w.Replay {
		return // it comes after the replay: no thread waited for it
	}
	for b := m.Data[edgeHead:]; len(b) >= postBytes; b = b[postBytes:] {
		slot := int(binary.LittleEndian.Uint32(b))
		due, when := int64(binary.LittleEndian.Uint64(b[4:])), int64(binary.LittleEndian.Uint64(b[12:]))
		if slot >= len(w.Board.In) {
			c.fail(fmt.Errorf("there is no slot %d for the end of an event", slot))
			return
		}
		c.mu.Lock() // before the player knows: its replay can end with that
		c.edges++
		c.latency.Add(now - when)
		c.mu.Unlock()
		w.Board.In[slot].Fill(due, when)
		w.Board.Sources[w.From[slot]].Arrive(w.Event[slot])
	}
}
