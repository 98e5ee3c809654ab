package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/replay/device"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/posix"
	"pianola/replay/ranks"
	"pianola/replay/sandbox"
)

// The choices of the engine.
type (
	Timing  = engine.Timing
	Wait    = engine.Wait
	Order   = engine.Order
	Outside = engine.Outside
	Commits = engine.Commits
)

// Their values.
const (
	Compute  = engine.Compute
	Schedule = engine.Schedule
	AFAP     = engine.AFAP

	Auto  = engine.Auto
	Spin  = engine.Spin
	Sleep = engine.Sleep

	Resource = engine.Resource
	Thread   = engine.Thread
	Total    = engine.Total

	Closed = engine.Closed
	Timed  = engine.Timed
)

// Changer changes the events of a trace while it is replayed.
type Changer interface {
	engine.Changer

	// Close ends the Changer, after the last call of Await.
	Close() error
}

// Options are the choices of a replay. Only Root is required, and only for
// Posix.
type Options struct {
	Root    string          // directory to work in; created if missing
	Maps    []Map           // names placed in other directories; only for Posix
	Backend Backend         // executes the events
	Beside  []Output        // other backends that get them, too
	Prepare fileset.Prepare // how the fileset is prepared
	Pause   time.Duration   // between the preparation and the first event, so that the storage is at rest
	Cache   fileset.Cache   // how much of it is in the page cache at the start
	Timing  Timing          // when events are due
	Wait    Wait            // how a worker waits until then
	Order   Order           // which events of other threads an event waits for
	Outside Outside         // when messages of unrecorded clients arrive
	Commits Commits         // in which groups threads commit to a log
	Speed   float64         // scales compute: 2 is twice as fast; 0 stands for 1
	Strict  bool            // end at the first result that differs
	Buffer  int             // events that each thread decodes at a time; 1 for none ahead, 0 for the default
	Keep    bool            // keep the files below the root; implied if the root was not empty
	Device  *device.Model   // model that makes calls take longer; over Memory and Simulated, calls take the recorded duration as changed by the model; nil for none
	Memory  bool            // execute memory calls too, and touch the mapped pages during compute, up to half of Limits.Memory
	Copies  int             // how often RunAll plays each trace, side by side; 0 stands for 1
	Limits  Limits          // resources that all traces and copies together may use

	// Landlock also confines the replaying threads with Landlock. Threads that cannot
	// use the root as their root directory are always confined with Landlock if the
	// kernel has it.
	Landlock bool

	// Compressibility is the percentage by which written data and the fileset can be
	// compressed.
	Compressibility int

	// Session, if not nil, says that other processes replay the same trace at the same
	// time. This one replays the threads of its own ranks, and all threads wait for
	// events of others as in a single process. Rank 0 gets the Result of all.
	Session *ranks.Session

	// Change, if not nil, is called once for each replayed trace, and returns what changes its
	// events while they are replayed. Threads then commit in the recorded groups.
	Change func(context.Context, format.Trace) (Changer, error)

	// Progress, if not nil, is called with the progress of the preparation,
	// often, and by one goroutine at a time.
	Progress func(fileset.Progress)

	// Playing, if not nil, is called about five times a second during the replay, by
	// one goroutine, with the number of executed events and of all events. A thread's
	// events count when it pauses, reads more of the trace or ends. It costs the
	// workers nothing.
	Playing func(events, all int64)

	only   string               // Output.Only
	ofFree bool                 // Limits.Bytes is not given: see freeSpace
	left   func(sandbox.Kernel) // for tests: called with the memory file system before it is closed
	faulty sandbox.Kernel       // for tests: the kernel of the machine, with failures; nil for none
}

// Limits bound the resources of a run.
type Limits = posix.Limits

// Map places names in another root.
type Map = posix.Map

// ParseMap parses GLOB=DIR, split at the last =.
func ParseMap(text string) (Map, error) { return posix.ParseMap(text) }

