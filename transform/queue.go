package transform

import "pianola/format"

// entry is an event in a queue, with the memory of its strings and notes.
type entry struct {
	format.Event
	held    bool    // its stage has not decided yet
	verdict Verdict // of an event that is taken out only the time remains
	made    bool    // inserted, not recorded
	spent   int64   // nanoseconds by which the time after it is cut

	waits  *use   // for which the event is held
	advice *entry // the last one inserted after the event

	number     int64 // in the order of events; an inserted one has that of the event before
	prev, next *entry
	memory     []byte
	notes      format.Notes // of the event, where it has any
}

// queue holds the events to return.
type queue struct {
	first, last *entry
	length      int
	pushed      int64
	free        *entry
}

// push puts a copy of an event at the end.
func (q *queue) push(e *format.Event) *entry {
	en := q.insert(q.last, e)
	q.pushed++
	en.number = q.pushed
	return en
}

// put appends an event that was not recorded.
func (q *queue) put(e *format.Event) *entry {
	en := q.push(e)
	en.made = true
	return en
}

// insert puts a copy of an event after an entry, or at the front if after is
// nil.
func (q *queue) insert(after *entry, e *format.Event) *entry {
	en := q.free
	if en == nil {
		en = new(entry)
	} else {
		q.free = en.next
	}
	*en = entry{Event: *e, memory: en.memory[:0], prev: after}
	en.keep()
	if after == nil {
		en.next, q.first = q.first, en
	} else {
		en.number = after.number
		en.next, after.next = after.next, en
	}
	if en.next == nil {
		q.last = en
	} else {
		en.next.prev = en
	}
	q.length++
	return en
}

// keep copies borrowed memory of the event.
func (en *entry) keep() {
	n := 0
	if en.Notes != nil {
		en.notes = *en.Notes
		en.Notes = &en.notes
		for _, text := range en.notes.Texts() {
			n += len(*text)
		}
	}
	for _, s := range en.Str {
		n += len(s)
	}
	if cap(en.memory) < n {
		en.memory = make([]byte, 0, n)
	}
	for i, s := range en.Str {
		if s != nil {
			en.Str[i] = en.copied(s)
		}
	}
	if en.Notes != nil {
		for _, text := range en.notes.Texts() {
			*text = en.copied(*text)
		}
	}
	en.List, en.Span = en.List.Clone(), en.Span.Clone()
	en.Edges = nil // a recording has none
}

func (en *entry) copied(text []byte) []byte {
	n := len(en.memory)
	en.memory = append(en.memory, text...)
	return en.memory[n:len(en.memory):len(en.memory)]
}

// pop removes and returns the first entry.
func (q *queue) pop() *entry {
	en := q.first
	if q.first = en.next; q.first == nil {
		q.last = nil
	} else {
		q.first.prev = nil
	}
	en.next = nil
	q.length--
	return en
}

// recycle frees entries for reuse.
func (q *queue) recycle(entries []*entry) {
	for _, en := range entries {
		en.next, q.free = q.free, en
	}
}
