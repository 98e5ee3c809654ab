package format

import (
	"math"
	"math/bits"
)

// Field is a row of the tables of fields: NoteFields and OwnFields. They say what an event
// can have besides its call, its result and its times. Scripts, the spool, exports, the
// fuzz kit and the page of the reference derive from the rows.
type Field struct {
	Key    string // in scripts, "" for a field that they do not show
	Sender string // the key at calls that send (Event.Sends), if that is another
	Word   string // the value of a fact that has one
	Noted  Noted  // the bit of a note
	Trace  bool   // intermediate scripts show it as a note, and recordings do not
	Parts  []Part // of the value; none for a fact

	// Also tells which events have one of OwnFields although it is 0, nil for none.
	Also func(*Event) bool

	Only EventKind // the kind of the events that can have the note, CallKind for any

	// Columns are the names of the columns of tables (CSV, JSON, Parquet) with the parts, nil
	// for none.
	Columns []string

	Section string // of the page of the reference, "" for that of notes in general
	At      string // events that have it, for that page
	Doc     string // what it says, a sentence
	Since   string // the version that added it, "" for 0.1.0
}

// Part is a number or a text of a value.
type Part struct {
	Before byte // what separates it from the part before
	Maybe  bool // 0 is left out, with the separator; only the last part can be
	Form   Form
	Flags  *FlagSet // of InFlags
	Unit   string   // what it counts, for that page

	// Min and Max bound a number. If Max is 0, it is MaxNote.
	Min, Max int64

	// Of returns the address of the field in the event or in its notes, which must exist:
	// of a number, or of a []byte.
	Of func(*Event) any
}

// Form is how scripts write a part.
type Form uint8

// The forms.
const (
	InDecimal  Form = iota // digits
	InSigned               // digits, with a minus before them for a negative number
	InUnsigned             // digits of a number of 64 bits
	InIndex                // digits of the number before it, which is never 0
	InOctal                // with a 0 before it
	InHex
	InSeconds   // nanoseconds as seconds with nine decimals
	InFlags     // words of a FlagSet, never none
	AsType      // name of a FileType
	AsChannel   // name of a ChannelKind
	AsSignal    // name of a signal
	AsResult    // name of the error of a negative number that is one, or else as InSigned
	InQuotes    // text, escaped as names are
	InStretches // text of AppendBlocks
)

// IsText reports whether the part is a text.
func (p *Part) IsText() bool { return p.Form >= InQuotes }

// Int returns the number of an event. A part that is a text has none.
func (p *Part) Int(e *Event) int64 {
	switch v := p.Of(e).(type) {
	case *int64:
		return *v
	case *int32:
		return int64(*v)
	case *uint16:
		return int64(*v)
	case *uint32:
		return int64(*v)
	case *uint64:
		return int64(*v)
	case *FileType:
		return int64(*v)
	case *ChannelKind:
		return int64(*v)
	}
	return 0
}

// Set sets the number of an event.
func (p *Part) Set(e *Event, n int64) {
	switch v := p.Of(e).(type) {
	case *int64:
		*v = n
	case *int32:
		*v = int32(n)
	case *uint16:
		*v = uint16(n)
	case *uint32:
		*v = uint32(n)
	case *uint64:
		*v = uint64(n)
	case *FileType:
		*v = FileType(n)
	case *ChannelKind:
		*v = ChannelKind(n)
	}
}

// Text returns where the text of an event is, nil for a number.
func (p *Part) Text(e *Event) *[]byte {
	text, _ := p.Of(e).(*[]byte)
	return text
}

// Most returns the largest number.
func (p *Part) Most() int64 {
	if p.Max == 0 {
		return MaxNote
	}
	return p.Max
}

// Largest returns the largest number in a compiled trace, where 0 is the least; 0 for a word
// of flags, which can be any.
func (p *Part) Largest() int64 {
	switch {
	case p.Form == InFlags:
		return 0
	case p.Max == 0:
		return math.MaxInt64
	}
	return p.Max
}

// Within reports whether a script can say the number.
func (p *Part) Within(n int64) bool { return n >= p.Min && n <= p.Most() }

// Known reports whether an event has the field.
func (f *Field) Known(e *Event) bool {
	if f.Noted == 0 {
		return *f.Own(e) != 0 || f.Also != nil && f.Also(e)
	}
	return e.Notes.Known(f.Noted) && f.Fits(e)
}

// Fits reports whether the event can have the note.
func (f *Field) Fits(e *Event) bool { return f.Only == CallKind || e.Kind() == f.Only }

// Own returns where the number of one of OwnFields is.
func (f *Field) Own(e *Event) *int64 { return f.Parts[0].Of(e).(*int64) }

// Name returns the key for an event.
func (f *Field) Name(e *Event) string {
	if f.Sender != "" && e.Sends() {
		return f.Sender
	}
	return f.Key
}

// Note returns the row of the first note of a set, which must not be empty, and the rest.
func (n Noted) Note() (f *Field, rest Noted) {
	return &NoteFields[bits.TrailingZeros64(uint64(n))], n & (n - 1)
}

// number is the value of a row that is a number up to MaxNote.
func number(unit string, of func(*Event) any) []Part { return bounded(unit, 0, 0, of) }

// bounded is the value of a row that is a number between bounds.
func bounded(unit string, least, most int64, of func(*Event) any) []Part {
	return []Part{{Unit: unit, Min: least, Max: most, Of: of}}
}

// The sections of the page of the reference that have notes of their own.
const (
	OfOff      = "Time off the processor"
	OfRequests = "Requests"
	OfFaults   = "Page faults"
	OfTraces   = "Intermediate scripts"
)
