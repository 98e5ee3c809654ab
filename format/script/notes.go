package script

import (
	"bytes"

	"pianola/format"
)

// Notes are between braces after a call: "key=value" or a bare word, as the rows of
// format.NoteFields and format.OwnFields say. A note stays text if it is not in these
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
func (r *Reader) parseNote(e *format.Event, f *format.Field, text []byte) bool {
	if f.Known(e) || !f.Fits(e) {
		return false
	}
	v, ok := f.Parse(text)
	if !ok {
		return false
	}
	if f.Noted != 0 {
		r.noted(e)
	}
	f.Set(e, v)
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
	if k < 0 || !info.Args[k].Kind.HasState() {
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
			if f, has = has.Note(); f.Key != "" && f.Fits(e) {
				dst = f.Append(append(dst, ' '), e)
			}
		}
	}
	if e.Shows() {
		for _, f := range own {
			if f.Known(e) {
				dst = f.Append(append(dst, ' '), e)
			}
		}
	}
	if n != nil && len(n.Text) > 0 {
		dst = append(append(dst, ' '), n.Text...)
	}
	return dst
}

func appendStates(dst []byte, e *format.Event) []byte {
	str := 0
	for _, a := range e.Op.Info().Args {
		if !a.Kind.HasState() {
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
