package experiment

import (
	"errors"
	"fmt"
	"io"

	"pianola/experiment/baseline"
	"pianola/internal/console"
	"pianola/internal/files"
)

// OpenBaseline reads a baseline: one of workloads, or one of none.
func OpenBaseline(set *files.Set, name string, workloads bool) (*baseline.Baseline, error) {
	f, err := set.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := baseline.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range b.Runs {
		switch is := b.Runs[i].Workload != ""; {
		case is && !workloads:
			return nil, console.WithHint(fmt.Errorf("%s: runs of workloads", name), "bench --workload compares with them")
		case !is && workloads:
			return nil, console.WithHint(fmt.Errorf("%s: run %d: no workload", name, i+1), "bench --workload --save writes the runs of workloads")
		}
	}
	return b, nil
}

// SavedSide returns the runs of a workload that a baseline holds, or of none, as a side that
// can stand beside another one with a name.
func SavedSide(b *baseline.Baseline, workload, beside string) *Side {
	s := &Side{Kind: Saved, Name: b.Name}
	if !IsName(s.Name) || s.Name == beside {
		s.Name = "baseline"
	}
	for _, r := range b.Runs {
		if r.Workload == workload {
			s.Runs = append(s.Runs, Run{Meta: r.Meta, Profile: r.Profile})
		}
	}
	if s.Runs == nil {
		s.Err = errors.New("not in the baseline")
	}
	return s
}

// BaselineName is what a baseline calls the workload of a subject, "" for another recording.
func (s *Subject) BaselineName() string {
	if s.Workload {
		return s.Name
	}
	return ""
}

// saved returns the runs of a side as those of a baseline.
func (s *Side) saved(workload string) (runs []baseline.Run) {
	for _, r := range s.Runs {
		runs = append(runs, baseline.Run{Workload: workload, Meta: r.Meta, Profile: r.Profile})
	}
	return runs
}

// WriteBaseline writes the runs of a side, under its name.
func (s *Side) WriteBaseline(w io.Writer) error { return baseline.Write(w, s.Name, s.saved("")) }

// WriteBaseline writes the replays of each subject, under the name of the last side.
func (r *Report) WriteBaseline(w io.Writer) error {
	var runs []baseline.Run
	name := ""
	for _, s := range r.Subjects {
		for _, side := range s.Sides {
			if side.Kind == Replayed {
				name = r.Label(side)
				runs = append(runs, side.saved(s.BaselineName())...)
			}
		}
	}
	return baseline.Write(w, name, runs)
}
