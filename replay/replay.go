package replay

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/fileset"
	"pianola/replay/sandbox"
)

// running serializes runs, which change GOMAXPROCS.
var running sync.Mutex

// Run prepares the root, replays a trace in it and removes what it made. The
// trace must stay open as long as the Result's Events are read. Its readers
// must not open files by path, because threads that use them see only the root.
//
// A run that ends early, because ctx is done, a result differs in a strict
// replay, a limit is met or the trace is damaged, returns an error and the
// Result of what was executed. The Result is nil if nothing was begun. With
// fileset.PrepareOnly it has what was prepared.
func Run(ctx context.Context, t format.Trace, o Options) (*Result, error) {
	return run(ctx, t, o, (*sandbox.Guard).Probe)
}

// run binds the guards of its threads as bind does.
func run(ctx context.Context, t format.Trace, o Options, bind func(*sandbox.Guard) error) (*Result, error) {
	results, err := runAll(ctx, []Part{{Trace: t}}, o, bind)
	if results == nil {
		return nil, err
	}
	return results[0], err
}

// Part is one of several traces that are replayed at a time.
type Part struct {
	Name  string // of its directory below the root, of which it is the root
	Trace format.Trace
}

// RunAll replays several traces at the same time, each in a directory of its
// own and with a Result of its own. Limits apply to each. The first one that
// fails stops the others. Otherwise it is like Run.
func RunAll(ctx context.Context, parts []Part, o Options) ([]*Result, error) {
	names := make(map[string]bool)
	for _, p := range parts {
		if names[p.Name] || !filepath.IsLocal(p.Name) || filepath.Base(p.Name) != p.Name || p.Name == "." || p.Name == sandbox.Marker {
			return nil, fmt.Errorf("%q is not a name for a directory, or repeated", p.Name)
		}
		names[p.Name] = true
	}
	return runAll(ctx, parts, o, (*sandbox.Guard).Probe)
}

func runAll(ctx context.Context, parts []Part, o Options, bind func(*sandbox.Guard) error) (results []*Result, outcome error) {
	o, err := o.complete(len(parts))
	if err != nil {
		return nil, err
	}
	running.Lock()
	defer running.Unlock()
	raiseDescriptors(o.Limits.Descriptors)
	defer unix.Umask(sandbox.Umask())

	s := &stage{clock: newClock(), parts: len(parts)}
	if o.Backend == Posix && parts[0].Name != "" {
		if s.parent, err = sandbox.OpenParent(o.Root); err != nil {
			return nil, err
		}
		defer func() {
			if err := s.parent.Close(); err != nil && outcome == nil {
				outcome = err
			}
		}()
	}
	defer func() {
		for _, e := range s.engines {
			if err := e.free(); err != nil && outcome == nil {
				outcome = err
			}
		}
	}()
	for _, p := range parts {
		e := newEngine(s, p, o)
		s.engines = append(s.engines, e)
		r, err := e.setUp(ctx, bind)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if o.Prepare == fileset.PrepareOnly {
		return results, nil
	}
	outcome = s.play(ctx, o.Wait)
	for i, e := range s.engines {
		results[i].collect(e)
		results[i].Notes = e.notes
	}
	return results, outcome
}

// setUp does everything before the first event.
func (e *engine) setUp(ctx context.Context, bind func(*sandbox.Guard) error) (*Result, error) {
	plan, err := check(e.trace, &e.Limits)
	if err != nil {
		return nil, err
	}
	if e.Backend == Memory {
		if err := e.openMemory(); err != nil {
			return nil, err
		}
	}
	if err := e.build(); err != nil {
		return nil, err
	}
	r := &Result{Options: e.Options, trace: e.trace, logs: e.logs}
	where := "memory"
	if e.Backend == Posix {
		if err := e.openRoot(); err != nil {
			return nil, err
		}
		where = e.Root
	}
	if open := e.Backend.opener(); open != nil {
		if e.player, err = open(ctx, e.trace); err != nil {
			return nil, err
		}
	} else if e.Backend != Null {
		if r.Prepared, err = e.prepare(ctx, plan, bind); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", where, err)
		}
	}
	if e.files != nil {
		e.files.Populate(e.ahead)
	}
	e.bytes.Store(e.Limits.Bytes - plan.Bytes)
	if e.ofFree && e.root != nil && e.Prepare != fileset.PrepareOnly {
		e.bytes.Store(min(e.bytes.Load(), e.space.open(e)))
	}
	e.kernel.open(e)
	e.unmade.Store(e.Limits.Files - plan.Files)
	return r, nil
}

// openRoot opens the root and makes it ready for the preparation.
func (e *engine) openRoot() (err error) {
	if e.root, err = sandbox.OpenRoot(e.Root, e.parent); err != nil {
		return err
	}
	if e.Keep || e.Prepare == fileset.PrepareOnly {
		e.root.Keep()
	}
	e.guard.Root = e.root.FD()
	return fileset.Claim(e.root, e.Prepare, e.Compressibility)
}

// prepare makes what must exist before the first event, and opens the
// descriptors that are open then.
func (e *engine) prepare(ctx context.Context, plan *fileset.Plan, bind func(*sandbox.Guard) error) (fileset.Prepared, error) {
	begin := time.Now()
	// All guards are copies of one that is bound, so that its rules are made
	// only once.
	if err := sandbox.OnThread(func() error { return bind(&e.guard) }); err != nil {
		return fileset.Prepared{}, err
	}
	done, err := plan.Prepare(ctx, fileset.Options{
		Prepare: e.Prepare, Cache: e.Cache, Compressibility: e.Compressibility, Data: e.pool,
		Root: e.root, Guard: e.guard, Bind: bind, Progress: e.Progress,
	})
	if err != nil {
		return fileset.Prepared{}, err
	}
	// A thread that is discarded afterwards opens the descriptors for the
	// workers.
	err = sandbox.OnThread(func() error {
		if err := bind(&e.guard); err != nil || e.Prepare == fileset.PrepareOnly {
			return err
		}
		e.openStartDirs()
		return e.openDescriptors(&e.guard, nil)
	})
	done.Elapsed = time.Since(begin)
	return done, err
}

// ownDescriptors is how many descriptors a replay has for itself at most, besides
// those of rings: mostly those of directories that paths start in.
const ownDescriptors = maxStartDirs + 1024

// raiseDescriptors raises the process's limit of descriptors to n and those for
// itself, as far as it is allowed to.
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
