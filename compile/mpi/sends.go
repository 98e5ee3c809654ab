package mpi

import "slices"

// Message is what a send sends, as far as that says whether it waits for its receive.
type Message struct {
	Count       int64 // elements; -1 if unknown, and for a send that never waits: MPI_Bsend
	Synchronous bool  // by its function: MPI_Ssend
	Shared      bool  // the call that completed it completed something else as well
	of          int32 // index of its datatype in Sends.sizes, -1 for none
}

// datatype is a type of MPI: of all ranks with rank -1.
type datatype struct {
	handle int64
	rank   int32
}

// Sends has learned from a recording which sends wait for their receives. A library sends short
// messages at once (eager). A longer one waits until it is received (rendezvous), even if it
// did not have to wait in the recording because the receive had begun before. From which
// size on is not known, and depends on the library, the network and the variables of its
// environment. So for each datatype
//
//   - a send is early up to the highest count that ever was sent before its receive began.
//   - a send waits if it has a higher count than that, and at least the lowest one of those
//     counts that was under way when its receive began.
type Sends struct {
	types map[datatype]int32
	sizes []sizes // of types
}

// sizes are the counts of sends of a datatype.
type sizes struct {
	early  int64   // the highest that was sent before its receive began, -1 for none
	waited []int64 // the lowest ones above it whose send was under way then, in order
}

const (
	maxTypes  = 1 << 12
	maxWaited = 64
)

// typed returns the index of a datatype, -1 if there are too many.
func (s *Sends) typed(of datatype) int32 {
	i, known := s.types[of]
	if !known {
		if i = int32(len(s.sizes)); i == maxTypes {
			return -1
		}
		s.types[of] = i
		s.sizes = append(s.sizes, sizes{early: -1})
	}
	return i
}

// add learns from a send. Latest is when its receive can have begun, if the send waited for it.
func (s *Sends) add(m *message, latest int64) {
	if m.mode != standard || m.data.Count < 0 || m.data.of < 0 || m.guessed {
		return
	}
	early, during := m.other.At > latest, m.other.At > m.call.From && m.other.At <= m.call.End && !m.shared
	if !early && !during {
		return
	}
	of := &s.sizes[m.data.of]
	count := m.data.Count
	switch {
	case count <= of.early:
	case early:
		of.early = count
		of.waited = slices.DeleteFunc(of.waited, func(n int64) bool { return n <= count })
	default:
		if i, found := slices.BinarySearch(of.waited, count); !found && i < maxWaited {
			of.waited = slices.Insert(of.waited[:min(len(of.waited), maxWaited-1)], i, count)
		}
	}
}

// Early reports whether sends like m have ended before their receives began.
func (s *Sends) Early(m *Message) bool {
	return !m.Synchronous && m.Count >= 0 && m.of >= 0 && m.Count <= s.sizes[m.of].early
}

// Waits reports whether a send like m ends after its receive has begun, whenever that is.
func (s *Sends) Waits(m *Message) bool {
	if m.Synchronous || m.of < 0 {
		return m.Synchronous
	}
	of := &s.sizes[m.of]
	return m.Count > of.early && len(of.waited) > 0 && m.Count >= of.waited[0]
}
