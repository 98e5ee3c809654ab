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
	"pianola/replay/null"
	"pianola/replay/program"
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
// first trace that fails stops the others. In all other respects it is like Run.
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
	o, err := o.complete(len(parts))
	if err != nil {
		return nil, err
	}
	running.Lock()
	defer running.Unlock()
	raiseDescriptors(max(o.Limits.Descriptors, min(o.Limits.Descriptors*int64(len(parts)), mostDescriptors)))
	defer unix.Umask(sandbox.Umask())

	clock := new(engine.Clock)
	if !o.Backend.Has().Simulated { // measuring the clock takes longer than many a simulation
		clock = makeClock()
	}
	s := engine.NewStage(clock)
	s.Playing, s.Sleeper, s.Collect = o.Playing, ReadyThread, o.Backend.opener() != nil
	var parents parents
	defer func() {
		if err := parents.close(); err != nil && outcome == nil {
			outcome = err
		}
	}()
	if o.Backend.Has().Roots && parts[0].Name != "" {
		if parents, err = openParents(&o); err != nil {
			return nil, err
		}
	}
	var all []*playing
	defer func() {
		for _, e := range all {
			if err := e.free(); err != nil && outcome == nil {
				outcome = err
			}
		}
	}()
	var shared *modelled
	if o.Device != nil {
		shared = &modelled{Device: o.Device.Start(o.Backend.Has().Recorded)}
	}
	for _, p := range parts {
		e := newPlaying(s, p, o, shared)
		if k, ok := e.backing.(*executor); ok {
			k.parts, k.parents = len(parts), parents
		}
		all = append(all, e)
		if err := e.check(); err != nil {
			return nil, err
		}
		if err := e.plan(ctx); err != nil {
			return nil, err
		}
	}
	if o.Session == nil || o.Session.Rank == 0 {
		if err := unmatched(all); err != nil {
			return nil, err
		}
	}
	if err := ask(all); err != nil {
		return nil, err
	}
	for _, e := range all {
		r := &Result{Options: e.Options, trace: e.Whole}
		if r.Prepared, err = e.setUp(ctx, bind); err != nil {
			return nil, err
		}
		r.logs = e.Logs
		results = append(results, r)
	}
	if o.Prepare == fileset.PrepareOnly {
		return results, nil
	}
	for _, e := range all { // once the files of all are there
		if err := e.ready(); err != nil {
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
		results[i].collect(e)
	}
	if o.Session != nil && outcome == nil {
		outcome = results[0].unite(ctx, all[0])
	}
	return results, outcome
}

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

// makeClock makes the clock of a run. Fuzz tests share one among all of theirs.
var makeClock = func() *engine.Clock { return engine.NewClock(ReadyThread) }

// setUp implements backing.
func (e *executor) setUp(ctx context.Context, bind func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	if e.Backend == Memory {
		if err := e.openMemory(); err != nil {
			return done, err
		}
	}
	if err := e.build(ctx); err != nil {
		return done, err
	}
	where := "memory"
	if e.Backend.Has().Roots {
		if err := e.openRoots(ctx); err != nil {
			return done, err
		}
		where = e.Root
	}
	if done, err = e.prepare(ctx, bind); err != nil {
		return done, fmt.Errorf("prepare %s: %w", where, err)
	}
	if e.files != nil {
		e.files.Populate(e.ahead)
	}
	e.kernel.open(e)
	return done, nil
}

// ready implements backing.
func (e *executor) ready() error {
	if e.ofFree && len(e.roots) > 0 {
		e.bytes.Store(min(e.bytes.Load(), e.space.open(e)))
	}
	e.stage.Extra += e.pools * poolThreads
	return e.stock.keepDescriptors(e, e.SeatsLater())
}

// mostHeld implements backing.
func (e *executor) mostHeld() (bytes int64) {
	for _, w := range e.workers {
		if w != nil {
			bytes = max(bytes, w.mostHeld*pageSize)
		}
	}
	return bytes
}

// parents are the directories that hold the roots of several traces, by place.
type parents []*sandbox.Root

