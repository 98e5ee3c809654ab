// Package commitskit makes traces of random programs whose threads commit to a log in groups,
// for tests.
package commitskit

import (
	"io"
	"math/rand/v2"
	"slices"

	"pianola/format"
)

// Program is the trace of a program. Its threads exist from the start, commit to one log, and
// exit. A Program does not change, so any goroutine may call its methods.
type Program struct {
	format.Trace // nil: methods that no test needs

	Commits int64 // in all groups but those before the edges begin
	Groups  int64
	Placed  bool  // writes have offsets
	Synced  bool  // a sync ends each group; otherwise the write does
	Size    int64 // of the log in the end, in bytes
	Written int64 // by all groups

	header  format.Header
	records [][]format.Record
	nanos   [][]int64
	waits   [][]format.Wait
}

// Block is what offsets and sizes of writes with offsets are multiples of, in bytes.
const Block = 512

// committer is a thread while its program runs. Times are in nanoseconds.
type committer struct {
	left   int   // commits
	wanted int64 // when it wants the next one
	ended  int64 // its last event or commit
	last   int64 // its last event
	own    int64 // compute since that
	joined []format.Edge
	woken  format.Edge // for its next event, with the time of the sync as its delay; thread 0 for none
}

// Random runs a program: so many threads commit so often. The bits of the seed say whether each
// has a process of its own (1), writes have offsets (2), and the syncs are gone (4).
func Random(seed uint64, threads, commits int) *Program {
	processes, placed, synced := seed&1 != 0, seed&2 != 0, seed&4 == 0
	r := rand.New(rand.NewPCG(seed, 1))
	think := func() int64 { return 5_000 + r.Int64N(200_000) }
	p := &Program{Placed: placed, Synced: synced, records: make([][]format.Record, threads), nanos: make([][]int64, threads), waits: make([][]format.Wait, threads)}
	all := make([]committer, threads)
	for i := range all {
		process := int32(1)
		if processes {
			process = int32(i + 1)
		}
		p.header.Threads = append(p.header.Threads, format.Thread{Process: process})
		all[i] = committer{left: commits, wanted: think()}
	}
	var newest format.Edge // the sync before
	free, position, last := int64(0), int64(0), -1
	for {
		first := -1
		for i := range all {
			if all[i].left > 0 && (first < 0 || all[i].wanted < all[first].wanted) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		begin, waited := all[first].wanted, all[first].wanted < free
		if waited {
			begin = free + 10_000
			all[first].woken = format.Edge{Thread: newest.Thread, Kind: format.EdgeWake, Event: newest.Event, Delay: free}
		}
		var members []int
		size := int64(0)
		for i := range all {
			if all[i].left > 0 && (i == first || all[i].wanted <= begin && (!waited || all[i].ended < free || i == last)) {
				members = append(members, i)
				size += 20 + r.Int64N(300)
			}
		}
		write := format.Record{Op: format.OpWrite, Ret: size, Args: [format.MaxArgs]int64{3, 0, size}}
		if placed {
			from, to := position/Block*Block, (position+size+Block-1)/Block*Block
			write = format.Record{Op: format.OpPwrite64, Ret: to - from, Args: [format.MaxArgs]int64{3, 0, to - from, from}}
			p.Size = to
		} else {
			p.Size += size
		}
		p.Written += write.Ret
		position += size
		lead := format.Edge{Thread: newest.Thread, Kind: format.EdgeLead, Event: newest.Event, Delay: all[first].wanted - all[first].ended}
		p.event(&all[first], first, write, begin, 5_000, &lead)
		newest = format.Edge{Thread: int32(first + 1), Kind: format.EdgeJoin, Event: int64(len(p.records[first]))}
		if free = begin + 7_000 + 50_000 + r.Int64N(500_000); synced {
			p.event(&all[first], first, format.Record{Op: format.OpFdatasync, Args: [format.MaxArgs]int64{3}}, begin+7_000, free-begin-7_000, nil)
		} else {
			newest.Event--
		}
		for _, i := range members {
			k := &all[i]
			if i != first {
				join := newest
				join.Delay = k.wanted - k.ended
				k.joined = append(k.joined, join)
				k.own += join.Delay
				k.woken = format.Edge{Thread: newest.Thread, Kind: format.EdgeWake, Event: newest.Event, Delay: free}
			}
			k.ended = free
			k.left, k.wanted = k.left-1, free+think()
		}
		last = first
		p.Groups++
		p.Commits += int64(len(members))
	}
	for i := range all {
		p.event(&all[i], i, format.Record{Op: format.OpExitGroup, Ret: format.NoResult}, all[i].ended+think(), 0, nil)
	}
	return p
}

// event adds an event of a thread, with what it waited for.
func (p *Program) event(k *committer, i int, r format.Record, begin, nanos int64, lead *format.Edge) {
	n := int64(len(p.records[i]))
	edges := slices.Clone(k.joined)
	if w := k.woken; w.Thread > 0 {
		w.Delay = begin - w.Delay
		edges = append([]format.Edge{w}, edges...)
	}
	k.own += begin - max(k.ended, k.last)
	if lead != nil {
		edges = append(edges, *lead)
		k.own += min(lead.Delay-(begin-max(k.ended, k.last)), 0)
	}
	r.Compute = begin - k.last
	for j, edge := range edges {
		v := format.Wait{Event: n, For: edge}
		if j == 0 {
			v.Held = max(r.Compute-k.own, 0)
		}
		p.waits[i] = append(p.waits[i], v)
	}
	p.records[i], p.nanos[i] = append(p.records[i], r), append(p.nanos[i], nanos)
	k.last, k.ended, k.own, k.joined, k.woken = begin+nanos, begin+nanos, 0, nil, format.Edge{}
}

// Header implements format.Trace.
func (p *Program) Header() *format.Header { return &p.header }

// Len implements format.Trace.
func (p *Program) Len(thread int32) int64 { return int64(len(p.records[thread-1])) }

// Waits implements format.Trace.
func (p *Program) Waits(thread int32) ([]format.Wait, error) { return p.waits[thread-1], nil }

// AllWaits returns the waits of each thread.
func (p *Program) AllWaits() [][]format.Wait { return p.waits }

// Process returns the process of a thread.
func (p *Program) Process(thread int32) int32 { return p.header.Threads[thread-1].Process }

// Records implements format.Trace.
func (p *Program) Records(thread int32) format.RecordReader {
	return &reader[format.Record]{p.records[thread-1]}
}

// Durations implements format.Trace.
func (p *Program) Durations(thread int32) format.DurationReader {
	return &reader[int64]{p.nanos[thread-1]}
}

// Ways implements format.Trace.
func (p *Program) Ways(int32) format.WayReader { return &reader[format.Way]{} }

// Lists implements format.Trace.
func (p *Program) Lists(int32) format.ListReader { return nil }

// Strings implements format.Trace.
func (p *Program) Strings() []string { return nil }

type reader[T any] struct{ left []T }

func (r *reader[T]) Read(batch []T) (int, error) {
	n := copy(batch, r.left)
	r.left = r.left[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Record returns the record of an event, to be changed.
func (p *Program) Record(thread int32, event int64) *format.Record {
	return &p.records[thread-1][event]
}
