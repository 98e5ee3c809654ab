package profile

import (
	"pianola/format"
	"pianola/format/process"
)

// tracker counts what is done by threads and to files, as they are followed.
type tracker struct {
	*process.Follower
	threads threads
	files   files
	heats   heats
	path    critical
}

func newTracker(h *format.Header) *tracker {
	tr := &tracker{Follower: process.New(h, maxFiles), threads: newThreads(), files: newFiles(), path: newCritical(h)}
	tr.Added = tr.threads.added
	return tr
}

// runs is where the two directions of a descriptor have got to.
type runs struct {
	serial int64  // of the description
	of     [2]run // Reads and Writes
}

// move counts bytes that a read or a write moved in a file.
func (tr *tracker) move(c *call, e *format.Event, d *process.Description) {
	begin, end, ok := tr.Move(e, d)
	if !ok {
		return
	}
	r, ok := d.Data.(*runs)
	if !ok {
		r = new(runs)
		d.Data = r
	}
	if r.serial != d.Serial {
		*r = runs{serial: d.Serial}
	}
	f := tr.files.of(d.File)
	f.accesses[c.category].count(&r.of[c.category], begin, end, asked(e))
	tr.heat(c, f, begin, end)
}

// asked returns how many bytes a read or a write asked for.
func asked(e *format.Event) int64 {
	if e.Op.Info().At.Size < 0 {
		return max(e.Ret, 0)
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
	f.heat.add(c.category, c.start, begin, end)
}
