package ranks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/launcher"
	"pianola/record"
)

// Node is the recorder's side of the ranks of a node. It implements record.Ranks. Its methods
// belong to one goroutine.
type Node struct {
	Warn func(error) // is told what goes wrong without ending the recording

	dir    string
	name   string // of the node, in the recording
	host   *host
	pid    int // of the command
	server *server
	guest  *guest
	run    string
}

var _ record.Ranks = (*Node)(nil)

// NewNode begins the recorder of the node of the place, whose own rank becomes the command.
// The recordings, in which the node has a name, are in dir, which it makes. The caller closes it.
func NewNode(dir, name string, p launcher.Place, warn func(error)) (*Node, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	h, err := newHost(dir, p)
	if err != nil {
		return nil, err
	}
	return &Node{Warn: warn, dir: dir, name: name, host: h}, nil
}

// Name returns the name of the node's recording in a directory.
func Name(dir, node string) string {
	return filepath.Join(dir, strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, strings.TrimLeft(node, "."))+".txt")
}

// Gather implements record.Ranks.
func (n *Node) Gather(ctx context.Context, command int) (pids []int, err error) {
	if err := n.host.gather(ctx); err != nil {
		return nil, err
	}
	n.pid = command
	for _, m := range n.host.members {
		pids = append(pids, m.pid)
	}
	return pids, nil
}

// Meet implements record.Ranks: it meets the recorders of the other nodes and measures how the
// clocks differ.
func (n *Node) Meet(ctx context.Context, begun int64, clock func() int64) (*format.Header, error) {
	p := n.host.place
	all := []member{{rank: p.Rank, pid: n.pid}}
	all = append(all, n.host.members...)
	slices.SortFunc(all, func(a, b member) int { return a.rank - b.rank })
	g := greeting{Node: n.name, Size: p.Size}
	for _, m := range all {
		g.Ranks = append(g.Ranks, m.rank)
	}
	h := &format.Header{}
	var at *offset
	if all[0].rank == 0 {
		var err error
		if n.server, err = newServer(n.dir, p.Job, g, clock); err != nil {
			return nil, err
		}
		n.run = n.server.Run
		if err := n.server.await(ctx); err != nil {
			return nil, err
		}
	} else {
		var err error
		if n.guest, err = join(ctx, n.dir, p.Job, g); err != nil {
			return nil, err
		}
		n.run = n.guest.run
		stop := context.AfterFunc(ctx, func() { n.guest.conn.Close() })
		defer stop()
		o, err := measure(clock, n.guest.time)
		if err == nil {
			err = n.guest.ask(askStart, make([]byte, 1))
		}
		if err != nil {
			return nil, fmt.Errorf("the recorder of rank 0: %w", err)
		}
		at = &o
	}
	program := format.Program{Ranks: int32(p.Size), Run: n.run, Machine: machine(n.name), Begun: begun}
	h.Set(format.MetaRanks, program.String())
	for _, m := range all {
		h.Ranks = append(h.Ranks, format.Rank{Rank: int32(m.rank), Node: n.name, Process: int32(m.pid)})
	}
	at.put(h)
	return h, nil
}

// put adds a line for a measurement of the clocks.
func (o *offset) put(h *format.Header) {
	if o == nil {
		return
	}
	c := format.Clock{At: o.at, Offset: o.nanos, Round: o.round}
	h.Meta = append(h.Meta, format.Meta{Key: format.MetaClock, Value: c.String()})
}

// machine returns what tells the machine of a node from others until it is started again.
func machine(node string) string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "of-" + node
	}
	return fmt.Sprintf("%x", sha256.Sum256(id))[:16]
}

// Release implements record.Ranks.
func (n *Node) Release() error { return n.host.release() }

// Part implements record.Ranks: it measures the clocks again, and parts from the others.
func (n *Node) Part(ctx context.Context, clock func() int64) *format.Header {
	h := &format.Header{}
	var err error
	if n.server != nil {
		err = n.server.finish(ctx)
	}
	if n.guest != nil {
		stop := context.AfterFunc(ctx, func() { n.guest.conn.Close() })
		defer stop()
		var o offset
		if o, err = measure(clock, n.guest.time); err == nil {
			o.put(h)
			err = n.guest.ask(askEnd, make([]byte, 1))
		}
		if err != nil {
			err = fmt.Errorf("the clocks could not be compared again: %w", err)
		}
	}
	if err != nil {
		n.Warn(err)
	}
	return h
}

// Close ends the meeting. Ranks that have not been released fail.
func (n *Node) Close() error {
	n.host.close()
	var err error
	if n.guest != nil {
		err = n.guest.conn.Close()
	}
	if n.server != nil {
		n.server.close()
	}
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return err
}
