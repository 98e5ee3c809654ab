package experiment

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"pianola/experiment/compare"
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

// Experiment describes the sides of its subjects. Call Plan and Play for one subject after
// the other.
type Experiment struct {
	Runs       int         // of each side
	Candidates []Candidate // the first is the recording as it is, without steps
	Keep       bool        // leave the files in the roots
	GiveUp     bool        // go on without a candidate whose trace can't be made
	Whole      bool        // keep all of each profile, and not only its totals

	NewRoot func() (string, error)                                 // makes a directory
	Clear   func(root string) error                                // removes what replays left in a root
	Show    func(s *Subject, side *Side, round int, done, all int) // called before each run
	Warn    func(err error)                                        // called with the error of clearing a root

	Report Report
}

// Subject is a recording, with its sides.
type Subject struct {
	Name     string  // of its file, or of the workload
	Workload bool    // it is one of several: whichever of its sides can't be replayed, the others can
	Weight   float64 // seconds that all of its runs take, for the progress; 0 for as much as those of another subject
	Sides    []*Side
	Paced    *compare.Paced // how the application's side differs from the recording; nil if it does not

	Roots []Root                         // each candidate is replayed in each; if empty, NewRoot makes one
	Saved *Side                          // runs of another experiment, to compare with; nil for none
	Setup func(Candidate) (Setup, error) // of a candidate

	// Record records the application once more. It is nil if there is a recording.
	// Before Compile it is called once, and then in turn with the replays until there are
	// Recordings of them, or it returns false, because the application can't run again.
	Record     func(ctx context.Context) (run Run, again bool, err error)
	Recordings int
	// Application reads the first recording from the trace of the recording as it is.
	Application func(trace *os.File) (Run, *compare.Paced, error)

	base     *Side // what the first replays, or all sides, are compared with
	compared bool

	played []played
	made   string   // the root that NewRoot made
	clear  []string // roots to empty at the end
	remove []string // roots to remove at the end
}

// played is a side that is replayed.
type played struct {
	*Side
	setup Setup
	trace *os.File
	root  string
}

// Plan makes the sides: the application, what was saved, and each candidate on each root,
// or once if it needs no root. It returns the errors of Setup.
func (e *Experiment) Plan(s *Subject) error {
	s.Sides = []*Side{{Kind: Recorded}}
	if s.Saved != nil {
		s.Sides = append(s.Sides, s.Saved)
	}
	roots := s.Roots
	if len(roots) == 0 {
		roots = []Root{{}}
	}
	for i, root := range roots {
		for _, c := range e.Candidates {
			setup, err := s.Setup(c)
			if err != nil {
				return err
			}
			side := &Side{Kind: Replayed, Candidate: c}
			switch {
			case setup.Rooted():
				side.Root = root
			case i > 0:
				continue
			}
			s.played = append(s.played, played{Side: side, setup: setup})
			s.Sides = append(s.Sides, side)
		}
	}
	e.Report.Subjects = append(e.Report.Subjects, s)
	return nil
}

// Play records a subject if need be, compiles it, and replays all sides in rounds, except
// those that are idle. It ends early if ctx is done, or if the recording can't be replayed
// as it is and the subject is no workload; the runs so far remain in the report. Another
// side that can't be replayed is given up. err is for what ends it before the first
// replay.
func (e *Experiment) Play(ctx context.Context, s *Subject) (early, err error) {
	defer e.close(s)
	if s.Record != nil {
		if _, _, err := s.Record(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.compile(s); err != nil {
		return nil, err
	}
	if e.Report.idle(s) {
		return nil, nil
	}
	if err := e.openRoots(s); err != nil {
		return nil, err
	}
	if early = e.rounds(ctx, s); early != nil {
		e.Report.Interrupted = true
	}
	return early, nil
}

// compile makes each trace once, and reads the application's run from that of the
// recording as it is. It returns the errors of Setup.
func (e *Experiment) compile(s *Subject) error {
	made := map[string]*os.File{}
	for i := range s.played {
		p := &s.played[i]
		key := strings.Join(p.setup.Making(), "+")
		if made[key] == nil {
			f, err := p.setup.Compile()
			switch {
			case err == nil:
				made[key] = f
			case i > 0 && e.GiveUp:
				p.Err = err
				continue
			default:
				return err
			}
		}
		p.trace = made[key]
		if first := s.played[0].trace; p.trace != first {
			var err error
			if p.Unchanged, err = equal(first, p.trace); err != nil {
				return err
			}
			p.Idle = p.Unchanged && len(p.setup.Making()) == len(s.played[0].setup.Making())+len(p.Candidate)
		}
	}
	run, paced, err := s.Application(s.played[0].trace)
	if err != nil {
		return err
	}
	s.Paced = paced
	e.add(s.Sides[0], run)
	if why := run.Profile.Coverage.Withheld(); why != "" && s.Workload {
		for i := range s.played {
			s.played[i].Err = fmt.Errorf("its recording allows no verdict: %s", why)
		}
	}
	return nil
}

// add adds a run to a side.
func (e *Experiment) add(s *Side, r Run) {
	if !e.Whole {
		r.Profile = r.Profile.Totals()
	}
	s.Runs = append(s.Runs, r)
}

// rounds runs each side once in a round, the application too where it is recorded again.
func (e *Experiment) rounds(ctx context.Context, s *Subject) error {
	again := s.Record != nil
	turns := len(s.played)
	if again {
		turns++
	}
	for round := range e.Runs {
		for k, i := range runOrder(turns, round) {
			var err error
			if i < len(s.played) {
				p := &s.played[i]
				e.Show(s, p.Side, round, round*turns+k, e.Runs*turns)
				err = e.replay(ctx, s, i)
			} else if again && round > 0 && round < s.Recordings {
				e.Show(s, s.Sides[0], round, round*turns+k, e.Runs*turns)
				again, err = e.record(ctx, s)
			}
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay replays a side once.
func (e *Experiment) replay(ctx context.Context, s *Subject, i int) error {
	p := &s.played[i]
	if p.Err != nil || p.Idle {
		return nil
	}
	r, err := p.setup.Replay(ctx, p.trace, p.root)
	if err == nil {
		e.add(p.Side, r)
		return nil
	}
	if ctx.Err() != nil || i == 0 && !s.Workload {
		return err
	}
	p.Err = err
	return nil
}

// record records the application again, without the root that was made where it may look.
func (e *Experiment) record(ctx context.Context, s *Subject) (again bool, err error) {
	if s.made != "" {
		if err := e.Clear(s.made); err != nil {
			return false, err
		}
		os.Remove(s.made) // the next replay makes it
	}
	r, again, err := s.Record(ctx)
	if err == nil && again {
		e.add(s.Sides[0], r)
	}
	return again, err
}

// close closes the traces, and empties the roots, except those that were not empty
// before.
func (e *Experiment) close(s *Subject) {
	for i := range s.played {
		s.played[i].trace.Close() // nil for one that was not made; sides share traces: a second Close does nothing
	}
	e.closeRoots(s)
}
