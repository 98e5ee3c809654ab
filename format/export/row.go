package export

import (
	"slices"

	"pianola/format"
)

// The columns of a table that code sets. Those of fields (format.Field) have no constant.
const (
	colThread = iota
	colProcess
	colIndex
	colOp
	colClass
	colStart
	colDuration
	colCompute
	colOffCPU
	colReady
	colOwn
	colWait
	colTimer
	colStorage
	colHeld
	colResult
	colError
	colFD
	colPath
	colPath2
	colOffset
	colSize
	colFlags
	colMode
	colAfter
	colWaker
	colWoken
	colRing
	colBatch
	colReaped
	colHow
	colRootPath
	colRootPath2
)

// columns are the columns of the table of events, in order. A column that does not apply to
// an event is null. Behind these are the columns of fields that have no place among them.
var columns = []column{
	colThread:    {name: "thread", says: number, kind: ofInt32, doc: "number of the thread; in a recording the kernel's id"},
	colProcess:   {name: "process", says: number, kind: ofInt32, doc: "number or id of its process; 0 if the trace does not have the process"},
	colIndex:     {name: "index", says: number, delta: true, doc: "position of the event in its thread, from 0"},
	colOp:        {name: "op", says: word, doc: "`pread64`; `hdf5:H5Dwrite` for the call of a library"},
	colClass:     {name: "class", says: word, doc: "open, close, read, write, sync, metadata, memory, process; span for the call of a library, for which JSON adds `kind`, `arguments`, `failed`"},
	colStart:     {name: "start", says: seconds, delta: true, doc: "since the start of the recording"},
	colDuration:  {name: "duration", says: seconds, delta: true, optional: true, doc: "in the call"},
	colCompute:   {name: "compute", says: seconds, delta: true, doc: "since the end of the thread's last event"},
	colOffCPU:    {name: "off_cpu", says: seconds, delta: true, doc: "the part of `compute` off the processor"},
	colReady:     {name: "ready"},
	colOwn:       {name: "own"},
	colWait:      {name: "wait"},
	colTimer:     {name: "timer"},
	colStorage:   {name: "storage"},
	colHeld:      {name: "held"},
	colResult:    {name: "result", says: number, optional: true, doc: "of a call that succeeded"},
	colError:     {name: "error", says: word, optional: true, doc: "of a call that failed: `ENOENT` and the like"},
	colFD:        {name: "fd", says: number, optional: true, doc: "descriptor"},
	colPath:      {name: "path", says: name, optional: true, bloom: true, doc: "the name in the call, or the file of the descriptor; the application's, if the trace has it"},
	colPath2:     {name: "path2", says: name, optional: true, doc: "the second name, or the file of the second descriptor"},
	colOffset:    {name: "offset", says: number, optional: true, doc: "bytes; where a read or write began"},
	colSize:      {name: "size", says: number, optional: true, doc: "bytes asked for"},
	colFlags:     {name: "flags", says: word, optional: true, doc: "names joined by `\\|`"},
	colMode:      {name: "mode", says: number, optional: true, doc: "permissions, decimal"},
	colAfter:     {name: "after", says: word, plain: true, optional: true, doc: "[edges](compile.md#order-between-threads), as in the intermediate script"},
	colWaker:     {name: "waker", doc: "of a recording: the thread that ended the wait in the call"},
	colWoken:     {name: "woken", doc: "from then to the end of the call"},
	colRing:      {name: "ring", says: number, optional: true, doc: "of a request, or of a call for requests; in a trace the thread that the ring is"},
	colBatch:     {name: "batch"},
	colReaped:    {name: "reaped"},
	colHow:       {name: "how", says: word, optional: true, doc: "[flags](script.md#requests) of a request, joined by `\\|`"},
	colRootPath:  {name: "root_path", says: name, optional: true, bloom: true, doc: "the name below the root of a replay, if `path` is the application's"},
	colRootPath2: {name: "root_path2", says: name, optional: true, doc: "the same of `path2`"},
}

