package transform

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

// Trace is a compiled trace that transforms can be applied to.
type Trace interface {
	format.Trace

	// Events returns a reader of all events, by their recorded start.
	Events() format.Reader
}

// lifted reads a compiled trace in the form of a recording:
//
//   - Events are in the order of their ends, but none before one that it has an edge
//     to. That is the order of a recording.
//   - The waits of an event become separate calls before it, as in a recording: OpWait,
//     with the number of the edge and its delay.
//   - Opened files have the notes of their recorder, as far as the fileset and earlier
//     calls show them.
type lifted struct {
	trace  Trace
	events format.Reader
	header format.Header
	lines  *lineage

	batch []format.Event
	n, i  int
	err   error

	open    format.Heap[format.Event] // that have not ended, by their ends; events of one thread by line
	stopped [][]format.Event          // by thread: events that come after one of it
	count   []int64                   // events of each thread that were read
	given   []int64                   // and that were returned
	out     []format.Event            // to be returned
	files   *noter
	floors  []int64 // of each thread, at its newest event
	floor   int64   // the highest
	syncs   int64   // calls that sync
}

// newLifted reads what edges lead to, which takes memory for each of these.
func newLifted(t Trace) (*lifted, error) {
	h := *t.Header()
	if len(h.Threads) == 0 {
		h.Threads = []format.Thread{{Process: 1}}
	}
	for _, one := range h.Threads {
		if one.Ring != format.ViaCall {
			return nil, ErrRequests
		}
	}
	threads := len(h.Threads)
	l := &lifted{
		open: format.NewHeap(func(a, b *format.Event) bool {
			return cmp.Or(cmp.Compare(a.End(), b.End()), cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Line, b.Line)) < 0
		}, nil),
		trace: t, events: format.WithoutSpans(t.Events()), header: h, files: newNoter(&h), lines: &lineage{threads: make([]threadLineage, threads)}, batch: make([]format.Event, 256),
		stopped: make([][]format.Event, threads), count: make([]int64, threads), given: make([]int64, threads), floors: make([]int64, threads),
	}
	events, ends := make([][]int64, threads), make([][]int64, threads)
	for i := range threads {
		waits, err := t.Waits(int32(i + 1))
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			if w.For.Thread > 0 {
				events[w.For.Thread-1] = append(events[w.For.Thread-1], w.For.Event)
				if w.For.Kind.Commits() {
					ends[w.For.Thread-1] = append(ends[w.For.Thread-1], w.For.Event)
				}
			}
		}
	}
	for i, all := range events {
		slices.Sort(all)
		all = slices.Compact(all)
		targets := make([]target, len(all))
		for k, event := range all {
			targets[k].event = event
		}
		l.lines.threads[i].targets = targets
		for _, event := range ends[i] {
			l.lines.threads[i].target(event).commits = true
		}
	}
	for i := range l.floors {
		if h.Threads[i].Parent == 0 {
			l.floors[i] = h.Threads[i].Start
		}
	}
	return l, nil
}

func (l *lifted) lineage() *lineage { return l.lines }

// Header implements format.Reader.
func (l *lifted) Header() *format.Header { return &l.header }

// ErrRequests is the error of a compiled trace with requests of io_uring or libaio. A
// trace does not hold enough about reaped completions to transform them.
var ErrRequests = errors.New("a compiled trace with requests of io_uring or libaio can't be transformed, only its recording")

// errCircle is the error of a trace that no replay can finish.
var errCircle = errors.New("the edges of the trace form a cycle")

