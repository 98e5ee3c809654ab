package format

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character controls a terminal instead of being
// displayed: a control character of C0 or C1, or one that sets the direction of
// text.
func Hidden(r rune) bool {
	return unicode.IsControl(r) || r > unicode.MaxLatin1 && unicode.Is(unicode.Bidi_Control, r)
}

// AppendVisible appends text of unknown origin, with the escapes of
// AppendQuoted for hidden characters and for bytes that are not UTF-8. Newlines
// and tabs are hidden too: the result is one line. A backslash stays as it is,
// so AppendVisible is idempotent.
func AppendVisible(dst, text []byte) []byte {
	for len(text) > 0 {
		n := visiblePrefix(text)
		dst = append(dst, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		_, n = utf8.DecodeRune(text)
		for range n {
			dst = appendEscape(dst, text)
			text = text[1:]
		}
	}
	return dst
}

// Visible is AppendVisible for strings.
func Visible(text string) string {
	if visiblePrefix(text) == len(text) {
		return text
	}
	return string(AppendVisible(nil, []byte(text)))
}

// visiblePrefix returns how many bytes at the front need no escape.
func visiblePrefix[T []byte | string](text T) int {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return i
			}
			i++
			continue
		}
		end := min(i+utf8.UTFMax, len(text))
		r, n := utf8.DecodeRuneInString(string(text[i:end]))
		if r == utf8.RuneError && n == 1 || Hidden(r) {
			return i
		}
		i += n
	}
	return len(text)
}

// Notation is how a VisibleWriter writes hidden characters.
type Notation uint8

// The notations.
const (
	// TextNotation is that of AppendVisible; newlines and tabs stay.
	TextNotation Notation = iota
	// CSVNotation is that of AppendVisible; the ends of lines outside quotes stay.
	CSVNotation
	// JSONNotation is \uXXXX, which means the same to a reader of JSON; newlines
	// and tabs stay.
	JSONNotation
)

// VisibleWriter escapes hidden characters in what it passes to the writer below
// it. A character may be split over several writes; an incomplete one at the
// end is dropped.
type VisibleWriter struct {
	w        io.Writer
	notation Notation
	quoted   bool   // CSV: inside quotes
	begun    []byte // a character whose end has not come yet
	out      []byte // reused
}

// NewVisibleWriter returns a writer to w.
func NewVisibleWriter(w io.Writer, n Notation) *VisibleWriter {
	return &VisibleWriter{w: w, notation: n}
}

// Write implements io.Writer. After an error of the writer below n is 0, even
// if that has written a part.
func (v *VisibleWriter) Write(p []byte) (n int, err error) {
	text := p
	if len(v.begun) > 0 {
		text = append(v.begun, p...)
	}
	v.out = v.out[:0]
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			v.quoted = v.quoted != (c == '"')
			if c < ' ' && !v.structural(c) || c == 0x7f {
				v.escape(text, 1)
			} else {
				v.out = append(v.out, c)
			}
			text = text[1:]
			continue
		}
		if !utf8.FullRune(text) {
			break
		}
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 || Hidden(r) {
			v.escape(text, n)
		} else {
			v.out = append(v.out, text[:n]...)
		}
		text = text[n:]
	}
	v.begun = append(v.begun[:0], text...)
	if _, err := v.w.Write(v.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// structural reports whether a control character is one of the format itself.
func (v *VisibleWriter) structural(c byte) bool {
	if v.notation == CSVNotation {
		return !v.quoted && (c == '\n' || c == '\r')
	}
	return c == '\n' || c == '\t'
}

// escape writes the character of n bytes at the front of text.
func (v *VisibleWriter) escape(text []byte, n int) {
	if v.notation == JSONNotation {
		r, _ := utf8.DecodeRune(text)
		v.out = AppendJSONEscape(v.out, r)
		return
	}
	for range n {
		v.out = appendEscape(v.out, text)
		text = text[1:]
	}
}

// AppendJSONEscape appends a character below U+10000 as \uXXXX. All hidden
// characters are below.
func AppendJSONEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// CellWriter makes CSV safe for spreadsheets: it puts a ' before a cell that they would
// take for a formula, because a name of unknown origin can look like one. These are
// cells that begin with = + - @, a tab or a carriage return and are not numbers. A cell
// may be split over several writes; the last line needs its line end.
type CellWriter struct {
	w       io.Writer
	within  bool   // not at the beginning of a cell
	quoted  bool   // inside quotes
	pending []byte // a sign and digits, which may be a number
	out     []byte // reused
}

// NewCellWriter returns a writer to w.
func NewCellWriter(w io.Writer) *CellWriter { return &CellWriter{w: w} }

// Write implements io.Writer. After an error of the underlying writer n is 0, even if
// it has written a part.
func (c *CellWriter) Write(p []byte) (n int, err error) {
	c.out = c.out[:0]
	for _, b := range p {
		end := !c.quoted && (b == ',' || b == '\n' || b == '\r')
		digit := b >= '0' && b <= '9' || b == '.'
		switch {
		case len(c.pending) > 0 && digit:
			c.pending = append(c.pending, b)
			continue
		case len(c.pending) > 0:
			number := len(c.pending) > 1 && end
			c.release(!number)
		case c.within || end:
		case b == '"' && !c.quoted: // the cell begins behind it
			c.quoted = true
			c.out = append(c.out, b)
			continue
		case b == '+' || b == '-':
			c.pending = append(c.pending, b)
			c.within = true
			continue
		case b == '=' || b == '@' || b == '\t' || b == '\r':
			c.out = append(c.out, '\'')
		}
		c.within = !end
		c.quoted = c.quoted != (b == '"')
		c.out = append(c.out, b)
	}
	if _, err := c.w.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// release writes the pending bytes, as a formula or unchanged.
func (c *CellWriter) release(formula bool) {
	if formula {
		c.out = append(c.out, '\'')
	}
	c.out = append(c.out, c.pending...)
	c.pending = c.pending[:0]
}
