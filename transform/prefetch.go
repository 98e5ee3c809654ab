package transform

import (
	"fmt"
	"math"
	"time"

	"pianola/format"
	"pianola/format/follow"
)

func init() {
	Register(Transform{
		Name: "prefetch", Arg: "[=N|D]",
		Doc:   "announces each read (fadvise WILLNEED) right after the thread's event that is N (2) before it, or a time D before it",
		Keeps: "everything",
		New:   newPrefetch,
	})
}

func newPrefetch(arg string) (Func, error) {
	p := prefetch{events: 2}
	if arg != "" {
		n, err := parseCount(arg, lookAhead)
		d, derr := time.ParseDuration(arg)
		switch {
		case err == nil:
			p.events = n
		case derr == nil && d > 0:
			p.events, p.time = lookAhead, int64(d)
		default:
			return nil, fmt.Errorf("%q is neither a number of events from 1 to %d nor a time such as 20ms", arg, lookAhead)
		}
	}
	return newStaged(lookAhead, func() stage { own := p; return &own }), nil
}

const willNeed = 3 // of format.FadviseAdvice

// prefetch puts in advice as an application would that knew what it is going to
// read. It can't come before the descriptor, and comes but once for bytes that
// were announced, read or written lately.
type prefetch struct {
	events int   // of the thread from the advice to the read
	time   int64 // nanoseconds from the advice to the read, 0 for as many events
}

// event implements stage.
func (p *prefetch) event(s *staged, e *format.Event) error {
	t := s.Thread(e)
	f, d := s.About(t, e)
	en := s.push(e)
	en.table = t.Table
	if from, to, ok := s.move(e, d); ok && isFile(d) {
		known := recentOf(d.File)
		if e.Op.Info().Class == format.ClassRead && d.Flags&format.DIRECT == 0 && !known.hold(from, to) {
			p.announce(s, en, from, to)
		}
		known.add(from, to)
	} else if from, to, ok := announced(e, d); ok {
		recentOf(d.File).add(from, to)
	}
	s.Apply(t, e, f, d)
	if e.Op.Info().Effect != format.EffectNone {
		en.table = t.Table // exec and unshare give the thread another
	}
	return nil
}

// announced returns the range that the application announces by an event itself.
func announced(e *format.Event, d *follow.Description) (from, to int64, ok bool) {
	if d == nil || e.Failed() || e.Op != format.OpReadahead && (e.Op != format.OpFadvise64 || e.Args[3] != willNeed) {
		return 0, 0, false
	}
	from, to = e.Args[1], sum(e.Args[1], e.Args[2])
	if e.Op == format.OpFadvise64 && e.Args[2] == 0 {
		to = math.MaxInt64 // the rest of the file
	}
	return from, to, isFile(d) && 0 <= from && from < to
}

// announce puts the advice for a read into the queue, which the read ends.
func (p *prefetch) announce(s *staged, read *entry, from, to int64) {
	fd := read.Args[follow.Shapes[read.Op].FD]
	var after, next *entry // what the advice goes behind, and the thread's event after that
	later := read
	for en, n := read.prev, 0; en != nil && n < p.events; en = en.prev {
		if en.TID == read.TID && !en.injected {
			after, next = en, later
			later = en
			n++
			if p.time > 0 && en.End() <= read.Start-p.time {
				break
			}
		}
		if en.gives(fd, read) {
			break
		}
	}
	if after == nil || next == read && p.events > 1 && p.time == 0 {
		return // there is nothing that it could hide behind
	}
	advice := format.Event{Op: format.OpFadvise64, TID: read.TID, Start: after.End(), Dur: format.Unknown}
	if p.time > 0 {
		advice.Start = min(max(advice.Start, read.Start-p.time), max(next.Start, advice.Start))
	}
	advice.Args = [format.MaxArgs]int64{fd, from, to - from, willNeed}
	for after.next != nil && after.next.injected && after.next.TID == read.TID {
		after = after.next // what was announced first comes first
	}
	s.insert(after, &advice).injected = true
}

// gives reports whether an event may have made a descriptor what it is for a
// later one, or the thread of that.
func (en *entry) gives(fd int64, later *entry) bool {
	if en.Failed() {
		return false
	}
	switch en.Op.Info().Effect {
	case format.EffectOpen, format.EffectDup, format.EffectFcntl:
		return en.Ret == fd && en.table == later.table
	case format.EffectFork:
		return en.Ret == int64(later.TID)
	case format.EffectExec, format.EffectUnshare, format.EffectCloseRange:
		return en.TID == later.TID
	}
	return false
}

func (p *prefetch) decide(*staged, *entry) {}

func (p *prefetch) end(*staged) {}
