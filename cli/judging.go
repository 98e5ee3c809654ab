package cli

import (
	"github.com/urfave/cli/v2"

	"pianola/check"
	"pianola/compare"
	"pianola/internal/files"
	"pianola/page"
)

// judging is how a command line has two sides compared, and what decides the exit status:
// checks or a tolerance, where one was asked for.
type judging struct {
	*cli.Context
	form   *comparisonForm
	text   compare.TextOptions
	checks []*check.Check
}

func judgingOf(c *cli.Context) (*judging, error) {
	j := &judging{Context: c, text: compare.TextOptions{Tolerance: compare.NoTolerance, All: c.Bool("all")}}
	var err error
	if c.IsSet("tolerance") {
		if j.text.Tolerance, err = parseTolerance(c.String("tolerance")); err != nil {
			return nil, usage(c, "--tolerance: %v", err)
		}
	}
	if j.form, err = comparisonFormOf(c); err != nil {
		return nil, err
	}
	if j.checks, err = parseChecks(c); err != nil {
		return nil, err
	}
	if j.form.name == "junit" && len(j.checks) == 0 {
		return nil, usage(c, "--format junit has a test case for each --fail-if, and there is none")
	}
	return j, nil
}

// compare compares the runs of two sides.
func (j *judging) compare(names [2]string, runs [2][]page.Run) *compare.Comparison {
	c := compare.Profiles(profilesOf(runs[0]), profilesOf(runs[1]))
	c.Names = names
	j.complete(c, runs)
	return c
}

// complete adds to a comparison where the sides ran, and what its checks found.
func (j *judging) complete(c *compare.Comparison, runs [2][]page.Run) {
	c.SetProvenance(metaOf(runs[0]), metaOf(runs[1]))
	c.Checks = check.Evaluate(j.checks, check.Side{Name: c.Names[0], Runs: profilesOf(runs[0])}, check.Side{Name: c.Names[1], Runs: profilesOf(runs[1])}, c.Coverage.Withheld())
}

// write prints a comparison.
func (j *judging) write(c *compare.Comparison) error {
	return j.form.write(c, cells(j.Context, j.form.name, session.Stdout(j.form.name)), j.text)
}

// putPage writes the page of a comparison, with the typical run of each side.
func (j *judging) putPage(o *files.Output, c *compare.Comparison, runs [2][]page.Run) error {
	return putPage(o, []page.Run{typical(runs[0]), typical(runs[1])}, &page.Comparison{Comparison: c, Tolerance: j.text.Tolerance})
}

// status returns what a command ends with that prints comparisons: what the worst of
// them says. Outside, or a check that failed, is worse than inconclusive. Where nothing was
// asked for, runs that can be compared end with 0, however different they are.
func (j *judging) status(comparisons ...*compare.Comparison) (err error) {
	for _, c := range comparisons {
		var one error
		switch v := c.Judge(j.text.Tolerance); {
		case len(j.checks) > 0:
			one = statusOfChecks(c.Checks)
		case j.IsSet("tolerance") || !v.Possible():
			one = statusOf(v.State)
		}
		if e, ok := one.(*exitError); ok && (err == nil || e.status == ExitFailure) {
			err = one
		}
	}
	return err
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
