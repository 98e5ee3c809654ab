package bin

import (
	"fmt"
	"io"
	"math"

	"pianola/format"
)

// The words of a row of kindSpans. The strings are numbers of the table.
const (
	spanEvent = iota
	spanTail
	spanDur
	spanName
	spanKind
	spanRet
	spanBytes
	spanFailed
)

var spanWords = []column{
	spanEvent: {doc: "the event that follows it"}, spanTail: {doc: "time from the end of the event before to its end", most: math.MaxInt64},
	spanDur: {doc: "duration", least: format.Unknown, most: math.MaxInt64}, spanName: {doc: "name"}, spanKind: {doc: "kind"}, spanRet: {doc: "result"},
	spanBytes: {doc: "bytes", least: format.Unknown, most: math.MaxInt64}, spanFailed: {doc: "failed", most: 1},
}

// The words of a row of kindValues. Each number of an array has a row.
const (
	valueEvent = iota
	valueSpan
	valueArg
	valueOf
	valueIs
	valueLen
)

var valueWords = []column{
	valueEvent: {doc: "the event"}, valueSpan: {doc: "number of the span in the thread"}, valueArg: {doc: "position", most: format.MaxSpanArgs - 1},
	valueOf: {doc: "kind and flags"}, valueIs: {doc: "value"}, valueLen: {doc: "length of the array", most: format.MaxSpanNumbers},
}

// Flags of valueOf.
const (
	valueCut  = 1 << 8
	valueNull = 1 << 9 // a text that is not there
)

// span appends the rows of a span.
func (w *Writer) span(t *thread, e *format.Event) error {
	s := e.Span
	if s == nil {
		return fmt.Errorf("thread %d, event %d: no span", t.number, t.events)
	}
	name := s.Name()
	if _, _, ok := format.CutSpanName(name); !ok || s.Kind != "" && !format.IsWord(s.Kind) || len(s.Kind) > format.MaxSpanName {
		return fmt.Errorf("thread %d, event %d: %.100q of kind %.100q is not a span", t.number, t.events, name, s.Kind)
	}
	if e.Compute < 0 || e.Dur < format.Unknown || len(s.Args) > format.MaxSpanArgs {
		return fmt.Errorf("thread %d, event %d: malformed span %s", t.number, t.events, name)
	}
	failed := uint64(0)
	if s.Failed {
		failed = 1
	}
	rows := append(t.stream(kindSpans).rows, uint64(t.events), uint64(e.Compute), uint64(e.Dur), uint64(w.id([]byte(name))), uint64(w.id([]byte(s.Kind))),
		uint64(e.Ret), uint64(max(s.Bytes, format.Unknown)), failed)
	if err := w.add(t, kindSpans, rows); err != nil {
		return err
	}
	rows = t.stream(kindValues).rows
	for i := range s.Args {
		rows = w.value(rows, [...]uint64{uint64(t.events), uint64(t.spans), uint64(i)}, &s.Args[i])
	}
	t.spans++
	if err := w.add(t, kindValues, rows); err != nil {
		return err
	}
	return w.checkText(t)
}

// value appends the rows of an argument.
func (w *Writer) value(rows []uint64, at [3]uint64, v *format.Value) []uint64 {
	of, is := uint64(v.Kind), uint64(0)
	switch v.Kind {
	case format.ValueInt, format.ValueAddr, format.ValuePointed:
		is = uint64(v.Int)
	case format.ValuePath, format.ValueText:
		if v.Cut {
			of |= valueCut
		}
		if v.Text == nil {
			of |= valueNull
		} else {
			is = uint64(w.id(v.Text))
		}
	case format.ValueNumbers:
		for _, n := range v.Numbers[:min(len(v.Numbers), format.MaxSpanNumbers)] {
			rows = append(rows, at[0], at[1], at[2], of, uint64(n), uint64(len(v.Numbers)))
		}
		if len(v.Numbers) > 0 {
			return rows
		}
	}
	return append(rows, at[0], at[1], at[2], of, is, 0)
}

func stringsOfValue(row []uint64) uint16 {
	switch k := format.ValueKind(row[valueOf]); {
	case k != format.ValuePath && k != format.ValueText, row[valueOf]&valueNull != 0:
		return 0
	}
	return 1 << valueIs
}

