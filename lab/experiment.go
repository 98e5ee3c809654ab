package lab

import (
	"cmp"
	"context"
	"os"
	"strings"
)

// Setup is how a candidate is replayed: what its steps come to. Its methods are
// called one at a time.
type Setup interface {
	// Making returns the steps that make the trace. Candidates with the same
	// ones replay the same trace.
	Making() []string
	// Compile returns that trace. The experiment closes it.
	Compile() (*os.File, error)
	// Rooted reports whether a replay works in a root.
	Rooted() bool
	// Replay replays the trace once, in root if it is Rooted, and leaves the files
	// there for the next run.
	Replay(ctx context.Context, trace *os.File, root string) (Run, error)
}

// Experiment replays a baseline and candidates in turn. Plan, Compile, OpenRoots
// and Run are called in this order, and Close in the end, whatever they returned.
type Experiment struct {
	Runs       int
	Candidates []Candidate // the first is the baseline, without steps
	Roots      []string    // where each is replayed; none stands for one that NewRoot makes
	Keep       bool        // leave the files in the roots

	Setup   func(Candidate) (Setup, error)
	NewRoot func() (string, error)   // makes a directory
	Clear   func(root string) error  // removes what replays left in a root
	Show    func(done int, t *Trial) // called before each run of a trial, with the number of runs that are over
	Warn    func(err error)          // told of a root that can't be cleared

	Report Report // its Trials are those that Plan makes

	setups []Setup    // of the trials, in the same places
	traces []*os.File // the same, from Compile on
	roots  []string   // the same, from OpenRoots on; "" where a trial needs none
	clear  []string   // roots to be emptied at the end
	remove []string   // and removed
}

// Plan finds out what is to be replayed: each candidate on each root, or once
// where it needs none. Its errors are those of Setup.
func (e *Experiment) Plan() error {
	roots := e.Roots
	if len(roots) == 0 {
		roots = []string{""}
	}
	for i, root := range roots {
		for _, c := range e.Candidates {
			s, err := e.Setup(c)
			if err != nil {
				return err
			}
			t := &Trial{Candidate: c}
			switch {
			case s.Rooted():
				t.Root = root
			case i > 0:
				continue
			}
			e.setups = append(e.setups, s)
			e.Report.Trials = append(e.Report.Trials, t)
		}
	}
	return nil
}

// Compile makes the traces, each once, and returns the baseline's. Its errors are
// those of Setup.
func (e *Experiment) Compile() (baseline *os.File, err error) {
	made := map[string]*os.File{}
	for i, s := range e.setups {
		key := strings.Join(s.Making(), "+")
		if made[key] == nil {
			if made[key], err = s.Compile(); err != nil {
				return nil, err
			}
		}
		e.traces = append(e.traces, made[key])
		if baseline := e.traces[0]; made[key] != baseline {
			if e.Report.Trials[i].Unchanged, err = equal(baseline, made[key]); err != nil {
				return nil, err
			}
		}
	}
	return e.traces[0], nil
}

// Run replays all trials in rounds. It ends early, with what was measured until
// then, if ctx is done or the baseline can't be replayed; any other trial that
// can't is given up.
func (e *Experiment) Run(ctx context.Context) error {
	for round := range e.Runs {
		for k, i := range runOrder(len(e.setups), round) {
			t := e.Report.Trials[i]
			e.Show(round*len(e.setups)+k, t)
			if t.Err != nil {
				continue
			}
			r, err := e.setups[i].Replay(ctx, e.traces[i], e.roots[i])
			if ctx.Err() != nil || err != nil && i == 0 {
				e.Report.Interrupted = true
				return cmp.Or(ctx.Err(), err)
			}
			if t.Err = err; err == nil { // of a run that fails nothing is kept
				t.Add(r)
			}
		}
	}
	return nil
}

// Close closes the traces, and empties the roots but for those that held
// something before.
func (e *Experiment) Close() {
	for _, f := range e.traces {
		f.Close() // of several trials: again, which does nothing
	}
	e.closeRoots()
}