// ErrUnmatched is wrapped by the error of a map that no trace has a name for.
var ErrUnmatched = posix.ErrUnmatched

// Pace returns the pace of a replay with these options, as format.PaceOf does for its
// log.
func (o *Options) Pace() format.Pace {
	if o.Speed == 0 || o.Speed == 1 || o.Timing == AFAP {
		return format.Pace{}
	}
	return format.Pace{Speed: o.Speed, Schedule: o.Timing == Schedule, Unordered: o.Order == Thread, Timed: o.Outside == Timed}
}

// ErrLimit is wrapped by the error of a replay that asks for more than Limits
// allow.
var ErrLimit = limit.Err

// LimitError is an ErrLimit with the name of the limit.
type LimitError = limit.Error

// ErrDiffers is wrapped by the error of a strict replay that ended because a
// result differed.
var ErrDiffers = engine.ErrDiffers

// complete returns the options of each of several replays, copies and backends included,
// with defaults filled in.
func (o Options) complete(traces int) (Options, error) {
	o.ofFree = o.Limits.Bytes == 0
	o.Limits = o.Limits.Complete(traces).Share(traces)
	l := &o.Limits
	o.Speed = cmp.Or(o.Speed, 1)
	switch {
	case slices.ContainsFunc(o.outputs(), func(one Options) bool { return one.Root == "" && one.Backend.Has().Roots }):
		return o, errors.New("no root given")
	case o.Backend == Memory && (o.Keep || o.Prepare == fileset.PrepareOnly || o.Prepare == fileset.PrepareNever):
		return o, errors.New("the memory backend cannot keep files after the replay")
	case len(o.Maps) > 0 && !o.Backend.Has().Roots:
		return o, fmt.Errorf("the backend %s has no directories, so paths cannot be mapped", o.Backend)
	case o.Device != nil && !o.Backend.Has().Device:
		return o, fmt.Errorf("the backend %s has no device to model", o.Backend)
	case o.Device != nil && !o.Backend.Has().Recorded && o.Device.SlowerOnly() != nil:
		return o, o.Device.SlowerOnly()
	case len(posix.BranchRoots(o.Maps)) > posix.MaxRoots:
		return o, fmt.Errorf("paths are mapped to more than %d directories", posix.MaxRoots)
	case o.Compressibility < 0 || o.Compressibility > 100:
		return o, fmt.Errorf("compressibility %d is not from 0 to 100", o.Compressibility)
	case !fileset.Preparations.Has(o.Prepare) || !fileset.Caches.Has(o.Cache) || !engine.Timings.Has(o.Timing) || !engine.Waits.Has(o.Wait) || !engine.Orders.Has(o.Order) || !engine.Outsides.Has(o.Outside) || !engine.Commitments.Has(o.Commits):
		return o, errors.New("an option has an unknown value")
	case !(o.Speed > 0) || math.IsInf(o.Speed, 1):
		return o, fmt.Errorf("speed %v is not above 0", o.Speed)
	case l.Files < 0 || l.Bytes < 0 || l.Descriptors < 0 || l.Threads < 0 || l.Mapped < 0 || l.Kernel < 0:
		return o, errors.New("a limit is below 0")
	case l.Memory < posix.MinMemory:
		return o, fmt.Errorf("a memory limit of %d bytes is below %d", int64(traces)*l.Memory, int64(traces)*posix.MinMemory)
	case o.Session != nil && (traces > 1 || o.Order == Total || !o.Backend.Has().Ranks || o.Prepare == fileset.PrepareOnly):
		return o, errors.New("several processes replay one trace only, on the kernel's files, and in no total order")
	case o.Change != nil && (o.Session != nil || o.Backend.Has().Simulated):
		return o, errors.New("only a single process that plays in real time can change events")
	case o.Copies < 0:
		return o, fmt.Errorf("%d copies", o.Copies)
	}
	return o, o.CheckBeside()
}
