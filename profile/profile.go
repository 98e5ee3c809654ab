// Package profile computes the profile of a recording.
//
// A Profile holds totals by operation, file, thread and process, for each
// category of I/O the cumulative time against the elapsed time, and how sizes,
// offsets and durations are distributed. Plot draws curves, compare compares
// profiles, and page shows them in a browser.
//
//	Reader → Read → Profile ─┬→ WriteText, FullDocument
//	                         ├→ Table → WriteText, WriteCSV
//	                         └→ Plot
//
// The package takes events from a format.Reader only and knows no files. Its
// results are read-only once returned and may be used concurrently.
package profile

import (
	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/process"
)

// Category is a kind of calls, as a profile adds it up.
type Category uint8

// The categories. The first NumIO are I/O: calls on files and block devices, by
// their operation, and then page faults of mapped files. The first NumCalls are those
// calls, which every profile shows. Metadata holds opening and closing too. Communication is calls
// of the same operations on pipes, sockets, character devices, and eventfds and
// their like. Submitting holds the calls that submit requests of io_uring and libaio
// and wait for them; the requests themselves count, without a time, for what they ask
// for. Processes, memory and files that the kernel makes up (/proc)
// belong to none.
const (
	Reads Category = iota
	Writes
	Syncs
	Metadata
	MappedReads
	MappedWrites
	Communication
	Submitting
	NumCategories

	NumIO    = Communication
	NumCalls = MappedReads
)

var categoryNames = [NumCategories]string{"read", "write", "sync", "metadata", "mapped read", "mapped write", "communication", "submit and wait"}

func (c Category) String() string { return categoryNames[c] }

// Key is the name as a key of documents and columns.
func (c Category) Key() string { return Activity(c).Key() }

// noCategory is the category of calls that belong to none.
const noCategory = NumCategories

// CategoryOf returns the category of an operation on a file, and NumCategories
// for one that is no I/O.
func CategoryOf(op format.Op) Category { return opCategory[op] }

// categoryOn returns the category of an operation on something.
func categoryOn(op format.Op, kind process.Kind) Category {
	k := opCategory[op]
	switch {
	case k == Submitting:
		return k
	case k == noCategory || kind == process.KindPseudo:
		return noCategory
	case kind == process.KindChannel:
		return Communication
	}
	return k
}

var (
	classCategory = [format.NumClasses]Category{
		format.ClassOpen:     Metadata,
		format.ClassClose:    Metadata,
		format.ClassRead:     Reads,
		format.ClassWrite:    Writes,
		format.ClassSync:     Syncs,
		format.ClassMetadata: Metadata,
		format.ClassMemory:   noCategory,
		format.ClassProcess:  noCategory,
		format.ClassSubmit:   Submitting,
	}
	opCategory = func() (of [format.NumOps]Category) {
		for op := format.OpNone + 1; op.Valid(); op++ {
			info := op.Info()
			of[op] = classCategory[info.Class]
			if info.Acts.Any(format.Faults) {
				of[op] = MappedReads + of[op] - Reads
			}
		}
		return of
	}()
)

// Total is what calls of one kind add up to.
type Total struct {
	Calls   int64
	Errors  int64 // calls that returned an error
	Unknown int64 // calls whose duration the source did not hold
	Bytes   int64 // that reads and writes returned
	Nanos   int64 // in the calls, of all threads together
	Flight  int64 // nanoseconds from submission to completion, of all requests together
}

func (t *Total) add(o *Total) {
	t.Calls += o.Calls
	t.Errors += o.Errors
	t.Unknown += o.Unknown
	t.Bytes += o.Bytes
	t.Nanos += o.Nanos
	t.Flight += o.Flight
}

// Categories is what calls add up to, by category.
type Categories [NumCategories]Total

// IO returns the sum of the categories that are I/O.
func (c *Categories) IO() (sum Total) {
	for k := range NumIO {
		sum.add(&c[k])
	}
	return sum
}

// Fetched returns the bytes that were read, by calls and by faults.
func (c *Categories) Fetched() int64 { return c[Reads].Bytes + c[MappedReads].Bytes }

