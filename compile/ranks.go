package compile

import (
	"cmp"
	"fmt"
	"slices"

	"pianola/format"
)

// RankEnd is the end of a rank that failed.
type RankEnd struct {
	Rank   int32
	Status int64 // of its exit
	Signal int32 // that ended it, 0 for none
}

func (r RankEnd) String() string {
	if r.Signal != 0 {
		return fmt.Sprintf("rank %d was ended by signal %d", r.Rank, r.Signal)
	}
	return fmt.Sprintf("rank %d ended with status %d", r.Rank, r.Status)
}

// ranksOf returns the ranks of the trace, given those of the recording. Names of nodes become
// numbers if hidden is true.
func ranksOf(of []format.Rank, hidden bool) []format.Rank {
	all := slices.Clone(of)
	slices.SortFunc(all, func(a, b format.Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	numbers := map[string]int{}
	for i := range all {
		r := &all[i]
		r.Process = 0
		if _, known := numbers[r.Node]; !known {
			numbers[r.Node] = len(numbers) + 1
		}
		if hidden {
			r.Node = fmt.Sprintf("node%d", numbers[r.Node])
		}
	}
	return all
}

// rankEnded notes the end of the process of a rank if it failed. A process that the rank made is
// none.
func (pr *processes) rankEnded(p *proc, e *format.Event) {
	if p.Rank < 0 || p.maker != nil || p.rankEnded {
		return
	}
	end := RankEnd{Rank: p.Rank}
	if e.Notes.Known(format.NotedSignal) {
		end.Signal = e.Notes.Signal
	} else if !e.Notes.Known(format.NotedKilled) {
		end.Status = e.Args[0] & 0xff
	}
	if end != (RankEnd{Rank: p.Rank}) {
		p.rankEnded = true
		pr.report.FailedRanks = append(pr.report.FailedRanks, end)
	}
}
