package ebpf

import (
	"fmt"

	"pianola/format"
	"pianola/record"
)

// lost is what the program could not record.
type lost struct {
	bySyscall  map[int]uint64 // events that found the ring full, by system call
	byCPU      []uint64       // the same by processor
	untracked  uint64         // calls of libraries that could not be followed: too deep within others, or for want of memory
	unfollowed uint64         // threads that could not be followed, for want of memory
	recursed   uint64         // runs that the kernel left out, within another run on the same processor
}

// lost returns what has been lost so far.
func (p *program) lost() (lost, error) {
	l := lost{bySyscall: make(map[int]uint64)}
	var perCPU []uint64
	for nr := range uint32(format.MaxSys) {
		if err := p.coll.Maps[recorderMapLost].Lookup(nr, &perCPU); err != nil {
			return l, fmt.Errorf("read the count of lost events: %w", err)
		}
		if l.byCPU == nil {
			l.byCPU = make([]uint64, len(perCPU))
		}
		for cpu, n := range perCPU {
			if n > 0 {
				l.bySyscall[int(nr)] += n
				l.byCPU[cpu] += n
			}
		}
	}
	for name, n := range map[string]*uint64{recorderVarUnfollowed: &l.unfollowed, recorderVarSpansUntracked: &l.untracked} {
		if err := p.coll.Variables[name].Get(n); err != nil {
			return l, fmt.Errorf("read the count of lost events: %w", err)
		}
	}
	for _, prog := range p.programs(attached) {
		s, err := prog.Stats()
		if err != nil {
			return l, fmt.Errorf("read the count of lost events: %w", err)
		}
		l.recursed += s.RecursionMisses
	}
	return l, nil
}

// spans is what a result calls lost calls of libraries.
const spans = "spans"

// addTo counts in a result what has been lost.
func (l *lost) addTo(r *record.Result) {
	for nr, n := range l.bySyscall {
		name := spans
		if nr != record.NrSpan {
			name = record.OpOf(format.HostArch, nr).String()
		}
		r.AddLost(name, n)
	}
	if r.Lost > 0 {
		r.LostByCPU = make([]int64, len(l.byCPU))
		for cpu, n := range l.byCPU {
			r.LostByCPU[cpu] = int64(n)
		}
	}
	r.AddLost(spans, l.untracked)
	r.AddLost("threads", l.unfollowed)
	r.AddLost("recursion", l.recursed)
}
