package lab

import (
	"cmp"
	"context"
	"os"
	"strings"
)

// Setup compiles and replays a candidate. Its methods are called one at a time.
type Setup interface {
	// Making returns the steps that affect the trace. Candidates with the same
	// ones share a trace.
	Making() []string
	// Compile returns the trace. The experiment closes it.
	Compile() (*os.File, error)
	// Rooted reports whether a replay works in a root.
	Rooted() bool
	// Beside returns other directories in which a replay leaves files.
	Beside() []string
	// Replay replays the trace once, in root if it is Rooted, and leaves the files
	// there for the next run.
	Replay(ctx context.Context, trace *os.File, root string) (Run, error)
}

// Experiment replays a baseline and candidates in turn. Call Plan, Compile,
// OpenRoots and Run in this order, and Close at the end, also after an error.
type Experiment struct {
	Runs       int
	Candidates []Candidate // the first is the baseline, without steps
	Roots      []Root      // each candidate is replayed in each; if empty, NewRoot makes one
	Keep       bool        // leave the files in the roots
	GiveUp     bool        // go on without a candidate whose trace can't be made
	Equals     bool        // no trial is the baseline: Run goes on without any that can't be replayed

	Setup   func(Candidate) (Setup, error)
	NewRoot func() (string, error)   // makes a directory
	Clear   func(root string) error  // removes what replays left in a root
	Show    func(done int, t *Trial) // called before each run of a trial, with the number of finished runs
	Warn    func(err error)          // called with the error of clearing a root

	Report Report // Plan makes its Trials

	setups []Setup    // of the trials, by index
	traces []*os.File // of the trials, by index; set by Compile
	roots  []string   // the same, from OpenRoots on; "" where a trial needs none
	clear  []string   // roots to empty at the end
	remove []string   // roots to remove at the end
}

// Plan makes the trials: each candidate on each root, or once if it needs no
// root. It returns the errors of Setup.
func (e *Experiment) Plan() error {
	roots := e.Roots
	if len(roots) == 0 {
		roots = []Root{{}}
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

// Compile makes each trace once, and returns the baseline's. It returns the
// errors of Setup.
func (e *Experiment) Compile() (baseline *os.File, err error) {
	made := map[string]*os.File{}
	for i, s := range e.setups {
		key := strings.Join(s.Making(), "+")
		if made[key] == nil {
			if made[key], err = s.Compile(); err != nil && i > 0 && e.GiveUp {
				e.Report.Trials[i].Err = err
				e.traces = append(e.traces, nil)
				delete(made, key)
				continue
			} else if err != nil {
				return nil, err
			}
		}
		e.traces = append(e.traces, made[key])
		if baseline := e.traces[0]; made[key] != baseline {
			if e.Report.Trials[i].Unchanged, err = equal(baseline, made[key]); err != nil {
				return nil, err
			}
			t := e.Report.Trials[i]
			t.Idle = t.Unchanged && len(s.Making()) == len(e.setups[0].Making())+len(t.Candidate)
		}
	}
	return e.traces[0], nil
}

// Run replays all trials in rounds, except those that are idle, and nothing if no trial is
// left to compare with the baseline. It ends early if ctx is done or the
// baseline can't be replayed, unless Equals; the runs so far remain in the report. A trial
// that can't be replayed is given up.
func (e *Experiment) Run(ctx context.Context) error {
	if e.Report.Idle() {
		return nil
	}
	for round := range e.Runs {
		for k, i := range runOrder(len(e.setups), round) {
			t := e.Report.Trials[i]
			e.Show(round*len(e.setups)+k, t)
			if t.Err != nil || t.Idle {
				continue
			}
			r, err := e.setups[i].Replay(ctx, e.traces[i], e.roots[i])
			if ctx.Err() != nil || err != nil && i == 0 && !e.Equals {
				e.Report.Interrupted = true
				return cmp.Or(ctx.Err(), err)
			}
			if t.Err = err; err == nil { // a failed run is not added
				t.Add(r)
			}
		}
	}
	return nil
}

// Close closes the traces, and empties the roots, except those that were not
// empty before.
func (e *Experiment) Close() {
	for _, f := range e.traces { // nil for one that was not made
		f.Close() // trials share traces: a second Close does nothing
	}
	e.closeRoots()
}
