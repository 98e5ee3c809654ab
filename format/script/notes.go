package script

import (
	"bytes"
	"math"
	"strconv"

	"pianola/format"
)

// Notes are between braces after a call: "key=value" or a bare word. Only this
// file reads and writes their text; everywhere else they are fields of an
// event (format.NoteFields, format.OwnFields). A note stays text if it is not in these
// tables, has an invalid value, or repeats.

// own and traced are the fields of events that recordings and intermediate scripts show.
var own, traced = func() (own, traced []*format.Field) {
	for i := range format.OwnFields {
		switch f := &format.OwnFields[i]; {
		case f.Trace:
			traced = append(traced, f)
		case f.Key != "":
			own = append(own, f)
		}
	}
	return own, traced
}()

// The values of a note whose key is the name of a string argument: how much of
// it could be read.
const (
	cut        = "cut"
	unreadable = "unreadable"
)

// parseNotes gives an event the notes of a text, from which it borrows.
func (r *Reader) parseNotes(e *format.Event, text []byte) {
	first := len(r.arena)
	for {
		key, value, rest := format.CutNote(text)
		if key == nil {
			break
		}
		if f := find(e, key); (f == nil || !r.parseNote(e, f, value)) && !r.parseState(e, key, value) {
			r.keepNote(text[:len(text)-len(rest)], first)
		}
		text = rest
	}
	r.textNotes(e, first)
}

// byLetter has the rows by the first letters of their keys.
var byLetter = func() (rows [256][]*format.Field) {
	add := func(key string, f *format.Field) {
		if key != "" {
			rows[key[0]] = append(rows[key[0]], f)
		}
	}
	for i := range format.NoteFields {
		f := &format.NoteFields[i]
		add(f.Key, f)
		add(f.Sender, f)
	}
	for _, f := range own {
		add(f.Key, f)
	}
	return rows
}()

// find returns the row of a note, nil for none.
func find(e *format.Event, key []byte) *format.Field {
	if len(key) > 0 {
		for _, f := range byLetter[key[0]] {
			if f.Name(e) == string(key) {
				return f
			}
		}
	}
	return nil
}

// keepNote adds a note to the text that begins at a place of the arena.
func (r *Reader) keepNote(word []byte, first int) {
	if len(r.arena) > first {
		r.arena = append(r.arena, ' ')
	}
	r.arena = append(r.arena, bytes.TrimLeft(word, " ")...)
}

// textNotes gives an event what was added to the arena since a place as text.
func (r *Reader) textNotes(e *format.Event, first int) {
	if n := len(r.arena); n > first {
		r.noted(e).Text = r.arena[first:n:n]
	}
}

// noted returns the notes of an event, which it makes if there are none.
func (r *Reader) noted(e *format.Event) *format.Notes {
	if e.Notes == nil {
		r.notes = append(r.notes, format.Notes{})
		e.Notes = &r.notes[len(r.notes)-1]
	}
	return e.Notes
}

// parseNote reads the value of a note, and reports whether it is one.
func (r *Reader) parseNote(e *format.Event, f *format.Field, value []byte) bool {
	if f.Known(e) || f.Only != nil && !f.Only(e) {
		return false
	}
	var v [maxParts]int64
	var text []byte
	switch {
	case len(f.Parts) == 0:
		if (value != nil) != (f.Word != "") || string(value) != f.Word {
			return false
		}
	case f.Parts[0].IsText():
		if text = parseText(f.Parts[0].Form, value); text == nil {
			return false
		}
	case !parseNumbers(&v, f.Parts, value):
		return false
	}
	if f.Noted != 0 {
		r.noted(e).Has |= f.Noted
	}
	for i := range f.Parts {
		if p := &f.Parts[i]; p.IsText() {
			*p.Text(e) = text
		} else {
			p.Set(e, v[i])
		}
	}
	return true
}

// parseState reads how much of a string could be read.
func (r *Reader) parseState(e *format.Event, key, value []byte) bool {
	state := format.StringWhole
	switch string(value) {
	case cut:
		state = format.StringCut
	case unreadable:
		state = format.StringUnreadable
	default:
		return false
	}
	info := e.Op.Info()
	k := info.ArgIndex(string(key))
	if k < 0 || !info.Args[k].Kind.IsString() {
		return false
	}
	of := &r.noted(e).Strings[info.StringIndex(k)]
	if *of != format.StringWhole {
		return false
	}
	*of = state
	return true
}

// appendNotes appends the notes of an event, each after a space.
func appendNotes(dst []byte, e *format.Event) []byte {
	n := e.Notes
	if n != nil {
		if n.Strings != [format.MaxStrings]format.StringState{} {
			dst = appendStates(dst, e)
		}
		for has := n.Has; has != 0; {
			var f *format.Field
			if f, has = has.Note(); f.Key != "" && (f.Only == nil || f.Only(e)) {
				dst = appendNote(dst, e, f)
			}
		}
	}
	if e.Shows() {
		for _, f := range own {
			if f.Known(e) {
				dst = appendNote(dst, e, f)
			}
		}
	}
	if n != nil && len(n.Text) > 0 {
		dst = append(append(dst, ' '), n.Text...)
	}
	return dst
}

