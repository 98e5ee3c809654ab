package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/posix"
	"pianola/replay/sandbox"
)

// running serializes runs, which change GOMAXPROCS.
var running sync.Mutex

// Run prepares the root, replays a trace in it and removes what it made. The
// trace must stay open as long as the Result's Events are read. Its readers
// must not open files by path, because threads that use them see only the root.
//
// A run ends early if ctx is done, a result differs in a strict replay, a limit is met
// or the trace is damaged. It then returns an error and the Result of the executed
// events. The Result is nil if nothing was begun. With fileset.PrepareOnly it describes
// the preparation.
func Run(ctx context.Context, t format.Trace, o Options) (*Result, error) {
	return run(ctx, t, o, (*sandbox.Guard).Probe)
}

// run binds the guards of its threads as bind does.
func run(ctx context.Context, t format.Trace, o Options, bind func(*sandbox.Guard) error) (*Result, error) {
	if o.Copies > 1 {
		return nil, errors.New("several copies have several Results: use RunAll")
	}
	results, err := runAll(ctx, []Part{{Trace: t}}, o, bind)
	if results == nil {
		return nil, err
	}
	return results[0], err
}

// Part is one of several traces that are replayed at a time.
type Part struct {
	Name  string // name of its directory below the root, which is its own root
	Trace format.Trace
}

// RunAll replays several traces at the same time, each with its own directory and
// Result. Each is replayed Options.Copies times. The copies of a trace are consecutive
// in the results, and the name of a copy ends in a hyphen and its number, from 1. The
// first trace that fails stops the others. In all other respects it is like Run, and each
// Result has those of the other backends.
func RunAll(ctx context.Context, parts []Part, o Options) ([]*Result, error) {
	parts = copies(parts, o.Copies)
	names := make(map[string]bool)
	for _, p := range parts {
		if names[p.Name] || !filepath.IsLocal(p.Name) || filepath.Base(p.Name) != p.Name || p.Name == "." || p.Name == sandbox.Marker {
			return nil, fmt.Errorf("%q is not a directory name, or is repeated", p.Name)
		}
		names[p.Name] = true
	}
	results, err := runAll(ctx, parts, o, (*sandbox.Guard).Probe)
	if len(parts) > 1 && errors.Is(err, ErrLimit) {
		err = fmt.Errorf("%w, divided equally among %d copies", err, len(parts))
	}
	return results, err
}

// copies returns n copies of each part, with names of their own if n is above 1.
func copies(parts []Part, n int) (all []Part) {
	if n <= 1 {
		return parts
	}
	for _, p := range parts {
		for i := range n {
			all = append(all, Part{Name: fmt.Sprintf("%s-%d", p.Name, i+1), Trace: p.Trace})
		}
	}
	return all
}

func runAll(ctx context.Context, parts []Part, o Options, bind func(*sandbox.Guard) error) (results []*Result, outcome error) {
	n := 1 + len(o.Beside)
	o, err := o.complete(len(parts) * n)
	if err != nil {
		return nil, err
	}
	running.Lock()
	defer running.Unlock()
	posix.RaiseDescriptors(o.Limits.Descriptors, len(parts)*n)
	defer unix.Umask(sandbox.Umask())

	clock := new(engine.Clock)
	if !o.Backend.Has().Simulated { // measuring the clock takes longer than many a simulation
		clock = makeClock()
	}
	s := engine.NewStage(clock)
	s.Progress, s.Sleeper, s.Collect = o.Playing, posix.ReadyThread, o.Change != nil
	if o.Change != nil {
		s.Extra += changerSlots * len(parts)
	}
	outputs, parents := o.outputs(), make([]posix.Parents, n)
	defer func() {
		for _, p := range parents {
			if err := p.Close(); err != nil && outcome == nil {
				outcome = err
			}
		}
	}()
	for i := range outputs {
		one := &outputs[i]
		s.Collect = s.Collect || one.Backend.opener() != nil
		if one.Backend.Has().Roots && parts[0].Name != "" {
			if parents[i], err = posix.OpenParents(one.Root, one.Maps); err != nil {
				return nil, err
			}
		}
	}
	var all []*playing
	defer func() {
		for _, e := range all {
			if err := e.Free(); err != nil && outcome == nil {
				outcome = err
			}
		}
	}()
	var shared *modelled
	if o.Device != nil {
		shared = &modelled{Device: o.Device.Start(o.Backend.Has().Recorded)}
	}
	for i := range len(parts) * n {
		e := newPlaying(s, parts[i/n], outputs[i%n], shared, len(parts)*n, parents[i%n])
		all = append(all, e)
		if err := e.check(); err != nil {
			return nil, err
		}
		if err := e.Plan(ctx); err != nil {
			return nil, err
		}
	}
	if o.Session == nil || o.Session.Rank == 0 {
		if err := unmatched(all); err != nil {
			return nil, err
		}
	}
	if err := computeDemands(all); err != nil {
		return nil, err
	}
	each := make([]*Result, len(all))
	for i, e := range all {
		r := &Result{Options: e.Options, trace: e.Whole}
		if r.Prepared, err = e.SetUp(ctx, bind); err != nil {
			return nil, err
		}
		r.logs = e.Logs
		each[i] = r
	}
	for some := range slices.Chunk(each, n) {
		some[0].Beside = some[1:]
		results = append(results, some[0])
	}
	if o.Prepare == fileset.PrepareOnly {
		return results, nil
	}
	for _, e := range all { // once the files of all are there
		if err := e.Ready(); err != nil {
			return nil, err
		}
	}
	if o.Pause > 0 {
		select {
		case <-time.After(o.Pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if o.Backend.Has().Simulated {
		outcome = s.Simulate(ctx)
	} else {
		outcome = s.Play(ctx)
	}
	for i, e := range all {
		each[i].collect(e)
	}
	if o.Session != nil && outcome == nil {
		outcome = results[0].mergeRanks(ctx, all[0])
	}
	return results, outcome
}

// changerSlots is how many processor slots a Changer needs.
const changerSlots = 2

// makeClock makes the clock of a run. Fuzz tests share one among all of theirs.
var makeClock = func() *engine.Clock { return engine.NewClock(posix.ReadyThread) }
