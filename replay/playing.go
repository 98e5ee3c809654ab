package replay

import (
	"context"
	"path/filepath"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/null"
	"pianola/replay/program"
	"pianola/replay/sandbox"
)

// playing is one of the traces of a run.
type playing struct {
	*engine.Engine
	Options
	backing
	model *ofTrace // nil without a device
}

// backing prepares what an executor plays on, and frees it.
type backing interface {
	// plan verifies the needs of the trace before anything is written.
	plan(ctx context.Context) error

	// setUp does everything before the first event, and builds the engine.
	setUp(ctx context.Context, bind func(*sandbox.Guard) error) (fileset.Prepared, error)

	// ready is called once all traces of the run are set up.
	ready() error

	// free ends it, also after an error of the others.
	free() error

	// mostHeld returns the largest size of the application's memory that was touched at a
	// time, in bytes.
	mostHeld() int64
}

// newPlaying makes the engine of a trace, and what backs it.
func newPlaying(s *engine.Stage, p Part, o Options, shared *modelled) *playing {
	o.Root = filepath.Join(o.Root, p.Name)
	e := &playing{Options: o}
	choices := engine.Options{
		Timing: o.Timing, Wait: o.Wait, Order: o.Order, Outside: o.Outside, Speed: o.Speed, Strict: o.Strict,
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
		e.backing = newExecutor(s, e.Engine, o)
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

func (d *unprepared) plan(context.Context) error { return nil }
func (d *unprepared) ready() error               { return nil }
func (d *unprepared) mostHeld() int64            { return 0 }

func (d *unprepared) setUp(ctx context.Context, _ func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	if d.open == nil {
		return done, d.engine.Build(ctx, null.Executor{})
	}
	if d.player, err = d.open(ctx, d.engine.Trace); err != nil {
		return done, err
	}
	return done, d.engine.Build(ctx, program.New(d.engine, d.player))
}

func (d *unprepared) free() error {
	if d.player == nil {
		return nil
	}
	return d.player.Close()
}
