// Package commits finds how the threads of a trace commit to logs, so that a replay can do as
// they did: not in the groups of the recording, but by the protocol that made them.
//
// A thread that commits has bytes for a log, and waits until they are written and synced. If no
// thread is writing, it leads: it writes the bytes of all that wait, syncs, and lets them go on.
// The commits that come meanwhile are the next group, and one of their threads leads it. So a
// group is what comes during a sync, and on slower storage there are fewer and larger groups.
// This is the group commit of databases (D. DeWitt et al., "Implementation techniques for main
// memory database systems", SIGMOD 1984).
//
// The commits of a trace are its edges of the kinds lead and join. The bytes of a group are
// shared out equally among its commits. The edges say which event ends a group: a sync, or a
// write, where the log is open for synchronous writes or a transform has removed the syncs.
package commits

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"pianola/format"
)

// Trace is what Find reads of a trace, as format.Trace.
type Trace interface {
	Records(thread int32) format.RecordReader
	Durations(thread int32) format.DurationReader
}

// Plan is the logs of a trace, and the commits of its threads. It is not changed by its users,
// which can be several goroutines.
type Plan struct {
	Logs    []*Log
	Threads [][]Commit       // by the number of the thread, from 0: in the order of its events
	events  map[place]*Group // by each event
}

// place is an event of a thread.
type place struct {
	thread int32
	event  int64
}

// Commit is one of a thread. Times are in nanoseconds.
type Commit struct {
	Group *Group // of the recording
	Event int64  // that follows the commit; of a leader, the first one of its group
	Leads bool   // the thread led in the recording
	Delay int64  // from the end of the thread's event or commit before until it wants this one
	After int64  // from the end of the sync until that event, if the recording tells; otherwise below 0
	Like  *Group // whose calls the thread can make if it leads
}

// Log is a file to which threads commit in groups.
type Log struct {
	Number  int
	Groups  []*Group // of the recording, in order; the first one writes
	Commits int64    // in all of them
	Turn    int64    // nanoseconds from the end of a sync until the next leader begins, if a processor is free
	Busy    int64    // how many more it took on average, as other threads had the processors
	Took    int64    // nanoseconds of the calls of a group, on average; 0 if the recording does not tell
	Process int32    // of all its leaders; 0 if they are of several
	newest  *Group   // the last one that writes
	placed  bool     // its writes have offsets
	block   int64    // in bytes, of which offsets and sizes are multiples
}

// Group is what a thread wrote and synced for several.
type Group struct {
	Log     *Log
	Thread  int32 // that led
	Event   int64 // its first event of the group
	Events  int64 // how many these are; after the last one, the bytes are durable
	Members int64 // commits
	End     int64 // commits of the log up to the end of this group

	Write   format.Record // the first write; its Op is OpNone if there is none
	Sync    format.Record // the same
	Between int64         // compute between the last write and the sync, in nanoseconds
	Wrote   int64         // recorded duration of the first write, in nanoseconds, or format.Unknown
	Synced  int64         // the same of the sync

	from, to int64 // bytes of the log that it writes; those of appending writes count from the first one
	before   place // the sync of the group before
	turn     int64 // from the end of that to the first event, below 0 if it did not wake the leader
	odd      bool  // it is not understood
}

// Syncs reports whether the group ends with a sync.
func (g *Group) Syncs() bool { return g.Sync.Op != format.OpNone }

// last returns the place of the sync, or of the last write if there is none.
func (g *Group) last() place { return place{g.Thread, g.Event + g.Events - 1} }

const (
	// Least is how many groups a log has at least, and how many whose leader the leader before
	// woke, and how many commits that their threads did not lead. Fewer do not show a protocol.
	Least = 8

	// maxEvents is how many events a group has at most.
	maxEvents = 16
)

