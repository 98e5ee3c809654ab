package plugin

import (
	"bytes"
	"fmt"
	"slices"

	"pianola/format"
)

// places maps the events of a trace to the lines of a program's output. survey reads
// all lines, then settle runs, then mend reads them again.
type places struct {
	feed *feed

	// By thread and event of the trace: one plus the position of the last line that is
	// this event, 0 if there is none. After settle, a removed event refers to the event
	// before it, with the mark standIn.
	last [][]uint32

	lines []int64       // by thread: lines read so far by survey or mend
	next  []int         // by thread: position in feed.waits
	edges []format.Edge // memory of the edges of a batch
}

const (
	standIn  = 1 << 31
	maxLines = standIn - 1 // of a thread
)

func newPlaces(f *feed) *places {
	n := len(f.fed)
	return &places{feed: f, last: make([][]uint32, n), lines: make([]int64, n), next: make([]int, n)}
}

// at returns which event of its thread a line is, -1 if it is none. Other notes are
// errors, because the trace would lose them.
func (p *places) at(e *format.Event) (int64, error) {
	_, at, err := position(e, atNote)
	if err == nil && at >= 0 && (int(e.TID) > len(p.feed.fed) || at >= p.feed.fed[e.TID-1].Load()) {
		return -1, fmt.Errorf("at=%d:%d: no such event", e.TID, at)
	}
	return at, err
}

// position returns the key of the note KEY=THREAD:EVENT of a line, one of some keys, and the
// event; -1 if the line has no notes.
func position(e *format.Event, keys ...string) (key string, event int64, err error) {
	if e.Notes == nil {
		return "", -1, nil
	}
	name, note, rest := format.CutNote(e.Notes.Text)
	thread, at, _ := bytes.Cut(note, []byte(":"))
	switch key, event = string(name), number(at); {
	case !slices.Contains(keys, key) || len(rest) > 0:
		err = fmt.Errorf("unknown note in {%.100s}", e.Notes.Text)
	case event < 0:
		err = fmt.Errorf("malformed note %s=%s", key, note)
	case number(thread) != int64(e.TID):
		err = fmt.Errorf("%s=%s in a line of thread %d", key, note, e.TID)
	}
	if err != nil {
		return "", -1, err
	}
	return key, event, nil
}

// number returns the value of decimal digits, -1 for other text.
func number(digits []byte) (v int64) {
	if len(digits) == 0 || len(digits) > 18 {
		return -1
	}
	for _, b := range digits {
		if b < '0' || b > '9' {
			return -1
		}
		v = v*10 + int64(b-'0')
	}
	return v
}

// survey notes where events have got to.
func (p *places) survey(events []format.Event) error {
	for i := range events {
		e := &events[i]
		at, err := p.at(e)
		if err != nil {
			return err
		}
		k := int(e.TID) - 1
		if k >= len(p.last) {
			continue // a thread of the program's own
		}
		if p.lines[k]++; p.lines[k] > maxLines {
			return fmt.Errorf("thread %d has more than %d events", e.TID, int64(maxLines))
		}
		if at < 0 {
			continue
		}
		for int64(len(p.last[k])) <= at {
			p.last[k] = append(p.last[k], 0)
		}
		p.last[k][at] = uint32(p.lines[k])
	}
	return nil
}

// settle ends the survey.
func (p *places) settle() {
	clear(p.lines)
	for _, last := range p.last {
		var before uint32
		for i := range last {
			if last[i] == 0 {
				last[i] = before | standIn
			}
			before = last[i] &^ standIn
		}
	}
}

// mend sets the edges of events by line numbers. Their memory is valid until the next
// call.
func (p *places) mend(events []format.Event) error {
	p.edges = p.edges[:0]
	for i := range events {
		e := &events[i]
		from := len(p.edges)
		for _, edge := range e.Edges {
			if !p.known(edge) {
				return fmt.Errorf("after=%d:%d: no such event", edge.Thread, edge.Event)
			}
			if edge, ok := p.of(edge); ok {
				p.edges = append(p.edges, edge)
			}
		}
		if int(e.TID) <= len(p.last) {
			at, err := p.at(e)
			if err != nil {
				return err
			}
			if at >= 0 {
				p.inherit(e.TID, at, from)
			}
			line := p.lines[e.TID-1]
			p.lines[e.TID-1]++
			p.edges = append(p.edges[:from], slices.DeleteFunc(p.edges[from:], func(g format.Edge) bool { return g.Thread == e.TID && g.Event >= line })...)
		}
		e.Edges = nil
		if n := len(p.edges); n > from {
			e.Edges = p.edges[from:n:n]
		}
	}
	return nil
}

// known reports whether an edge names an event of the trace that the program was given,
// or of a thread that the program added.
func (p *places) known(e format.Edge) bool {
	k := int(e.Thread) - 1
	return k < 0 || k >= len(p.last) || !p.feed.whole || e.Event < p.feed.fed[k].Load()
}

// of returns an edge of the trace in line numbers. ok is false if its target is gone.
func (p *places) of(e format.Edge) (format.Edge, bool) {
	k := int(e.Thread) - 1
	if k < 0 || k >= len(p.last) {
		return e, true
	}
	last := p.last[k]
	if len(last) == 0 {
		return e, false
	}
	line := last[min(e.Event, int64(len(last)-1))] &^ standIn
	e.Event = int64(line) - 1
	return e, line > 0
}

// inherit appends, to the edges starting at from, those of the removed events before an
// event.
func (p *places) inherit(thread int32, at int64, from int) {
	k := thread - 1
	waits := p.feed.waits[k]
	for ; p.next[k] < len(waits) && waits[p.next[k]].Event <= at; p.next[k]++ {
		w := waits[p.next[k]]
		if w.Event < at && p.last[k][w.Event]&standIn != 0 {
			if edge, ok := p.of(w.For); ok {
				p.wait(edge, from)
			}
		}
	}
}

// wait appends an edge to those starting at from, unless one of them implies it.
func (p *places) wait(edge format.Edge, from int) {
	for i := from; i < len(p.edges); i++ {
		if e := &p.edges[i]; e.Thread == edge.Thread && e.Kind == edge.Kind && e.Delay == edge.Delay {
			e.Event = max(e.Event, edge.Event)
			return
		}
	}
	p.edges = append(p.edges, edge)
}
