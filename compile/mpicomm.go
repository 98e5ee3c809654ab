package compile

import (
	"cmp"
	"math"
	"slices"

	"pianola/format"
)

// mpiMakers are the functions that make a communicator of another one, which all of its ranks
// call, with the place of the new one. Those with a color split it.
var mpiMakers = map[string]struct{ made, color, key int }{
	"MPI_Comm_dup": {1, -1, -1}, "MPI_Comm_split": {3, 1, 2}, "MPI_Comm_split_type": {4, -2, -1}, "MPI_Comm_create": {2, -2, -1},
}

// Handles of MPICH and of what is made from it are numbers that are the same in all ranks. Those
// of Open MPI are addresses.
const (
	mpichWorld   = 0x44000000
	mpichSelf    = 0x44000001
	mpichHandles = math.MaxUint32
)

// mpiOrigin is how a communicator came to be, which is the same in all of its ranks.
type mpiOrigin struct {
	parent, number int
	color          int64
}

// comm returns the number of a communicator; ok is false for one that is not known or has one
// rank only.
func (s *mpiState) comm(p *mpiProcess, handle int64) (n int, ok bool) {
	if n, ok = p.comms[handle]; ok {
		return n, true
	}
	switch {
	case handle == mpichWorld:
		return mpiWorld, true
	case handle > mpichHandles && len(p.comms) == 0: // a program uses that of all ranks first
		p.comms[handle] = mpiWorld
		return mpiWorld, true
	}
	return 0, false
}

// rank returns the program's number of a rank of a communicator, -1 if it is not known.
func (s *mpiState) rank(comm int, rank int64) int32 {
	g := s.groups[comm]
	switch {
	case rank < 0 || rank > format.MaxRank || s.unclear[comm]:
		return -1
	case g == nil:
		return int32(rank)
	case rank >= int64(len(g)):
		return -1
	}
	return g[rank].rank
}

// mpiMake notes a new communicator.
func (m *model) mpiMake(t *thread, p *mpiProcess, e *format.Event, made, color, key int) {
	s := m.mpis
	handle, _ := mpiHandle(e.Span, 0)
	parent, ok := s.comm(p, handle)
	if !ok {
		return
	}
	m.mpiCollective(t, p, e, mpiOp{kind: mpiAll, comm: parent})
	origin := mpiOrigin{parent: parent, number: p.made[parent]}
	p.made[parent]++
	if color >= 0 {
		if origin.color, ok = mpiInt(e.Span, int8(color)); !ok {
			return
		}
	}
	id, ok := mpiHandle(e.Span, int8(made))
	if !ok || len(s.comms) == maxComms {
		return
	}
	n, known := s.comms[origin]
	if !known {
		n = len(s.parents)
		s.comms[origin] = n
		s.parents, s.split, s.unclear = append(s.parents, parent), append(s.split, color >= 0), append(s.unclear, color == -2 || s.unclear[parent])
		s.groups[n] = s.groups[parent]
		if color >= 0 {
			s.groups[n] = m.learned.mpi.groups[n]
		}
	}
	p.comms[id] = n
	if color >= 0 && m.ties == nil && !m.learned.closed {
		k, _ := mpiInt(e.Span, int8(key))
		m.learned.join(n, mpiMember{int32(k), t.proc.Rank})
		m.learned.more = m.learned.more || s.groups[n] == nil
	}
}

// join adds a rank to the group of a communicator.
func (k *learned) join(comm int, member mpiMember) {
	if k.mpi.groups == nil {
		k.mpi.groups = map[int]mpiGroup{}
	}
	g := k.mpi.groups[comm]
	if !slices.ContainsFunc(g, func(other mpiMember) bool { return other.rank == member.rank }) {
		g = append(slices.Clone(g), member) // the pass uses the one before
		slices.SortFunc(g, func(a, b mpiMember) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank)) })
		k.mpi.groups[comm] = g
		k.bytes += inMap
	}
}
