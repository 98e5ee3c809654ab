package ebpf

import (
	"fmt"

	"github.com/cilium/ebpf"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

// lost is what the program could not record.
type lost struct {
	byNumber  map[int]uint64                          // records that found the ring full, by the number in them
	byCPU     []uint64                                // the same by processor
	untracked [bpf.CUntrackedKindNUM_UNTRACKED]uint64 // what could not be followed
	recursed  uint64                                  // runs that the kernel left out, within another run on the same processor
}

// lost returns what has been lost so far.
func (p *program) lost() (lost, error) {
	l := lost{byNumber: make(map[int]uint64)}
	var perCPU []uint64
	for nr := range uint32(format.MaxSys) {
		if err := p.coll.Maps[bpf.CMapLost].Lookup(nr, &perCPU); err != nil {
			return l, fmt.Errorf("read the count of lost events: %w", err)
		}
		if l.byCPU == nil {
			l.byCPU = make([]uint64, len(perCPU))
		}
		for cpu, n := range perCPU {
			if n > 0 {
				l.byNumber[int(nr)] += n
				l.byCPU[cpu] += n
			}
		}
	}
	if err := p.coll.Variables[bpf.CVarUntracked].Get(&l.untracked); err != nil {
		return l, fmt.Errorf("read the count of lost events: %w", err)
	}
	var err error
	l.recursed, err = recursed(p.coll.Programs)
	return l, err
}

// recursed returns how many runs of all of some programs the kernel has left out.
func recursed[P interface {
	Stats() (*ebpf.ProgramStats, error)
}](programs map[string]P) (sum uint64, err error) {
	for _, prog := range programs {
		s, err := prog.Stats()
		if err != nil {
			return 0, fmt.Errorf("read the count of lost events: %w", err)
		}
		sum += s.RecursionMisses
	}
	return sum, nil
}

// untrackedNames is what a result calls what could not be followed.
var untrackedNames = [bpf.CUntrackedKindNUM_UNTRACKED]string{
	bpf.CUntrackedKindUNTRACKED_THREAD:  "threads",
	bpf.CUntrackedKindUNTRACKED_SPAN:    "spans",
	bpf.CUntrackedKindUNTRACKED_SPACE:   "spaces",
	bpf.CUntrackedKindUNTRACKED_MESSAGE: "messages",
	bpf.CUntrackedKindUNTRACKED_RING:    "rings",
	bpf.CUntrackedKindUNTRACKED_NAME:    "names",
}

// addTo counts in a result what has been lost.
func (l *lost) addTo(r *record.Result) {
	for nr, n := range l.byNumber {
		name := record.OpOf(format.HostArch, nr).String()
		if i := bpf.CNumber(nr) - bpf.CNumberNR_OTHERS; int(i) < len(records) {
			name = records[i].name
		}
		r.AddLost(name, n)
	}
	if r.Lost > 0 {
		r.LostByCPU = make([]int64, len(l.byCPU))
		for cpu, n := range l.byCPU {
			r.LostByCPU[cpu] = int64(n)
		}
	}
	for what, n := range l.untracked {
		r.AddLost(untrackedNames[what], n)
	}
	r.AddLost("recursion", l.recursed)
}
