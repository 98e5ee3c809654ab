package script

import (
	"io"

	"pianola/format"
)

// IntermediateWriter writes the events of a trace as an intermediate script.
// It implements format.Writer.
type IntermediateWriter struct {
	out     buffer
	threads bool // there are several, and lines say which
}

// NewIntermediateWriter returns a writer to w of the trace that h belongs to.
// A header that says nothing is not written at all. The writer buffers: call
// Flush at the end.
func NewIntermediateWriter(w io.Writer, h *format.Header) *IntermediateWriter {
	i := &IntermediateWriter{out: newBuffer(w), threads: len(h.Threads) > 1}
	if len(h.Append(nil)) > 0 {
		i.out.text = append(i.out.text, IntermediateLine...)
		_ = i.out.header(h) // the error stays and comes back from Write and Flush
	}
	return i
}

// Write implements format.Writer. The operations should be canonical. The
// first error of the underlying writer is returned by this and all later calls.
func (w *IntermediateWriter) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if err := checkOp(e); err != nil {
			return err
		}
		if e.Span != nil {
			w.begin(e)
			w.out.text = appendSpan(w.out.text, e, &e.Compute)
			if err := w.out.flushFull(); err != nil {
				return err
			}
			continue
		}
		if e.Compute != 0 {
			w.begin(e)
			w.out.text = append(w.out.text, "compute ( "...)
			w.out.text = format.AppendSeconds(w.out.text, e.Compute)
			if off := e.Off.Total(); off != 0 {
				w.out.text = format.AppendSeconds(append(w.out.text, ' '), off)
				for k, p := range e.Off.Parts() {
					if *p != 0 && p != &e.Off.Other {
						w.out.text = append(append(append(w.out.text, ' '), format.OffNames[k]...), '=')
						w.out.text = format.AppendSeconds(w.out.text, *p)
					}
				}
			}
			w.out.text = append(w.out.text, " )\n"...)
		}
		w.begin(e)
		w.out.text = AppendOperation(w.out.text, e)
		if err := w.out.flushFull(); err != nil {
			return err
		}
	}
	return w.out.err
}

// Flush writes what is buffered.
func (w *IntermediateWriter) Flush() error { return w.out.flush() }

// begin begins a line.
func (w *IntermediateWriter) begin(e *format.Event) {
	if w.threads {
		w.out.text = append(format.AppendInt(w.out.text, int64(e.TID)), ' ')
	}
}

// AppendOperation appends the line of an event in the Intermediate dialect,
// without its thread and its compute, with a newline. The event's operation must
// be valid.
func AppendOperation(dst []byte, e *format.Event) []byte {
	info := e.Op.Info()
	dst = append(append(dst, info.Name...), " ( "...)
	str := 0
	for k := range numArgs(e, info) {
		switch a := &info.Args[k]; a.Kind {
		case format.Addr:
			continue
		case format.Path, format.Text:
			dst = appendBare(dst, e.Str[str])
			str++
		case format.Items:
			dst = e.List.AppendQuoted(dst)
		default:
			dst = appendNumber(dst, a.Kind, e.Args[k])
		}
		dst = append(dst, ' ')
	}
	dst = append(dst, ')')
	dst = appendResult(dst, e)
	return append(appendEdges(dst, e, info), '\n')
}

// appendEdges appends the addresses, the edges and the text notes of e.
func appendEdges(dst []byte, e *format.Event, info *format.Info) []byte {
	start := len(dst)
	dst = append(dst, ' ')
	for k := range info.Args {
		if a := &info.Args[k]; a.Kind == format.Addr && e.Args[k] != 0 {
			dst = append(append(append(dst, ' '), a.Name...), '=')
			dst = appendAddr(dst, e.Args[k])
		}
	}
	for i := range e.Edges {
		dst = e.Edges[i].Append(append(dst, " after="...))
	}
	if e.Traces() { // most don't
		for _, f := range traced {
			if f.Known(e) {
				dst = f.Append(append(dst, ' '), e)
			}
		}
	}
	if e.Notes != nil && len(e.Notes.Text) > 0 {
		dst = append(append(dst, ' '), e.Notes.Text...)
	}
	return inBraces(dst, start)
}

// isBare says which bytes a string without quotes consists of.
func isBare(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '+' && b <= '9' && b != ',' || b == '_'
}

// appendBare appends a string without quotes if it cannot be taken for
// anything else.
func appendBare(dst, s []byte) []byte {
	switch {
	case s == nil:
		return append(dst, "NULL"...)
	case len(s) == 0, string(s) == "NULL", likeNumber(s):
		return format.AppendQuoted(dst, s)
	}
	for _, b := range s {
		if !isBare(b) {
			return format.AppendQuoted(dst, s)
		}
	}
	return append(dst, s...)
}

// likeNumber reports whether s could be taken for a number: decimal with any
// signs and points in it, or hexadecimal.
func likeNumber(s []byte) bool {
	hex := len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x'
	digits := false
	for i, b := range s {
		if hex && i > 1 && digit[b] == 16 || !hex && !isDigit(b) && b != '+' && b != '-' && b != '.' {
			return false
		}
		digits = digits || isDigit(b)
	}
	return digits
}
