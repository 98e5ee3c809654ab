package bin

import (
	"fmt"

	"pianola/format"
)

// layout describes a kind of part. To add a kind, append a row to kinds, and
// add a field to Event, Header or Trace for its contents.
type layout struct {
	tag   string // four letters, in the file
	name  string // in errors
	doc   string // what the text holds, or what a row is, for the page of the reference
	scope scope
	words []column // of a row; none is a text

	// A reader that does not know a required kind refuses the file, because it
	// would misread the others. A required part of the whole trace is always in
	// the file, and so are required rows of each event.
	required bool

	// For a part of the whole trace. write returns the contents of the part. It is
	// called after all events. If it returns nothing and the kind is not required, the
	// part is left out. read reads the contents, and claims the memory that it keeps
	// from the budget. It is called in the order of kinds.
	write func(w *Writer, h *format.Header) content
	read  func(t *Trace, p *part) error

	// For rows of a thread. encode appends the rows of event n of the thread,
	// from 0, to dst. decode sets a field of the event from one row; it is nil
	// for kinds with readers of their own. check, if not nil, returns what is
	// wrong with a row, "" if it is valid. strings has a bit for each word of a
	// row that is the number of a string, from Writer.id. That number can
	// change until the row is written, and is checked when the row is read.
	encode  func(w *Writer, e *format.Event, n int64, dst []uint64) []uint64
	decode  func(m *merged, e *format.Event, row []uint64)
	check   func(t *Trace, thread int32, row []uint64) string
	strings func(row []uint64) uint16

	// some tells which events have rows, nil for any.
	some func(e *format.Event) bool

	// fields are the numbers of an event behind the first word of a row, instead of words,
	// encode and decode. settle, if not nil, bounds what was read.
	fields []*format.Field
	settle func(e *format.Event)

	// These follow from the others.
	width  int   // words in a row, 0 of a text
	bounds []int // words that have bounds

	// after says that rows may also belong to the end of the thread, after its last event.
	after bool

	// absent is the default of all words, for kinds that are eachEvent and not
	// required. If all rows of a thread hold it, they are not written, and
	// decode is not called for them.
	absent uint64
}

// column is a word of a row.
type column struct {
	doc         string
	least, most int64 // as a signed number, if least < most
}

// scope is what a part belongs to.
type scope uint8

const (
	whole      scope = iota // the trace, which has one such part
	eachEvent               // a thread: each event has a row
	someEvents              // a thread: the first word of a row is its event, in ascending order
)

// content is the contents of a part of the whole trace: rows, or a text.
type content struct {
	rows []uint64
	text []byte
}

// kind is the position of a row in kinds.
type kind uint8

const (
	kindHeader kind = iota
	kindLengths
	kindBytes
	kindRecords
	kindDurations
	kindOff
	kindEdges
	kindHeld
	kindRequests
	kindNames
	kindSpans
	kindValues
	kindNumbers

	kindUnknown kind = 0xfe // a tag that is not in kinds
	kindIndex   kind = 0xff // the index has no row for itself
)

