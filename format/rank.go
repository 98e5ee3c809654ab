package format

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// Rank is a process of a parallel program, as its launcher numbers it.
type Rank struct {
	Rank    int32  // from 0
	Process int32  // its process id in a script, 0 in a trace: there, threads have their rank
	Node    string // where it ran: printable ASCII without spaces
}

// MaxRank is the highest rank of a recording or trace.
const MaxRank = math.MaxInt32 - 1

// Rank returns the rank of the thread's process, -1 if it has none.
func (t *Thread) Rank() int32 { return t.rankPlus1 - 1 }

// OfRank returns the thread as one of a process with that rank; -1 stands for none.
func (t Thread) OfRank(rank int32) Thread {
	t.rankPlus1 = rank + 1
	return t
}

// Rank returns the rank of a thread, counted from 1, -1 if it has none.
func (h *Header) Rank(thread int32) int32 {
	if thread < 1 || int(thread) > len(h.Threads) {
		return -1
	}
	return h.Threads[thread-1].Rank()
}

func (r *Rank) append(dst []byte) []byte {
	dst = fmt.Appendf(dst, "# rank: %d ", r.Rank)
	if r.Process != 0 {
		dst = fmt.Appendf(dst, "process=%d ", r.Process)
	}
	return fmt.Appendf(dst, "node=%s\n", r.Node)
}

func (h *Header) parseRank(value []byte) error {
	s := scanner{rest: value}
	rank, process := s.int(31), int64(0)
	if bytes.HasPrefix(s.rest, []byte("process=")) {
		process = s.field("process", 31)
		s.failed = s.failed || process < 1
	}
	s.literal("node=")
	node := s.word()
	s.failed = s.failed || rank < 0 || rank > MaxRank || !validNode(node)
	if err := s.end("rank"); err != nil {
		return err
	}
	h.Ranks = append(h.Ranks, Rank{Rank: int32(rank), Process: int32(process), Node: string(node)})
	return nil
}

// validNode reports whether a word can be the name of a node.
func validNode(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(name) > 0
}

// Clock is a measurement of how the clocks of two recordings of one run differ: that of a
// node, and that of the node with rank 0. Times are in nanoseconds.
type Clock struct {
	At     int64 // when it was measured, on the clock of this recording
	Offset int64 // to be added to a time of this recording for that of the other one
	Round  int64 // round trip of the measurement: the offset is wrong by at most a half of it
}

// String returns the value of the remark MetaClock.
func (c *Clock) String() string {
	b := AppendSeconds([]byte("at="), c.At)
	b = AppendSeconds(append(b, " offset="...), c.Offset)
	return string(AppendSeconds(append(b, " round="...), c.Round))
}

// Clocks returns the measurements of a recording, in the order of the remarks.
func (h *Header) Clocks() (all []Clock, err error) {
	for _, m := range h.Meta {
		if m.Key != MetaClock {
			continue
		}
		s := scanner{rest: []byte(m.Value)}
		var c Clock
		s.literal("at=")
		c.At = s.seconds()
		s.literal("offset=")
		c.Offset = s.seconds()
		s.literal("round=")
		c.Round = s.seconds()
		if err := s.end("clock"); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Program says of which parallel program a recording holds some ranks.
type Program struct {
	Ranks   int32  // how many it has
	Run     string // identifies the run
	Machine string // identifies the machine until it is started again; nodes can share one
	Begun   int64  // the time 0 of the recording on the clock of the machine, nanoseconds
}

// Program returns what the remark MetaRanks says, and false without one.
func (h *Header) Program() (p Program, ok bool) {
	text, ok := h.Value(MetaRanks)
	if !ok {
		return p, false
	}
	count, notes, _ := strings.Cut(text, " ")
	s := scanner{rest: []byte(count)}
	p.Ranks = int32(s.int(31))
	run, _ := Note([]byte(notes), "run")
	machine, _ := Note([]byte(notes), "machine")
	p.Run, p.Machine = string(bytes.Clone(run)), string(bytes.Clone(machine))
	begun, _ := Note([]byte(notes), "begun")
	at, err := ParseSeconds(begun)
	p.Begun = at
	return p, !s.failed && p.Ranks > 0 && err == nil
}

// String returns the value of the remark.
func (p *Program) String() string {
	return fmt.Sprintf("%d run=%s machine=%s begun=%s", p.Ranks, p.Run, p.Machine, AppendSeconds(nil, p.Begun))
}

// NodeName returns a name as Rank.Node has it: bytes other than printable ASCII become _.
func NodeName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c <= ' ' || c >= 0x7f {
			b[i] = '_'
		}
	}
	return string(b)
}
