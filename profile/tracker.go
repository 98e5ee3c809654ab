package profile

import (
	"cmp"
	"math"

	"pianola/format"
	"pianola/format/process"
)

// tracker counts what is done by threads and to files, as they are followed.
type tracker struct {
	*process.Follower
	threads  threads
	files    files
	heats    heats
	path     critical
	ranks    ranks
	requests requests
	blocked  *Blocked // nil if the recording does not tell
}

// newTracker makes a tracker of so many files and threads at most, 0 for the usual bounds.
func newTracker(h *format.Header, rows int) *tracker {
	rows = cmp.Or(rows, math.MaxInt)
	tr := &tracker{Follower: process.New(h, min(rows, maxFiles)), threads: newThreads(min(rows, maxThreads)), files: newFiles(), path: newCritical(h), ranks: newRanks(h)}
	tr.requests = requests{clients: map[clientKey]*client{}, sent: map[format.Channel]bool{}, kinds: map[opSet]*requestSum{}}
	tr.Added = tr.threads.added
	if h.TellsWakers() {
		tr.blocked = new(Blocked)
	}
	return tr
}

// runs is where the two directions of a descriptor have got to.
type runs struct {
	serial int64  // of the description
	of     [2]run // Reads and Writes
}

// place finds the category of a call, the file that it counts for, nil for none,
// and what a read or a write moved in that, nil for nothing.
func (tr *tracker) place(c *call, f *process.Fact) (file *process.File, m *process.Moved) {
	kind := f.Kind()
	c.category = categoryOn(f.Event.Op, kind)
	switch out := &f.Written; {
	case kind == process.KindChannel && f.File == nil: // it makes one
		return tr.Made(f.Event), nil
	case kind <= process.KindFile && c.category <= Writes:
		return f.File, f.Moves()
	case kind > process.KindFile && out.To > out.From && out.Description != f.Description && out.Description.Kind == process.KindFile:
		// A copy writes into a file what is of none (splice from a pipe).
		c.category = Writes
		return out.File, out
	}
	return f.File, nil
}

// move counts what a read or a write moved.
func (tr *tracker) move(c *call, e *format.Event, m *process.Moved) {
	d := m.Description
	r, ok := d.Data.(*runs)
	if !ok {
		r = new(runs)
		d.Data = r
	}
	if r.serial != d.Serial {
		*r = runs{serial: d.Serial}
	}
	f := tr.files.of(d.File)
	if f.accesses[Reads] == nil && f.accesses[Writes] == nil {
		f.flags = d.Flags
	}
	f.flags &= d.Flags
	if c.category == Writes && d.Flags&(format.SYNC|format.DSYNC) != 0 {
		f.synced.add(&c.total)
	}
	if f.accesses[c.category] == nil {
		f.accesses[c.category] = new(accesses)
	}
	f.accesses[c.category].count(&r.of[c.category], m.From, m.To, asked(e))
	tr.heat(c, f, m.From, m.To)
}

// asked returns how many bytes a read or a write asked for.
func asked(e *format.Event) int64 {
	if e.Op.Info().At.Size < 0 {
		return e.Bytes()
	}
	return max(e.Size(), 0)
}

// heat puts a move into the file's heat map, if it has one.
func (tr *tracker) heat(c *call, f *file, begin, end int64) {
	if f.id == othersID {
		return
	}
	before := f.weight
	f.weight = min(before+c.total.Nanos+1, maxTime)
	if f.heat == nil {
		if tr.heats.give(f, before); f.heat == nil {
			return
		}
	}
	k := c.category
	if k == MappedReads || k == MappedWrites {
		k -= MappedReads - Reads
	}
	f.heat.add(k, c.start, begin, end)
}