// openParents opens the directories that hold the roots of several traces.
func openParents(o *Options) (all parents, err error) {
	for _, dir := range append([]string{o.Root}, o.branchRoots()...) {
		r, err := sandbox.OpenParent(dir)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (p parents) close() (err error) {
	for _, r := range slices.Backward(p) {
		err = errors.Join(err, r.Close())
	}
	return err
}

// dirs returns the directories of the root and of the roots of maps.
func (e *executor) dirs() []string {
	dirs := []string{e.Root}
	for _, dir := range e.branchRoots() {
		dirs = append(dirs, filepath.Join(dir, e.Name))
	}
	return dirs
}

// openRoots opens the root and the roots of maps, and makes them ready for the
// preparation. Those that another process prepares are not there yet.
func (e *executor) openRoots(ctx context.Context) (err error) {
	dirs := e.dirs()
	if err = e.elect(ctx, dirs); err != nil {
		return err
	}
	e.roots = make([]*sandbox.Root, len(dirs))
	for i, dir := range dirs {
		if e.elections[i].joins {
			continue
		}
		var parent *sandbox.Root
		if len(e.parents) > 0 {
			parent = e.parents[i]
		}
		removeTokens(dir)
		r, err := sandbox.OpenRoot(dir, parent)
		if err != nil {
			return err
		}
		e.roots[i] = r
		if e.elections[i].made {
			r.Made()
		}
		if e.Keep || e.Prepare == fileset.PrepareOnly {
			r.Keep()
		}
		if err := fileset.Claim(r, e.Prepare, e.Compressibility); err != nil {
			return err
		}
	}
	return nil
}

// joinRoots opens the roots that other processes have prepared.
func (e *executor) joinRoots() (err error) {
	for i, dir := range e.dirs() {
		if !e.joins(i) {
			continue
		}
		if e.roots[i], err = sandbox.JoinRoot(dir); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates the fileset, and opens the descriptors that are open at the start.
func (e *executor) prepare(ctx context.Context, bind func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	begin := time.Now()
	for i := range e.plans {
		if e.joins(i) {
			continue
		}
		if err := e.prepareRoot(ctx, i, e.Prepare, bind, &done); err != nil {
			return done, err
		}
	}
	if err := e.prepared(ctx); err != nil {
		return done, err
	}
	if err := e.joinRoots(); err != nil {
		return done, err
	}
	for i := range e.plans {
		// The files are there, but each node has a page cache of its own.
		if e.joins(i) && e.elections[i].node != e.Session.Nodes[e.Session.Rank] {
			var found fileset.Prepared // the files count where they were made
			if err := e.prepareRoot(ctx, i, fileset.PrepareNever, bind, &found); err != nil {
				return done, err
			}
			done.Add(&fileset.Prepared{Missing: found.Missing, Example: found.Example})
		}
	}
	for i, r := range e.roots {
		if i == 0 {
			e.guard.Root = r.FD()
		} else {
			e.guard.Branches = append(e.guard.Branches, &sandbox.Branch{Root: r.FD()})
		}
	}
	// A thread that is discarded afterwards opens the descriptors for the workers, whose
	// guards are copies of this one, so that its rules are made only once.
	err = sandbox.OnThread(func() error {
		if err := bind(&e.guard); err != nil || e.Prepare == fileset.PrepareOnly {
			return err
		}
		if e.places != nil {
			e.lacks = e.places.scattered(e)
			e.places.lies(e)
		}
		e.openStartDirs()
		return e.openDescriptors(&e.guard, nil)
	})
	done.Elapsed = time.Since(begin)
	return done, err
}

// prepareRoot creates the fileset of a place, and adds to done what was done.
func (e *executor) prepareRoot(ctx context.Context, i int, how fileset.Prepare, bind func(*sandbox.Guard) error, done *fileset.Prepared) error {
	o := fileset.Options{
		Prepare: how, Cache: e.Cache, Compressibility: e.Compressibility, Data: e.pool,
		Guard: e.guard, Bind: bind, Progress: e.Progress,
	}
	if len(e.roots) > 0 {
		o.Root = e.roots[i]
		o.Guard.Root = o.Root.FD()
	}
	defer func() { o.Guard.Close() }()
	if err := sandbox.OnThread(func() error { return bind(&o.Guard) }); err != nil {
		return err
	}
	part, err := e.plans[i].Prepare(ctx, o)
	if err != nil && i > 0 {
		err = fmt.Errorf("%s: %w", e.branchRoots()[i-1], err)
	}
	done.Add(&part)
	return err
}

// ownDescriptors is the maximum number of the replay's own descriptors, without those
// of rings: mostly directories in which paths start.
const ownDescriptors = maxStartDirs + 1024

// raiseDescriptors raises the process's limit of descriptors to n plus its own, as far
// as it is allowed to.
func raiseDescriptors(n int64) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return
	}
	want := uint64(n) + ownDescriptors
	if l.Max < want {
		higher := unix.Rlimit{Cur: want, Max: want}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &higher) == nil {
			return
		}
	}
	l.Cur = min(l.Max, max(l.Cur, want))
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
}
