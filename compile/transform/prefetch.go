package transform

import (
	"fmt"
	"math"
	"sort"
	"time"

	"pianola/format"
	"pianola/format/process"
)

var prefetchTransform = Transform{
	Name: "prefetch", Arg: Arg{Form: "N|D", Optional: true},
	Doc:   "announces each read (fadvise or madvise WILLNEED) N events of the thread before it (default 2), or a time D before it",
	Keeps: "everything",
	New:   newPrefetch,
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
			return nil, fmt.Errorf("%q is not a number of events from 1 to %d or a time such as 20ms", arg, lookAhead)
		}
	}
	return newStaged(lookAhead, func() stage { return &prefetch{events: p.events, time: p.time} }), nil
}

const willNeed = 3 // of format.FadviseAdvice

// prefetch inserts advice, as an application would that knows what it is going
// to read. Advice can't come before the descriptor is open, and is left out for
// bytes that were recently announced, read or written.
type prefetch struct {
	events int   // of the thread from the advice to the read
	time   int64 // nanoseconds from the advice to the read, 0 for as many events

	// givers are the queued events that may change what a descriptor leads to,
	// with their tables.
	givers []giver
}

type giver struct {
	mark
	table *process.Table
}

// mark is an event in the queue, as long as its number is not below that of the
// queue's first.
type mark struct {
	*entry
	number int64
	end    int64 // of the event, nanoseconds, without what was cut of the thread's time
}

// start returns when the event starts, in the time of end.
func (m mark) start() int64 { return m.end - max(m.Dur, 0) }

// trail is the calls of a thread in the queue, without advice.
type trail struct {
	marks []mark
	cut   int64 // of all so far, nanoseconds
}

// own returns a time without what was cut of the thread's time.
func (tr *trail) own(at int64) int64 { return sum(at, -max(tr.cut, -math.MaxInt64)) }

// event implements stage.
func (p *prefetch) event(s *staged, f *process.Fact) error {
	t, e := f.Thread, f.Event
	en := s.push(e)
	tr, ok := t.Data.(*trail)
	if !ok {
		tr = new(trail)
		t.Data = tr
	}
	tr.marks = tr.marks[firstFrom(tr.marks, s.first.number):]
	here := mark{entry: en, number: en.number}
	if e.Via == format.ViaCall {
		tr.cut = sum(tr.cut, sum(e.Cut, s.carried.costs.Of(e.TID).Before(e)))
		here.end = tr.own(e.End())
		tr.marks = append(tr.marks, here)
	}
	if m := f.Moves(); m != nil && isFile(m.Description) {
		known := recentOf(m.File)
		if m == &f.Read && m.Description.Flags&format.DIRECT == 0 && !known.hold(m.From, m.To) {
			if fd := s.Descriptor(t, &en.Event); fd >= 0 {
				p.announce(s, tr, en, p.given(s, t, fd), format.Event{Op: format.OpFadvise64, Args: [format.MaxArgs]int64{fd, m.From, m.To - m.From, willNeed}})
			}
		}
		known.add(m.From, m.To)
	} else if m := f.Touches(); m == &f.Read && t.Process.Space.At(e.Args[0]) != nil {
		known := recentOf(m.File)
		if !known.hold(m.From, m.To) {
			p.announce(s, tr, en, p.mapped(s, t, e.Args[0]), format.Event{Op: format.OpMadvise, Args: [format.MaxArgs]int64{e.Args[0], e.Size(), willNeed}})
		}
		known.add(m.From, m.To)
	} else if from, to, ok := announced(e, f.Description); ok {
		recentOf(f.Description.File).add(from, to)
	}
	s.Apply(f)
	if f.Did.Any(format.ChangesTables | format.Maps | format.Remaps) {
		p.givers = append(p.givers, giver{here, t.Table})
		if half := len(p.givers) / 2; p.givers[half].number < s.first.number {
			p.givers = append(p.givers[:0], p.givers[half:]...)
		}
	}
	return nil
}

// announced returns the range that the application announces by an event itself.
func announced(e *format.Event, d *process.Description) (from, to int64, ok bool) {
	if d == nil || e.Failed() || e.Op != format.OpReadahead && (e.Word(format.FadviseAdvice) != willNeed) {
		return 0, 0, false
	}
	from, to = e.Offset(), sum(e.Offset(), e.Size())
	if e.Op == format.OpFadvise64 && e.Size() == 0 {
		to = math.MaxInt64 // the rest of the file
	}
	return from, to, isFile(d) && 0 <= from && from < to
}

// firstFrom returns the first of some marks whose number is not below one.
func firstFrom(marks []mark, number int64) int {
	return sort.Search(len(marks), func(i int) bool { return marks[i].number >= number })
}

// announce puts the advice for a thread's newest read into the queue, behind the
// event with the number given at the earliest. The calls that count for a request are
// those before the one that submits it.
func (p *prefetch) announce(s *staged, tr *trail, read *entry, given int64, advice format.Event) {
	here, start := len(tr.marks), tr.own(read.Start)
	if read.Via == format.ViaCall {
		here--
		start = tr.marks[here].start()
	}
	earliest := firstFrom(tr.marks, given)
	at, due := max(here-p.events, earliest), start-p.time
	if p.time > 0 {
		later := sort.Search(here, func(i int) bool { return tr.marks[i].end > due })
		at = max(later-1, earliest)
	}
	if at >= here || at == here-1 && p.events > 1 && p.time == 0 {
		return // there is no earlier event to insert it after
	}
	after := tr.marks[at]
	if at+1 < here {
		start = tr.marks[at+1].start()
	}
	advice.TID, advice.Start, advice.Dur = read.TID, after.End(), format.Unknown
	if p.time > 0 {
		advice.Start += max(min(due, start)-after.end, 0)
	}
	behind := after.entry
	if after.advice != nil {
		behind = after.advice // what was announced first comes first
	}
	after.advice = s.insert(behind, &advice)
	after.advice.made = true
}

// given returns the number of the first event in the queue after which a
// descriptor of a thread leads to its current file.
func (p *prefetch) given(s *staged, t *process.Thread, fd int64) int64 {
	for i := len(p.givers) - 1; i >= 0 && p.givers[i].number >= s.first.number; i-- {
		if g := &p.givers[i]; g.gives(fd, t) {
			return g.number
		}
	}
	return s.first.number
}

// mapped returns the number of the first event in the queue after which an
// address of a thread's process is where it is mapped now.
func (p *prefetch) mapped(s *staged, t *process.Thread, addr int64) int64 {
	for i := len(p.givers) - 1; i >= 0 && p.givers[i].number >= s.first.number; i-- {
		g := &p.givers[i]
		switch acts := g.Acts(); {
		case acts.Any(format.Starts) && g.Ret == int64(t.TID), acts.Any(format.Execs) && g.TID == t.TID,
			acts.Any(format.Maps|format.Remaps) && g.Ret <= addr && addr-g.Ret < g.Size():
			return g.number
		}
	}
	return s.first.number
}

// gives reports whether an event may have created a descriptor of a thread, or
// the thread.
func (g *giver) gives(fd int64, t *process.Thread) bool {
	switch acts := g.Acts(); {
	case acts.Any(format.Opens | format.Duplicates):
		return g.Ret == fd && g.table == t.Table
	case acts.Any(format.Starts):
		return g.Ret == int64(t.TID)
	}
	return g.TID == t.TID && g.FD() < 0 && g.Acts().Any(format.Execs|format.Unshares|format.Closes|format.Marks)
}
