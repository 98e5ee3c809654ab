package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pianola/format"
	"pianola/replay/fileset"
	"pianola/stats"
)

// Result is the result of a replay. An interrupted run has one too, for the events that
// it executed.
type Result struct {
	Elapsed     time.Duration // from the start of the replay to the end of its last event
	Interrupted bool          // some events were not executed

	Executed int64 // events
	Failed   int64 // events that failed although the recorded call succeeded, or the reverse
	Differed int64 // events whose result is not equivalent to the recorded one; includes Failed
	ByOp     [format.NumOps]OpResult

	Lateness  stats.Quantiles // delay between due time and issue of events; too high by less than 7 %
	OrderWait time.Duration   // sum of the waits of threads for events of others

	// LateReads counts batches of records that could not be read ahead, and so
	// delayed events.
	LateReads int64

	// MemoryBytes is the largest size of the application's memory that was
	// touched at a time, including reads. It is 0 without Options.Memory.
	MemoryBytes int64

	Prepared fileset.Prepared

	// Notes say, in one line each, how the replay differed from the recording in what no
	// result shows, such as rings of io_uring that the kernel sets up in another way.
	Notes []string

	// Differences are the kinds of differing results, at most maxDifferences per thread.
	// They are in the order in which they began, because one can be the cause of those
	// after it, however rare it is.
	Differences []Difference

	// Rank 0 of several processes has what each replayed, and the edges between them.
	Ranks []RankResult
	Edges Edges

	Options Options // as they were used, defaults filled in

	scheduled int64 // by a schedule, the recorded start of the last event

	trace   format.Trace
	logs    []log
	late    stats.Histogram // Lateness
	latency stats.Histogram // Edges.Latency
}

// OpResult is the result of one operation.
type OpResult struct {
	Executed int64
	Failed   int64
	Differed int64
}

// Difference is a kind of differing result, with its first example.
type Difference struct {
	Op       format.Op
	Recorded int64 // result in the recording, as Event.Ret
	Got      int64 // result in the replay
	Count    int64

	At     time.Duration // of the first example, since the start of the replay
	Thread int32
	Event  int64  // position in the thread, from 0
	Path   string // below the root; "" where none is known
	Name   string // the application's of Path; "" where the trace has none
	Reason string // what is known of why; "" if nothing
}

// String describes the difference in one line.
func (d *Difference) String() string {
	text := fmt.Sprintf("%d × %s: recorded %s, got %s; first %s, event %d of thread %d",
		d.Count, d.Op, resultText(d.Recorded), resultText(d.Got), format.BothNames(d.Path, d.Name), d.Event, d.Thread)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

func resultText(ret int64) string {
	switch {
	case ret == format.NoResult:
		return "?"
	case ret < 0:
		return format.ErrnoName(int(-ret))
	}
	return fmt.Sprint(ret)
}

// refusedDirect is the reason if an open with O_DIRECT fails: not all file
// systems have it.
const refusedDirect = "the file system refuses O_DIRECT"

// lacksNames is the reason if a listing is not whole.
const lacksNames = "number of names missing from the listing"

// lowOpenFiles and lowDescriptors are the reasons if there is no room for another
// descriptor: the limit of this process, and that of Limits.
const (
	lowOpenFiles   = "the limit of open files (ulimit -n) is too low: recorded processes of several threads share it, with each other and with the replay's own files"
	lowDescriptors = "--limit descriptors is too low"
)

// reason returns why a result can differ.
func (w *worker) reason(r *format.Record, got int64) string {
	if r.Op.Info().Acts.Any(format.Opens) && got == errInvalid && r.Args[1]&format.DIRECT != 0 {
		return refusedDirect
	}
	if r.Op == format.OpGetdents64 && r.Args[1]&format.Listing != 0 && r.Ret == 0 && got > 0 {
		return lacksNames
	}
	switch {
	case r.Ret < 0 || got != errNoFD:
		return ""
	case r.Ret >= w.e.Limits.Descriptors:
		return lowDescriptors
	}
	return lowOpenFiles
}

// maxDifferences bounds the kinds that a seat distinguishes. Results of further kinds
// only count as differing.
const maxDifferences = 64

// latenessDigits makes a histogram small, because each living thread has one.
const latenessDigits = 1

// collect adds up what the workers counted.
func (r *Result) collect(e *engine) {
	late := stats.Histogram{Digits: latenessDigits}
	for _, w := range e.workers {
		if w.elsewhere {
			continue
		}
		r.Elapsed = max(r.Elapsed, time.Duration(w.last))
		r.scheduled = max(r.scheduled, w.scheduled)
		r.OrderWait += time.Duration(w.orderWait)
		r.LateReads += w.lateReads
		r.MemoryBytes = max(r.MemoryBytes, w.mostHeld*pageSize)
		r.Interrupted = r.Interrupted || w.event < w.length
	}
	for _, s := range e.seats.all {
		late.Merge(&s.late)
		for op := range s.byOp {
			from, to := &s.byOp[op], &r.ByOp[op]
			to.Executed += from.Executed
			to.Failed += from.Failed
			to.Differed += from.Differed
		}
		for i := range s.differences {
			r.addDifference(&s.differences[i])
		}
	}
	for i := range r.ByOp {
		r.Executed += r.ByOp[i].Executed
		r.Failed += r.ByOp[i].Failed
		r.Differed += r.ByOp[i].Differed
	}
	r.late, r.Lateness = late, late.Quantiles()
	r.sortDifferences(e)
}

// sortDifferences puts what began first at the start, and names the files.
func (r *Result) sortDifferences(e *engine) {
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return cmp.Compare(a.At, b.At) })
	if len(r.Differences) == 0 {
		return
	}
	if names := e.trace.Header().AppNames(); names != nil {
		for i := range r.Differences {
			d := &r.Differences[i]
			d.Name = names.Of(d.Path)
		}
	}
}

