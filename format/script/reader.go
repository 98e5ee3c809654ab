package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"pianola/format"
)

const (
	// maxLine bounds a line, in bytes; two paths of PATH_MAX in octal escapes
	// need 32 KiB.
	maxLine = 256 << 10

	// firstBuffer is the size of a Reader's buffer before it has met a source
	// that fills it, so that many small sources can be open at once.
	firstBuffer = 16 << 10

	// maxHeader bounds what the "#" lines of one source take together, in bytes
	// of memory; a line takes its text and lineBytes.
	maxHeader = 256 << 20
	lineBytes = 100
)

// MaxEmpty bounds the lines of one source that hold nothing. No program writes so many,
// but a small compressed file can hold some thousand million, which would take minutes.
const MaxEmpty = 1 << 22

// ErrEmpty is the error of a source with more.
var ErrEmpty = fmt.Errorf("more than %d empty lines", MaxEmpty)

// SyntaxError is an error in the text of a script. Lines count from 1.
type SyntaxError struct {
	File string
	Line int
	Msg  string
	Cut  bool // it is the last line and lacks its end, so that more may be missing
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Reader reads a script of any dialect. It implements format.Reader: what Read
// returns is borrowed until the next call. Memory is bounded by the longest
// line, the "#" lines and the number of threads, whatever the source says. The
// last line may lack its newline if it is whole.
type Reader struct {
	// Skipped counts the lines that hold no event, by the name of the unknown
	// operation or of the signal. It must not be changed.
	Skipped format.Skipped

	// Partial says that an intermediate script is what is left of a larger one, so it
	// can have an application's name of a path that it does not have. Without it
	// that is an error. Settle drops these names.
	Partial bool

	r      io.Reader
	name   string
	header format.Header

	// Internal state.
	buf         []byte
	start, end  int // what of buf has not been read yet
	line        int
	empty       int   // lines that hold nothing
	err         error // the next call of Read returns it
	readErr     error // why r holds no more
	dialect     Dialect
	announced   bool // a version line has set the dialect
	headerBytes int

	begun    bool           // an event was read
	entering *format.Header // of processes that enter before the next event; nil for none
	second   format.Event   // read, and to be returned by the next Read
	waiting  bool           // there is a second

	cursor cursor
	arena  []byte        // strings with escapes, and other text that is not in buf
	edges  []format.Edge // of the events of one Read
	notes  []format.Notes
	spans  spans

	layout    layout        // Recorded: the columns before a call
	recent    [16]format.Op // that operation has returned
	clock     int64         // Recorded, Older: start of the event on the preceding line
	origin    int64         // strace -t: the first time of day or of the epoch, nanoseconds
	midnights int64         // strace -t: days since the first, nanoseconds
	timed     bool          // origin is set
	summed    bool          // strace -C: the table at the end has begun
	terminal  terminal      // strace without -o: whose line has no thread id
	calls     unfinished    // strace: calls that have begun
	waits     waits         // strace: threads that wait
	ended     ended         // strace: threads whose exit has been read
	threads   []threadClock // Intermediate: by thread number - 1
	names     names
}

// NewReader returns a Reader of r. Errors call the source by name.
func NewReader(r io.Reader, name string) *Reader {
	return &Reader{r: r, name: name, buf: make([]byte, firstBuffer)}
}

// Dialect returns the dialect of the source, once the first Read has returned.
func (r *Reader) Dialect() Dialect { return r.dialect }

// Header implements format.Reader. An intermediate script that ends with
// compute keeps it as remarks "trailing compute: THREAD SECONDS".
func (r *Reader) Header() *format.Header { return &r.header }

// Read implements format.Reader. Syntax errors are of type *SyntaxError. It
// returns fewer events than it could at the end of what is buffered, because
// strings without escapes are parts of the buffer. Processes that enter the recording after
// the first event are an event before the next one.
func (r *Reader) Read(events []format.Event) (int, error) {
	if len(events) == 0 || r.err != nil {
		return 0, r.err
	}
	if r.waiting {
		events[0], r.waiting = r.second, false
		return 1, nil
	}
	r.arena, r.edges, r.notes = r.arena[:0], r.edges[:0], r.notes[:0]
	r.spans.Reset()
	n := 0
	for n < len(events) {
		line, ok := r.nextLine(n == 0)
		if !ok {
			break
		}
		r.line++
		filled, err := r.parseLine(line, &events[n])
		if err == nil && filled && r.unended() && !complete(line) {
			err = errNoNewline
		}
		if err != nil {
			r.err = r.syntaxError(err)
			break
		}
		if filled {
			events[n].Line = int64(r.line)
			if r.names.unused > 0 && r.dialect == Intermediate && events[n].Span == nil {
				r.names.use(&events[n])
			}
			if len(r.waits.timers) > 0 {
				r.waits.settle(&events[n])
			}
			if r.entering != nil {
				n = r.enter(events, n)
			}
			r.begun = true
			n++
		}
	}
	if n == 0 && r.entering != nil && r.err == io.EOF {
		events[0], r.entering = format.Entry(r.entering, r.clock), nil
		n++
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// enter puts the event of the processes that enter before the n-th event, and returns the
// number of the last one that is filled.
func (r *Reader) enter(events []format.Event, n int) int {
	first := format.Entry(r.entering, events[n].Start)
	r.entering = nil
	first, events[n] = events[n], first
	if n+1 == len(events) {
		r.second, r.waiting = first, true
		return n
	}
	events[n+1] = first
	return n + 1
}

// nextLine returns the next line without its end, and false if there is
// none: in the buffer, or at all if it may be filled. Then r.err says why.
func (r *Reader) nextLine(fill bool) ([]byte, bool) {
	for {
		if n := bytes.IndexByte(r.buf[r.start:r.end], '\n'); n >= 0 {
			line := r.buf[r.start : r.start+n]
			r.start += n + 1
			return trimReturn(line), true
		}
		if !fill {
			return nil, false
		}
		if r.readErr != nil {
			break
		}
		r.fill()
		if r.err != nil {
			return nil, false
		}
	}
	if r.readErr == io.EOF && r.start < r.end {
		line := r.buf[r.start:r.end]
		r.start = r.end
		return trimReturn(line), true
	}
	if r.err = r.readErr; r.err == io.EOF {
		r.finish()
	} else {
		r.err = fmt.Errorf("%s:%d: %w", r.name, r.line+1, r.err)
	}
	return nil, false
}

func trimReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// fill moves what has not been read to the front of the buffer and reads on.
func (r *Reader) fill() {
	to := r.buf
	if r.end == len(r.buf) && len(r.buf) < maxLine {
		to = make([]byte, 4*len(r.buf))
	}
	copy(to, r.buf[r.start:r.end])
	r.buf, r.start, r.end = to, 0, r.end-r.start
	if r.end == len(r.buf) {
		r.line++
		r.err = r.syntaxError(fmt.Errorf("line longer than %d KiB", maxLine>>10))
		return
	}
	for range 100 {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.readErr = err
		if n > 0 || err != nil {
			return
		}
	}
	r.readErr = io.ErrNoProgress
}

var errNoNewline = errors.New("no newline after the last line, so its result may be truncated")

// complete reports whether a line without a newline is whole: it ends with a
// duration, notes or the text of an error, and not with a number.
func complete(line []byte) bool { return bytes.IndexByte([]byte(">})?+"), line[len(line)-1]) >= 0 }

// unended reports whether the line just read has no end, as only the last one
// can.
func (r *Reader) unended() bool {
	return r.readErr == io.EOF && r.start == r.end && r.end > 0 && r.buf[r.end-1] != '\n'
}

func (r *Reader) syntaxError(err error) error {
	msg := err.Error()
	cut := r.unended()
	if cut {
		msg = "cut off in mid-line: " + msg
	}
	return &SyntaxError{File: r.name, Line: r.line, Msg: msg, Cut: cut}
}

// parseLine reports whether the line held an event, which is then in e.
func (r *Reader) parseLine(line []byte, e *format.Event) (filled bool, err error) {
	if r.dialect == Recorded && !r.layout.bare && r.layout.stamp == Relative && r.parsePlain(line, e) {
		return true, nil
	}
	switch {
	case len(line) > 0 && line[0] == '#':
		return false, r.parseHeader(line)
	case r.summed || len(bytes.TrimLeft(line, " \t")) == 0:
		if r.empty++; r.empty > MaxEmpty {
			return false, ErrEmpty
		}
		return false, nil
	}
	if r.dialect == Unrecognised || r.dialect == Recorded && !r.announced {
		if line = r.bare(line); line == nil {
			return false, nil
		}
	}
	if r.dialect == Unrecognised {
		if isRemark(line) {
			r.remark(line)
			return false, nil
		}
		if r.dialect, r.layout = recognise(line); r.dialect == Unrecognised {
			return false, errors.New("not an event: expected a call and its result, as strace -f -r -T prints it")
		}
	}
	if r.dialect == Recorded && !r.announced {
		if isRemark(line) {
			r.remark(line)
			return false, nil
		}
		if line = r.mend(line); line == nil {
			return false, nil
		}
	}
	*e = format.Event{Dur: format.Unknown}
	r.cursor = cursor{b: line}
	if r.dialect == Intermediate {
		filled = r.parseIntermediate(e)
	} else {
		filled = r.parseRecorded(e)
	}
	if r.cursor.msg != "" {
		return false, errors.New(r.cursor.msg)
	}
	return filled, nil
}

func (r *Reader) parseHeader(line []byte) error {
	if r.headerBytes += len(line) + lineBytes; r.headerBytes > maxHeader {
		return fmt.Errorf("header takes more than %d MiB", maxHeader>>20)
	}
	d, err := versionLine(line)
	if err != nil {
		return err
	}
	if d == Unrecognised {
		if err := r.headerOf(line).ParseLine(line); err != nil {
			return err
		}
		more, err := r.names.add(&r.header, r.line)
		r.headerBytes += more
		return err
	}
	if r.dialect != Unrecognised && (r.dialect != d || !r.announced) {
		return fmt.Errorf("the script changes from %s to %s", r.dialect, d)
	}
	r.dialect, r.announced = d, true
	return nil
}

// headerOf returns the header that a line belongs to: that of processes that enter, if it
// tells of one after the first event, or of what one has open.
func (r *Reader) headerOf(line []byte) *format.Header {
	switch {
	case !r.begun || r.dialect == Intermediate:
	case bytes.HasPrefix(line, []byte("# "+format.MetaProcess+": ")):
		var one format.Header
		if one.ParseLine(line) != nil || len(one.Running()) == 0 {
			break
		}
		if r.entering == nil {
			r.entering = &format.Header{}
		}
		return r.entering
	case r.entering != nil && bytes.HasPrefix(line, []byte("# fd: ")):
		return r.entering
	}
	return &r.header
}

// skip counts a line that holds no event.
func (r *Reader) skip(name []byte) {
	r.Skipped.Add(string(name), 1)
}

// finish handles the end of the source.
func (r *Reader) finish() {
	for i, t := range r.threads {
		if t.compute != 0 {
			value := format.AppendSeconds(fmt.Appendf(nil, "%d ", i+1), t.compute)
			r.header.Meta = append(r.header.Meta, format.Meta{Key: MetaTrailing, Value: string(value)})
		}
	}
	if r.dialect != Intermediate {
		return
	}
	if r.Partial {
		return
	}
	if line, err := r.names.settle(&r.header, false); err != nil {
		r.err = &SyntaxError{File: r.name, Line: line, Msg: err.Error()}
	}
}

// Use notes the paths of an event that belongs to a partial script and is not in it.
func (r *Reader) Use(e *format.Event) {
	if r.names.unused > 0 {
		r.names.use(e)
	}
}

// Settle drops the names of paths that neither a partial script nor a used event has, from
// the header, after the last event.
func (r *Reader) Settle() { _, _ = r.names.settle(&r.header, true) }
