package export

import (
	"pianola/format"
)

// The columns of a table. A column that does not apply to an event is null.
const (
	colThread   = iota
	colProcess  // 0 if the trace does not have it
	colIndex    // position of the event in its thread, from 0
	colOp       // name of the operation
	colClass    // open, close, read, write, sync, metadata, memory, process
	colStart    // seconds, or nanoseconds in Parquet, since the start of the recording
	colDuration // in the call, unit as start; null if unknown
	colCompute  // since the end of the thread's previous event, unit as start
	colOffCPU   // part of compute that the thread was off the processor, unit as start
	colReady    // parts of off_cpu by format.Off, unit as start; null for none, and what has no column is not told apart
	colOwn
	colWait
	colTimer
	colStorage
	colResult // of a call that succeeded
	colError  // name of the errno of a call that failed
	colFD     // descriptor
	colPath   // path of the call, or the file that the descriptor leads to
	colPath2  // second path, or the file of the second descriptor
	colOffset // bytes; for a read or write the absolute offset
	colSize   // requested bytes
	colFlags  // names joined by |
	colMode   // permissions, decimal
	numColumns
)

var columnNames = [numColumns]string{"thread", "process", "index", "op", "class", "start", "duration", "compute", "off_cpu",
	"ready", "own", "wait", "timer", "storage", "result", "error",
	"fd", "path", "path2", "offset", "size", "flags", "mode"}

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
	seconds, seconds, seconds, seconds, seconds, number, word,
	number, name, name, number, number, word, number}

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
	counts  []int64 // events by thread number
	op      [format.NumOps][]byte
	class   [format.NumClasses][]byte
	errors  map[int64][]byte
	flags   []byte // memory of colFlags
	paths   [2][]byte
}

func newRow(h *format.Header) *row {
	r := &row{files: newFiles(h), errors: make(map[int64][]byte), counts: make([]int64, len(h.Threads)+1)}
	r.files.start()
	for op := range r.op {
		r.op[op] = []byte(format.Op(op).String())
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

// set fills the row with an event.
func (r *row) set(e *format.Event) error {
	if err := checkOp(e); err != nil {
		return err
	}
	r.columns, r.shown = [numColumns]value{}, 0
	info := e.Op.Info()
	at := &info.At
	r.number(colThread, int64(e.TID))
	r.number(colProcess, int64(r.files.process(e.TID)))
	r.number(colIndex, r.index(e.TID))
	r.text(colOp, r.op[e.Op])
	r.text(colClass, r.class[info.Class])
	r.number(colStart, e.Start)
	if e.Dur >= 0 {
		r.number(colDuration, e.Dur)
	}
	r.number(colCompute, e.Compute)
	r.number(colOffCPU, e.Off.Total())
	if e.Off != (format.Off{}) {
		for k, nanos := range [...]int64{e.Off.Ready, e.Off.Own, e.Off.Wait, e.Off.Timer, e.Off.Storage} {
			if nanos != 0 {
				r.number(colReady+k, nanos)
			}
		}
	}
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
	for i, column := range [...]int{colPath, colPath2} {
		leads := [...]*file{s.file, s.outFile}[i]
		switch path := e.Path(i); {
		case path != nil:
			r.text(column, unmarked(path))
		case leads != nil && (at.FD >= 0 || i == 1):
			r.paths[i] = append(r.paths[i][:0], leads.Name...)
			r.text(column, r.paths[i])
		}
	}
	return r.files.full(e)
}

func (r *row) index(thread int32) int64 {
	if thread < 0 || int(thread) >= len(r.counts) {
		thread = 0
	}
	n := r.counts[thread]
	r.counts[thread]++
	return n
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
