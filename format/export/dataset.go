package export

import (
	"io"
	"maps"
	"slices"

	"pianola/format"
	"pianola/format/parquet"
	"pianola/format/script"
)

// Tables are the names of the tables of a dataset, in the order in which NewDataset
// opens them.
var Tables = []string{"events", "waits", "spans", "files", "threads"}

// Dataset writes a trace, a recording or a log as several tables in Parquet files. It is
// a Writer, which takes spans.
//
// Besides what a Writer needs, it holds the figures of each file, up to maxFileRows, and
// the memory of three tables that are being written.
type Dataset struct {
	events  *parquetWriter
	waits   sheet
	spans   sheet
	files   sheet
	threads sheet

	header *format.Header
	known  map[string]*fileRow
	most   int // rows in known
	bytes  int // of the keys of known
	others fileRow
	args   []byte // memory
}

// The columns of the tables other than events, in order. A time is that of the column
// with start_nanos.
var (
	waitColumns = []parquet.Column{
		nanos("start"), timeColumn, number32("thread"), number32("process"), number64("index"), label("op"), label("kind"),
		optional("after_thread"), optional("after_index"), optional("delay_nanos"), optional("blocked_nanos"), optional("woken_nanos"),
	}
	spanColumns = []parquet.Column{
		nanos("start"), timeColumn, optional("duration_nanos"), number32("thread"), number32("process"), number64("index"),
		label("layer"), label("function"), label("kind"), label("path"), {Name: "args", Kind: parquet.Text, Optional: true},
		optional("result"), optional("bytes"), number32("failed"),
	}
	fileColumns = append([]parquet.Column{
		{Name: "path", Kind: parquet.Text, Encoding: parquet.Dictionary, Optional: true, Bloom: true}, label("root_path"),
		label("type"), optional("mode"), optional("size"), optional("cached_pages"), number64("opens"),
	}, totalColumns...)
	threadColumns = append([]parquet.Column{
		number32("thread"), number32("process"), optional("parent"), label("ring"), nanos("start"), timeColumn, nanos("end"),
	}, totalColumns...)
	totalColumns = []parquet.Column{
		number64("calls"), number64("errors"), number64("reads"), number64("writes"), number64("bytes_read"), number64("bytes_written"),
		number64("nanos"), number64("flight_nanos"),
	}
)

// sheet writes the rows of a table, column by column.
type sheet struct {
	out    *parquet.Writer
	column int // the next one
	text   []byte
}

func (s *sheet) int(v int64) {
	s.out.Int(s.column, v)
	s.column++
}

// maybe writes a number, or null if it isn't known.
func (s *sheet) maybe(v int64, known bool) {
	if known {
		s.int(v)
	} else {
		s.null()
	}
}

func (s *sheet) null() {
	s.out.Null(s.column)
	s.column++
}

// name writes text of any bytes, or null for nil.
func (s *sheet) name(v []byte) {
	if v == nil {
		s.null()
		return
	}
	s.text = format.AppendName(s.text[:0], v)
	s.out.Text(s.column, s.text)
	s.column++
}

// word writes a text, or null for an empty one.
func (s *sheet) word(v string) {
	if v == "" {
		s.null()
		return
	}
	s.name([]byte(v))
}

func (s *sheet) endRow() error {
	s.column = 0
	return s.out.EndRow()
}

// totals are what was done to a file, or by a thread.
type totals struct {
	calls, errors, reads, writes, bytesRead, bytesWritten int64
	nanos                                                 int64 // in calls, except those of ClassProcess, which wait for other threads
	flight                                                int64 // of asynchronous requests, nanoseconds
}

func (t *totals) add(e *format.Event) {
	t.calls++
	if e.Failed() {
		t.errors++
	}
	switch e.Op.Info().Class {
	case format.ClassRead:
		t.reads++
		t.bytesRead += e.Bytes()
	case format.ClassWrite:
		t.writes++
		t.bytesWritten += e.Bytes()
	}
	switch dur := max(e.Dur, 0); {
	case e.Via != format.ViaCall:
		t.flight += dur
	case e.Op.Info().Class != format.ClassProcess:
		t.nanos += dur
	}
}

func (t *totals) write(s *sheet) {
	for _, n := range [...]int64{t.calls, t.errors, t.reads, t.writes, t.bytesRead, t.bytesWritten, t.nanos, t.flight} {
		s.int(n)
	}
}

