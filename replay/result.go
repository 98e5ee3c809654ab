package replay

import (
	"cmp"
	"slices"
	"time"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/replay/engine"
	"pianola/replay/fileset"
)

// Result is the result of a replay. An interrupted run has one too, for the events that
// it executed.
type Result struct {
	Elapsed     time.Duration // from the start of the replay to the end of its last event
	Interrupted bool          // some events were not executed

	Executed  int64 // events
	Failed    int64 // events that failed although the recorded call succeeded, or the reverse
	Differed  int64 // events whose result is not equivalent to the recorded one; includes Failed
	Left      int64 // events that were not executed, because the last reply to a client ended the run
	Regrouped int64 // events of the recording that were not executed, because threads committed in other groups
	ByOp      [format.NumOps]OpResult

	Lateness  stats.Quantiles // delay between due time and issue of events; too high by less than 7 %
	OrderWait time.Duration   // sum of the waits of threads for events of others

	// LateReads counts batches of records that could not be read ahead, and so
	// delayed events.
	LateReads int64

	Changes engine.Changes // by Options.Change; Executed includes inserted and altered calls

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

	Beside []*Result // of Options.Beside, in this order

	Options Options // as they were used, defaults filled in

	floor format.Floor // of its schedule, or processors

	trace   format.Trace
	logs    []engine.Log
	made    [][]engine.Made // by Options.Change: of each thread
	groups  []engine.Groups // of each log to which threads commit in other groups than recorded
	late    stats.Histogram // Lateness
	latency stats.Histogram // Edges.Latency
}

// OpResult is the result of one operation.
type OpResult = engine.OpResult

// Difference is a kind of differing result, with its first example.
type Difference = engine.Difference

// collect adds up what the workers of a trace counted.
func (r *Result) collect(e *playing) {
	c := e.Count()
	r.Elapsed, r.floor, r.Interrupted, r.Left = c.Elapsed, c.Floor, c.Interrupted, c.Left
	r.OrderWait, r.LateReads, r.ByOp = c.OrderWait, c.LateReads, c.ByOp
	r.MemoryBytes, r.Notes, r.groups = e.PeakMemory(), e.Notes(), e.Groups()
	r.Changes, r.made = c.Changes, e.Made()
	for i := range r.ByOp {
		r.Executed += r.ByOp[i].Executed
		r.Failed += r.ByOp[i].Failed
		r.Differed += r.ByOp[i].Differed
		r.Regrouped += r.ByOp[i].Regrouped
	}
	for i := range c.Differences {
		r.addDifference(&c.Differences[i])
	}
	r.late, r.Lateness = c.Late, c.Late.Quantiles()
	r.sortDifferences(e)
}

// sortDifferences puts what began first at the start, and names the files.
func (r *Result) sortDifferences(e *playing) {
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return cmp.Compare(a.At, b.At) })
	if len(r.Differences) == 0 {
		return
	}
	if names := e.Trace.Header().AppNames(); names != nil {
		for i := range r.Differences {
			d := &r.Differences[i]
			d.Name = names.Of(d.Path)
		}
	}
}

func (r *Result) addDifference(d *Difference) {
	for i := range r.Differences {
		if have := &r.Differences[i]; have.Same(d.Op, d.Recorded, d.Got) {
			have.Add(d)
			return
		}
	}
	r.Differences = append(r.Differences, *d)
}
