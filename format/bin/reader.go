package bin

import (
	"fmt"
	"io"
	"math"

	"pianola/format"
)

var (
	_ format.Trace  = (*Trace)(nil)
	_ format.Writer = (*Writer)(nil)
)

// Header returns the header, which must not be changed.
func (t *Trace) Header() *format.Header { return t.header }

// Strings returns the table of strings. It must not be changed.
func (t *Trace) Strings() []string { return t.strings }

// Len returns how many events a thread has, 0 if there is no such thread.
func (t *Trace) Len(thread int32) int64 { return t.thread(thread).events }

func (t *Trace) thread(number int32) *threadParts {
	if number < 1 || int(number) > len(t.threads) {
		return &threadParts{}
	}
	return &t.threads[number-1]
}

// batch is how many rows are decoded at a time, so that a column stays in the
// first-level cache.
const batch = 256

// cursor goes through the rows of one kind of one thread. Its buffers count
// against the limit of the trace until it has met the end or an error.
type cursor struct {
	trace  *Trace
	layout *layout
	thread int32
	parts  []part // parts to load
	part   part   // the loaded one
	frame  frame
	row    int64 // rows that have been read
	err    error // sticky
}

// open makes c ready to read. Absent rows read as their default.
func (c *cursor) open(t *Trace, thread int32, k kind) {
	own := t.thread(thread)
	c.trace, c.layout, c.thread, c.parts = t, &kinds[k], thread, own.of(k)
	c.row, c.err, c.frame.rows, c.frame.next = 0, nil, 0, 0
	if len(c.parts) == 0 && c.layout.scope == eachEvent {
		c.frame.repeat(c.layout.absent, own.events, c.layout.width)
	}
}

// ready makes sure that the frame holds a row to decode, and reports whether it
// loaded a new frame.
func (c *cursor) ready() (loaded bool, err error) {
	if c.err != nil || c.frame.left() > 0 {
		return false, c.err
	}
	if len(c.parts) == 0 {
		return false, c.fail(io.EOF)
	}
	c.part, c.parts = c.parts[0], c.parts[1:]
	if err := c.frame.load(&c.trace.loader, &c.part, c.layout.width); err != nil {
		return false, c.fail(at(&c.part, err))
	}
	return true, nil
}

// fail ends the cursor and frees its buffers.
func (c *cursor) fail(err error) error {
	c.err = err
	c.frame.free(&c.trace.loader)
	return err
}

// malformed ends the cursor at an invalid row.
func (c *cursor) malformed(row int64, why string) error {
	return c.fail(at(&c.part, fmt.Errorf("%w: row %d: %s", ErrMalformed, row, why)))
}

// records implements format.RecordReader.
type records struct {
	cursor
	template [1]format.Record // the words that are the same in the whole part
	varying  []int            // the other words
	words    [maxWidth]int    // memory of varying
	column   [batch]uint64
}

// Records returns a reader of a thread's records. It returns fewer records than
// requested at the end of a part. The next call decompresses the next part:
// about 0.1 ms of work in every 8192 records.
func (t *Trace) Records(thread int32) format.RecordReader {
	r := &records{}
	r.open(t, thread, kindRecords)
	return r
}

// Rewind makes the reader one of another thread's records, from the first one.
func (r *records) Rewind(thread int32) {
	*r = records{cursor: cursor{trace: r.trace, frame: r.frame}}
	r.open(r.trace, thread, kindRecords)
}

// Read implements format.RecordReader. It allocates only if a part needs larger
// buffers than those before it.
func (r *records) Read(out []format.Record) (int, error) {
	if len(out) == 0 {
		return 0, r.err
	}
	loaded, err := r.ready()
	if err != nil {
		return 0, err
	}
	if loaded {
		r.prepare()
	}
	out = out[:min(len(out), r.frame.left())]
	for done := 0; done < len(out); {
		some := out[done:min(done+batch, len(out))]
		r.fill(some)
		good := r.check(some)
		done += good
		r.row += int64(good)
		if r.err != nil {
			if done == 0 {
				return 0, r.err
			}
			return done, nil
		}
	}
	return len(out), nil
}

