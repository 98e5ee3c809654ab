package format

import "strings"

// Span is a call of a function of a library, such as H5Dwrite of HDF5. The event has its
// thread, its start and duration, and in Ret what the function returned. Spans of a
// thread nest. A span stands after the events that it caused, because events are in the
// order of completion.
//
// Args and their contents are borrowed as the strings of an event are.
type Span struct {
	Layer    string // name of the layer, such as "hdf5"
	Function string // such as "H5Dwrite"
	Kind     string // what the call is for, such as "write": layer.Span
	Args     []Value
	Bytes    int64 // that the call was asked to move, or Unknown
	Failed   bool  // the function reported an error
}

// Value is an argument of a library call, as far as a recorder could read it.
type Value struct {
	Kind    ValueKind
	Int     int64   // of ValueInt, ValueAddr and ValuePointed
	Text    []byte  // of ValuePath and ValueText
	Cut     bool    // Text is only the beginning
	Numbers []int64 // of ValueNumbers
}

// ValueKind is what a Value is. The comment says how a script prints it.
type ValueKind uint8

// The kinds of values. The numbers are part of the compiled trace.
const (
	ValueUnread  ValueKind = iota // it was not read: ?
	ValueInt                      // a number: -5
	ValueAddr                     // an address: 0x7f00, NULL
	ValuePath                     // the name of a file: path="out.h5"
	ValueText                     // other text: "SELECT 1"
	ValueNumbers                  // an array: [10, 10]
	ValuePointed                  // the number behind an address, at the return of the call: &7
	NumValueKinds
)

// Limits of a span, which readers enforce.
const (
	MaxSpanArgs    = 64
	MaxSpanNumbers = 1 << 10 // of one argument
	MaxSpanName    = 200     // bytes of the names of a layer and a function together
)

// Name returns "LAYER:FUNCTION", as a script has it.
func (s *Span) Name() string { return s.Layer + ":" + s.Function }

// CutSpanName returns the layer and the function of a name. ok is false if it is not
// the name of a span: each is letters, digits and underscores and no layer is a Via.
func CutSpanName(name string) (layer, function string, ok bool) {
	layer, function, ok = strings.Cut(name, ":")
	if _, via := ParseVia([]byte(layer)); via || len(name) > MaxSpanName {
		return "", "", false
	}
	return layer, function, ok && IsWord(layer) && IsWord(function)
}

// IsWord reports whether s is letters of ASCII, digits and underscores, at least one.
func IsWord(s string) bool {
	for i := range len(s) {
		if b := s[i]; !(b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_') {
			return false
		}
	}
	return s != ""
}

// Clone returns a copy that shares no memory with s, which can be nil.
func (s *Span) Clone() *Span {
	if s == nil {
		return nil
	}
	c := *s
	c.Args = append([]Value(nil), s.Args...)
	for i := range c.Args {
		v := &c.Args[i]
		if v.Text != nil {
			v.Text = append([]byte{}, v.Text...)
		}
		v.Numbers = append([]int64(nil), v.Numbers...)
	}
	return &c
}

// spanless is a reader of the events of a source that are no spans.
type spanless struct{ Reader }

// WithoutSpans returns a reader of the events of r that are no spans.
func WithoutSpans(r Reader) Reader { return spanless{r} }

// Read implements Reader.
func (s spanless) Read(events []Event) (int, error) {
	for {
		n, err := s.Reader.Read(events)
		stay := 0
		for i := range events[:n] {
			if events[i].Span == nil {
				events[stay] = events[i]
				stay++
			}
		}
		if stay > 0 || n == 0 || err != nil {
			return stay, err
		}
	}
}

// SpanMemory is the memory of the spans and lists of one batch, which their makers reuse.
// They stay valid until Reset. It belongs to one goroutine.
//
// The names of spans are kept for longer, because a recording has few.
type SpanMemory struct {
	spans   []Span
	lists   []List
	Values  []Value
	Numbers []int64
	words   map[string]spanWord
}

// spanWord is a name that is kept.
type spanWord struct {
	text            string
	layer, function string // "" if it is not the name of a span
}

// maxSpanWords bounds the names that are kept.
const maxSpanWords = 1 << 14

// Word returns a name as a string.
func (m *SpanMemory) Word(name []byte) string { return m.word(name).text }

// Cut is CutSpanName of a name.
func (m *SpanMemory) Cut(name []byte) (layer, function string, ok bool) {
	w := m.word(name)
	return w.layer, w.function, w.function != ""
}

func (m *SpanMemory) word(name []byte) spanWord {
	w, ok := m.words[string(name)]
	if !ok {
		w.text = string(name)
		if layer, function, ok := CutSpanName(w.text); ok {
			w.layer, w.function = layer, function
		}
		if m.words == nil {
			m.words = map[string]spanWord{}
		}
		if len(m.words) < maxSpanWords {
			m.words[w.text] = w
		}
	}
	return w
}

// Reset makes the memory free.
func (m *SpanMemory) Reset() {
	m.spans, m.lists, m.Values, m.Numbers = m.spans[:0], m.lists[:0], m.Values[:0], m.Numbers[:0]
}

// Add returns the copy of a span that the memory keeps.
func (m *SpanMemory) Add(s Span) *Span {
	m.spans = append(m.spans, s)
	return &m.spans[len(m.spans)-1]
}

// AddList returns the copy of a list that the memory keeps. Its items are among Numbers, or
// belong to the caller; they are nil if there are none.
func (m *SpanMemory) AddList(l List) *List {
	if len(l.Items) == 0 {
		l.Items = nil
	}
	m.lists = append(m.lists, l)
	return &m.lists[len(m.lists)-1]
}

// Keep returns the copy of a list, with its items, that the memory keeps; nil for nil.
func (m *SpanMemory) Keep(l *List) *List {
	if l == nil {
		return nil
	}
	c, from := *l, len(m.Numbers)
	m.Numbers = append(m.Numbers, l.Items...)
	c.Items = m.NumbersFrom(from)
	return m.AddList(c)
}

// ValuesFrom returns the Values from the n-th on, as the Args of a span; nil if there are
// none.
func (m *SpanMemory) ValuesFrom(n int) []Value {
	if end := len(m.Values); end > n {
		return m.Values[n:end:end]
	}
	return nil
}

// NumbersFrom returns the Numbers from the n-th on.
func (m *SpanMemory) NumbersFrom(n int) []int64 { return m.Numbers[n:len(m.Numbers):len(m.Numbers)] }
