// Package profile adds recordings up and compares them.
//
// A Profile holds totals by operation and, for each category of I/O, the
// cumulative time against the elapsed time. Compare sets the profile of an
// application beside those of its replays; Plot draws them.
//
//	Reader → Read → Profile → Compare → Comparison → WriteText, WriteJSON
//	                      └─→ Plot
//
// The package takes events from a format.Reader only and knows no files. Its
// results are read-only once returned and may be used concurrently.
package profile

import (
	"errors"
	"fmt"
	"io"

	"pianola/format"
)

// Category is a kind of I/O, as a profile adds it up.
type Category uint8

// The categories. Metadata holds opening and closing too; processes and memory
// are no I/O and belong to none.
const (
	Reads Category = iota
	Writes
	Syncs
	Metadata
	NumCategories
)

var categoryNames = [NumCategories]string{"read", "write", "sync", "metadata"}

func (c Category) String() string { return categoryNames[c] }

// noCategory is the category of operations that are no I/O.
const noCategory = NumCategories

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
	}
	opCategory = func() (of [format.NumOps]Category) {
		for op := format.OpNone + 1; op.Valid(); op++ {
			of[op] = classCategory[op.Info().Class]
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
}

func (t *Total) add(o *Total) {
	t.Calls += o.Calls
	t.Errors += o.Errors
	t.Unknown += o.Unknown
	t.Bytes += o.Bytes
	t.Nanos += o.Nanos
}

// Profile is what a recording adds up to.
type Profile struct {
	RunTime int64 // nanoseconds from the start of the recording to the end of its last event
	All     Total // every event; the sum of Ops

	Categories [NumCategories]Total
	Ops        [format.NumOps]Total
	Curves     [NumCategories]Curve
}

// IO returns the sum of the categories.
func (p *Profile) IO() (sum Total) {
	for k := range p.Categories {
		sum.add(&p.Categories[k])
	}
	return sum
}

// Read adds up all events of r. Its memory does not depend on their number.
// The errors of r are returned as they are, for they say where they arose.
func Read(r format.Reader) (*Profile, error) {
	var (
		c      Collector
		events [256]format.Event
	)
	for {
		n, err := r.Read(events[:])
		if werr := c.Write(events[:n]); werr != nil {
			return nil, werr
		}
		if err == io.EOF {
			return c.Profile(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Collector is a format.Writer that adds events up, in any order. The zero
// value is ready; it is about 256 KiB large and must not be copied once used.
type Collector struct {
	runTime int64
	all     Total
	ops     [format.NumOps]Total
	time    timeline
}

var _ format.Writer = (*Collector)(nil)

var (
	errOp    = errors.New("unknown operation")
	errRange = errors.New("time or size out of range")
)

// maxTime bounds start and duration, in nanoseconds (73 years), so that a sum
// of two never overflows.
const maxTime = 1 << 61

// Write adds events. An event that starts before the recording counts as
// starting with it.
func (c *Collector) Write(events []format.Event) error {
	for i := range events {
		if err := c.add(&events[i]); err != nil {
			return fmt.Errorf("event %d: %w", c.all.Calls+1, err)
		}
	}
	return nil
}

func (c *Collector) add(e *format.Event) error {
	if !e.Op.Valid() {
		return errOp
	}
	start, dur := max(e.Start, 0), max(e.Dur, 0)
	if start > maxTime || dur > maxTime {
		return errRange
	}
	category := opCategory[e.Op]
	one := Total{Calls: 1, Nanos: dur}
	if e.Failed() {
		one.Errors = 1
	}
	if e.Dur < 0 {
		one.Unknown = 1
	}
	if category <= Writes {
		one.Bytes = max(e.Ret, 0)
	}
	// The sum over all events overflows before any part of it does.
	if c.all.Nanos+one.Nanos < 0 || c.all.Bytes+one.Bytes < 0 {
		return errRange
	}
	c.all.add(&one)
	c.ops[e.Op].add(&one)
	c.runTime = max(c.runTime, start+dur)
	if category != noCategory && dur > 0 {
		c.time.add(category, start, start+dur)
	}
	return nil
}

// Profile returns the profile of the events so far.
func (c *Collector) Profile() *Profile {
	p := &Profile{RunTime: c.runTime, All: c.all, Ops: c.ops}
	for op := range p.Ops {
		if k := opCategory[op]; k != noCategory {
			p.Categories[k].add(&p.Ops[op])
		}
	}
	for k := range p.Curves {
		p.Curves[k] = c.time.curve(Category(k), c.runTime, p.Categories[k].Nanos)
	}
	return p
}
