package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/baseline"
	"pianola/check"
	"pianola/compare"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/page"
)

// parseChecks returns the checks of --fail-if.
func parseChecks(c *cli.Context) (checks []*check.Check, err error) {
	texts := c.StringSlice("fail-if")
	if len(texts) > check.Max {
		return nil, usage(c, "--fail-if: more than %d checks", check.Max)
	}
	for _, text := range texts {
		one, err := check.Parse(text)
		if e, ok := errors.AsType[*check.Error](err); ok {
			wrong := usage(c, "--fail-if: %w", err)
			if h, ok := errors.AsType[*console.Hint](wrong); ok && e.Hint != "" {
				h.Text = didYouMean(e.Word, e.Names) + e.Hint
			}
			return nil, wrong
		}
		checks = append(checks, one)
	}
	return checks, nil
}

// statusOfChecks returns what a command ends with that evaluated checks.
func statusOfChecks(outcomes []check.Outcome) error {
	switch check.Overall(outcomes) {
	case check.Failed:
		return &exitError{status: ExitFailure}
	case check.Unknown, check.Inconclusive:
		return &exitError{status: ExitInconclusive}
	}
	return nil
}

// writeJUnit writes the checks of a comparison as a report of JUnit.
func writeJUnit(c *compare.Comparison, w io.Writer, o compare.TextOptions) error {
	v := c.Judge(o.Tolerance)
	return check.WriteJUnit(w, "pianola compare", c.Answer(&v)+"\n"+check.Text(c.Checks), c.Checks)
}

// loadBaseline reads the first side from a baseline, and names both sides.
func (s *sides) loadBaseline(c *cli.Context, name string) error {
	b, err := readBaseline(name, false)
	if err != nil {
		return err
	}
	if !c.IsSet("names") {
		s.names[1] = nameOf(s.files[1])
		if !isSideName(s.names[1]) {
			s.names[1] = compare.DefaultNames[1]
		}
		s.names[0] = b.nameBeside(s.names[1])
	}
	s.saved = b.side(s.names[0])
	return nil
}

// savedSide is what a baseline holds.
type savedSide struct{ *baseline.Baseline }

// readBaseline reads a baseline: one of workloads, or one of none.
func readBaseline(name string, workloads bool) (savedSide, error) {
	f, err := session.files.Open(name)
	if err != nil {
		return savedSide{}, err
	}
	defer f.Close()
	b, err := baseline.Read(f)
	if err != nil {
		return savedSide{}, fmt.Errorf("%s: %w", name, err)
	}
	for i := range b.Runs {
		switch is := b.Runs[i].Workload != ""; {
		case is && !workloads:
			return savedSide{}, console.WithHint(fmt.Errorf("%s: runs of workloads", name), "bench --workload compares with them")
		case !is && workloads:
			return savedSide{}, console.WithHint(fmt.Errorf("%s: run %d: no workload", name, i+1), "bench --workload --save writes the runs of workloads")
		}
	}
	return savedSide{b}, nil
}

// nameBeside returns what to call it beside another side.
func (b savedSide) nameBeside(other string) string {
	if !isSideName(b.Name) || b.Name == other {
		return "baseline"
	}
	return b.Name
}

// side returns its runs as those of a side with a name.
func (b savedSide) side(name string) (runs []page.Run) {
	for _, run := range b.Runs {
		runs = append(runs, page.Run{Name: name, Meta: run.Meta, Profile: run.Profile})
	}
	return runs
}

// onlySaved reports whether there is nothing to compare.
func (s *sides) onlySaved() bool { return len(s.files[0]) == 0 && len(s.saved) == 0 }

// nameOf returns what the names of a group of files begin with, which can be no name
// of a side.
func nameOf(files []string) string { return prefixNames([2][]string{files, files})[0] }

// checkSave returns an error for runs of which a baseline would be no side.
func (s *sides) checkSave(c *cli.Context) error {
	if c.String("save") == "" || s.all(1, recorded) || s.all(1, replayed) {
		return nil
	}
	i := slices.Index(s.kinds[1], recorded)
	wrong := usage(c, "--save: %s is no log of a replay, as others are", s.files[1][i])
	if h, ok := errors.AsType[*console.Hint](wrong); ok {
		h.Text = "to compare with it and save the replays put -- after it"
	}
	return wrong
}

// putBaseline writes the runs of a side.
func putBaseline(o *files.Output, name string, side []page.Run) error {
	runs := make([]baseline.Run, len(side))
	for i := range side {
		runs[i] = baseline.Run{Meta: side[i].Meta, Profile: side[i].Profile}
	}
	return o.Put(func(w io.Writer) error { return baseline.Write(w, name, runs) })
}
