package export

import (
	"pianola/format"
)

// The columns of a table. A column that does not apply to an event is null.
const (
	colThread   = iota
	colProcess  // 0 if the trace does not have the process
	colIndex    // position of the event in its thread, from 0
	colOp       // name of the operation, or of a library's function
	colClass    // open, close, read, write, sync, metadata, memory, process; span
	colStart    // seconds, or nanoseconds in Parquet, since the start of the recording
	colDuration // in the call, unit as start; null if unknown
	colCompute  // since the end of the thread's previous event, unit as start
	colOffCPU   // part of compute that the thread was off the processor, unit as start
	colReady    // parts of off_cpu by format.Off, unit as start; null for none; the rest of off_cpu has no column
	colOwn
	colWait
	colTimer
	colStorage
	colHeld   // part of compute covered by edges, unit as start; null for none
	colResult // of a call that succeeded
	colError  // name of the errno of a call that failed
	colFD     // descriptor
	colPath   // path of the call, or the file that the descriptor leads to
	colPath2  // second path, or the file of the second descriptor
	colOffset // bytes; for a read or write the absolute offset
	colSize   // requested bytes
	colFlags  // names joined by |
	colMode   // permissions, decimal
	colAfter  // edges as in scripts, with spaces between
	colWaker  // script: the thread that ended the wait in the call
	colWoken  // script: from then to the end of the call, unit as start
	colRing   // of a request, or of a call for requests; in a trace the thread that the ring is
	colBatch  // script: number of the call that submitted the request
	colReaped // completions of the ring that the application had reaped
	colHow    // names of format.RequestFlags joined by |

	// If colPath and colPath2 are the application's names, the paths below the replay's
	// root; otherwise null.
	colRootPath
	colRootPath2
	numColumns
)

var columnNames = [numColumns]string{"thread", "process", "index", "op", "class", "start", "duration", "compute", "off_cpu",
	"ready", "own", "wait", "timer", "storage", "held", "result", "error",
	"fd", "path", "path2", "offset", "size", "flags", "mode", "after", "waker", "woken",
	"ring", "batch", "reaped", "how", "root_path", "root_path2"}

// kind is how a value is written.
type kind uint8

const (
	null    kind = iota
	number       // n
	seconds      // n nanoseconds
	word         // text that needs no escapes
	name         // text of any bytes
)

var columnKinds = [numColumns]kind{number, number, number, word, word, seconds, seconds, seconds, seconds,
	seconds, seconds, seconds, seconds, seconds, seconds, number, word,
	number, name, name, number, number, word, number, word, number, seconds,
	number, number, number, word, name, name}

// value is the value of a column.
type value struct {
	kind kind
	n    int64
	text []byte // borrowed
}

// row is one event as a row of a table. The next event overwrites it.
type row struct {
	columns [numColumns]value
	shown   uint8 // arguments that have a column, by bit
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
	r := &row{files: newFiles(h), script: len(h.Threads) == 0, errors: make(map[int64][]byte), known: make([]line, len(h.Threads)), others: make(map[int32]*line)}
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

func (r *row) number(column int, n int64) { r.columns[column] = value{kind: columnKinds[column], n: n} }
func (r *row) text(column int, text []byte) {
	r.columns[column] = value{kind: columnKinds[column], text: text}
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
	r.columns, r.shown = [numColumns]value{}, 0
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
	if e.Off != (format.Off{}) {
		for k, nanos := range [...]int64{e.Off.Ready, e.Off.Own, e.Off.Wait, e.Off.Timer, e.Off.Storage} {
			if nanos != 0 {
				r.number(colReady+k, nanos)
			}
		}
	}
	if e.Held != 0 {
		r.number(colHeld, e.Held)
	}
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
	if e.Notes.Known(format.NotedWaker) {
		r.number(colWaker, int64(e.Notes.Waker))
		r.number(colWoken, e.Notes.Woken)
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

// The columns of the paths of an event.
var pathColumns, rootColumns = [...]int{colPath, colPath2}, [...]int{colRootPath, colRootPath2}

// setSpan fills the row with a span, whose class is "span".
func (r *row) setSpan(e *format.Event) {
	r.columns, r.shown = [numColumns]value{}, 0
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
		how := &e.Notes.Request
		r.number(colRing, int64(how.Ring))
		if flags = how.Flags; e.Notes.Known(format.NotedBatch) {
			r.number(colBatch, how.Batch)
		}
		if e.Notes.Known(format.NotedReaped) {
			r.number(colReaped, int64(how.Reaped))
		}
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
	if e.Via != format.ViaCall { // the thread does other things meanwhile
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
