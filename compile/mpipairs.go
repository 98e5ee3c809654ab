package compile

import (
	"slices"

	"pianola/format"
)

// mpiLearned is what the passes before the last have found out.
type mpiLearned struct {
	groups  map[int]mpiGroup // of communicators that were made by a split
	pairs   []mpiPair        // of messages, by their number
	entries map[mpiEntry][]mpiPair
	count   int // of pairs and entries
}

// forgetMessages forgets the pairs of an earlier pass.
func (k *learned) forgetMessages() {
	k.bytes -= k.mpi.count * mpiPairBytes
	k.mpi.pairs, k.mpi.entries, k.mpi.count = nil, map[mpiEntry][]mpiPair{}, 0
}

// counted counts an operation.
func (k *learned) counted() {
	k.mpi.count++
	k.bytes += mpiPairBytes
}

// pair notes the partner of a message.
func (k *learned) pair(index int, with mpiPair) {
	if index >= maxOperations || k.mpi.count >= maxOperations {
		return
	}
	for len(k.mpi.pairs) <= index {
		k.mpi.pairs = append(k.mpi.pairs, mpiPair{})
		k.counted()
	}
	k.mpi.pairs[index] = with
}

// mpiMessage follows a send or a receive. In the passes before the last it pairs the two.
func (m *model) mpiMessage(t *thread, e *format.Event, kind mpiKind, comm int, handle int64, peer, tag int8) (op mpiOp) {
	s := m.mpis
	other, ok := mpiInt(e.Span, peer)
	mark, tagged := mpiInt(e.Span, tag)
	anySource, nobody := int64(-2), int64(-1)
	if handle > mpichHandles {
		anySource, nobody = -1, -2
	}
	if !ok || !tagged || other == nobody {
		return op
	}
	op = mpiOp{kind: kind, index: s.messages}
	s.messages++
	if kind == mpiReceive && other == anySource {
		if m.ties != nil {
			m.report.MPI.AnySource++
		}
		return mpiOp{}
	}
	rank := s.rank(comm, other)
	if rank < 0 {
		if m.ties != nil {
			m.report.MPI.Unknown++
		}
		return mpiOp{}
	}
	if m.ties != nil {
		return op
	}
	way := mpiWay{comm, t.proc.Rank, rank}
	if kind == mpiReceive {
		way.from, way.to = rank, t.proc.Rank
	}
	q := s.waiting[way]
	if q == nil {
		q = &mpiQueue{}
		s.waiting[way] = q
	}
	w := mpiWaiting{mark, op.index, mpiPair{t.num, t.proc.Rank, e.Start}}
	mine, theirs := &q.sent, &q.received
	if kind == mpiReceive {
		mine, theirs = theirs, mine
	}
	// Messages with one tag do not pass one another. A negative tag takes any.
	i := slices.IndexFunc(*theirs, func(o mpiWaiting) bool { return o.tag == w.tag || o.tag < 0 || w.tag < 0 })
	if i < 0 {
		if len(*mine) == maxUnmatched {
			*mine = append((*mine)[:0], (*mine)[1:]...)
		}
		*mine = append(*mine, w)
		return op
	}
	m.learned.pair((*theirs)[i].index, w.pair)
	m.learned.pair(op.index, (*theirs)[i].pair)
	*theirs = slices.Delete(*theirs, i, i+1)
	return op
}