// tabled is a field that has columns.
type tabled struct {
	field   *format.Field
	columns []int
}

// placed are the fields that have columns, and inNotes those of them that are notes.
var (
	placed  []tabled
	inNotes format.Noted
)

func init() {
	add := func(f *format.Field) {
		at := tabled{field: f}
		for i, name := range f.Columns {
			k := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
			if k < 0 {
				k, columns = len(columns), append(columns, column{name: name})
			}
			columns[k].of(&f.Parts[i], f.Doc)
			at.columns = append(at.columns, k)
		}
		if len(at.columns) > 0 {
			placed, inNotes = append(placed, at), inNotes|f.Noted
		}
	}
	for i := range format.OwnFields {
		add(&format.OwnFields[i])
	}
	for i := range format.NoteFields {
		add(&format.NoteFields[i])
	}
}

// of makes a column that of a part of a field.
func (c *column) of(p *format.Part, doc string) {
	if c.optional = true; c.doc == "" {
		c.doc = doc
	}
	switch {
	case p.IsText():
		c.says = name
	case p.Form == format.InSeconds || p.Unit == "nanoseconds":
		c.says = seconds
	case p.Form >= format.InFlags || p.Form == format.InHex:
		c.says = word
	default:
		c.says = number
	}
}

// kind is how a value is written.
type kind uint8

const (
	null    kind = iota
	number       // n
	seconds      // n nanoseconds
	word         // text that needs no escapes
	name         // text of any bytes
)

// value is the value of a column.
type value struct {
	kind kind
	n    int64
	text []byte // borrowed
}

// row is one event as a row of a table. The next event overwrites it.
type row struct {
	columns []value
	says    []kind // of each column
	shown   uint8  // arguments that have a column, by bit
	files   *files
	script  bool   // its events are those of a recording, not of a trace
	process int32  // of the event
	rank    int32  // of that, -1 for none
	index   int64  // of the event
	known   []line // state of the threads of a trace, by number
	others  map[int32]*line
	op      [format.NumVias][format.NumOps][]byte
	class   [format.NumClasses][]byte
	errors  map[int64][]byte
	flags   []byte    // memory of colFlags, or of colOp of a span
	how     []byte    // memory of colHow
	said    []byte    // memory of the words of fields
	after   []byte    // memory of colAfter
	paths   [2][]byte // memory of colRootPath and colRootPath2, or of colPath and colPath2
	called  [2][]byte // memory of colPath and colPath2, where those are others
}

// line is what a thread did so far.
type line struct {
	events  int64
	end     int64 // of its last call
	created int64 // of a thread of a recording
	last    int64 // end of its last event
	process int32
	rank    int32  // of that, -1 for none
	totals  totals // of a Dataset
}

func newRow(h *format.Header) *row {
	r := &row{columns: make([]value, len(columns)), files: newFiles(h), script: len(h.Threads) == 0, errors: make(map[int64][]byte), known: make([]line, len(h.Threads)), others: make(map[int32]*line)}
	for k := range columns {
		r.says = append(r.says, columns[k].says)
	}
	r.files.start()
	for i := range r.known {
		r.known[i].process, r.known[i].rank = h.Threads[i].Process, h.Threads[i].Rank()
	}
	for via := range r.op {
		for op := range r.op[via] {
			e := format.Event{Op: format.Op(op), Via: format.Via(via)}
			r.op[via][op] = []byte(e.Name())
		}
	}
	for c := range r.class {
		r.class[c] = []byte(format.Class(c).String())
	}
	return r
}

func (r *row) number(column int, n int64) {
	r.columns[column] = value{kind: r.says[column], n: n}
}
func (r *row) text(column int, text []byte) {
	r.columns[column] = value{kind: r.says[column], text: text}
}
func (r *row) argument(column int, arg int8, e *format.Event) {
	if arg >= 0 {
		r.number(column, e.Args[arg])
		r.shown |= 1 << arg
	}
}