// fileRow is a row of the table of files.
type fileRow struct {
	totals
	root   string
	kind   format.FileType
	mode   int64 // -1 if unknown, and so are the next two
	size   int64
	cached int64
	opens  int64
}

func newFileRow() *fileRow { return &fileRow{mode: -1, size: -1, cached: -1} }

// The bounds of the files that are told apart. One more row, without a path, stands for
// all others.
const (
	maxFileRows  = 1 << 20
	maxFileBytes = 256 << 20 // of their names
)

// NewDataset returns a Dataset for the trace or the recording with header h. It calls
// open for a writer of each table, which the caller closes after the Dataset. The header
// must not change before Close.
func NewDataset(h *format.Header, open func(table string) (io.Writer, error)) (*Dataset, error) {
	d := &Dataset{header: h, known: make(map[string]*fileRow), most: maxFileRows, others: *newFileRow()}
	for i, table := range []struct {
		to      *sheet
		columns []parquet.Column
	}{{}, {&d.waits, waitColumns}, {&d.spans, spanColumns}, {&d.files, fileColumns}, {&d.threads, threadColumns}} {
		w, err := open(Tables[i])
		if err != nil {
			return nil, err
		}
		if table.to == nil {
			d.events = newEvents(w, h)
		} else {
			table.to.out = newTable(w, h, table.columns)
		}
	}
	d.waits.out.SortBy(0)
	d.spans.out.SortBy(0)
	for i := range h.Files {
		d.fileset(&h.Files[i])
	}
	return d, nil
}

// fileset adds a file of the fileset.
func (d *Dataset) fileset(f *format.File) {
	row := d.file([]byte(d.events.row.files.calls.Of(f.Path)))
	if row == &d.others {
		return
	}
	row.kind, row.mode, row.cached = f.Type, int64(f.Mode), f.Cached
	if f.Type == format.TypeReg {
		row.size = f.Size
	}
	if d.events.row.files.calls != nil {
		row.root = f.Path
	}
}

// file returns the row of a path.
func (d *Dataset) file(path []byte) *fileRow {
	row := d.known[string(path)]
	if row == nil {
		if len(d.known) >= d.most || d.bytes+len(path) > maxFileBytes {
			return &d.others
		}
		row = newFileRow()
		d.known[string(path)] = row
		d.bytes += len(path)
	}
	return row
}

// Write implements format.Writer.
func (d *Dataset) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if e.Op == format.OpSpan {
			if err := d.span(e); err != nil {
				return err
			}
			continue
		}
		if err := d.events.event(e); err != nil {
			return err
		}
		if err := d.wait(e); err != nil {
			return err
		}
		d.count(e)
	}
	return nil
}

// count adds an event to its file and its thread.
func (d *Dataset) count(e *format.Event) {
	row := d.events.row
	d.events.row.line(e.TID).totals.add(e)
	path := &row.columns[colPath]
	if path.kind == null {
		return
	}
	f := d.file(path.text)
	f.totals.add(e)
	if e.Op.Info().Effect == format.EffectOpen && !e.Failed() && e.Ret != format.NoResult {
		f.opens++
	}
	if f == &d.others {
		return
	}
	if root := &row.columns[colRootPath]; f.root == "" && root.kind != null {
		f.root = string(root.text)
	}
	if n := e.Notes; n != nil && e.Path(0) != nil {
		d.noted(f, n)
	}
}

// noted takes what a recorder first noted about a file.
func (d *Dataset) noted(f *fileRow, n *format.Notes) {
	if f.kind == format.TypeUnknown && n.Known(format.NotedType) {
		f.kind = n.Type
	}
	if f.mode < 0 && n.Known(format.NotedMode) {
		f.mode = int64(n.Mode)
	}
	if f.size < 0 && n.Known(format.NotedSize) {
		f.size = n.Size
	}
	if f.cached < 0 && n.Known(format.NotedCached) {
		f.cached = n.Cached
	}
}

// wait writes what an event came after, and who ended its wait.
func (d *Dataset) wait(e *format.Event) error {
	for i := range e.Edges {
		edge := &e.Edges[i]
		s := d.waiting(e, edge.Kind.String())
		s.maybe(int64(edge.Thread), edge.Thread > 0)
		s.maybe(edge.Event, edge.Thread > 0)
		s.int(edge.Delay)
		s.maybe(e.Held, i == 0 && e.Held > 0) // of all edges together
		s.null()
		if err := s.endRow(); err != nil {
			return err
		}
	}
	if !e.Notes.Known(format.NotedWaker) {
		return nil
	}
	s := d.waiting(e, format.EdgeWake.String())
	s.int(int64(e.Notes.Waker))
	s.null()
	s.null()
	s.maybe(max(e.Dur-e.Notes.Woken, 0), e.Dur >= 0)
	s.int(e.Notes.Woken)
	return s.endRow()
}

