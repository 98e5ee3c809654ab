package transform

import (
	"cmp"
	"slices"

	"pianola/format"
)

// lineage tracks the events of a compiled trace on their way through
// transforms: the line of an event is one more than its number in its thread. Stages
// tell it of events that are taken out and merged. A nil lineage, that of a recording,
// takes no notice: compile finds all edges of a recording in what comes out.
type lineage struct{ threads []threadLineage }

// threadLineage is the lineage of a thread, as far as what comes out needs it.
type threadLineage struct {
	targets []target // events that edges lead to, in order
	origins []origin // in order of their lines, pruned as events come out
	spared  []spared // times that went with events, pruned likewise
}

// target is an event that an edge leads to, and what stands for it.
type target struct {
	event int64
	end   int64 // on the trace's clock
	was   int64 // the floor of a replay at its end, before the transforms

	commits bool // it ends a group of commits, so a replay can leave out a wait for it

	stands bool  // its thread has passed it
	data   where // what has its effects
	at     where // the last written event at its end
	lag    int64 // nanoseconds from there
	floor  int64
	more   []format.Edge // what its thread had waited for since then
}

// where is an event of the new trace. The zero where means none.
type where struct {
	thread int32
	event  int64
}

// origin is an event that has edges, or that is merged or moved.
type origin struct {
	line    int64
	edges   []format.Edge // as they were
	moved   format.Off    // the part of the waiting in its time off the processor
	joined  []int64       // lines of those that are merged into it
	through int64         // the newest of these if it comes out behind them, else 0
	handed  bool          // the thread has passed it
	out     bool          // it has come out
}

// spared is the time of an event that went with it.
type spared struct{ line, nanos int64 }

// lined is a reader that knows of the lineage of its events.
type lined interface{ lineage() *lineage }

// lineageOf returns the lineage of a reader's events, nil for none.
func lineageOf(r format.Reader) *lineage {
	if l, ok := r.(lined); ok {
		return l.lineage()
	}
	return nil
}

func (s *staged) lineage() *lineage  { return s.carried.lines }
func (r *each) lineage() *lineage    { return r.carried.lines }
func (r rewinder) lineage() *lineage { return lineageOf(r.Reader) }

// takes notes that an event is taken out, with its time or without.
func (l *lineage) takes(e *format.Event, v Verdict) {
	if l != nil && v == Spare && e.Line > 0 && e.Op != format.OpWait && e.Dur > 0 {
		b := &l.threads[e.TID-1]
		b.spared = append(b.spared, spared{e.Line, e.Dur})
	}
}

// joins notes that an event of a thread becomes a part of another one, or that one
// itself. late says that this comes out in the place of its newest part, or
// behind it.
func (l *lineage) joins(thread int32, line, into int64, late bool) {
	if l == nil || line <= 0 || into <= 0 {
		return
	}
	o := l.threads[thread-1].origin(into)
	if line != into {
		o.joined = append(o.joined, line)
	}
	if late {
		o.through = max(o.through, line)
	}
}

// find returns the origin of a line, nil for none.
func (b *threadLineage) find(line int64) *origin {
	if i, ok := b.search(line); ok {
		return &b.origins[i]
	}
	return nil
}

// origin returns the origin of a line, and makes it if there is none.
func (b *threadLineage) origin(line int64) *origin {
	i, ok := b.search(line)
	if !ok {
		b.origins = slices.Insert(b.origins, i, origin{line: line})
	}
	return &b.origins[i]
}

func (b *threadLineage) search(line int64) (int, bool) {
	return slices.BinarySearchFunc(b.origins, line, func(o origin, line int64) int { return cmp.Compare(o.line, line) })
}

// target returns the state of an event that edges lead to, nil for another one.
func (b *threadLineage) target(event int64) *target {
	i, ok := slices.BinarySearchFunc(b.targets, event, func(t target, event int64) int { return cmp.Compare(t.event, event) })
	if !ok {
		return nil
	}
	return &b.targets[i]
}

// without returns how much time went with the events of some lines.
func (b *threadLineage) without(from, to int64) (nanos int64) {
	for _, s := range b.spared {
		if from < s.line && s.line <= to {
			nanos += s.nanos
		}
	}
	return nanos
}

// pass forgets what nothing needs any more once a thread has passed a line.
func (b *threadLineage) pass(line int64) {
	if len(b.spared) > 0 {
		b.spared = slices.DeleteFunc(b.spared, func(s spared) bool { return s.line <= line })
	}
	done := func(o *origin) bool { return o.handed && (o.out || o.through == 0) && o.line < line }
	n := 0
	for n < len(b.origins) && done(&b.origins[n]) {
		n++
	}
	b.origins = b.origins[n:]
}
