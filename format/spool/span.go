package spool

import (
	"bytes"
	"encoding/binary"

	"pianola/format"
)

// The payloads of an event.
const (
	payloadSpan = 1 + iota
	payloadEnters
	payloadList
)

func appendPayload(dst []byte, e *format.Event) []byte {
	switch {
	case e.Span != nil:
		return appendSpan(append(dst, payloadSpan), e.Span)
	case e.List != nil:
		l, update := e.List, byte(0)
		if l.Update {
			update = 1
		}
		return appendNumbers(binary.AppendVarint(append(dst, payloadList, byte(l.Of), update), l.From), l.Items)
	}
	return appendBytes(append(dst, payloadEnters), e.Enters.Append(nil))
}

// payload decodes what appendPayload appended.
func (d *decoder) payload(e *format.Event) {
	switch d.uvarint() {
	case payloadSpan:
		e.Span = d.span()
	case payloadEnters:
		e.Enters = &format.Header{}
		for line := range bytes.Lines(d.bytes()) {
			if e.Enters.ParseLine(bytes.TrimSuffix(line, []byte("\n"))) != nil {
				d.fail()
			}
		}
	case payloadList:
		l := format.List{Of: format.ListOf(d.uvarint()), Update: d.uvarint() == 1, From: d.varint(), Items: d.numbers()}
		if l.Of >= format.NumListOf || len(l.Items)%l.Width() != 0 {
			d.fail()
			return
		}
		e.List = d.spans.AddList(l)
	default:
		d.fail()
	}
}

func appendNumbers(dst []byte, numbers []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(numbers)))
	for _, n := range numbers {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

// numbers decodes what appendNumbers appended.
func (d *decoder) numbers() []int64 {
	first := len(d.spans.Numbers)
	for k := d.uvarint(); k > 0 && !d.bad; k-- {
		d.spans.Numbers = append(d.spans.Numbers, d.varint())
	}
	return d.spans.NumbersFrom(first)
}

// appendSpan appends all of a span.
func appendSpan(dst []byte, s *format.Span) []byte {
	for _, name := range [...]string{s.Layer, s.Function, s.Kind} {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))+1), name...)
	}
	failed := int64(0)
	if s.Failed {
		failed = 1
	}
	dst = binary.AppendVarint(binary.AppendVarint(dst, s.Bytes), failed)
	dst = binary.AppendUvarint(dst, uint64(len(s.Args)))
	for i := range s.Args {
		v := &s.Args[i]
		dst = append(dst, byte(v.Kind))
		switch v.Kind {
		case format.ValueInt, format.ValueAddr, format.ValuePointed:
			dst = binary.AppendVarint(dst, v.Int)
		case format.ValuePath, format.ValueText:
			cut := byte(0)
			if v.Cut {
				cut = 1
			}
			dst = appendBytes(append(dst, cut), v.Text)
		case format.ValueNumbers:
			dst = appendNumbers(dst, v.Numbers)
		}
	}
	return dst
}

// reuse makes the memory of notes, edges and spans free.
func (d *decoder) reuse() {
	d.notes, d.edges = d.notes[:0], d.edges[:0]
	d.spans.Reset()
}

// name decodes a name.
func (d *decoder) name() string { return d.spans.Word(d.bytes()) }

// span decodes what appendSpan appended.
func (d *decoder) span() *format.Span {
	s := d.spans.Add(format.Span{Layer: d.name(), Function: d.name(), Kind: d.name(), Bytes: d.varint(), Failed: d.varint() != 0})
	from := len(d.spans.Values)
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		v := format.Value{Kind: format.ValueKind(d.uvarint())}
		switch v.Kind {
		case format.ValueInt, format.ValueAddr, format.ValuePointed:
			v.Int = d.varint()
		case format.ValuePath, format.ValueText:
			v.Cut = d.uvarint() != 0
			v.Text = d.bytes()
		case format.ValueNumbers:
			v.Numbers = d.numbers()
		}
		d.spans.Values = append(d.spans.Values, v)
	}
	s.Args = d.spans.ValuesFrom(from)
	return s
}