func (r *Result) addDifference(d *Difference) {
	for i := range r.Differences {
		if have := &r.Differences[i]; have.same(d.Op, d.Recorded, d.Got) {
			have.add(d)
			return
		}
	}
	r.Differences = append(r.Differences, *d)
}

// add adds another count of the same kind.
func (d *Difference) add(other *Difference) {
	count := d.Count + other.Count
	if other.At < d.At {
		*d = *other
	}
	d.Count = count
}

// same reports whether a difference is of a kind. Which number a descriptor has makes no
// other kind of it.
func (d *Difference) same(op format.Op, recorded, got int64) bool {
	if d.Op != op || d.Got != got {
		return false
	}
	return d.Recorded == recorded || op.Info().Result == format.ResultFD && d.Recorded >= 0 && recorded >= 0
}

// score compares an event's result with the recorded one if the numbers differ, and
// records a difference. It returns false if the run must end.
func (w *worker) score(r *format.Record, event, got int64) bool {
	if r.Ret == format.NoResult {
		return true
	}
	if (r.Ret < 0) != (got < 0) {
		w.byOp[r.Op].Failed++
	}
	if r.Same(got) {
		return true
	}
	w.byOp[r.Op].Differed++
	w.note(r, event, got)
	if w.e.Strict {
		path := w.pathOf(r)
		w.failf("event %d of thread %d: %s %s returned %v, recorded %v: %w",
			event, w.number, r.Op, format.BothNames(path, w.e.trace.Header().AppNames().Of(path)), result(got), result(r.Ret), ErrDiffers)
		return false
	}
	return true
}

func (w *worker) note(r *format.Record, event, got int64) {
	for i := range w.differences {
		if d := &w.differences[i]; d.same(r.Op, r.Ret, got) {
			d.Count++
			return
		}
	}
	if len(w.differences) < cap(w.differences) {
		w.differences = append(w.differences, Difference{
			Op: r.Op, Recorded: r.Ret, Got: got, Count: 1, At: time.Duration(w.e.now() - w.e.start),
			Thread: w.number, Event: event, Path: w.pathOf(r), Reason: w.reason(r, got),
		})
	}
}

// pathOf returns the path that a record is about: its first string, or the path
// of its first descriptor of a file. A descriptor that the event itself closed
// has none.
func (w *worker) pathOf(r *format.Record) string {
	for i, a := range r.Op.Info().Args {
		switch {
		case a.Kind == format.Path && r.Args[i] >= 0 && r.Args[i] < int64(len(w.e.texts)):
			return w.e.texts[r.Args[i]]
		case a.Kind == format.FD:
			if s := w.lookup(r.Args[i]); s != 0 {
				return w.e.texts[s.name()]
			}
		}
	}
	return ""
}
