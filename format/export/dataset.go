package export

import (
	"io"
	"maps"
	"slices"

	"pianola/format"
	"pianola/format/script"
)

// Tables are the names of the tables of a dataset, in the order in which NewDataset
// opens them.
var Tables = []string{"events", "waits", "spans", "files", "threads"}

// Dataset writes a trace, a recording or a log as several tables in Parquet files, with
// files of their own for each rank. It is a Writer, which takes spans.
//
// Besides what a Writer needs, it holds the figures of each file, up to maxFileRows, and
// the row groups that are being written. So that these are not too many, a Dataset writes
// the ranks of one pass: a caller writes all events once for each pass.
type Dataset struct {
	header       *format.Header
	open         func(table string, rank int32) (io.Writer, error)
	pass, passes int
	events       *parquetWriter // of all ranks; it has no table
	ranks        map[int32]*rankTables
	fileOf       map[string]int // numbers in the fileset, by the application's names
	touched      []bool         // files of the fileset
	files        int            // rows of files of all ranks
	most         int            // the same, at most
	bytes        int            // of their names
	args         []byte         // memory
}

// rankTables are the tables of a rank.
type rankTables struct {
	events                       *table
	waits, spans, files, threads sheet
	known                        map[string]*fileRow
	others                       fileRow
}

// NoRank stands for the processes without a rank.
const NoRank = -1

// passRanks is how many ranks are written in a pass.
const passRanks = 32

// Passes returns how many passes a trace or a recording needs, 1 at least.
func Passes(h *format.Header) int { return max((len(ranksOf(h))+passRanks-1)/passRanks, 1) }

// ranksOf returns the ranks that a header has.
func ranksOf(h *format.Header) map[int32]bool {
	ranks := make(map[int32]bool)
	for i := range h.Ranks {
		ranks[h.Ranks[i].Rank] = true
	}
	return ranks
}

// The columns of the tables other than events, in order. A time is that of the column
// with start_nanos.
var (
	waitColumns = []column{
		nanos("start"), timeColumn, number32("thread"), number32("process"), number64("index"), label("op"), label("kind"),
		optional("after_thread"), optional("after_index"), optional("delay_nanos"), optional("blocked_nanos"), optional("woken_nanos"),
	}
	spanColumns = []column{
		nanos("start"), timeColumn, optional("duration_nanos"), number32("thread"), number32("process"), number64("index"),
		label("layer"), label("function"), label("kind"), label("path"), {name: "args", kind: ofText, plain: true, optional: true},
		optional("result"), optional("bytes"), number32("failed"),
	}
	fileColumns = append([]column{
		{name: "path", kind: ofText, optional: true, bloom: true}, label("root_path"),
		label("type"), optional("mode"), optional("size"), optional("cached_pages"), number64("opens"),
	}, totalColumns...)
	threadColumns = append([]column{
		number32("thread"), number32("process"), optional("parent"), label("ring"), nanos("start"), timeColumn, nanos("end"),
	}, totalColumns...)
	totalColumns = []column{
		number64("calls"), number64("errors"), number64("reads"), number64("writes"), number64("bytes_read"), number64("bytes_written"),
		number64("nanos"), number64("flight_nanos"),
	}
)

// sheet writes the rows of a table, column by column.
type sheet struct {
	out    *table
	column int // the next one
	text   []byte
}

func (s *sheet) int(v int64) {
	s.out.int(s.column, v)
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
	s.out.null(s.column)
	s.column++
}

