package bin

import (
	"fmt"
	"io"

	"pianola/format"
)

// The list of an event is rows of kindNumbers: the event, and a number. The first number is
// the place from which an update replaces items; the others are the items. The argument in
// the record says what they are. Older traces have the number of a string instead, which is
// the text of the list.
//
//	-1                       there is no list
//	-2 - 2*ListOf            all items; without rows, there are none
//	-2 - 2*ListOf - 1        an update
const (
	listNone = -1
	listAll  = -2
)

// listArgs is Layout.List of each operation, in a compact table.
var listArgs = func() (m [format.NumOps]int8) {
	for op := range m {
		m[op] = format.Op(op).Info().At.List
	}
	return m
}()

// stores reports whether a trace can have a list.
func stores(l *format.List) bool {
	return l.Of < format.NumListOf && l.Len() <= format.MaxRegistered && len(l.Items)%l.Width() == 0
}

// listWord returns the argument in the record of an event.
func listWord(l *format.List) uint64 {
	word := int64(listNone)
	if l != nil {
		word = listAll - 2*int64(l.Of)
		if l.Update {
			word--
		}
	}
	return uint64(word)
}

func encodeList(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	if e.List.Update {
		dst = append(dst, uint64(n), uint64(e.List.From))
	}
	for _, item := range e.List.Items {
		dst = append(dst, uint64(n), uint64(item))
	}
	return dst
}

// lists implements format.ListReader.
type lists struct {
	numbers attachment
	list    format.List
	items   []int64 // memory of the list, which counts against the limit of the trace
	text    []byte  // the same, of an older trace
	err     error   // sticky
}

// Lists implements format.Trace. The memory of the reader is that of the longest list.
func (t *Trace) Lists(thread int32) format.ListReader { return t.lists(thread) }

func (t *Trace) lists(thread int32) *lists {
	l := &lists{}
	l.numbers.open(t, thread, kindNumbers)
	return l
}

// Rewind makes the reader one of another thread's lists, from the first one.
func (l *lists) Rewind(thread int32) {
	l.err = nil
	l.numbers.open(l.numbers.trace, thread, kindNumbers)
}

// Read implements format.ListReader.
func (l *lists) Read(event int64, r *format.Record) (*format.List, error) {
	at := listArgs[r.Op]
	if at < 0 || l.err != nil {
		return nil, l.err
	}
	t, word := l.numbers.trace, r.Args[at]
	switch last := int64(listAll - 2*int64(format.NumListOf)); {
	case word == listNone:
		return nil, nil
	case word <= last || word >= int64(len(t.strings)):
		l.err = fmt.Errorf("%w: event %d of thread %d has list %d", ErrMalformed, event, l.numbers.thread, word)
	case word >= 0:
		l.err = l.parse(t.strings[word])
	default:
		shape := listAll - word
		l.list = format.List{Of: format.ListOf(shape / 2), Update: shape%2 == 1}
		l.err = l.fill(event)
	}
	return &l.list, l.err
}

// parse makes the list of the text that an older trace has, up to what is no item.
func (l *lists) parse(text string) (err error) {
	text = text[:min(len(text), maxListText)]
	if err := l.room(len(text) + 2); err != nil {
		return err
	}
	l.text = append(l.text[:0], text...)
	l.list, l.items, _ = format.ParseList(l.text, l.items[:0])
	l.list.Items = l.list.Items[:min(len(l.list.Items), l.list.Width()*format.MaxRegistered)]
	return nil
}

// maxListText bounds a text: two numbers of 20 bytes for each item.
const maxListText = 42 * format.MaxRegistered

// fill reads the rows of an event.
func (l *lists) fill(event int64) error {
	l.items = l.items[:0]
	most := l.list.Width() * format.MaxRegistered
	if l.list.Update {
		most++
	}
	for {
		next, err := l.numbers.peek()
		if err == io.EOF || err == nil && next > event {
			break
		}
		row := []uint64(nil)
		if err == nil {
			row, err = l.numbers.take(next)
		}
		if err != nil {
			return err
		}
		if next < event {
			continue
		}
		if len(l.items) == most {
			return l.numbers.malformed(l.numbers.row-1, fmt.Sprintf("more than %d numbers of event %d", most, event))
		}
		if err := l.room(len(l.items) + 1); err != nil {
			return err
		}
		l.items = append(l.items, int64(row[1]))
	}
	l.list.Items = l.items
	if l.list.Update {
		if len(l.items) == 0 {
			return l.numbers.malformed(l.numbers.row, fmt.Sprintf("event %d updates no place", event))
		}
		l.list.From, l.list.Items = l.items[0], l.items[1:]
	}
	if len(l.list.Items)%l.list.Width() != 0 {
		return l.numbers.malformed(l.numbers.row, fmt.Sprintf("event %d has half an item", event))
	}
	return nil
}

// room makes room for so many numbers.
func (l *lists) room(n int) error {
	if n <= cap(l.items) {
		return nil
	}
	n = max(n, 2*cap(l.items), 64)
	if err := l.numbers.trace.loader.budget.take(int64(n-cap(l.items)), 8); err != nil {
		return err
	}
	l.items = append(make([]int64, 0, n), l.items...)
	return nil
}

// close gives the memory back.
func (l *lists) close() {
	l.numbers.fail(io.EOF)
	l.numbers.trace.loader.budget.give(8 * int64(cap(l.items)))
	l.items = nil
}
