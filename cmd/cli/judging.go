package cli

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/experiment"
	"pianola/experiment/check"
	"pianola/experiment/compare"
	"pianola/internal/console"
	"pianola/internal/files"
)

// judging is how a command line has two sides compared, and what decides the exit status:
// checks or a tolerance, where one was asked for.
type judging struct {
	*cli.Context
	form   compare.Form
	text   compare.TextOptions
	checks []*check.Check
}

func judgingOf(c *cli.Context) (*judging, error) {
	j := &judging{Context: c, text: compare.TextOptions{Tolerance: compare.NoTolerance, All: c.Bool("all")}}
	var err error
	if c.IsSet("tolerance") {
		if j.text.Tolerance, err = compare.ParseTolerance(c.String("tolerance")); err != nil {
			return nil, usage(c, "--tolerance: %v", err)
		}
	}
	name := cmp.Or(c.String("format"), compare.Forms[0].Name)
	if c.Bool("json") {
		if c.IsSet("format") && name != "json" {
			return nil, usage(c, "--json and --format %s exclude each other", name)
		}
		name = "json"
	}
	j.form = compare.Forms[slices.Index(comparisonNames(), name)]
	if j.checks, err = parseChecks(c); err != nil {
		return nil, err
	}
	if name == "junit" && len(j.checks) == 0 {
		return nil, usage(c, "--format junit has a test case for each --fail-if, and there is none")
	}
	return j, nil
}

// comparisonNames returns the names of the formats of comparisons.
func comparisonNames() (names []string) {
	for _, form := range compare.Forms {
		names = append(names, form.Name)
	}
	return names
}

// parseChecks returns the checks of --fail-if.
func parseChecks(c *cli.Context) (checks []*check.Check, err error) {
	texts := c.StringSlice("fail-if")
	if len(texts) > check.Max {
		return nil, usage(c, "--fail-if: more than %d checks", check.Max)
	}
	for _, text := range texts {
		one, err := check.Parse(text)
		if e, ok := errors.AsType[*check.Error](err); ok {
			hint := e.Hint
			if hint != "" {
				hint = didYouMean(e.Word, e.Names) + hint
			}
			return nil, instead(usage(c, "--fail-if: %w", err), hint)
		}
		checks = append(checks, one)
	}
	return checks, nil
}

// instead gives an error of usage another hint, unless that is empty.
func instead(err error, hint string) error {
	if h, ok := errors.AsType[*console.Hint](err); ok && hint != "" {
		h.Text = hint
	}
	return err
}

// write prints a comparison.
func (j *judging) write(c *compare.Comparison) error {
	return j.form.Write(c, cells(j.Context, j.form.Name, session.Stdout(j.form.Name)), j.text)
}

// putPage writes the page of a comparison.
func (j *judging) putPage(o *files.Output, p experiment.Pair) error {
	return o.Put(func(w io.Writer) error { return p.WritePage(w, j.text.Tolerance) })
}

// status returns what a command ends with that prints comparisons: what the worst of them says.
// Outside, or a check that failed, is worse than inconclusive.
func (j *judging) status(pairs ...experiment.Pair) error {
	worst := compare.Compared
	for _, p := range pairs {
		if s := p.Result(j.text.Tolerance); s == compare.Outside || s == compare.Inconclusive && worst != compare.Outside {
			worst = s
		}
	}
	return statusOf(worst)
}

// statusOf returns what a command ends with that prints a verdict.
func statusOf(s compare.State) error {
	switch s {
	case compare.Outside:
		return &exitError{status: ExitFailure}
	case compare.Inconclusive:
		return &exitError{status: ExitInconclusive}
	}
	return nil
}
