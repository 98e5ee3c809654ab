package format

import "slices"

// Kept is memory for what events borrow. The zero Kept is empty.
type Kept struct {
	text  []byte
	notes []Notes
	edges []Edge
	lists SpanMemory
}

// Keep copies what the events borrow, and has them borrow from k until the next call.
func (k *Kept) Keep(events []Event) {
	var text, notes, edges int
	for i := range events {
		count(&events[i], &text, &notes, &edges)
	}
	k.grow(text, notes, edges)
	for i := range events {
		k.keep(&events[i])
	}
}

// KeepOne is Keep of one event.
func (k *Kept) KeepOne(e *Event) {
	var text, notes, edges int
	count(e, &text, &notes, &edges)
	k.grow(text, notes, edges)
	k.keep(e)
}

// count adds how much the event borrows.
func count(e *Event, text, notes, edges *int) {
	for _, s := range e.Str {
		*text += len(s)
	}
	if *edges += len(e.Edges); e.Notes != nil {
		*notes++
		for _, s := range e.Notes.Texts() {
			*text += len(*s)
		}
	}
}

func (k *Kept) grow(text, notes, edges int) {
	k.lists.Reset()
	k.text, k.notes, k.edges = slices.Grow(k.text[:0], text), slices.Grow(k.notes[:0], notes), slices.Grow(k.edges[:0], edges)
}

// keep copies what the event borrows. There is room for it.
func (k *Kept) keep(e *Event) {
	for i := range e.Str {
		k.keepText(&e.Str[i])
	}
	if e.Notes != nil {
		k.notes = append(k.notes, *e.Notes)
		e.Notes = &k.notes[len(k.notes)-1]
		for _, s := range e.Notes.Texts() {
			k.keepText(s)
		}
	}
	if len(e.Edges) == 0 {
		e.Edges = nil
	} else {
		from := len(k.edges)
		k.edges = append(k.edges, e.Edges...)
		e.Edges = k.edges[from:len(k.edges):len(k.edges)]
	}
	e.List, e.Span = k.lists.Keep(e.List), e.Span.Clone()
}

func (k *Kept) keepText(s *[]byte) {
	switch {
	case *s == nil:
	case len(*s) == 0:
		*s = []byte{} // which is no NULL pointer
	default:
		from := len(k.text)
		k.text = append(k.text, *s...)
		*s = k.text[from:len(k.text):len(k.text)]
	}
}

// Clone returns a copy of e that shares no memory with it.
func (e *Event) Clone() Event {
	c := *e
	new(Kept).KeepOne(&c)
	return c
}
