package engine

import (
	"errors"
	"fmt"
	"time"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/stats"
)

// OpResult is the result of one operation.
type OpResult struct {
	Executed  int64
	Failed    int64
	Differed  int64
	Regrouped int64 // events of the recording whose place the calls of other groups took
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
	Path   string // below the root; "" if none is known
	Name   string // the application's of Path; "" if the trace has none
	Call   string // with all arguments and its result, as in a log
	Reason string // why; "" if unknown
}

// String describes the difference in one line.
func (d *Difference) String() string {
	name := ""
	if d.Path != "" {
		name = format.BothNames(d.Path, d.Name) + ", "
	}
	text := fmt.Sprintf("%d × %s: recorded %s, got %s; first %sevent %d of thread %d",
		d.Count, d.Op, resultText(d.Recorded), resultText(d.Got), name, d.Event, d.Thread)
	if d.Call != "" {
		text += ", " + d.Call
	}
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

// ErrDiffers is wrapped by the error of a strict replay that ended because a
// result differed.
var ErrDiffers = errors.New("result differs")

// maxDifferences bounds the kinds that a slot distinguishes. Results of further kinds
// only count as differing.
const maxDifferences = 64

// Counts are what workers have counted.
type Counts struct {
	Elapsed     time.Duration // from the start to the end of the last event
	Floor       format.Floor  // of a schedule, or of processors, at the recorded speed
	Interrupted bool          // some events were not executed
	Left        int64         // events that were not executed, because the last reply to a client ended the run
	ByOp        [format.NumOps]OpResult
	Late        stats.Histogram // delay between due time and issue of events, in nanoseconds
	OrderWait   time.Duration   // sum of the waits of threads for events of others
	LateReads   int64           // batches of records that could not be read ahead
	Changes     Changes         // by a Changer
	Differences []Difference    // of each thread separately
}

// Count adds up what the workers counted, after the end.
func (e *Engine) Count() Counts {
	c := Counts{Late: stats.Histogram{Digits: latenessDigits}}
	for _, w := range e.Workers {
		if w.Foreign() {
			continue
		}
		c.Elapsed = max(c.Elapsed, time.Duration(w.last))
		if w.scheduled > c.Floor.Total {
			c.Floor = format.Floor{Total: w.scheduled, Of: format.FloorOfSchedule}
		}
		c.OrderWait += time.Duration(w.orderWait)
		c.LateReads += w.lateReads
		c.Changes.Add(&w.changed)
		if e.answered {
			c.Left += w.length - w.Event
		} else {
			c.Interrupted = c.Interrupted || w.Event < w.length
		}
	}
	if p := e.processors; p != nil {
		c.Floor = format.Floor{Total: int64(e.Speed * float64(p.busy) / float64(len(p.free))), Of: format.FloorOfProcessors}
	}
	for _, s := range e.slots.all {
		c.Late.Merge(&s.late)
		for op := range s.byOp {
			from, to := &s.byOp[op], &c.ByOp[op]
			to.Executed += from.Executed
			to.Failed += from.Failed
			to.Differed += from.Differed
			to.Regrouped += from.Regrouped
		}
		c.Differences = append(c.Differences, s.differences...)
	}
	return c
}

// Add adds another count of the same kind.
func (d *Difference) Add(other *Difference) {
	count := d.Count + other.Count
	if other.At < d.At {
		*d = *other
	}
	d.Count = count
}

// Same reports whether a difference is of a kind. The number of a descriptor does not
// distinguish kinds.
func (d *Difference) Same(op format.Op, recorded, got int64) bool {
	if d.Op != op || d.Got != got {
		return false
	}
	return d.Recorded == recorded || op.Info().Result == format.ResultFD && d.Recorded >= 0 && recorded >= 0
}

// score compares an event's result with the recorded one if the numbers differ, and
// records a difference. It returns false if the run must end.
func (w *Worker) score(r *format.Record, event, got int64) bool {
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
		name := ""
		if path, _ := w.player.Explain(r, got); path != "" {
			name = " of " + format.BothNames(path, w.e.Trace.Header().AppNames().Of(path))
		}
		w.Failf("event %d of thread %d: %s%s, recorded %v: %w", event, w.Number, w.callText(r, event, got), name, result(r.Ret), ErrDiffers)
		return false
	}
	return true
}

func (w *Worker) note(r *format.Record, event, got int64) {
	for i := range w.differences {
		if d := &w.differences[i]; d.Same(r.Op, r.Ret, got) {
			d.Count++
			return
		}
	}
	if len(w.differences) < cap(w.differences) {
		path, reason := w.player.Explain(r, got)
		w.differences = append(w.differences, Difference{
			Op: r.Op, Recorded: r.Ret, Got: got, Count: 1, At: time.Duration(w.e.Elapsed()),
			Thread: w.Number, Event: event, Path: path, Call: w.callText(r, event, got), Reason: reason,
		})
	}
}

// callText returns the text of an event and its result in the replay.
func (w *Worker) callText(r *format.Record, event, got int64) string {
	w.Unpin() // the reader of lists may wait
	defer w.Pin()
	e := format.Event{Op: r.Op, Dur: format.Unknown, Ret: got, Args: r.Args}
	if at := r.Op.Info().At.List; at >= 0 {
		e.List, _ = w.e.Trace.Lists(w.Number).Read(event, r) // an error comes from who plays it
		e.Args[at] = 0
	}
	r.FillStrings(&e, w.e.Trace.Strings())
	return string(script.AppendCall(nil, &e))
}