// enters takes the event of processes that enter the recording, which has no row, and
// reports whether it is one.
func (r *row) enters(e *format.Event) bool {
	if e.Enters != nil {
		r.files.Thread(e)
	}
	return e.Enters != nil
}

// set fills the row with an event.
func (r *row) set(e *format.Event) error {
	if err := checkOp(e); err != nil {
		return err
	}
	clear(r.columns)
	r.shown = 0
	info := e.Op.Info()
	at := &info.At
	r.number(colThread, int64(e.TID))
	compute := r.follow(e)
	r.number(colProcess, int64(r.process))
	r.number(colIndex, r.index)
	r.text(colOp, r.op[e.Via][e.Op])
	r.text(colClass, r.class[info.Class])
	r.number(colStart, e.Start)
	if e.Dur >= 0 {
		r.number(colDuration, e.Dur)
	}
	r.number(colCompute, compute)
	r.number(colOffCPU, e.Off.Total())
	r.fields(e)
	if len(e.Edges) > 0 {
		r.after = r.after[:0]
		for i := range e.Edges {
			if i > 0 {
				r.after = append(r.after, ' ')
			}
			r.after = e.Edges[i].Append(r.after)
		}
		r.text(colAfter, r.after)
	}
	r.request(e)
	switch {
	case e.Failed():
		r.text(colError, r.errno(-e.Ret))
	case e.Ret != format.NoResult:
		r.number(colResult, e.Ret)
	}
	r.argument(colFD, at.FD, e)
	r.argument(colOffset, at.Offset, e)
	r.argument(colSize, at.Size, e)
	if k := at.Mode; k >= 0 && (info.Args[k].Kind == format.Mode || format.HasMode(e.Args[k-1])) {
		r.argument(colMode, k, e)
	}
	if k := at.Flags; k >= 0 {
		r.flags = info.Args[k].Flags.Append(r.flags[:0], e.Args[k])
		r.text(colFlags, r.flags)
		r.shown |= 1 << k
	}

	s := r.files.apply(e)
	if s.read.file != nil {
		r.number(colOffset, s.read.offset)
	} else if s.written.file != nil && s.outFile == nil {
		r.number(colOffset, s.written.offset)
	} else if r.columns[colOffset].n < 0 && at.OutOffset >= 0 {
		r.columns[colOffset] = value{} // a NULL pointer
	}
	for i, leads := range [...]*file{s.file, s.outFile} {
		switch path := e.Path(i); {
		case path != nil:
			r.path(i, unmarked(path))
		case leads != nil && (at.FD >= 0 || i == 1 || at.Paths[0].Arg < 0):
			r.paths[i] = append(r.paths[i][:0], leads.Name...)
			if r.path(i, r.paths[i]); leads.called != "" {
				r.called[i] = append(r.called[i][:0], leads.called...)
				r.text(pathColumns[i], r.called[i])
			}
		}
	}
	return r.files.full(e)
}

// fields fills in the columns of the fields that the event has.
func (r *row) fields(e *format.Event) {
	if !e.Shows() && !e.Traces() && (e.Notes == nil || e.Notes.Has&inNotes == 0) {
		return
	}
	r.said = r.said[:0]
	for i := range placed {
		at := &placed[i]
		if !at.field.Known(e) {
			continue
		}
		for i, k := range at.columns {
			switch p := &at.field.Parts[i]; {
			case p.IsText():
				r.text(k, *p.Text(e))
			case columns[k].says == word:
				n := len(r.said)
				r.said = p.Append(r.said, p.Int(e))
				r.text(k, r.said[n:])
			default:
				r.number(k, p.Int(e))
			}
		}
	}
}

// The columns of the paths of an event.
var pathColumns, rootColumns = [...]int{colPath, colPath2}, [...]int{colRootPath, colRootPath2}

