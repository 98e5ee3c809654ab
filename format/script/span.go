package script

import (
	"fmt"
	"strings"

	"pianola/format"
)

// spans is the memory of the spans of one Read.
type spans struct {
	format.SpanMemory
	layer string // of the span before
}

// The notes of a span.
const (
	noteKind   = "span"
	noteBytes  = "bytes"
	noteFailed = "failed"
	noteEnd    = "end" // Intermediate: seconds from the end of the thread's previous event to that of the span
)

// parseSpan parses the rest of a line after the name of a layer.
func (r *Reader) parseSpan(e *format.Event, layer []byte) bool {
	c := &r.cursor
	if !r.isLayer(layer) {
		c.fail(fmt.Sprintf("%.100s is neither a layer of the recording nor a way to ask for an operation", layer))
		return false
	}
	c.i++
	function := c.name()
	s := r.spans.Add(format.Span{Bytes: format.Unknown})
	if !r.nameSpan(s, layer, function) {
		c.fail("expected the name of a library's function")
		return false
	}
	e.Span = s
	c.expect('(')
	from := len(r.spans.Values)
	for first := true; c.i < len(c.b) && c.peek() != ')'; first = false {
		if !first {
			c.expect(',')
			c.spaces()
		}
		if len(r.spans.Values)-from == format.MaxSpanArgs {
			c.fail("too many arguments")
			break
		}
		v := r.parseValue()
		if c.msg != "" {
			break
		}
		r.spans.Values = append(r.spans.Values, v)
	}
	s.Args = r.spans.ValuesFrom(from)
	c.expect(')')
	c.spaces()
	c.expect('=')
	c.spaces()
	e.Ret = format.NoResult
	if !c.take("?") {
		e.Ret = c.int()
	}
	c.spaces()
	if c.take("<") {
		if e.Dur = c.seconds(); e.Dur < 0 {
			c.fail("negative duration")
		}
		c.expect('>')
		c.spaces()
	}
	if c.peek() == '{' {
		r.spanNotes(e, c.braces())
		c.spaces()
	}
	if c.i < len(c.b) {
		c.fail("unexpected text after the span")
	}
	if r.dialect == Intermediate {
		r.placeSpan(e)
	}
	return true
}

// isLayer reports whether the header names a layer.
func (r *Reader) isLayer(name []byte) bool {
	if len(name) > 0 && string(name) == r.spans.layer {
		return true
	}
	for _, m := range r.header.Meta {
		if first, _, _ := strings.Cut(m.Value, " "); m.Key == format.MetaLayer && first == string(name) {
			r.spans.layer = first
			return first != ""
		}
	}
	return false
}

// nameSpan gives a span its names, and reports whether they are names.
func (r *Reader) nameSpan(s *format.Span, layer, function []byte) (ok bool) {
	first := len(r.arena)
	r.arena = append(append(append(r.arena, layer...), ':'), function...)
	s.Layer, s.Function, ok = r.spans.Cut(r.arena[first:])
	r.arena = r.arena[:first]
	return ok
}

// parseValue parses an argument of a span.
func (r *Reader) parseValue() (v format.Value) {
	c := &r.cursor
	switch {
	case c.take("?"):
	case c.take("NULL"):
		v.Kind = format.ValueAddr
	case c.take("0x"):
		c.i -= len("0x")
		v.Kind, v.Int = format.ValueAddr, c.int()
	case c.take("&"):
		v.Kind, v.Int = format.ValuePointed, c.int()
	case c.take("["):
		v.Kind = format.ValueNumbers
		v.Numbers = r.parseNumbers()
	case c.take("path="):
		v.Kind, v.Text = format.ValuePath, c.quoted(&r.arena)
		v.Cut = c.take("...")
	case c.peek() == '"':
		v.Kind, v.Text = format.ValueText, c.quoted(&r.arena)
		v.Cut = c.take("...")
	default:
		v.Kind, v.Int = format.ValueInt, c.int()
	}
	return v
}

