// Package futex finds which thread woke which from futex calls alone. The answer is
// certain if a single thread waits at an address, or if one call wakes all threads that
// wait there. Uncertain pairs are left out. Nothing here may be called concurrently.
package futex

import (
	"slices"
	"strings"
)

// Place is the address at which threads wait: of a process, or of all processes that
// share the address.
type Place struct {
	Process int32
	Address int64
}

// Kind is what an operation of futex does.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	Waits
	Wakes
	Moves // wakes, and moves other waiters to another address
)

// kinds are indexed by the operation number in linux/futex.h.
var kinds = [...]struct {
	name string
	kind Kind
}{
	0: {"FUTEX_WAIT", Waits}, 1: {"FUTEX_WAKE", Wakes}, 3: {"FUTEX_REQUEUE", Moves}, 4: {"FUTEX_CMP_REQUEUE", Moves}, 5: {"FUTEX_WAKE_OP", Wakes},
	6: {"FUTEX_LOCK_PI", Waits}, 7: {"FUTEX_UNLOCK_PI", Wakes}, 9: {"FUTEX_WAIT_BITSET", Waits}, 10: {"FUTEX_WAKE_BITSET", Wakes},
	11: {"FUTEX_WAIT_REQUEUE_PI", Waits}, 12: {"FUTEX_CMP_REQUEUE_PI", Moves}, 13: {"FUTEX_LOCK_PI2", Waits},
}

// KindOf returns the kind of an operation, with or without flags.
func KindOf(op uint32) Kind {
	if op &= 0x7f; op < uint32(len(kinds)) {
		return kinds[op].kind
	}
	return Other
}

// KindOfName returns the kind of a named operation, with or without the suffix
// _PRIVATE.
func KindOfName(op string) Kind {
	op = strings.TrimSuffix(op, "_PRIVATE")
	for i := range kinds {
		if kinds[i].name == op {
			return kinds[i].kind
		}
	}
	return Other
}

// Pairs tracks calls that have begun and not ended. Its memory is bounded by their
// number. The zero value is ready.
type Pairs struct {
	sleepers map[Place][]sleeper
	empty    [][]sleeper    // lists that are used again
	wakes    map[int32]wake // by thread
}

// sleeper is a thread that waits.
type sleeper struct {
	tid, waker int32 // waker is 0 if there is none yet, several if there is more than one
}

const several = -1

// wake is a call that wakes others.
type wake struct {
	at    Place
	woken int64 // threads already reported as woken by it
	moves bool
}

// maxSleepers is the maximum number of waiters at one place that Pairs tracks.
const maxSleepers = 1 << 10

// Begin notes that a thread begins a call.
func (p *Pairs) Begin(tid int32, at Place, kind Kind) {
	switch kind {
	case Waits:
		if p.sleepers == nil {
			p.sleepers = make(map[Place][]sleeper)
		}
		list := p.sleepers[at]
		if last := len(p.empty) - 1; list == nil && last >= 0 {
			list, p.empty = p.empty[last], p.empty[:last]
		}
		if len(list) < maxSleepers {
			p.sleepers[at] = append(list, sleeper{tid: tid})
		}
	case Wakes, Moves:
		if p.wakes == nil {
			p.wakes = make(map[int32]wake)
		}
		p.wakes[tid] = wake{at: at, moves: kind == Moves}
	}
}

// Woke records the end of a call that woke woken threads. Its begin need not have been
// recorded if no other call happened since.
func (p *Pairs) Woke(tid int32, at Place, kind Kind, n int64) {
	call := wake{at: at, moves: kind == Moves}
	if begun, ok := p.wakes[tid]; ok && begun.at == at {
		call = begun
	}
	delete(p.wakes, tid)
	list := p.sleepers[call.at]
	if n -= call.woken; n <= 0 || len(list) == 0 {
		return
	}
	by := tid
	if n < int64(len(list)) || len(list) == maxSleepers || call.moves {
		by = several // which of them is not told
	}
	for i := range list {
		if list[i].waker != 0 {
			list[i].waker = several
		} else {
			list[i].waker = by
		}
	}
}

// leave removes a waiting thread. It returns the thread's state and the number of
// remaining waiters.
func (p *Pairs) leave(tid int32, at Place) (s sleeper, left int) {
	list := p.sleepers[at]
	i := slices.IndexFunc(list, func(s sleeper) bool { return s.tid == tid })
	if i < 0 {
		return sleeper{waker: several}, len(list)
	}
	s = list[i]
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(p.sleepers, at)
		p.empty = append(p.empty, list)
	} else {
		p.sleepers[at] = list
	}
	return s, len(list)
}

// Abandon forgets the call of a thread that will never end.
func (p *Pairs) Abandon(tid int32, at Place) {
	p.leave(tid, at)
	delete(p.wakes, tid)
}

// Woken records that a thread was woken. It returns the thread that woke it, 0 if that
// is not certain.
func (p *Pairs) Woken(tid int32, at Place) int32 {
	s, left := p.leave(tid, at)
	if s.waker == 0 { // by a call whose end has not been recorded
		for by, call := range p.wakes {
			if call.at != at {
				continue
			}
			if s.waker != 0 || left > 0 || call.moves {
				by = several
			}
			s.waker = by
			call.woken++
			p.wakes[by] = call
		}
	}
	return max(s.waker, 0)
}
