package script

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// maxNanos bounds times and their sums, so that no sum of two overflows; it is
// about 73 years.
const maxNanos = 1 << 61

// cursor parses a line from the left. It keeps the first fault, and then is at the end
// of the line, so that its user can continue and check once at the end.
type cursor struct {
	b   []byte
	i   int
	msg string
}

func (c *cursor) fail(msg string) {
	if c.msg == "" {
		c.msg = msg
	}
	c.i = len(c.b)
}

// peek returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

func (c *cursor) spaces() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t') {
		c.i++
	}
}

func (c *cursor) expect(b byte) {
	if c.peek() == b && c.i < len(c.b) {
		c.i++
		return
	}
	c.fail("expected " + strconv.QuoteRune(rune(b)))
}

// take skips text if it comes next.
func (c *cursor) take(text string) bool {
	if len(c.b)-c.i >= len(text) && string(c.b[c.i:c.i+len(text)]) == text {
		c.i += len(text)
		return true
	}
	return false
}

// upTo skips everything up to and including the byte b.
func (c *cursor) upTo(b byte) {
	n := bytes.IndexByte(c.b[c.i:], b)
	if n < 0 {
		c.fail("expected " + strconv.QuoteRune(rune(b)))
		return
	}
	c.i += n + 1
}

func isDigit(b byte) bool { return b-'0' <= 9 }

func isName(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || isDigit(b) || b == '_' || b == '?'
}

// name returns the letters, digits and underscores that come next.
func (c *cursor) name() []byte {
	start := c.i
	for c.i < len(c.b) && isName(c.b[c.i]) {
		c.i++
	}
	return c.b[start:c.i]
}

// int reads a decimal or hexadecimal number of 64 bits. Unsigned ones above
// the range of int64 keep their bits: a size of -1 is 18446744073709551615.
func (c *cursor) int() int64 {
	b, i := c.b, c.i
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	if i+1 < len(b) && b[i] == '0' && b[i+1] == 'x' {
		return c.digits(i+2, 16, negative)
	}
	var v uint64
	start := i
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + uint64(d)
	}
	if n := i - start; n == 0 || n > 19 {
		return c.digits(start, 10, negative)
	}
	c.i = i
	return c.signed(v, negative)
}

// mode reads permissions: octal with a leading 0, as strace writes them, or
// decimal.
func (c *cursor) mode() int64 {
	if c.peek() == '0' && c.i+1 < len(c.b) && isDigit(c.b[c.i+1]) {
		return c.digits(c.i+1, 8, false)
	}
	return c.int()
}

// digits reads the digits from position start on, of any base and length.
func (c *cursor) digits(start int, base uint64, negative bool) int64 {
	i, limit := start, (1<<64-1)/base
	var v uint64
	overflow := false
	for ; i < len(c.b); i++ {
		d := uint64(digit[c.b[i]])
		if d >= base {
			break
		}
		next := v*base + d
		overflow = overflow || v > limit || next < v
		v = next
	}
	switch {
	case i == start:
		c.fail("malformed number")
		return 0
	case overflow:
		c.fail("number out of range")
		return 0
	}
	c.i = i
	return c.signed(v, negative)
}

// digit holds the value of a hexadecimal digit, 16 for any other byte.
var digit = func() (t [256]uint8) {
	for b := range t {
		switch c := byte(b); {
		case isDigit(c):
			t[b] = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			t[b] = (c | 0x20) - 'a' + 10
		default:
			t[b] = 16
		}
	}
	return t
}()

func (c *cursor) signed(v uint64, negative bool) int64 {
	if !negative {
		return int64(v)
	}
	if v > 1<<63 {
		c.fail("number out of range")
		return 0
	}
	return -int64(v)
}

// seconds reads decimal seconds as nanoseconds. Digits after the ninth decimal
// are dropped.
func (c *cursor) seconds() int64 {
	nanos, n, err := format.ScanSeconds(c.b[c.i:])
	if err != nil {
		c.fail(err.Error())
		return 0
	}
	c.i += n
	return nanos
}

// quoted reads a string in quotes. It is part of the line if it holds no
// escape, else it is appended to the arena.
func (c *cursor) quoted(arena *[]byte) []byte {
	if c.peek() == '"' {
		start := c.i + 1
		n := bytes.IndexByte(c.b[start:], '"')
		if n >= 0 && bytes.IndexByte(c.b[start:start+n], '\\') < 0 {
			c.i = start + n + 1
			return c.b[start : start+n : start+n]
		}
	}
	start := len(*arena)
	text, rest, err := format.Unquote(*arena, c.b[c.i:])
	if err != nil {
		c.fail(err.Error())
		return nil
	}
	*arena = text
	c.i = len(c.b) - len(rest)
	return text[start:len(text):len(text)]
}

// value skips one argument, whatever it is, up to the comma or the closing
// bracket that ends it, and returns its text.
func (c *cursor) value() []byte {
	start, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			c.skipQuoted()
			continue
		case '<':
			// The text for a descriptor (strace -y) can contain any character.
			c.annotation()
			continue
		case '/':
			if c.take("/*") {
				c.commentEnd()
				continue
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return c.b[start:c.i]
			}
			depth--
		case ',':
			if depth == 0 {
				return c.b[start:c.i]
			}
		}
		c.i++
	}
	c.fail("unbalanced brackets")
	return nil
}

func (c *cursor) skipQuoted() {
	for c.i++; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '"':
			c.i++
			return
		case '\\':
			c.i++
		}
	}
	c.fail("string without an end")
}

// comment skips the remark that strace puts behind some numbers.
func (c *cursor) comment() {
	if c.take(" /*") {
		c.commentEnd()
	}
}

func (c *cursor) commentEnd() {
	n := bytes.Index(c.b[c.i:], []byte("*/"))
	if n < 0 {
		c.fail("comment without an end")
		return
	}
	c.i += n + 2
}

// braces reads the text between braces. Quotes hide a closing brace.
func (c *cursor) braces() []byte {
	c.expect('{')
	start := c.i
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			c.skipQuoted()
			continue
		case '}':
			c.i++
			return c.b[start : c.i-1 : c.i-1]
		}
		c.i++
	}
	c.fail("notes without an end")
	return nil
}