// kinds is the table of parts. A file has them in this order: those of the
// whole trace first, then thread by thread. Rows may only be appended.
var kinds = []layout{
	kindHeader: {tag: "head", name: "header", doc: "metadata, threads, open descriptors and fileset, as lines of a script",
		required: true, write: writeHeader, read: readHeader},
	kindLengths: {tag: "slen", name: "lengths", words: []column{{doc: "length of each string"}},
		required: true, write: writeLengths, read: readLengths},
	kindBytes: {tag: "strs", name: "bytes", doc: "the strings",
		required: true, write: writeBytes, read: readStrings},
	kindRecords: {tag: "recs", name: "records", words: recordWords,
		required: true, scope: eachEvent,
		encode: encodeRecord, strings: stringsOfRecord},
	kindDurations: {tag: "durs", name: "durations", words: []column{{doc: "recorded duration, -1 for unknown"}},
		scope: eachEvent, absent: unknown,
		encode: encodeDuration},
	kindOff: {tag: "offs", name: "off-processor times", doc: "time off the processor, by its reasons",
		scope: someEvents, fields: own("ready", "own", "wait", "timer", "storage"),
		some: func(e *format.Event) bool { return e.Off.Total() != e.Off.Other }, settle: settleOff},
	kindEdges: {tag: "edge", name: "edges", words: []column{{doc: "event"}, {doc: "thread, 0 for the start"}, {doc: "kind"}, {doc: "event of that"}, {doc: "delay"}},
		required: true, scope: someEvents,
		some: func(e *format.Event) bool { return len(e.Edges) > 0 }, encode: encodeEdges, decode: decodeEdge, check: checkEdge},
	kindHeld: {tag: "held", name: "compute covered by edges", doc: "compute that edges account for, and how much of the rest can end early",
		required: true, scope: someEvents, fields: own("held", "expired"),
		some: func(e *format.Event) bool { return e.Held|e.Expired != 0 }, settle: settleHeld},
	kindRequests: {tag: "reqs", name: "request details", doc: "how a request is made, with the registered buffer plus one",
		required: true, scope: someEvents, fields: own("flags", "rwf", "slot", "buffer"),
		some: func(e *format.Event) bool { return e.How != (format.How{}) }},
	kindNames: {tag: "apps", name: "application's names", doc: "path below the root, zero byte, the application's name, zero byte",
		write: writeNames, read: readNames},
	kindSpans: {tag: "span", name: "spans", doc: "a [span](script.md#spans)", words: spanWords,
		scope: someEvents, after: true,
		check: checkSpan, strings: func([]uint64) uint16 { return 1<<spanName | 1<<spanKind }},
	kindValues: {tag: "args", name: "arguments of spans", doc: "an argument of a span, or a number of an array", words: valueWords,
		scope: someEvents, after: true,
		check: checkValue, strings: stringsOfValue},
	kindNumbers: {tag: "nums", name: "numbers of lists", doc: "a number of a [list](#lists)", words: []column{{doc: "event"}, {doc: "number"}},
		required: true, scope: someEvents,
		some: func(e *format.Event) bool { return e.List != nil && listArgs[e.Op] >= 0 }, encode: encodeList},
}

func kindOf(tag string) kind {
	for k := range kinds {
		if kinds[k].tag == tag {
			return kind(k)
		}
	}
	return kindUnknown
}

// part returns a part of the kind that is not written yet.
func (k kind) part(thread int32, count int64) part {
	p := part{kind: k, thread: thread, count: count}
	copy(p.tag[:], kinds[k].tag)
	if kinds[k].required {
		p.flags = flagRequired
	}
	return p
}

// The words of a record.
const (
	wordOp = iota
	wordCompute
	wordOff
	wordRet
	wordArgs
)

var recordWords = []column{wordOp: {doc: "operation"}, wordCompute: {doc: "compute"}, wordOff: {doc: "of that off the processor"}, wordRet: {doc: "result"},
	wordArgs: {doc: "six arguments"}, maxWidth - 1: {}}

// stringArgs is Layout.Strings of each operation, in a compact table because
// readers use it for every record.
var stringArgs = func() (m [format.NumOps]uint8) {
	for op := range m {
		m[op] = format.Op(op).Info().At.Strings
	}
	return m
}()

func encodeRecord(w *Writer, e *format.Event, _ int64, dst []uint64) []uint64 {
	dst = append(dst, uint64(e.Op), uint64(e.Compute), uint64(e.Off.Total()), uint64(e.Ret), 0, 0, 0, 0, 0, 0)
	info := e.Op.Info()
	args, texts := dst[len(dst)-format.MaxArgs:], 0
	for i := range info.Args {
		v := e.Args[i]
		if info.At.Strings>>i&1 != 0 {
			v = w.id(e.Str[texts])
			texts++
		}
		args[i] = uint64(v)
	}
	if at := listArgs[e.Op]; at >= 0 {
		args[at] = listWord(e.List)
	}
	return dst
}