// name writes text of any bytes, or null for nil.
func (s *sheet) name(v []byte) {
	if v == nil {
		s.null()
		return
	}
	s.text = format.AppendName(s.text[:0], v)
	s.out.text(s.column, s.text)
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
	return s.out.endRow()
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

// NewDataset returns a Dataset of one pass, counted from 0, for the trace or the recording
// with header h. It calls open for a writer of each table of a rank, which the caller
// closes after the Dataset. The header must not change before Close.
func NewDataset(h *format.Header, pass int, open func(table string, rank int32) (io.Writer, error)) (*Dataset, error) {
	d := &Dataset{
		header: h, open: open, pass: pass, passes: Passes(h), events: newEvents(h), ranks: make(map[int32]*rankTables),
		fileOf: make(map[string]int), touched: make([]bool, len(h.Files)), most: maxFileRows,
	}
	for i := range h.Files {
		d.fileOf[d.events.row.files.calls.Of(h.Files[i].Path)] = i
	}
	if pass == 0 {
		_, err := d.of(NoRank) // every dataset has a file of each table
		return d, err
	}
	return d, nil
}

// of returns the tables of a rank, nil if they are of another pass.
func (d *Dataset) of(rank int32) (*rankTables, error) {
	t := d.ranks[rank]
	if t != nil {
		return t, nil
	}
	if max(int(rank), 0)%d.passes != d.pass {
		return nil, nil
	}
	t = &rankTables{known: make(map[string]*fileRow), others: *newFileRow()}
	rows := groupRows / min(max(len(d.header.Ranks)/d.passes, 1), passRanks)
	for _, one := range []struct {
		name    string
		to      **table
		columns []column
		sorted  int
	}{
		{"events", &t.events, parquetColumns(), colStart}, {"waits", &t.waits.out, waitColumns, 0}, {"spans", &t.spans.out, spanColumns, 0},
		{"files", &t.files.out, fileColumns, -1}, {"threads", &t.threads.out, threadColumns, -1},
	} {
		w, err := d.open(one.name, rank)
		if err != nil {
			return nil, err
		}
		*one.to = newTable(w, d.header, one.columns, one.sorted, rows)
	}
	d.ranks[rank] = t
	return t, nil
}

// Write implements format.Writer.
func (d *Dataset) Write(events []format.Event) error {
	row := d.events.row
	for i := range events {
		e := &events[i]
		if row.enters(e) {
			continue
		}
		if e.Span != nil {
			l := row.standing(e.TID)
			t, err := d.of(l.rank)
			if err == nil && t != nil {
				err = d.span(t, e, &l)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := row.set(e); err != nil {
			return err
		}
		row.line(e.TID).totals.add(e)
		t, err := d.of(row.rank)
		if err != nil {
			return err
		}
		if t == nil {
			if path := &row.columns[colPath]; d.pass == 0 && path.kind != null {
				d.touch(path.text)
			}
			continue
		}
		if err := d.events.put(t.events, e); err != nil {
			return err
		}
		if err := d.wait(t, e); err != nil {
			return err
		}
		d.count(t, e)
	}
	return nil
}

// file returns the row of a path.
func (d *Dataset) file(t *rankTables, path []byte) *fileRow {
	f := t.known[string(path)]
	if f != nil {
		return f
	}
	if d.files >= d.most || d.bytes+len(path) > maxFileBytes {
		return &t.others
	}
	f = newFileRow()
	t.known[string(path)] = f
	d.files++
	d.bytes += len(path)
	if i := d.touch(path); i >= 0 {
		d.fileset(f, &d.header.Files[i])
	}
	return f
}

// touch returns the number of a path in the fileset, -1 if it is not in it.
func (d *Dataset) touch(path []byte) int {
	i, known := d.fileOf[string(path)]
	if !known {
		return -1
	}
	d.touched[i] = true
	return i
}

// fileset takes what the fileset says about a file.
func (d *Dataset) fileset(f *fileRow, of *format.File) {
	f.kind, f.mode, f.cached = of.Type, int64(of.Mode), of.Cached
	if of.Type == format.TypeReg {
		f.size = of.Size
	}
	if d.events.row.files.calls != nil {
		f.root = of.Path
	}
}

// count adds an event to its file.
func (d *Dataset) count(t *rankTables, e *format.Event) {
	row := d.events.row
	path := &row.columns[colPath]
	if path.kind == null {
		return
	}
	f := d.file(t, path.text)
	f.totals.add(e)
	if e.Op.Info().Effect == format.EffectOpen && !e.Failed() && e.Ret != format.NoResult {
		f.opens++
	}
	if f == &t.others {
		return
	}
	if root := &row.columns[colRootPath]; f.root == "" && root.kind != null {
		f.root = string(root.text)
	}
	if n := e.Notes; n != nil && e.Path(0) != nil {
		f.noted(n)
	}
}

// noted takes what a recorder first noted about a file.
func (f *fileRow) noted(n *format.Notes) {
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
func (d *Dataset) wait(t *rankTables, e *format.Event) error {
	for i := range e.Edges {
		edge := &e.Edges[i]
		s := d.waiting(t, e, edge.Kind.String())
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
	s := d.waiting(t, e, format.EdgeWake.String())
	s.int(int64(e.Notes.Waker))
	s.null()
	s.null()
	s.maybe(max(e.Dur-e.Notes.Woken, 0), e.Dur >= 0)
	s.int(e.Notes.Woken)
	return s.endRow()
}

// waiting begins a row of the table of waits.
func (d *Dataset) waiting(t *rankTables, e *format.Event, kind string) *sheet {
	s, row := &t.waits, d.events.row
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
func (d *Dataset) span(t *rankTables, e *format.Event, l *line) error {
	s, span := &t.spans, e.Span
	s.int(e.Start)
	s.maybe(d.events.clock.at(e.Start), d.events.clock.known)
	s.maybe(e.Dur, e.Dur >= 0)
	s.int(int64(e.TID))
	s.int(int64(l.process))
	s.int(l.events)
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
	if err := d.closeThreads(); err != nil {
		return err
	}
	d.untouched()
	for _, t := range d.ranks {
		if err := t.close(); err != nil {
			return err
		}
	}
	return nil
}

// untouched adds the files of the fileset that no event is about, as those of no rank.
func (d *Dataset) untouched() {
	if t := d.ranks[NoRank]; t != nil {
		for i := range d.touched {
			if !d.touched[i] {
				d.file(t, []byte(d.events.row.files.calls.Of(d.header.Files[i].Path)))
			}
		}
	}
}

// close writes the table of files, by their names, and the rest of all tables.
func (t *rankTables) close() error {
	for _, path := range slices.Sorted(maps.Keys(t.known)) {
		if err := t.file([]byte(path), t.known[path]); err != nil {
			return err
		}
	}
	if t.others.calls > 0 {
		if err := t.file(nil, &t.others); err != nil {
			return err
		}
	}
	for _, one := range [...]*table{t.events, t.waits.out, t.spans.out, t.files.out, t.threads.out} {
		if err := one.close(); err != nil {
			return err
		}
	}
	return nil
}

// file writes the row of a file.
func (t *rankTables) file(path []byte, f *fileRow) error {
	s := &t.files
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
	t, err := d.of(l.rank)
	if err != nil || t == nil {
		return err
	}
	s := &t.threads
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
