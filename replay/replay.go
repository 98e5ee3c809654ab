package replay

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// running keeps runs from changing GOMAXPROCS under one another.
var running sync.Mutex

// Run prepares the root, replays a trace in it and removes what it made. The
// trace must stay open as long as the Result's Events are read, and its readers
// must not open files by path: they are used where only the root is to be seen.
//
// A run that ends early, because ctx is done, a result differs in a strict
// replay, a limit is met or the trace is damaged, returns an error and the
// Result of what was executed. The Result is nil if nothing was begun. With
// PrepareOnly it says what was prepared.
func Run(ctx context.Context, t format.Trace, o Options) (*Result, error) {
	return run(ctx, t, o, (*guard).probe)
}

// run binds the guards of its threads as bind does.
func run(ctx context.Context, t format.Trace, o Options, bind func(*guard) error) (*Result, error) {
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

// RunAll replays traces side by side, from one moment on, each in a directory of
// its own and with a Result of its own. Limits are those of each. The first that
// fails stops the others. Otherwise it is as Run.
func RunAll(ctx context.Context, parts []Part, o Options) ([]*Result, error) {
	names := make(map[string]bool)
	for _, p := range parts {
		if names[p.Name] || !filepath.IsLocal(p.Name) || filepath.Base(p.Name) != p.Name || p.Name == "." || p.Name == marker {
			return nil, fmt.Errorf("replay: %q is no name for a directory, or there twice", p.Name)
		}
		names[p.Name] = true
	}
	return runAll(ctx, parts, o, (*guard).probe)
}

func runAll(ctx context.Context, parts []Part, o Options, bind func(*guard) error) (results []*Result, outcome error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	running.Lock()
	defer running.Unlock()
	raiseDescriptors(o.Limits.Descriptors)
	defer unix.Umask(umask())

	s := &stage{clock: newClock(), parts: len(parts)}
	if o.Backend == Posix && parts[0].Name != "" {
		if s.parent, err = openParent(&o); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		defer func() {
			if err := s.parent.closeParent(); err != nil && outcome == nil {
				outcome = fmt.Errorf("replay: %w", err)
			}
		}()
	}
	defer func() {
		for _, e := range s.engines {
			if err := e.free(); err != nil && outcome == nil {
				outcome = fmt.Errorf("replay: %w", err)
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
	if o.Prepare == PrepareOnly {
		return results, nil
	}
	outcome = s.play(ctx, o.Wait)
	for i, e := range s.engines {
		results[i].collect(e.workers)
	}
	return results, outcome
}

// setUp does all that comes before the first event.
func (e *engine) setUp(ctx context.Context, bind func(*guard) error) (*Result, error) {
	want, err := check(e.trace, &e.Limits)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if e.Backend == Memory {
		if err := e.openMemory(); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
	}
	if err := e.build(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	r := &Result{Options: e.Options, trace: e.trace, logs: e.logs}
	where, at := "memory", &root{fresh: true}
	if e.Backend == Posix {
		if e.root, err = openRoot(&e.Options, e.parent); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		e.guard.root = e.root.dir.Fd()
		where, at = e.Root, e.root
	}
	if e.Output != nil {
		if e.output, err = e.Output(ctx, e.trace); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
	} else if e.Backend != Null {
		if r.Prepared, err = e.prepare(ctx, at, want, bind); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", where, err)
		}
	}
	if e.files != nil {
		e.files.Populate(ahead)
	}
	e.bytes.Store(e.Limits.Bytes - want.bytes)
	e.unmade.Store(e.Limits.Files - want.files)
	return r, nil
}

// onThread calls f on an operating-system thread that is thrown away after.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- f()
	}()
	return <-result
}

// umask returns the process's, which guard.enter may change for all threads.
// Only a change tells it.
func umask() int {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return mask
}

// raiseDescriptors lets the process open so many descriptors, and some for
// itself, as far as it is allowed to.
func raiseDescriptors(n int64) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
		l.Cur = min(l.Max, max(l.Cur, uint64(n)+64))
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
	}
}