// setSpan fills the row with a span, whose class is "span".
func (r *row) setSpan(e *format.Event) {
	clear(r.columns)
	r.shown = 0
	l := r.standing(e.TID)
	r.number(colThread, int64(e.TID))
	r.number(colProcess, int64(l.process))
	r.number(colIndex, l.events)
	r.text(colOp, append(append(append(r.flags[:0], e.Span.Layer...), ':'), e.Span.Function...))
	r.text(colClass, classSpan)
	r.number(colStart, e.Start)
	if e.Dur >= 0 {
		r.number(colDuration, e.Dur)
	}
	if e.Ret != format.NoResult {
		r.number(colResult, e.Ret)
	}
	if path := pathOf(e.Span); path != nil {
		r.text(colPath, path)
	}
	if e.Span.Bytes >= 0 {
		r.number(colSize, e.Span.Bytes)
	}
}

var classSpan = []byte("span")

// path sets the columns of the n-th path.
func (r *row) path(n int, path []byte) {
	if r.files.calls == nil {
		r.text(pathColumns[n], path)
		return
	}
	r.called[n] = r.files.calls.Append(r.called[n][:0], path)
	r.text(pathColumns[n], r.called[n])
	r.text(rootColumns[n], path)
}

// request fills in the columns of a request, or of a call for requests.
func (r *row) request(e *format.Event) {
	flags := e.How.Flags
	switch {
	case e.Op.Info().Effect == format.EffectQueue:
		r.argument(colRing, 0, e)
		if e.Op == format.OpRingSubmit {
			r.argument(colReaped, 3, e)
		}
	case !r.script:
		if e.Via != format.ViaCall {
			r.number(colRing, int64(e.TID))
		}
	case e.Notes.Known(format.NotedRing):
		r.number(colRing, int64(e.Notes.Request.Ring))
		flags = e.Notes.Request.Flags
	}
	if flags != 0 {
		r.how = format.RequestFlags.Append(r.how[:0], flags)
		r.text(colHow, r.how)
	}
}

// follow records the event in the line of its thread, and returns its compute. In a
// recording, that is the time since the thread's last event, or since its creation.
func (r *row) follow(e *format.Event) (compute int64) {
	t := r.files.Thread(e)
	l := r.line(e.TID)
	if l == nil {
		l = &line{end: t.Created, created: t.Created}
		r.others[e.TID] = l
	}
	compute = e.Compute
	if r.script {
		compute = max(e.Start-l.end, 0)
	}
	r.process, r.rank, r.index = t.Process.ID, t.Process.Rank, l.events
	l.process, l.rank = r.process, r.rank
	l.events++
	l.last = max(l.last, e.End())
	if e.Beside() {
		return 0
	}
	l.end = max(l.end, e.End())
	return compute
}

// line returns the line of a thread, nil if it has no event so far and is not in
// the header.
func (r *row) line(thread int32) *line {
	if i := int(thread) - 1; i >= 0 && i < len(r.known) {
		return &r.known[i]
	}
	return r.others[thread]
}

// standing returns the line of a thread as it is, also if the thread had no event so far.
func (r *row) standing(thread int32) line {
	if l := r.line(thread); l != nil {
		return *l
	}
	if t := r.files.Living(thread); t != nil {
		return line{process: t.Process.ID, rank: t.Process.Rank}
	}
	return line{rank: NoRank}
}

func (r *row) errno(n int64) []byte {
	text, ok := r.errors[n]
	if !ok {
		text = []byte(format.ErrnoName(int(n)))
		r.errors[n] = text
	}
	return text
}

// appendUnquoted appends a value other than a name.
func (v *value) appendUnquoted(dst []byte) []byte {
	switch v.kind {
	case number:
		return format.AppendInt(dst, v.n)
	case seconds:
		return format.AppendSeconds(dst, v.n)
	}
	return append(dst, v.text...)
}