// prepare separates the words that vary in a part from constant ones.
func (r *records) prepare() {
	r.varying = r.words[:0]
	for w := range maxWidth {
		v, ok := r.frame.constant(w)
		if !ok {
			r.varying = append(r.varying, w)
		}
		r.column[0] = v
		scatter(r.template[:], w, r.column[:])
	}
}

// fill decodes the next records, at most batch of them.
func (r *records) fill(out []format.Record) {
	for i := range out {
		out[i] = r.template[0]
	}
	for _, w := range r.varying {
		r.frame.column(w, r.column[:len(out)])
		scatter(out, w, r.column[:len(out)])
	}
	r.frame.next += len(out)
}

// scatter sets one word of each record.
func scatter(out []format.Record, w int, column []uint64) {
	column = column[:len(out)]
	switch w {
	case wordOp:
		for i, v := range column {
			// An operation that does not fit must not be read as another one.
			if v >= uint64(format.NumOps) {
				v = uint64(format.OpNone)
			}
			out[i].Op = format.Op(v)
		}
	case wordCompute:
		for i, v := range column {
			out[i].Compute = int64(v)
		}
	case wordOff:
		for i, v := range column {
			out[i].Off = int64(v)
		}
	case wordRet:
		for i, v := range column {
			out[i].Ret = int64(v)
		}
	default:
		for i, v := range column {
			out[i].Args[w-wordArgs] = int64(v)
		}
	}
}

// check returns the number of valid records before the first invalid one.
func (r *records) check(out []format.Record) int {
	strings := int64(len(r.trace.strings))
	for i := range out {
		rec := &out[i]
		if !rec.Op.Valid() {
			r.malformed(r.row+int64(i), "unknown operation")
			return i
		}
		for a, bits := 0, stringArgs[rec.Op]; bits != 0; a, bits = a+1, bits>>1 {
			if id := rec.Args[a]; bits&1 != 0 && (id < -1 || id >= strings) {
				r.malformed(r.row+int64(i), fmt.Sprintf("string %d of %d", id, strings))
				return i
			}
		}
	}
	return len(out)
}

// durations implements format.DurationReader.
type durations struct {
	cursor
	column [batch]uint64
}

// Durations returns a reader of the recorded durations of a thread's events,
// in nanoseconds or Unknown.
func (t *Trace) Durations(thread int32) format.DurationReader {
	d := &durations{}
	d.open(t, thread, kindDurations)
	return d
}

// Rewind makes the reader one of another thread's durations, from the first one.
func (d *durations) Rewind(thread int32) { d.open(d.trace, thread, kindDurations) }

// Read implements format.DurationReader.
func (d *durations) Read(out []int64) (int, error) {
	if len(out) == 0 {
		return 0, d.err
	}
	if _, err := d.ready(); err != nil {
		return 0, err
	}
	n := min(len(out), d.frame.left(), batch)
	column := d.column[:n]
	d.frame.column(0, column)
	d.frame.next += n
	for i, v := range column {
		if int64(v) < format.Unknown {
			err := d.malformed(d.row, "negative duration")
			if i == 0 {
				return 0, err
			}
			return i, nil
		}
		out[i] = int64(v)
		d.row++
	}
	return n, nil
}

// ways implements format.WayReader.
type ways struct {
	attachment
	of format.Event // memory of a row
}

// Ways returns a reader of how requests of a ring are made.
func (t *Trace) Ways(thread int32) format.WayReader {
	w := &ways{}
	w.open(t, thread, kindRequests)
	return w
}

// Read implements format.WayReader.
func (w *ways) Read(out []format.Way) (n int, err error) {
	for ; n < len(out); n++ {
		row, err := w.next()
		if err != nil && n == 0 {
			return 0, err
		} else if err != nil {
			break // it comes again
		}
		w.layout.decode(nil, &w.of, row)
		out[n] = format.Way{Event: w.event, How: w.of.How}
	}
	return n, nil
}

// attachedRows is how many rows an attachment decodes at a time.
const attachedRows = 32

