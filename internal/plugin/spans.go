package plugin

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"pianola/format"
	"pianola/format/script"
)

// SpanVersion is the version of the lines that a program gets for spans and answers.
// The header line "spans" has it.
const SpanVersion = "1"

// maxRefusal bounds why a program did not play a span, and a remark, in bytes.
const maxRefusal = 200

// Spans runs the program for the spans of a recording with a header. It must be closed.
func (p *Program) Spans(ctx context.Context, h *format.Header) (*Backend, error) {
	with := *h
	with.Meta = slices.Clone(h.Meta)
	with.Set("spans", SpanVersion)
	o, err := p.backend(ctx, &with, nil)
	if err != nil {
		return nil, err
	}
	for i := range o.threads {
		o.threads[i].span = true
	}
	return o, nil
}

// PlaySpan makes the program of Spans call the function of a span, as Play does for an
// event.
func (o *Backend) PlaySpan(thread int32, e *format.Event) (Answer, error) {
	a := &o.threads[thread-1]
	a.line = a.line[:0]
	if o.several {
		a.line = append(strconv.AppendInt(a.line, int64(thread), 10), ' ')
	}
	a.line = script.AppendSpan(a.line, e)
	return o.ask(a)
}

var errSpanAnswer = errors.New("expected a number and seconds in <>, or ? and a reason")

// spanAnswer parses "RESULT <SECONDS>", RESULT, either with "? REMARK" behind it, or "? REASON".
func spanAnswer(b []byte) (Answer, error) {
	first, rest, _ := bytes.Cut(b, []byte(" "))
	rest = bytes.TrimSpace(rest)
	if len(first) == 1 && first[0] == '?' {
		why := "no reason given"
		if len(rest) > 0 {
			why = format.Visible(string(rest[:min(len(rest), maxRefusal)]))
		}
		return Answer{Result: format.NoResult, Dur: format.Unknown, Refused: why}, nil
	}
	got, err := strconv.ParseInt(string(first), 10, 64)
	if err != nil {
		return Answer{}, errSpanAnswer
	}
	rest, remark, _ := bytes.Cut(rest, []byte("? "))
	rest = bytes.TrimSpace(rest)
	a := Answer{Result: got, Dur: format.Unknown, Remark: format.Visible(string(remark[:min(len(remark), maxRefusal)]))}
	if len(rest) == 0 {
		return a, nil
	}
	seconds, closed := bytes.CutSuffix(rest, []byte(">"))
	if !closed || rest[0] != '<' {
		return Answer{}, errSpanAnswer
	}
	if a.Dur, err = format.ParseSeconds(seconds[1:]); err != nil || a.Dur < 0 {
		return Answer{}, errSpanAnswer
	}
	return a, nil
}