// Read implements format.Reader.
func (l *lifted) Read(events []format.Event) (int, error) {
	for len(l.out) == 0 {
		if err := l.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(events, l.out)
	l.out = l.out[n:]
	return n, nil
}

// advance returns one event, or reads one.
func (l *lifted) advance() error {
	next := l.peek()
	switch {
	case len(l.open.Items) > 0 && (next == nil || next.Start > l.open.Items[0].End()):
		l.pass(l.open.Pop())
	case next != nil:
		l.i++
		e := next.Clone()
		l.count[e.TID-1]++
		e.Line = l.count[e.TID-1]
		l.open.Push(e)
	case !errors.Is(l.err, io.EOF):
		return l.err
	default:
		for _, held := range l.stopped {
			if len(held) > 0 {
				return errCircle
			}
		}
		return io.EOF
	}
	return nil
}

// peek returns the next event of the trace, nil at the end.
func (l *lifted) peek() *format.Event {
	for l.i == l.n {
		if l.err != nil {
			return nil
		}
		l.n, l.err = l.events.Read(l.batch)
		l.i = 0
	}
	return &l.batch[l.i]
}

// pass returns an event, unless it comes after one that was not returned.
func (l *lifted) pass(e format.Event) {
	if l.given[e.TID-1] < e.Line-1 {
		l.stopped[e.TID-1] = append(l.stopped[e.TID-1], e)
		return
	}
	for _, edge := range e.Edges {
		if edge.Thread > 0 && l.given[edge.Thread-1] <= edge.Event {
			l.stopped[edge.Thread-1] = append(l.stopped[edge.Thread-1], e)
			return
		}
	}
	l.give(&e)
	l.given[e.TID-1]++
	freed := l.stopped[e.TID-1]
	l.stopped[e.TID-1] = nil
	for _, k := range freed {
		l.pass(k)
	}
}

// isWait reports whether an edge is what a thread waited for, and not an order that
// keeps results.
func isWait(k format.EdgeKind) bool { return !isOrder(k) && !k.Commits() }

// isOrder reports whether an edge keeps results: it is neither a wait nor about a commit.
func isOrder(k format.EdgeKind) bool { return k < format.EdgeWake || k == format.EdgeAny }

// The kinds of the second argument of a wait other than the number of its edge.
const (
	heldWait    = -1 // without an edge
	expiredWait = -2 // whose time limit expired
)

// give puts an event into what is to be returned, behind what it waited for.
func (l *lifted) give(e *format.Event) {
	b := &l.lines.threads[e.TID-1]
	l.measure(e, b)
	if len(e.Edges) > 0 {
		b.origin(e.Line).edges = e.Edges
	}
	wait := format.Event{Op: format.OpWait, TID: e.TID, Line: e.Line, Start: e.Start - e.Held - e.Expired}
	first := len(l.out)
	put := func(nanos int64, args ...int64) *format.Event {
		wait.Dur, wait.Args = nanos, [format.MaxArgs]int64{}
		copy(wait.Args[1:], args)
		l.out = append(l.out, wait)
		wait.Start += nanos
		return &l.out[len(l.out)-1]
	}
	if e.Expired > 0 {
		put(e.Expired, expiredWait)
	}
	held := e.Held // one of several waits has it
	for i := range e.Edges {
		if edge := &e.Edges[i]; isWait(edge.Kind) {
			if w := put(held, int64(i), edge.Delay); edge.Thread > 0 {
				w.Notes = &format.Notes{Has: format.NotedWaker, Waker: edge.Thread}
			}
			held = 0
		}
	}
	if held > 0 {
		put(held, heldWait)
	}
	if first < len(l.out) {
		// The time off the processor is that before the waits, and theirs.
		off := e.Off.Less(e.Held)
		o := b.origin(e.Line)
		for i, p := range o.moved.Parts() {
			*p = *e.Off.Parts()[i] - *off.Parts()[i]
		}
		l.out[first].Off, e.Off = off, format.Off{}
	}
	e.Compute, e.Held, e.Expired, e.Edges = 0, 0, 0, nil
	if transfers(e) && e.Args[1]&format.FreshBuffer != 0 {
		e.Args[1] &^= format.FreshBuffer
		e.Faults = 1
	}
	l.files.note(e)
	l.out = append(l.out, *e)
}

// transfers reports whether an event moves bytes between a file and one buffer.
func transfers(e *format.Event) bool {
	return e.Op.Info().Acts.Any(format.Buffers) && e.Op.Info().At.Buf == 1
}

// measure notes when an event ended that edges lead to, and the least time that a
// replay takes until then.
func (l *lifted) measure(e *format.Event, b *threadLineage) {
	at := l.floors[e.TID-1] + max(e.Compute-e.Held-e.Expired, 0)
	for i := range e.Edges {
		if edge := &e.Edges[i]; edge.Kind != format.EdgeArrival {
			from := int64(0)
			if edge.Thread > 0 {
				from = l.lines.threads[edge.Thread-1].target(edge.Event).was
			}
			at = max(at, sum(from, edge.Delay))
		}
	}
	l.floors[e.TID-1], l.floor = at, max(l.floor, at)
	if t := b.target(e.Line - 1); t != nil {
		t.end, t.was = e.End(), at
	}
	switch info := e.Op.Info(); {
	case info.Class == format.ClassSync:
		l.syncs++
	case e.Did().Any(format.Starts) && int(e.Ret) <= len(l.floors):
		l.floors[e.Ret-1] = at
	}
}

// noter gives opened files the notes of a recorder, from the fileset of a trace and
// the calls so far.
type noter struct {
	*process.Follower
	files   map[string]*format.File // by path
	inodes  map[string]uint64       // of hard links, by path
	newest  uint64                  // inode
	tangled bool                    // a name may be that of another file
}

// noted is the known state of the file of a name.
type noted struct {
	ino   uint64
	typ   format.FileType
	sized bool // its length is followed from the start
	gone  bool // the name was removed
}

func newNoter(h *format.Header) *noter {
	n := &noter{Follower: process.New(begun(h), maxFiles), files: make(map[string]*format.File, len(h.Files)), inodes: map[string]uint64{}}
	for i := range h.Files {
		n.files[h.Files[i].Path] = &h.Files[i]
	}
	return n
}

// note adds notes to an open, and follows all events.
func (n *noter) note(e *format.Event) {
	f := n.Fact(e)
	switch {
	case f.Did.Any(format.Tangles):
		n.tangled = true
	case f.File == nil || f.Did.Any(format.Directories):
	case f.Did.Any(format.Removes):
		f.File.Data, f.File.Length = &noted{gone: true}, 0
	case f.Did.Any(format.Opens) && e.Op.Info().At.Paths[0].Arg >= 0 && e.OpenFlags()&format.TMPFILE == 0 && !n.tangled:
		n.opened(e, f.File)
	}
	n.Apply(f)
}

func (n *noter) opened(e *format.Event, f *process.File) {
	was, _ := f.Data.(*noted)
	file := n.files[strings.Replace(string(e.Path(0)), "//", "/", 1)]
	if was != nil && was.gone {
		file = nil
	}
	if was == nil || was.gone {
		was = &noted{sized: file == nil && e.OpenFlags()&format.CREAT != 0}
		if file != nil && file.Type == format.TypeReg && file.Link == "" {
			was.sized = true
			f.Length = max(f.Length, file.Size)
		}
		if was.ino = n.inode(file); file != nil {
			was.typ = file.Type
		} else if e.OpenFlags()&format.CREAT != 0 {
			was.typ = format.TypeReg
		}
		f.Data = was
	}
	if e.OpenFlags()&format.TRUNC != 0 {
		was.sized, f.Length = true, 0
	}
	notes := &format.Notes{Has: format.NotedDev | format.NotedIno, Dev: format.Device{Minor: 1}, Ino: was.ino}
	if was.typ != format.TypeUnknown {
		notes.Has, notes.Type = notes.Has|format.NotedType, was.typ
	}
	if file == nil && e.OpenFlags()&format.CREAT != 0 {
		notes.Has |= format.NotedNew // else it only says that a file is needed
	}
	if was.sized {
		notes.Has, notes.Size = notes.Has|format.NotedSize, f.Length
	}
	e.Notes = notes
}

// inode returns a number for a file, which its hard links have, too.
func (n *noter) inode(file *format.File) uint64 {
	if file == nil {
		n.newest++
		return n.newest
	}
	first := file.Path
	if file.Link != "" {
		first = file.Link
	}
	if n.inodes[first] == 0 {
		n.newest++
		n.inodes[first] = n.newest
	}
	return n.inodes[first]
}