func checkSpan(t *Trace, _ int32, row []uint64) string {
	for _, w := range [...]int{spanName, spanKind} {
		if row[w] >= uint64(len(t.strings)) {
			return fmt.Sprintf("string %d of %d", int64(row[w]), len(t.strings))
		}
	}
	name, kind := t.strings[row[spanName]], t.strings[row[spanKind]]
	if _, _, ok := format.CutSpanName(name); !ok || kind != "" && !format.IsWord(kind) {
		return fmt.Sprintf("%.100q of kind %.100q is not a span", name, kind)
	}
	return ""
}

func checkValue(t *Trace, _ int32, row []uint64) string {
	if row[valueOf]&^(valueCut|valueNull) >= uint64(format.NumValueKinds) {
		return "malformed argument of a span"
	}
	if stringsOfValue(row) != 0 && row[valueIs] >= uint64(len(t.strings)) {
		return fmt.Sprintf("string %d of %d", int64(row[valueIs]), len(t.strings))
	}
	return ""
}

// spanLine reads the spans of a thread.
type spanLine struct {
	rows, values attachment
	read         int64 // spans that have been returned
}

// openSpans makes the spans of a thread ready, if it has any.
func (l *line) openSpans(t *Trace, thread int32) error {
	if len(t.thread(thread).of(kindSpans)) == 0 {
		return nil
	}
	more := 2*attachmentBytes + 8*attachedRows*int64(kinds[kindSpans].width+kinds[kindValues].width)
	if err := t.loader.budget.take(more, 1); err != nil {
		return err
	}
	l.bytes += more
	l.spans = &spanLine{}
	l.spans.rows.open(t, thread, kindSpans)
	l.spans.values.open(t, thread, kindValues)
	return nil
}

// span fills e with the next span of a thread, if it ends before the thread's next event.
func (m *merged) span(e *format.Event, t *turn) (filled bool, err error) {
	l := t.line
	if l.spans == nil {
		return false, nil
	}
	switch event, err := l.spans.rows.peek(); {
	case err == io.EOF || err == nil && event > l.event:
		return false, nil
	case err != nil:
		return false, err
	}
	row, err := l.spans.rows.next()
	if err != nil {
		return false, err
	}
	before := t.start // end of the event before
	if !l.ended {
		before -= l.recs[l.rec].Compute
	}
	s := m.spans.Add(format.Span{Kind: m.trace.strings[row[spanKind]], Bytes: int64(row[spanBytes]), Failed: row[spanFailed] == 1})
	s.Layer, s.Function, _ = format.CutSpanName(m.trace.strings[row[spanName]])
	*e = format.Event{TID: t.thread, Compute: int64(row[spanTail]), Dur: int64(row[spanDur]), Ret: int64(row[spanRet]), Span: s}
	e.Start = before + e.Compute - max(e.Dur, 0)
	s.Args, err = m.arguments(l.spans)
	l.spans.read++
	return err == nil, err
}

// arguments reads the arguments of the next span.
func (m *merged) arguments(l *spanLine) ([]format.Value, error) {
	from, arg := len(m.spans.Values), -1
	for {
		if _, err := l.values.peek(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if l.values.rows[valueSpan] != uint64(l.read) {
			break
		}
		row, err := l.values.next()
		if err != nil {
			return nil, err
		}
		next, n := int(row[valueArg]), len(m.spans.Values)
		v := format.Value{Kind: format.ValueKind(row[valueOf]), Cut: row[valueOf]&valueCut != 0}
		switch {
		case next == arg && v.Kind == format.ValueNumbers && m.spans.Values[n-1].Kind == v.Kind && len(m.spans.Values[n-1].Numbers) < format.MaxSpanNumbers:
			m.spans.Numbers = append(m.spans.Numbers, int64(row[valueIs]))
			last := &m.spans.Values[n-1]
			last.Numbers = m.spans.NumbersFrom(len(m.spans.Numbers) - len(last.Numbers) - 1)
			continue
		case next != arg+1:
			return nil, l.values.malformed(l.values.row-1, fmt.Sprintf("argument %d after %d", next, arg))
		}
		switch arg = next; v.Kind {
		case format.ValueInt, format.ValueAddr, format.ValuePointed:
			v.Int = int64(row[valueIs])
		case format.ValuePath, format.ValueText:
			if stringsOfValue(row) != 0 {
				v.Text = m.string(int64(row[valueIs]))
			}
		case format.ValueNumbers:
			if k := len(m.spans.Numbers); row[valueLen] > 0 {
				m.spans.Numbers = append(m.spans.Numbers, int64(row[valueIs]))
				v.Numbers = m.spans.NumbersFrom(k)
			}
		}
		m.spans.Values = append(m.spans.Values, v)
	}
	return m.spans.ValuesFrom(from), nil
}
