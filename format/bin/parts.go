package bin

import (
	"fmt"
	"math"

	"pianola/format"
)

// layout describes a kind of part. To add a kind, append a row to kinds, and
// add a field to Event, Header or Trace for its contents.
type layout struct {
	tag   string // four letters, in the file
	name  string // in errors
	scope scope
	width int // words in a row; 0 is a text

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

	// after says that rows may also belong to the end of the thread, after its last event.
	after bool

	// absent is the default of all words, for kinds that are eachEvent and not
	// required. If all rows of a thread hold it, they are not written, and
	// decode is not called for them.
	absent uint64
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
	kindHeader:  {tag: "head", name: "header", required: true, write: writeHeader, read: readHeader},
	kindLengths: {tag: "slen", name: "lengths", required: true, width: 1, write: writeLengths, read: readLengths},
	kindBytes:   {tag: "strs", name: "bytes", required: true, write: writeBytes, read: readStrings},
	kindRecords: {tag: "recs", name: "records", required: true, scope: eachEvent, width: maxWidth,
		encode: encodeRecord, strings: stringsOfRecord},
	kindDurations: {tag: "durs", name: "durations", scope: eachEvent, width: 1, absent: unknown,
		encode: encodeDuration},
	kindOff: {tag: "offs", name: "off-processor times", scope: someEvents, width: 6,
		encode: encodeOff, decode: decodeOff},
	kindEdges: {tag: "edge", name: "edges", required: true, scope: someEvents, width: 5,
		encode: encodeEdges, decode: decodeEdge, check: checkEdge},
	kindHeld: {tag: "held", name: "compute covered by edges", required: true, scope: someEvents, width: 3,
		encode: encodeHeld, decode: decodeHeld, check: checkHeld},
	kindRequests: {tag: "reqs", name: "request details", required: true, scope: someEvents, width: 5,
		encode: encodeHow, decode: decodeHow, check: checkHow},
	kindNames: {tag: "apps", name: "application's names", write: writeNames, read: readNames},
	kindSpans: {tag: "span", name: "spans", scope: someEvents, width: 8, after: true,
		check: checkSpan, strings: func([]uint64) uint16 { return 1<<spanName | 1<<spanKind }},
	kindValues: {tag: "args", name: "arguments of spans", scope: someEvents, width: 6, after: true,
		check: checkValue, strings: stringsOfValue},
	kindNumbers: {tag: "nums", name: "numbers of lists", required: true, scope: someEvents, width: 2,
		encode: encodeList},
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

func encodeHeld(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	if e.Held|e.Expired == 0 {
		return dst
	}
	return append(dst, uint64(n), uint64(e.Held), uint64(e.Expired))
}

func decodeHeld(_ *merged, e *format.Event, row []uint64) {
	e.Held = min(int64(row[1]), e.Compute)
	e.Expired = min(int64(row[2]), e.Compute-e.Held)
}

func checkHeld(_ *Trace, _ int32, row []uint64) string {
	if int64(row[1]) < 0 || int64(row[2]) < 0 {
		return fmt.Sprintf("event %d has a negative wait", row[0])
	}
	return ""
}

func encodeHow(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	if e.How == (format.How{}) {
		return dst
	}
	return append(dst, uint64(n), uint64(e.How.Flags), uint64(e.How.RW), uint64(e.How.Slot), uint64(e.How.Buf))
}

func howOf(row []uint64) format.How {
	return format.How{Flags: int64(row[1]), RW: int64(row[2]), Slot: uint32(row[3]), Buf: uint32(row[4])}
}

func decodeHow(_ *merged, e *format.Event, row []uint64) { e.How = howOf(row) }

func checkHow(_ *Trace, _ int32, row []uint64) string {
	if row[3] > math.MaxUint32 || row[4] > math.MaxUint32 {
		return fmt.Sprintf("event %d refers to a file or buffer that does not exist", row[0])
	}
	return ""
}

func encodeOff(_ *Writer, e *format.Event, n int64, dst []uint64) []uint64 {
	if e.Off.Total() == e.Off.Other {
		return dst
	}
	o := &e.Off
	return append(dst, uint64(n), uint64(o.Ready), uint64(o.Own), uint64(o.Wait), uint64(o.Timer), uint64(o.Storage))
}

// decodeOff splits the record's time off the processor into its parts, at most as far
// as it goes.
func decodeOff(_ *merged, e *format.Event, row []uint64) {
	all := e.Off.Total()
	e.Off = format.Off{Ready: int64(row[1]), Own: int64(row[2]), Wait: int64(row[3]), Timer: int64(row[4]), Storage: int64(row[5]), Other: all}.Within(all)
}