func stringsOfRecord(row []uint64) uint16 {
	return uint16(stringArgs[row[wordOp]]) << wordArgs
}

const unknown = 1<<64 + format.Unknown

func encodeDuration(_ *Writer, e *format.Event, _ int64, dst []uint64) []uint64 {
	return append(dst, uint64(e.Dur))
}

func edgeOf(row []uint64) format.Edge {
	return format.Edge{Thread: int32(row[1]), Kind: format.EdgeKind(row[2]), Event: int64(row[3]), Delay: int64(row[4])}
}

func decodeEdge(m *merged, e *format.Event, row []uint64) {
	m.edges = append(m.edges, edgeOf(row))
	from := len(m.edges) - len(e.Edges) - 1
	e.Edges = m.edges[from:len(m.edges):len(m.edges)]
}

func checkEdge(t *Trace, thread int32, row []uint64) string {
	edge := edgeOf(row)
	if row[1] >= 1<<31 || row[2] >= uint64(format.NumEdgeKinds) ||
		!edge.Valid(thread, int64(row[0])) || edge.Thread > 0 && edge.Event >= t.Len(edge.Thread) {
		return fmt.Sprintf("event %d waits for event %d of thread %d", row[0], edge.Event, edge.Thread)
	}
	return ""
}

func encodeEdges(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	for _, edge := range e.Edges {
		dst = append(dst, uint64(n), uint64(edge.Thread), uint64(edge.Kind), uint64(edge.Event), uint64(edge.Delay))
	}
	return dst
}

// own returns the rows of fields of events.
func own(keys ...string) (fields []*format.Field) {
	for _, key := range keys {
		for i := range format.OwnFields {
			if f := &format.OwnFields[i]; f.Key == key {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

func init() {
	for k := range kinds {
		kinds[k].prepare()
	}
}

// prepare fills in what follows from words and fields.
func (l *layout) prepare() {
	if l.fields != nil {
		l.words, l.encode, l.decode = []column{{doc: "event"}}, l.encodeFields, l.decodeFields
		for _, f := range l.fields {
			c := column{doc: "`" + f.Key + "`"}
			if p := &f.Parts[0]; l.settle == nil || l.required {
				c.most = p.Largest()
			}
			l.words = append(l.words, c)
		}
	}
	l.width = len(l.words)
	for i, c := range l.words {
		if c.least < c.most {
			l.bounds = append(l.bounds, i)
		}
	}
}

// wrong returns what is wrong with a row, "" if it is valid.
func (l *layout) wrong(t *Trace, thread int32, row []uint64) string {
	for _, i := range l.bounds {
		if c, v := &l.words[i], int64(row[i]); v < c.least || v > c.most {
			return fmt.Sprintf("%s is %d", c.doc, v)
		}
	}
	if l.check == nil {
		return ""
	}
	return l.check(t, thread, row)
}

func (l *layout) encodeFields(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	dst = append(dst, uint64(n))
	for _, f := range l.fields {
		dst = append(dst, uint64(*f.Own(e)))
	}
	return dst
}

func (l *layout) decodeFields(_ *merged, e *format.Event, row []uint64) {
	for i, f := range l.fields {
		*f.Own(e) = int64(row[1+i])
	}
	if l.settle != nil {
		l.settle(e)
	}
}

// settleHeld bounds the waits of an event by its compute.
func settleHeld(e *format.Event) {
	e.Held = min(e.Held, e.Compute)
	e.Expired = min(e.Expired, e.Compute-e.Held)
}

// settleOff splits the record's time off the processor into its parts, at most as far as
// it goes.
func settleOff(e *format.Event) { e.Off = e.Off.Within(e.Off.Other) }