// attachment reads the rows of one kind for the events of a thread.
type attachment struct {
	cursor
	rows  []uint64 // decoded but not returned
	buf   []uint64 // memory of rows
	event int64    // of the row before
}

func (a *attachment) open(t *Trace, thread int32, k kind) {
	a.cursor.open(t, thread, k)
	if a.rows, a.event = nil, 0; a.buf == nil {
		a.buf = make([]uint64, attachedRows*a.layout.width)
	}
}

// peek returns the event of the next row, or io.EOF.
func (a *attachment) peek() (event int64, err error) {
	if len(a.rows) == 0 {
		if _, err := a.ready(); err != nil {
			return 0, err
		}
		a.rows = a.buf[:min(a.frame.left(), attachedRows)*a.layout.width]
		a.frame.decode(a.rows)
	}
	if a.layout.scope == eachEvent {
		return a.row, nil
	}
	event = int64(a.rows[0])
	if n := a.trace.Len(a.thread); event < a.event || event >= n && !(a.layout.after && event == n) {
		return 0, a.malformed(a.row, fmt.Sprintf("event %d after event %d of %d", event, a.event, n))
	}
	return event, nil
}

// next returns the next row, or io.EOF. It is valid until the next call.
func (a *attachment) next() (row []uint64, err error) {
	event, err := a.peek()
	if err != nil {
		return nil, err
	}
	return a.take(event)
}

// take returns the row found by peek.
func (a *attachment) take(event int64) (row []uint64, err error) {
	row = a.rows[:a.layout.width]
	if why := a.layout.wrong(a.trace, a.thread, row); why != "" {
		return nil, a.malformed(a.row, why)
	}
	if a.layout.strings != nil {
		if err := a.checkStrings(row); err != nil {
			return nil, err
		}
	}
	a.event, a.rows = event, a.rows[len(row):]
	a.row++
	return row, nil
}

func (a *attachment) checkStrings(row []uint64) error {
	n := int64(len(a.trace.strings))
	for i, strings := 0, a.layout.strings(row); strings != 0; i, strings = i+1, strings>>1 {
		if id := int64(row[i]); strings&1 != 0 && (id < -1 || id >= n) {
			return a.malformed(a.row, fmt.Sprintf("string %d of %d", id, n))
		}
	}
	return nil
}

// attach adds the rows of event n of the thread to e.
func (a *attachment) attach(m *merged, e *format.Event, event int64) error {
	for a.err != io.EOF {
		at, err := a.peek()
		if err == io.EOF || err == nil && at != event {
			return nil
		}
		var row []uint64
		if err == nil {
			row, err = a.take(at)
		}
		if err != nil {
			return err
		}
		a.layout.decode(m, e, row)
		if a.layout.scope == eachEvent {
			return nil // the next row, which may be malformed, is of the next event
		}
	}
	return nil
}

// Waits returns the edges of a thread's events, in the order of events. The caller owns
// the slice. Open has counted its memory against the limit once.
func (t *Trace) Waits(thread int32) ([]format.Wait, error) {
	n := t.thread(thread).waits()
	if n == 0 {
		return nil, nil
	}
	all, held := make([]format.Wait, 0, n), attachment{}
	held.open(t, thread, kindHeld)
	// The compute covered by edges comes before the edges of an event.
	add := func(before int64) error {
		for {
			event, err := held.peek()
			if err == io.EOF || err == nil && event >= before {
				return nil
			}
			var row []uint64
			if err == nil {
				row, err = held.take(event)
			}
			if err != nil {
				return err
			}
			all = append(all, format.Wait{Event: event, Held: int64(row[1]), Expired: int64(row[2])})
		}
	}
	edges := attachment{}
	edges.open(t, thread, kindEdges)
	for {
		row, err := edges.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = add(edges.event + 1)
		}
		if err != nil {
			return nil, err
		}
		w := format.Wait{Event: edges.event, For: edgeOf(row)}
		if last := len(all) - 1; last >= 0 && all[last].Event == w.Event && all[last].For == (format.Edge{}) {
			all[last].For = w.For // which has no edge yet
		} else {
			all = append(all, w)
		}
	}
	return all, add(math.MaxInt64)
}