func (r *Reader) parseNumbers() []int64 {
	c, from := &r.cursor, len(r.spans.Numbers)
	for first := true; c.i < len(c.b) && c.peek() != ']'; first = false {
		if !first {
			c.expect(',')
			c.spaces()
		}
		if len(r.spans.Numbers)-from == format.MaxSpanNumbers {
			c.fail("too many numbers")
			break
		}
		r.spans.Numbers = append(r.spans.Numbers, c.int())
	}
	c.expect(']')
	return r.spans.NumbersFrom(from)
}

// spanNotes reads the notes of a span. Unknown ones are dropped.
func (r *Reader) spanNotes(e *format.Event, text []byte) {
	for {
		key, value, rest := format.CutNote(text)
		if key == nil {
			return
		}
		text = rest
		switch string(key) {
		case noteKind:
			if e.Span.Kind = r.spans.Word(value); !format.IsWord(e.Span.Kind) {
				r.cursor.fail("malformed kind of a span")
			}
		case noteBytes:
			n, ok := format.ParseDecimal(value)
			if e.Span.Bytes = n; !ok {
				r.cursor.fail("malformed number of bytes")
			}
		case noteFailed:
			e.Span.Failed = true
		case noteEnd:
			v := cursor{b: value}
			if e.Compute = v.seconds(); v.msg != "" || e.Compute < 0 || v.i < len(value) {
				r.cursor.fail("malformed end of a span")
			}
		}
	}
}

// placeSpan gives a span of an intermediate script its start.
func (r *Reader) placeSpan(e *format.Event) {
	t := r.thread(e.TID)
	if t.now+e.Compute > maxNanos {
		r.cursor.fail("time out of range")
		return
	}
	e.Start = t.now + e.Compute - max(e.Dur, 0)
}

// AppendSpan appends the line of a span without its thread and its time, with a newline.
func AppendSpan(dst []byte, e *format.Event) []byte { return appendSpan(dst, e, nil) }

// appendSpan appends a span after the columns of its line, with a newline. end is nil
// in the Recorded dialect.
func appendSpan(dst []byte, e *format.Event, end *int64) []byte {
	s := e.Span
	dst = append(append(dst, s.Layer...), ':')
	dst = append(append(dst, s.Function...), '(')
	dst = append(AppendArgs(dst, s.Args), ") = "...)
	if e.Ret == format.NoResult {
		dst = append(dst, '?')
	} else {
		dst = format.AppendInt(dst, e.Ret)
	}
	if e.Dur >= 0 {
		dst = append(format.AppendSeconds(append(dst, " <"...), e.Dur), '>')
	}
	start := len(dst)
	dst = append(dst, ' ')
	if s.Kind != "" {
		dst = append(append(dst, " "+noteKind+"="...), s.Kind...)
	}
	if s.Bytes >= 0 {
		dst = format.AppendInt(append(dst, " "+noteBytes+"="...), s.Bytes)
	}
	if s.Failed {
		dst = append(dst, " "+noteFailed...)
	}
	if end != nil && *end != 0 {
		dst = format.AppendSeconds(append(dst, " "+noteEnd+"="...), *end)
	}
	return append(inBraces(dst, start), '\n')
}

// AppendArgs appends the arguments of a span, as a script has them between brackets.
func AppendArgs(dst []byte, args []format.Value) []byte {
	for i := range args {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendValue(dst, &args[i])
	}
	return dst
}

func appendValue(dst []byte, v *format.Value) []byte {
	switch v.Kind {
	case format.ValueInt:
		return format.AppendInt(dst, v.Int)
	case format.ValueAddr:
		return appendAddr(dst, v.Int)
	case format.ValuePointed:
		return format.AppendInt(append(dst, '&'), v.Int)
	case format.ValueNumbers:
		dst = append(dst, '[')
		for i, n := range v.Numbers {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = format.AppendInt(dst, n)
		}
		return append(dst, ']')
	case format.ValuePath, format.ValueText:
		if v.Kind == format.ValuePath {
			dst = append(dst, "path="...)
		}
		if dst = format.AppendQuoted(dst, v.Text); v.Cut {
			dst = append(dst, "..."...)
		}
		return dst
	}
	return append(dst, '?')
}
