package format

import (
	"bytes"
	"fmt"
	"math"
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
