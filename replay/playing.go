package replay

import (
	"cmp"
	"context"
	"path/filepath"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/null"
	"pianola/replay/posix"
	"pianola/replay/program"
	"pianola/replay/sandbox"
)

// playing is one of the traces of a run.
type playing struct {
	*engine.Engine
	Options
	backing
	model   *ofTrace // nil without a device
	changer Changer  // nil for none
}

// SetUp implements backing.
func (e *playing) SetUp(ctx context.Context, bind func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	if e.Change != nil && e.Prepare != fileset.PrepareOnly {
		if e.changer, err = e.Change(ctx, e.Trace); err != nil {
			return done, err
		}
		e.Engine.Options.Changes = e.changer
	}
	return e.backing.SetUp(ctx, bind)
}

// Free implements backing.
func (e *playing) Free() error {
	err := e.backing.Free()
	if e.changer != nil {
		err = cmp.Or(e.changer.Close(), err)
	}
	return err
}

// backing prepares what an executor plays on, and frees it.
type backing interface {
	// Plan verifies the needs of the trace before anything is written.
	Plan(ctx context.Context) error

	// SetUp does everything before the first event, and builds the engine.
	SetUp(ctx context.Context, bind func(*sandbox.Guard) error) (fileset.Prepared, error)

	// Ready is called once all traces of the run are set up.
	Ready() error

	// Free ends it, also after an error of the others.
	Free() error

	// PeakMemory returns the largest size of the application's memory that was touched at a
	// time, in bytes.
	PeakMemory() int64
}

// newPlaying makes the engine of a trace, and what backs it.
func newPlaying(s *engine.Stage, p Part, o Options, shared *modelled, parts int, parents posix.Parents) *playing {
	o.Root = filepath.Join(o.Root, p.Name)
	e := &playing{Options: o}
	choices := engine.Options{
		Timing: o.Timing, Wait: o.Wait, Order: o.Order, Outside: o.Outside, Commits: o.Commits, Speed: o.Speed, Strict: o.Strict, Buffer: o.Buffer,
		Recorded: o.usesRecordedDurations(), Idle: o.Memory, Threads: o.Limits.Threads, Memory: o.Limits.Memory,
	}
	if shared != nil {
		e.model = &ofTrace{modelled: shared}
		choices.Model = e.model
	}
	trace := p.Trace
	if o.Session != nil {
		own := ownPart(p.Trace, o.Session)
		trace, choices.Peers = own, &peers{Session: o.Session, part: own}
		choices.LogsOfAll = o.Session.Rank == 0
	}
	e.Engine = s.NewEngine(p.Name, trace, p.Trace, choices)
	switch open := o.Backend.opener(); {
	case open != nil:
		e.backing = &unprepared{engine: e.Engine, open: open}
	case o.Backend.Has().Files:
		e.backing = posix.New(e.Engine, posix.Options{
			Root: o.Root, Maps: o.Maps, InMemory: o.Backend == Memory, Prepare: o.Prepare, Cache: o.Cache, Keep: o.Keep, Memory: o.Memory, Landlock: o.Landlock,
			Compressibility: o.Compressibility, Session: o.Session, Progress: o.Progress, Limits: o.Limits, OfFree: o.ofFree, Parts: parts, Parents: parents,
			Left: o.left, Faulty: o.faulty,
		})
	default:
		e.backing = &unprepared{engine: e.Engine}
	}
	return e
}

// unprepared is an executor that needs no preparation: the Player of a program, or null.
type unprepared struct {
	engine *engine.Engine
	open   func(context.Context, format.Trace) (Player, error) // nil for null
	player Player
}

func (d *unprepared) Plan(context.Context) error { return nil }
func (d *unprepared) Ready() error               { return nil }
func (d *unprepared) PeakMemory() int64          { return 0 }

func (d *unprepared) SetUp(ctx context.Context, _ func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	if d.open == nil {
		return done, d.engine.Build(ctx, null.Executor{})
	}
	if d.player, err = d.open(ctx, d.engine.Trace); err != nil {
		return done, err
	}
	return done, d.engine.Build(ctx, program.New(d.engine, d.player))
}

func (d *unprepared) Free() error {
	if d.player == nil {
		return nil
	}
	return d.player.Close()
}

// unmatched returns an error for a map that no trace has a name for.
func unmatched(all []*playing) error {
	var executors []*posix.Executor
	for _, e := range all {
		if x, ok := e.backing.(*posix.Executor); ok {
			executors = append(executors, x)
		}
	}
	if len(executors) == 0 {
		return nil
	}
	return posix.Unmatched(executors)
}
