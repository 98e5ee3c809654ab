package format

import (
	"bytes"
	"math"
	"strconv"
)

// Scripts have a field as "key=value", or as a bare word. This file reads and writes that
// text as the rows of the fields say.

// FieldValue is the value of a field.
type FieldValue struct {
	numbers [maxParts]int64 // of parts that are numbers
	text    []byte          // of a part that is a text, borrowed where nothing in it is escaped
}

// Parse reads the text of a value, nil for a bare word. ok is false if the field can't
// have it.
func (f *Field) Parse(text []byte) (v FieldValue, ok bool) {
	switch {
	case len(f.Parts) == 0:
		return v, (text != nil) == (f.Word != "") && string(text) == f.Word
	case f.Parts[0].IsText():
		v.text = parseText(f.Parts[0].Form, text)
		return v, v.text != nil
	}
	return v, parseNumbers(&v.numbers, f.Parts, text)
}

// Set gives an event the field. The notes of a note must be there.
func (f *Field) Set(e *Event, v FieldValue) {
	if f.Noted != 0 {
		e.Notes.Has |= f.Noted
	}
	for i := range f.Parts {
		if p := &f.Parts[i]; p.IsText() {
			*p.Text(e) = v.text
		} else {
			p.Set(e, v.numbers[i])
		}
	}
}

// Append appends the field of an event that has it.
func (f *Field) Append(dst []byte, e *Event) []byte {
	dst = append(dst, f.Name(e)...)
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
		dst = p.Append(dst, v)
	}
	return dst
}

// maxParts is the largest number of parts of a value.
const maxParts = 3

// parseNumbers reads the parts of a value that are numbers.
func parseNumbers(v *[maxParts]int64, parts []Part, value []byte) (ok bool) {
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
		if v[i], ok = p.parse(word); !ok {
			return false
		}
		value = value[len(word):]
	}
	return true
}

// parse reads a number, and reports whether it is one that the part can be.
func (p *Part) parse(word []byte) (n int64, ok bool) {
	switch p.Form {
	case InUnsigned, InHex, InOctal:
		base := 10
		if p.Form == InHex {
			base = 16
		} else if p.Form == InOctal {
			base = 8
		}
		u, err := strconv.ParseUint(string(word), base, 64)
		return int64(u), err == nil && (p.Form != InOctal || u <= math.MaxInt64 && p.Within(int64(u)))
	case InSeconds:
		n, err := ParseSeconds(word)
		return n, err == nil && p.Within(n)
	case InFlags:
		n, err := p.Flags.Parse(word)
		return n, err == nil && n != 0
	case AsType:
		t := ParseFileType(word)
		return int64(t), t != TypeUnknown
	case AsChannel:
		k, ok := ParseChannelKind(word)
		return int64(k), ok
	case AsSignal:
		s, ok := ParseSignal(string(word))
		return int64(s), ok
	case InIndex:
		n, ok = ParseDecimal(word)
		return n + 1, ok && p.Within(n+1)
	case InSigned, AsResult:
		if errno, ok := ErrnoNumber(word); ok && p.Form == AsResult {
			return -int64(errno), true
		}
		if digits, negative := bytes.CutPrefix(word, []byte("-")); negative {
			n, ok = ParseDecimal(digits)
			return -n, ok && p.Within(-n)
		}
	}
	n, ok = ParseDecimal(word)
	return n, ok && p.Within(n)
}

// Append appends a number, as scripts have it.
func (p *Part) Append(dst []byte, v int64) []byte {
	switch p.Form {
	case InIndex:
		return AppendInt(dst, v-1)
	case InUnsigned:
		return strconv.AppendUint(dst, uint64(v), 10)
	case InHex:
		return AppendHex(dst, uint64(v))
	case InOctal:
		return strconv.AppendUint(append(dst, '0'), uint64(v), 8)
	case InSeconds:
		return AppendSeconds(dst, v)
	case InFlags:
		return p.Flags.Append(dst, v)
	case AsType:
		return append(dst, FileType(v).String()...)
	case AsChannel:
		return append(dst, ChannelKind(v).String()...)
	case AsSignal:
		return append(dst, SignalName(int32(v))...)
	case AsResult:
		if name := ErrnoName(int(-v)); v < 0 && name[0] == 'E' {
			return append(dst, name...)
		}
	}
	return AppendInt(dst, v)
}

// parseText returns the text of a value, borrowed from it where nothing in it is escaped;
// nil for none.
func parseText(form Form, value []byte) []byte {
	if form == InStretches {
		if _, ok := ParseBlocks(value); !ok {
			return nil
		}
		return value
	}
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && bytes.IndexByte(value[1:], '"') == n-2 {
		return value[1 : n-1 : n-1]
	}
	text, rest, err := Unquote([]byte{}, value)
	if err != nil || len(rest) > 0 {
		return nil
	}
	return text
}

func appendText(dst []byte, form Form, text []byte) []byte {
	if form == InStretches {
		return append(dst, text...)
	}
	return AppendQuoted(dst, text)
}

// ParseDecimal returns the value of decimal digits, and false if it is none of the
// numbers from 0 to MaxNote.
func ParseDecimal(digits []byte) (n int64, ok bool) {
	for _, d := range digits {
		if n = 10*n + int64(d-'0'); d < '0' || d > '9' || n > MaxNote {
			return 0, false
		}
	}
	return n, len(digits) > 0
}
