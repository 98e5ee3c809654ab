package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compare"
	"pianola/format"
	"pianola/internal/files"
	"pianola/page"
	"pianola/profile"
	"pianola/table"
)

// comparisonForm is an output format of compare.
type comparisonForm struct {
	name  string
	write func(c *compare.Comparison, w io.Writer, o compare.TextOptions) error
}

// comparisonForms lists them, the default first.
var comparisonForms = []comparisonForm{
	{"text", (*compare.Comparison).WriteText},
	{"json", func(c *compare.Comparison, w io.Writer, o compare.TextOptions) error {
		return writeJSON(w, c.Document(o.Tolerance))
	}},
	{"csv", func(c *compare.Comparison, w io.Writer, _ compare.TextOptions) error { return c.WriteCSV(w) }},
	{"benchstat", func(c *compare.Comparison, w io.Writer, _ compare.TextOptions) error { return c.WriteBenchstat(w) }},
	{"markdown", (*compare.Comparison).WriteMarkdown},
	{"junit", writeJUnit},
}

func compareCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "compare",
		Usage: "compare replays with the application, or two groups of runs",
		UsageText: "pianola compare [OPTION]… APPLICATION REPLAY…\n" +
			"pianola compare [OPTION]… A… -- B…\n" +
			"pianola compare [OPTION]… --baseline FILE REPLAY…\n" +
			"pianola compare --save FILE REPLAY…",
		Description: "Says how true replays are to the application, or which of two groups of runs is faster. Each operand\n" +
			"is a recording, a compiled trace or the log of a replay; -- stands between two groups.\n" +
			"\n" +
			"The exit status is 0 if the runs could be compared, however different they are. It is 1 if a time is\n" +
			"outside a --tolerance that was given, or a check of --fail-if failed, and 3 if no verdict is possible.\n" +
			"With six or more runs of each side, the text says which differences are noise.\n" +
			"\n" +
			"Example: pianola compare trace.txt replay.log\n" +
			"Example: pianola compare ext4/*.log -- xfs/*.log\n" +
			"Example: pianola compare --names nvme,sata p[1-6].log -- m[1-6].log\n" +
			"Example: pianola compare --baseline base.json --fail-if 'sync.p99 > +10%' r[1-6].log",
		Action: runCompare,
	})
}

func runCompare(c *cli.Context) error {
	defer endOn(c.Context)()
	spareMemory()
	j, err := judgingOf(c)
	if err != nil {
		return err
	}
	if err := checkPlot(c.String("plot")); err != nil {
		return usage(c, "--plot: %v", err)
	}
	if err := parseLimits(c, nil); err != nil {
		return err
	}
	s, err := sidesOf(c)
	if err != nil {
		return err
	}
	if s.onlySaved() && len(j.checks) > 0 {
		return usage(c, "--fail-if wants something to compare with: --baseline, or two groups")
	}
	if len(s.saved) > 0 && c.String("plot") != "" {
		return usage(c, "--plot: a baseline has no curves")
	}
	save, err := session.files.CreateIf(c.String("save"), files.Private)
	if err != nil {
		return err
	}
	defer save.Abort()
	plot, err := session.files.CreateIf(c.String("plot"), files.Public)
	if err != nil {
		return err
	}
	defer plot.Abort()
	html, err := session.files.CreateIf(c.String("html"), files.Public)
	if err != nil {
		return err
	}
	defer html.Abort()
	runs, err := s.read()
	if err != nil {
		return err
	}
	if err := putBaseline(save, s.names[1], runs[1]); err != nil {
		return err
	}
	if s.onlySaved() {
		session.Say("compare: %s: saved %s", c.String("save"), table.Plural(len(runs[1]), "run"))
		return nil
	}
	err = putPlot(plot,
		profile.Series{Name: s.names[0], Profile: compare.Typical(profilesOf(runs[0]))},
		profile.Series{Name: s.names[1], Profile: compare.Typical(profilesOf(runs[1]))})
	if err != nil {
		return err
	}
	result := j.compare(s.names, runs)
	result.Paced = s.pacing.paced()
	result.Itself = s.itself()
	if err := j.putPage(html, result, runs); err != nil {
		return err
	}
	if err := j.write(result); err != nil {
		return err
	}
	return j.status(result)
}

// comparisonFormOf returns the format that the command line selects.
func comparisonFormOf(c *cli.Context) (*comparisonForm, error) {
	name := cmp.Or(c.String("format"), comparisonForms[0].name)
	if c.Bool("json") {
		if c.IsSet("format") && name != "json" {
			return nil, usage(c, "--json and --format %s exclude each other", name)
		}
		name = "json"
	}
	return &comparisonForms[slices.Index(comparisonNames(), name)], nil
}

// comparisonNames returns the names of the formats.
func comparisonNames() (names []string) {
	for _, form := range comparisonForms {
		names = append(names, form.name)
	}
	return names
}

func profilesOf(runs []page.Run) (profiles []*profile.Profile) {
	for i := range runs {
		profiles = append(profiles, runs[i].Profile)
	}
	return profiles
}

// metaOf returns the remarks of each run.
func metaOf(runs []page.Run) (all [][]format.Meta) {
	for i := range runs {
		all = append(all, runs[i].Meta)
	}
	return all
}

// typical returns the run with the median run time, which is drawn.
func typical(runs []page.Run) page.Run {
	profiles := profilesOf(runs)
	return runs[slices.Index(profiles, compare.Typical(profiles))]
}

func checkPlot(name string) error {
	switch filepath.Ext(name) {
	case ".svg", ".png", "":
		if name == "" || filepath.Ext(name) != "" {
			return nil
		}
	}
	return fmt.Errorf("%q ends neither in .svg nor in .png", name)
}

func putPlot(o *files.Output, series ...profile.Series) error {
	return o.Put(func(w io.Writer) error {
		return profile.Plot(w, strings.TrimPrefix(filepath.Ext(o.Name()), "."), series...)
	})
}

func putPage(o *files.Output, runs []page.Run, c *page.Comparison) error {
	return o.Put(func(w io.Writer) error { return page.Write(w, runs, c) })
}

// parseTolerance parses "10%", "10" or "0.1", which mean the same: a number of
// at least 1 is per cent.
func parseTolerance(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v > 1e6 {
		return 0, fmt.Errorf("%q is not a tolerance such as 10%%, 10 or 0.1", s)
	}
	if percent || v >= 1 {
		v /= 100
	}
	return v, nil
}

// printJSON prints one document on standard output.
func printJSON(v any) error { return writeJSON(session.Stdout("json"), v) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
