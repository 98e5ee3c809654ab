package posix

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"pianola/replay/fileset"
	"pianola/replay/sandbox"
)

// SetUp prepares the files, and builds the engine. bind binds the guard of a thread to the root.
func (e *Executor) SetUp(ctx context.Context, bind func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	if e.InMemory {
		if err := e.openMemory(); err != nil {
			return done, err
		}
	}
	if err := e.build(ctx); err != nil {
		return done, err
	}
	where := "memory"
	if !e.InMemory {
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

// Ready is called once all traces of the run are set up.
func (e *Executor) Ready() error {
	if e.OfFree && len(e.roots) > 0 {
		e.bytes.Store(min(e.bytes.Load(), e.space.open(e)))
	}
	e.Stage.Extra += e.pools * poolThreads
	return e.spares.keepDescriptors(e, e.ReusesSlots())
}

// PeakMemory returns the largest size of the application's memory that was touched at a time,
// in bytes.
func (e *Executor) PeakMemory() (bytes int64) {
	for _, w := range e.workers {
		if w != nil {
			bytes = max(bytes, w.maxTouched*pageSize)
		}
	}
	return bytes
}

// Parents are the directories that hold the roots of several traces, by rootIndex.
type Parents []*sandbox.Root

// OpenParents opens the directories that hold the roots of several traces.
func OpenParents(root string, maps []Map) (all Parents, err error) {
	for _, dir := range append([]string{root}, BranchRoots(maps)...) {
		r, err := sandbox.OpenParent(dir)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Close closes them.
func (p Parents) Close() (err error) {
	for _, r := range slices.Backward(p) {
		err = errors.Join(err, r.Close())
	}
	return err
}

// dirs returns the directories of the root and of the roots of maps.
func (e *Executor) dirs() []string {
	dirs := []string{e.Root}
	for _, dir := range BranchRoots(e.Maps) {
		dirs = append(dirs, filepath.Join(dir, e.Name))
	}
	return dirs
}

// openRoots opens the root and the roots of maps, and makes them ready for the
// preparation. Those that another process prepares are not there yet.
func (e *Executor) openRoots(ctx context.Context) (err error) {
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
		if len(e.Parents) > 0 {
			parent = e.Parents[i]
		}
		removeTokens(dir)
		r, err := sandbox.OpenRoot(dir, parent)
		if err != nil {
			return err
		}
		e.roots[i] = r
		if e.elections[i].made {
			r.SetCreated()
		}
		if e.Keep || e.Prepare == fileset.PrepareOnly {
			r.Keep()
		}
		if err := fileset.InitRoot(r, e.Prepare, e.Compressibility); err != nil {
			return err
		}
	}
	return nil
}

// joinRoots opens the roots that other processes have prepared.
func (e *Executor) joinRoots() (err error) {
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
func (e *Executor) prepare(ctx context.Context, bind func(*sandbox.Guard) error) (done fileset.Prepared, err error) {
	begin := time.Now()
	for i := range e.plans {
		if e.joins(i) {
			continue
		}
		if err := e.prepareRoot(ctx, i, e.Prepare, bind, &done); err != nil {
			return done, err
		}
	}
	if err := e.awaitPrepared(ctx); err != nil {
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
		if e.rootMap != nil {
			e.split = e.rootMap.splitDirs(e)
			e.rootMap.assignRoots(e)
		}
		e.openStartDirs()
		return e.openDescriptors(&e.guard, nil)
	})
	done.Elapsed = time.Since(begin)
	return done, err
}

// prepareRoot creates the fileset of a root, and adds to done what was done.
func (e *Executor) prepareRoot(ctx context.Context, i int, how fileset.Prepare, bind func(*sandbox.Guard) error, done *fileset.Prepared) error {
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
		err = fmt.Errorf("%s: %w", BranchRoots(e.Maps)[i-1], err)
	}
	done.Add(&part)
	return err
}

// Plan verifies the needs of the trace before anything is written, and plans the filesets of
// the roots.
func (e *Executor) Plan(ctx context.Context) (err error) {
	roots := 1
	if len(e.Maps) > 0 {
		if e.rootMap, err = e.newRootMap(ctx); err != nil {
			return err
		}
		roots += len(BranchRoots(e.Maps))
	}
	left := e.Limits
	for _, files := range e.rootMap.filesets(e.Trace.Header().Files, roots) {
		plan, err := fileset.NewPlan(files, left.Bytes, left.Files)
		if err != nil {
			return err
		}
		e.plans = append(e.plans, plan)
		left.Bytes, left.Files = left.Bytes-plan.Bytes, left.Files-plan.Files
	}
	e.bytes.Store(left.Bytes)
	e.namesLeft.Store(left.Files)
	return nil
}