// Stored returns the bytes that were written, by calls and by faults.
func (c *Categories) Stored() int64 { return c[Writes].Bytes + c[MappedWrites].Bytes }

// Profile is what a recording adds up to.
type Profile struct {
	RunTime int64 // nanoseconds from the start of the recording to the end of its last event
	All     Total // every event; the sum of Ops

	Categories
	Ops    [format.NumOps]Total // on whatever; the part that is not I/O is in OpComm and in no category
	OpComm [format.NumOps]Total // those of Ops that are communication
	Curves [NumCategories]Curve

	Latency      [NumCategories]*Latency // nil where no call has a duration
	OpLatency    [format.NumOps]*Latency // the same
	LatencyMaps  [NumCategories]*LatencyMap
	Sizes        [2][]SizeClass // of Reads and Writes
	Failures     []Failure      // the most frequent first
	Intervals    Intervals
	Parts        Parts
	Times        Times   // of all threads
	Concurrency  []int64 // nanoseconds in which so many threads were in I/O at once, for 0, 1 and so on; the last may be 64 or more
	Depth        []int64 // the same for requests in flight; nil for none
	Files        []File  // those in which the most time was spent first
	OtherFiles   File    // what was done to more files than are told apart
	NoFile       Usage   // calls that are about no file
	Threads      []Thread
	OtherThreads Thread // those beyond the ones that are told apart, together; its TID is -1
	Processes    []Process
	Layers       []Layer // whose calls are in the recording, the one with the most time first

	// The ranks of a parallel program; empty for other programs.
	Ranks   []Rank   // in order
	Shared  []Shared // files that several ranks used: the written ones first, then by overlap
	RankMap *RankMap

	// Blocked is nil for recordings that do not tell who woke whom.
	Blocked *Blocked

	// Critical is the critical path, the longest steps first. It is nil for
	// recordings of several threads that do not tell who woke whom.
	Critical []Step

	// Timeline is what the threads did over time, with the critical path.
	Timeline Timeline

	// Calls are nil unless a part of the run was asked for (Collector.To).
	Calls *Calls

	// Requests are nil if no client that was not recorded sent any.
	Requests *Requests

	// SpanCalls are nil if there are none in that part.
	SpanCalls *SpanCalls

	// Diagnosis is what to look at first, for who reads the profile. Package
	// diagnosis finds it; Read leaves it empty.
	Diagnosis []Finding

	// Coverage is how much of the application's I/O the recording holds. That of
	// a replay's log is its recording's.
	Coverage coverage.Account

	// The following are nil if the log of a replay does not tell, and for recordings.
	Floor    *format.Floor    // the replay's minimum run time
	Grouping *format.Grouping // how threads share syncs
}

// SetHeader sets what the header of a recording tells about the whole of it.
func (p *Profile) SetHeader(h *format.Header) {
	p.Coverage = coverage.Of(h)
	if f, ok := h.ReplayFloor(); ok {
		p.Floor = &f
	}
	if _, replayed := h.Value(format.MetaReplay); replayed {
		if g, ok := h.Grouping(); ok {
			p.Grouping = &g
		}
	}
}

// boundShare is the share of a run time that its floor has at the least if the floor
// binds it. Storage can then change less than six runs distinguish from noise.
const boundShare = 0.95

// Bound reports whether a replay is as long as its floor. How fast the storage is does not
// show in its run time.
func (p *Profile) Bound() bool {
	f := p.Floor
	return f != nil && f.Total > 0 && float64(f.Total) >= boundShare*float64(p.RunTime)
}

// Totals returns the totals and durations of a profile, by category and by operation, and its
// coverage, which take some kilobytes for any recording.
func (p *Profile) Totals() *Profile {
	return &Profile{RunTime: p.RunTime, Coverage: p.Coverage, All: p.All, Categories: p.Categories, Ops: p.Ops, Latency: p.Latency, OpLatency: p.OpLatency, Floor: p.Floor, Grouping: p.Grouping, Requests: p.Requests}
}