// waiting begins a row of the table of waits.
func (d *Dataset) waiting(e *format.Event, kind string) *sheet {
	s, row := &d.waits, d.events.row
	s.int(e.Start)
	s.maybe(d.events.clock.at(e.Start), d.events.clock.known)
	s.int(int64(e.TID))
	s.int(int64(row.process))
	s.int(row.index)
	s.name(row.op[e.Via][e.Op])
	s.word(kind)
	return s
}

// span writes a span. Its index is the number of events of the thread before its end.
func (d *Dataset) span(e *format.Event) error {
	s, span, row := &d.spans, e.Span, d.events.row
	process, index := row.standing(e.TID)
	s.int(e.Start)
	s.maybe(d.events.clock.at(e.Start), d.events.clock.known)
	s.maybe(e.Dur, e.Dur >= 0)
	s.int(int64(e.TID))
	s.int(int64(process))
	s.int(index)
	s.word(span.Layer)
	s.word(span.Function)
	s.word(span.Kind)
	s.name(pathOf(span))
	d.args = script.AppendArgs(d.args[:0], span.Args)
	s.name(d.args)
	s.maybe(e.Ret, e.Ret != format.NoResult)
	s.maybe(span.Bytes, span.Bytes >= 0)
	s.int(bit(span.Failed))
	return s.endRow()
}

// pathOf returns the first path among the arguments of a span, nil for none.
func pathOf(s *format.Span) []byte {
	for i := range s.Args {
		if s.Args[i].Kind == format.ValuePath {
			return s.Args[i].Text
		}
	}
	return nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Close writes the rest of all tables.
func (d *Dataset) Close() error {
	if err := d.closeFiles(); err != nil {
		return err
	}
	if err := d.closeThreads(); err != nil {
		return err
	}
	for _, table := range []interface{ Close() error }{d.events, d.waits.out, d.spans.out, d.files.out, d.threads.out} {
		if err := table.Close(); err != nil {
			return err
		}
	}
	return nil
}

// closeFiles writes the table of files, by their names.
func (d *Dataset) closeFiles() error {
	for _, path := range slices.Sorted(maps.Keys(d.known)) {
		if err := d.fileRow([]byte(path), d.known[path]); err != nil {
			return err
		}
	}
	if d.others.calls > 0 {
		return d.fileRow(nil, &d.others)
	}
	return nil
}

func (d *Dataset) fileRow(path []byte, f *fileRow) error {
	s := &d.files
	s.name(path)
	s.word(f.root)
	if f.kind == format.TypeUnknown {
		s.null()
	} else {
		s.word(f.kind.String())
	}
	for _, v := range [...]int64{f.mode, f.size, f.cached} {
		s.maybe(v, v >= 0)
	}
	s.int(f.opens)
	f.totals.write(s)
	return s.endRow()
}

// closeThreads writes the table of threads: those of a trace, or those of a recording
// that have events.
func (d *Dataset) closeThreads() error {
	row := d.events.row
	for i := range row.known {
		t := &d.header.Threads[i]
		if err := d.threadRow(int32(i+1), &row.known[i], t.Start, t); err != nil {
			return err
		}
	}
	for _, tid := range slices.Sorted(maps.Keys(row.others)) {
		l := row.others[tid]
		if err := d.threadRow(tid, l, l.created, nil); err != nil {
			return err
		}
	}
	return nil
}

// threadRow writes a thread. Its row in the header is nil in a recording.
func (d *Dataset) threadRow(tid int32, l *line, start int64, in *format.Thread) error {
	s := &d.threads
	s.int(int64(tid))
	s.int(int64(l.process))
	if in == nil {
		s.null()
		s.null()
	} else {
		s.maybe(int64(in.Parent), in.Parent > 0)
		if in.Ring == format.ViaCall {
			s.null()
		} else {
			s.word(in.Ring.String())
		}
	}
	s.int(start)
	s.maybe(d.events.clock.at(start), d.events.clock.known)
	s.int(max(l.last, start))
	l.totals.write(s)
	return s.endRow()
}
