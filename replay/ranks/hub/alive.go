package hub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pianola/replay/ranks"
)

// How a lost peer is noticed: a closed connection at once, a silent one after some pings,
// and a carrier that no longer says that it is alive.
const (
	pingEvery    = 2 * time.Second
	maxPings     = 4
	aliveEvery   = time.Second
	aliveTimeout = 20 * time.Second // longer than a busy machine suspends a process
)

// monitor sends each second that this carrier is alive, and finds carriers that are not:
// rank 0 monitors all, and the others monitor rank 0.
func (c *carrier) monitor() {
	now := time.Now()
	c.mu.Lock()
	for rank := range c.alive {
		if rank != c.join.Rank && (rank == 0 || c.join.Rank == 0) && c.alive[rank].IsZero() {
			c.alive[rank] = now
		}
	}
	c.mu.Unlock()
	for {
		_ = c.conn.Load().Publish(c.subject("alive", c.join.Rank), nil)
		time.Sleep(aliveEvery)
		c.checkConnections()
		c.mu.Lock()
		lost := slices.IndexFunc(c.alive, func(t time.Time) bool { return !t.IsZero() && time.Since(t) > aliveTimeout })
		over := c.leaving
		c.mu.Unlock()
		if over {
			return
		}
		if lost >= 0 {
			c.failRank(lost, fmt.Sprintf("has said nothing for %v", aliveTimeout))
		}
	}
}

// failRank ends the replay because of another rank.
func (c *carrier) failRank(rank int, why string) {
	text := fmt.Sprintf("rank %d on %s %s", rank, c.nodes[rank], why)
	if rank == 0 { // rank 0 prints what ranks find out about others
		c.tellFailure(ranks.FromCarrier, text)
		return
	}
	c.publishFailure(ranks.FromPeer, text)
	c.tellFailure(ranks.FromPeer, text)
}

// checkConnections finds the ranks whose connection with the own server has ended.
func (c *carrier) checkConnections() {
	s := c.met.server.Load()
	if s == nil {
		return
	}
	here, err := connected(s)
	if err != nil {
		return
	}
	for rank := 1; rank < c.join.Size; rank++ {
		c.mu.Lock()
		expected := !c.alive[rank].IsZero()
		c.mu.Unlock()
		if expected && !here[clientName(rank)] {
			c.failRank(rank, "has died")
			return
		}
	}
}

// rankOf returns the rank at the end of a subject, -1 for none.
func (c *carrier) rankOf(subject string) int {
	rank, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil || rank < 0 || rank >= c.join.Size {
		return -1
	}
	return rank
}

func (c *carrier) takeAlive(m *nats.Msg) {
	if rank := c.rankOf(m.Subject); rank >= 0 {
		c.mu.Lock()
		if !c.alive[rank].IsZero() {
			c.alive[rank] = time.Now()
		}
		c.mu.Unlock()
	}
}

func (c *carrier) takeLeft(m *nats.Msg) {
	if rank := c.rankOf(m.Subject); rank >= 0 {
		c.mu.Lock()
		c.alive[rank] = time.Time{}
		c.mu.Unlock()
	}
}

// leave publishes that the player has left or died, and ends the connection. Rank 0
// waits for the others, because their messages end with its server.
func (c *carrier) leave(left bool) {
	if !left {
		c.publishDeath()
	}
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	_ = c.conn.Load().Publish(c.subject("left", c.join.Rank), nil)
	_ = c.conn.Load().FlushTimeout(time.Second)
	c.met.awaitOthers()
	c.conn.Load().Close()
}

// publishDeath publishes that the player has died.
func (c *carrier) publishDeath() {
	from := byte(ranks.FromPeer)
	if c.join.Rank == 0 { // which prints no more messages
		from = ranks.FromCarrier
	}
	c.publishFailure(from, c.name()+" has died")
}