// Find finds the logs of a trace, nil if there are none. waits are those of the threads, and
// process returns that of a thread. Groups that are not understood stay as recorded, and so do
// those of a log whose leaders do not wait for one another.
func Find(t Trace, process func(thread int32) int32, waits [][]format.Wait) (*Plan, error) {
	ends := endsOf(waits)
	var all []*Group
	for i := range waits {
		groups, err := readGroups(t, int32(i+1), waits[i], ends[i])
		if err != nil {
			return nil, fmt.Errorf("read the commits of thread %d: %w", i+1, err)
		}
		all = append(all, groups...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	firsts, syncs := map[place]*Group{}, map[place]*Group{} // by the first event, and by the last one
	for _, g := range all {
		firsts[place{g.Thread, g.Event}], syncs[g.last()] = g, g
	}
	logs := chain(all, syncs)
	for _, l := range logs {
		l.Process = process(l.Groups[0].Thread)
		for _, g := range l.Groups {
			if process(g.Thread) != l.Process {
				l.Process = 0
			}
		}
	}
	p := &Plan{Threads: make([][]Commit, len(waits))}
	for i := range waits {
		p.Threads[i] = commitsOf(waits[i], int32(i+1), process(int32(i+1)), firsts, syncs)
	}
	for _, l := range logs {
		if l.settle() {
			l.Number = len(p.Logs)
			p.Logs = append(p.Logs, l)
		}
	}
	if len(p.Logs) == 0 {
		return nil, nil
	}
	p.drop()
	return p, nil
}

// endsOf returns the events of each thread that end groups, as the edges of commits name them,
// in order.
func endsOf(waits [][]format.Wait) [][]int64 {
	ends := make([][]int64, len(waits))
	for _, all := range waits {
		for i := range all {
			if w := &all[i].For; w.Kind.Commits() && w.Thread > 0 && int(w.Thread) <= len(ends) {
				ends[w.Thread-1] = append(ends[w.Thread-1], w.Event)
			}
		}
	}
	for i := range ends {
		slices.Sort(ends[i])
		ends[i] = slices.Compact(ends[i])
	}
	return ends
}

// readGroups reads the groups that a thread led. ends are the events that end some.
func readGroups(t Trace, thread int32, waits []format.Wait, ends []int64) (groups []*Group, err error) {
	for i := range waits {
		w := &waits[i]
		if n := len(groups); w.For.Kind != format.EdgeLead || n > 0 && groups[n-1].Event == w.Event {
			continue
		}
		groups = append(groups, &Group{Thread: thread, Event: w.Event, before: place{w.For.Thread, w.For.Event}, turn: after(waits, i)})
	}
	if len(groups) == 0 {
		return nil, nil
	}
	for i, g := range groups {
		k, _ := slices.BinarySearch(ends, g.Event)
		if k == len(ends) || i+1 < len(groups) && ends[k] >= groups[i+1].Event || ends[k]-g.Event >= maxEvents {
			continue
		}
		g.Events = ends[k] - g.Event + 1
	}
	records, durations := t.Records(thread), t.Durations(thread)
	batch, nanos := make([]format.Record, 1024), make([]int64, 1024)
	next, ending := 0, format.OpFdatasync // that which ends groups that no edge names
	for event := int64(0); next < len(groups); {
		n, err := records.Read(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		for read := 0; err == nil && read < n; {
			var k int
			k, err = durations.Read(nanos[read:n])
			read += k
		}
		if err != nil {
			return nil, err
		}
		for i := 0; i < n && next < len(groups); i, event = i+1, event+1 {
			g := groups[next]
			if event < g.Event {
				continue
			}
			g.add(&batch[i], nanos[i], batch[i].Compute-held(waits, event))
			if g.Events == 0 && batch[i].Op == ending {
				g.Events = event - g.Event + 1
			}
			switch {
			case event == g.last().event:
				g.odd = g.odd || g.Write.Op == format.OpNone && !g.Syncs()
				ending = batch[i].Op
				next++
			case event-g.Event == maxEvents, next+1 < len(groups) && event+1 == groups[next+1].Event:
				g.odd = true
				next++
			}
		}
	}
	for i, g := range groups {
		g.odd = g.odd || i >= next // the records end before
		g.Events = max(g.Events, 1)
	}
	return groups, nil
}

// held returns how long a thread waited before one of its events, in nanoseconds.
func held(waits []format.Wait, event int64) int64 {
	i, waited := slices.BinarySearchFunc(waits, event, func(w format.Wait, event int64) int { return cmp.Compare(w.Event, event) })
	if !waited {
		return 0
	}
	return waits[i].Held
}

// after returns the delay between the other event of an edge and the event that has it, as
// another edge between the two tells; -1 if there is none.
func after(waits []format.Wait, i int) int64 {
	w := &waits[i]
	for k := i - 1; k >= 0 && waits[k].Event == w.Event; k-- {
		if v := &waits[k].For; v.Kind.Wakes() && v.Thread == w.For.Thread && v.Event == w.For.Event {
			return v.Delay
		}
	}
	return -1
}

// add adds an event of the leader to the group, with its duration and the compute before it.
func (g *Group) add(r *format.Record, nanos, compute int64) {
	wrote := g.Write.Op != format.OpNone
	switch r.Op {
	case format.OpFsync, format.OpFdatasync:
		if g.odd = g.odd || g.Syncs() || r.Ret != 0 || wrote && r.Args[0] != g.Write.Args[0]; wrote {
			g.Between = max(compute, 0)
		}
		g.Sync, g.Synced = *r, nanos
	case format.OpWrite, format.OpPwrite64:
		from := g.to
		if r.Op == format.OpPwrite64 {
			from = r.Args[3]
		}
		if !wrote {
			g.Write, g.Wrote, g.from, g.to = *r, nanos, from, from
		}
		g.odd = g.odd || g.Syncs() || r.Ret <= 0 || r.Ret != r.Args[2] || r.Op != g.Write.Op || r.Args[0] != g.Write.Args[0] || from != g.to
		g.to = from + max(r.Ret, 0)
	default:
		g.odd = true
	}
}

// chain puts groups into logs, by what each one says of the group before. A log ends where a group
// does not go on where the one before ended: a database writes the header of its log between
// commits, and begins again at the start of a log that is full.
func chain(all []*Group, syncs map[place]*Group) (logs []*Log) {
	next := map[place]*Group{}
	var firsts []*Group
	for _, g := range all {
		if syncs[g.before] == nil || next[g.before] != nil {
			firsts = append(firsts, g)
			continue
		}
		next[g.before] = g
	}
	for _, g := range firsts {
		var l *Log
		for ; g != nil && g.Log == nil; g = next[g.last()] {
			if l == nil || !l.goesOn(g) {
				if g.Write.Op == format.OpNone {
					l = nil // a new file that is synced before it is a log
					continue
				}
				l = &Log{}
				logs = append(logs, l)
			}
			g.Log = l
			if l.Groups = append(l.Groups, g); g.Write.Op != format.OpNone {
				l.newest = g
			}
		}
	}
	return logs
}

// goesOn reports whether a group is the next one of a log.
func (l *Log) goesOn(g *Group) bool {
	if before := l.Groups[len(l.Groups)-1]; g.odd || before.odd || g.Syncs() != before.Syncs() {
		return false
	}
	last := l.newest
	return g.Write.Op == format.OpNone ||
		g.Write.Op == last.Write.Op && (g.Write.Op == format.OpWrite || last.from <= g.from && g.from <= last.to)
}

// commitsOf returns the commits of a thread, and adds them to their groups. A thread that never
// leads does not write for others, so its waits stay as they are; and so do those before it has
// written to the log, if others of its process do not.
func commitsOf(waits []format.Wait, thread, process int32, firsts, syncs map[place]*Group) (all []Commit) {
	leads, like := map[*Log]bool{}, map[*Log]*Group{}
	for i := range waits {
		if w := &waits[i]; w.For.Kind == format.EdgeLead {
			leads[firsts[place{thread, w.Event}].Log] = true
		}
	}
	for i := range waits {
		w := &waits[i]
		var g *Group
		switch w.For.Kind {
		case format.EdgeLead:
			g = firsts[place{thread, w.Event}]
			if g.Write.Op != format.OpNone {
				like[g.Log] = g
			}
		case format.EdgeJoin:
			g = syncs[place{w.For.Thread, w.For.Event}]
		}
		if g == nil || g.Log == nil || !leads[g.Log] {
			continue
		}
		own := like[g.Log]
		if own == nil && g.Log.Process == process {
			own = g.Log.newest
		}
		if own == nil {
			continue
		}
		g.Members++
		all = append(all, Commit{Group: g, Event: w.Event, Leads: w.For.Kind == format.EdgeLead, Delay: w.For.Delay, After: after(waits, i), Like: own})
	}
	return all
}

// settle finds how the log is written, and reports whether its groups can differ: there are
// enough of them, and leaders wait for the group before, which no single thread does that
// syncs for all.
func (l *Log) settle() bool {
	if len(l.Groups) < Least {
		return false // a group that is not understood is a log of its own
	}
	l.placed = l.newest.Write.Op == format.OpPwrite64
	end, took := int64(0), int64(0)
	if l.placed {
		end = l.Groups[0].from
	}
	var turns []int64
	var bits int64
	for _, g := range l.Groups {
		l.Commits += g.Members
		g.End = l.Commits
		if g.turn >= 0 {
			turns = append(turns, g.turn)
		}
		took += max(g.Wrote, 0) + g.Between + max(g.Synced, 0)
		switch {
		case g.Write.Op == format.OpNone:
			g.from, g.to = end, end
		case !l.placed:
			g.from, g.to = g.from+end, g.to+end
		}
		end = max(end, g.to)
		bits |= g.from | g.to
	}
	if len(turns) < Least || l.Commits-int64(len(l.Groups)) < Least {
		return false
	}
	slices.Sort(turns)
	l.Turn, l.Took = turns[len(turns)/4], took/int64(len(l.Groups)) // later turns had to wait for a processor
	for _, turn := range turns {
		l.Busy += min(turn, turns[len(turns)*9/10]) // some are late for another reason
	}
	l.Busy = max(l.Busy/int64(len(turns))-l.Turn, 0)
	if l.block = 1; l.placed {
		l.block = blockOf(bits)
	}
	return true
}

// blockOf returns the largest power of two, up to 64 KiB, of which all numbers are multiples
// whose bits are set in a number.
func blockOf(set int64) int64 { return 1 << min(bits.TrailingZeros64(uint64(set)), 16) }

// drop forgets the groups and commits of logs that are not in the plan.
func (p *Plan) drop() {
	kept := map[*Log]bool{}
	p.events = map[place]*Group{}
	for _, l := range p.Logs {
		kept[l] = true
		for _, g := range l.Groups {
			for i := range g.Events {
				p.events[place{g.Thread, g.Event + i}] = g
			}
		}
	}
	for i, all := range p.Threads {
		p.Threads[i] = slices.DeleteFunc(all, func(c Commit) bool { return !kept[c.Group.Log] })
	}
}

// Last returns the last commit of a thread before the end of one of its events; nil if there is
// none.
func (p *Plan) Last(thread int32, event int64) *Commit {
	if thread < 1 {
		return nil
	}
	all := p.Threads[thread-1]
	n, _ := slices.BinarySearchFunc(all, event+1, func(c Commit, event int64) int { return cmp.Compare(c.Event, event) })
	if n == 0 {
		return nil
	}
	return &all[n-1]
}

// At returns the recorded group to which an event of a thread belongs, nil if it is none.
func (p *Plan) At(thread int32, event int64) *Group { return p.events[place{thread, event}] }

// extent returns the offset and the size of what a leader writes for some commits, after so
// many others. All commits together have each byte that the recording has, without holes.
func (l *Log) extent(done, commits int64, hint *int) (offset, size int64) {
	from := l.at(done, hint, false)
	to := max(l.at(done+commits, hint, true), from)
	return from, to - from
}

// at returns the place in the log after so many commits: the end of what is written for the
// last one, or the begin of what is written for the next one. hint is the index of a group at
// or before.
func (l *Log) at(done int64, hint *int, ends bool) int64 {
	k := *hint
	for k < len(l.Groups)-1 && (l.Groups[k].End < done || !ends && l.Groups[k].End == done) {
		k++
	}
	*hint = k
	g := l.Groups[k]
	into := done - (g.End - g.Members)
	switch size := g.to - g.from; {
	case into >= g.Members:
		return g.to
	case into <= 0:
		return g.from
	case !l.placed:
		return g.from + size*into/g.Members
	default:
		part := size * into / g.Members
		if ends {
			part += l.block - 1
		}
		return g.from + part/l.block*l.block
	}
}