// appendNote appends a note after a space.
func appendNote(dst []byte, e *format.Event, f *format.Field) []byte {
	dst = append(append(dst, ' '), f.Name(e)...)
	if f.Word != "" {
		return append(append(dst, '='), f.Word...)
	}
	for i := range f.Parts {
		p := &f.Parts[i]
		if p.IsText() {
			return appendText(append(dst, '='), p.Form, *p.Text(e))
		}
		v := p.Int(e)
		switch {
		case i == 0:
			dst = append(dst, '=')
		case v == 0 && p.Maybe:
			return dst
		default:
			dst = append(dst, p.Before)
		}
		dst = AppendPart(dst, p, v)
	}
	return dst
}

func appendStates(dst []byte, e *format.Event) []byte {
	str := 0
	for _, a := range e.Op.Info().Args {
		if !a.Kind.IsString() {
			continue
		}
		switch e.Notes.Strings[str] {
		case format.StringCut:
			dst = append(append(append(dst, ' '), a.Name...), "="+cut...)
		case format.StringUnreadable:
			dst = append(append(append(dst, ' '), a.Name...), "="+unreadable...)
		}
		str++
	}
	return dst
}

// inBraces puts the notes that follow the space at a place, each after another
// space, between braces. Without notes it takes the space back.
func inBraces(dst []byte, space int) []byte {
	if len(dst) == space+1 {
		return dst[:space]
	}
	dst[space+1] = '{'
	return append(dst, '}')
}

// decimal returns the value of decimal digits, and false where it is none of the
// numbers from 0 to format.MaxNote.
func decimal(digits []byte) (n int64, ok bool) {
	for _, d := range digits {
		if n = 10*n + int64(d-'0'); d < '0' || d > '9' || n > format.MaxNote {
			return 0, false
		}
	}
	return n, len(digits) > 0
}

// maxParts is the largest number of parts of a value.
const maxParts = 3

// parseNumbers reads the parts of a value that are numbers.
func parseNumbers(v *[maxParts]int64, parts []format.Part, value []byte) (ok bool) {
	for i := range parts {
		p := &parts[i]
		if i > 0 {
			if len(value) == 0 {
				return p.Maybe
			}
			value = value[1:] // the separator, at which the part before ended
		}
		word := value
		if i+1 < len(parts) {
			if end := bytes.IndexByte(value, parts[i+1].Before); end >= 0 {
				word = value[:end]
			}
		}
		if v[i], ok = parsePart(p, word); !ok {
			return false
		}
		value = value[len(word):]
	}
	return true
}

// parsePart reads a number, and reports whether it is one that the part can be.
func parsePart(p *format.Part, word []byte) (n int64, ok bool) {
	switch p.Form {
	case format.InUnsigned, format.InHex, format.InOctal:
		base := 10
		if p.Form == format.InHex {
			base = 16
		} else if p.Form == format.InOctal {
			base = 8
		}
		u, err := strconv.ParseUint(string(word), base, 64)
		return int64(u), err == nil && (p.Form != format.InOctal || u <= math.MaxInt64 && p.Within(int64(u)))
	case format.InSeconds:
		n, err := format.ParseSeconds(word)
		return n, err == nil && p.Within(n)
	case format.InFlags:
		n, err := p.Flags.Parse(word)
		return n, err == nil && n != 0
	case format.AsType:
		t := format.ParseFileType(word)
		return int64(t), t != format.TypeUnknown
	case format.AsChannel:
		k, ok := format.ParseChannelKind(word)
		return int64(k), ok
	case format.AsSignal:
		s, ok := format.ParseSignal(string(word))
		return int64(s), ok
	case format.InIndex:
		n, ok = decimal(word)
		return n + 1, ok && p.Within(n+1)
	case format.InSigned:
		if digits, negative := bytes.CutPrefix(word, []byte("-")); negative {
			n, ok = decimal(digits)
			return -n, ok && p.Within(-n)
		}
	}
	n, ok = decimal(word)
	return n, ok && p.Within(n)
}

// AppendPart appends a number, as scripts have it.
func AppendPart(dst []byte, p *format.Part, v int64) []byte {
	switch p.Form {
	case format.InIndex:
		return format.AppendInt(dst, v-1)
	case format.InUnsigned:
		return strconv.AppendUint(dst, uint64(v), 10)
	case format.InHex:
		return format.AppendHex(dst, uint64(v))
	case format.InOctal:
		return strconv.AppendUint(append(dst, '0'), uint64(v), 8)
	case format.InSeconds:
		return format.AppendSeconds(dst, v)
	case format.InFlags:
		return p.Flags.Append(dst, v)
	case format.AsType:
		return append(dst, format.FileType(v).String()...)
	case format.AsChannel:
		return append(dst, format.ChannelKind(v).String()...)
	case format.AsSignal:
		return append(dst, format.SignalName(int32(v))...)
	}
	return format.AppendInt(dst, v)
}

// parseText returns the text of a value, borrowed from it where nothing in it is escaped;
// nil for none.
func parseText(form format.Form, value []byte) []byte {
	if form == format.InStretches {
		if _, ok := format.ParseBlocks(value); !ok {
			return nil
		}
		return value
	}
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && bytes.IndexByte(value[1:], '"') == n-2 {
		return value[1 : n-1 : n-1]
	}
	text, rest, err := format.Unquote([]byte{}, value)
	if err != nil || len(rest) > 0 {
		return nil
	}
	return text
}

func appendText(dst []byte, form format.Form, text []byte) []byte {
	if form == format.InStretches {
		return append(dst, text...)
	}
	return format.AppendQuoted(dst, text)
}
