package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compare"
	"pianola/page"
	"pianola/profile"
)

// comparisonForm is an output format of compare.
type comparisonForm struct {
	name  string
	write func(c *compare.Comparison, w io.Writer, tolerance float64) error
}

// comparisonForms lists them, the default first.
var comparisonForms = []comparisonForm{
	{"text", (*compare.Comparison).WriteText},
	{"json", func(c *compare.Comparison, w io.Writer, tolerance float64) error {
		return writeJSON(w, c.Document(tolerance))
	}},
	{"csv", func(c *compare.Comparison, w io.Writer, _ float64) error { return c.WriteCSV(w) }},
	{"benchstat", func(c *compare.Comparison, w io.Writer, _ float64) error { return c.WriteBenchstat(w) }},
}

func compareCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "compare",
		Usage: "say how true replays are to the application, or which of two is faster",
		UsageText: "pianola compare [--tolerance 10%] [--plot FILE] [--html FILE] [--format text|json|csv|benchstat] APPLICATION REPLAY…\n" +
			"pianola compare [option]… --application FILE [--application FILE]… REPLAY…",
		Description: "Each operand is a script, a compiled trace or the log of a replay. The exit status is 1\n" +
			"where a time differs by more than the tolerance, and 3 where no verdict is possible. With six\n" +
			"runs of each side or more the text says which differences are noise; see docs/compare.md.\n\n" +
			"Example: pianola compare --plot profile.svg trace.txt replay.log\n" +
			"Example: pianola compare --application ext4-1.log --application ext4-2.log xfs-1.log xfs-2.log",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "application", Usage: "compare with `FILE`; repeated for several recordings. All operands are replays then"},
			&cli.StringFlag{Name: "tolerance", Value: "10%", Usage: "`PART` by which times may differ: 10% or 0.1; a value of at least 1 is per cent"},
			&cli.StringFlag{Name: "plot", Usage: "draw the cumulative profiles of the typical runs into `FILE`.svg or .png"},
			&cli.StringFlag{Name: "html", Usage: "write a page with charts and tables of the typical runs into `FILE`, readable without a server"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the output: text, json, csv, benchstat"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document, as --format json does"},
			rawCSV(),
			limitFlag(),
		},
		Action: runCompare,
	})
}

func runCompare(c *cli.Context) error {
	defer endOn(c.Context)()
	applications, replays := c.StringSlice("application"), c.Args().Slice()
	if len(applications) == 0 && len(replays) > 0 {
		applications, replays = replays[:1], replays[1:]
	}
	if len(replays) == 0 {
		return usage(c, "want a recording of the application and at least one replay")
	}
	if n := max(len(applications), len(replays)); n > compare.MaxRuns {
		return usage(c, "%d runs of one side are more than %d", n, compare.MaxRuns)
	}
	tolerance, err := parseTolerance(c.String("tolerance"))
	if err != nil {
		return usage(c, "--tolerance: %v", err)
	}
	if err := checkPlot(c.String("plot")); err != nil {
		return usage(c, "--plot: %v", err)
	}
	form, err := comparisonFormOf(c)
	if err != nil {
		return err
	}
	if err := parseLimits(c); err != nil {
		return err
	}
	plot, err := createIf(c.String("plot"), public)
	if err != nil {
		return err
	}
	defer plot.abort()
	html, err := createIf(c.String("html"), public)
	if err != nil {
		return err
	}
	defer html.abort()
	runs, originals, err := readSides([2][]string{applications, replays})
	if err != nil {
		return err
	}
	a, r := profilesOf(runs[0]), profilesOf(runs[1])
	err = putPlot(plot,
		profile.Series{Name: "application", Profile: compare.Typical(a)},
		profile.Series{Name: "replay", Profile: compare.Typical(r)})
	if err != nil {
		return err
	}
	result := compare.Profiles(a, r)
	result.NameFiles(originals.of)
	typicals := []page.Run{typical(runs[0]), typical(runs[1])}
	if err := putPage(html, typicals, &page.Comparison{Comparison: result, Tolerance: tolerance}); err != nil {
		return err
	}
	if err := form.write(result, cells(c, form.name, stdout(form.name)), tolerance); err != nil {
		return err
	}
	return statusOf(result.Judge(tolerance).State)
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

// comparisonFormOf returns the format that the command line selects.
func comparisonFormOf(c *cli.Context) (*comparisonForm, error) {
	name := c.String("format")
	if c.Bool("json") {
		if c.IsSet("format") && name != "json" {
			return nil, usage(c, "--json and --format %s exclude each other", name)
		}
		name = "json"
	}
	var names []string
	for i := range comparisonForms {
		form := &comparisonForms[i]
		if form.name == name {
			return form, nil
		}
		names = append(names, form.name)
	}
	return nil, usage(c, "--format is one of %s, not %q", strings.Join(names, ", "), name)
}

func profilesOf(runs []page.Run) (profiles []*profile.Profile) {
	for i := range runs {
		profiles = append(profiles, runs[i].Profile)
	}
	return profiles
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

func putPlot(o *output, series ...profile.Series) error {
	return o.put(func(w io.Writer) error {
		return profile.Plot(w, strings.TrimPrefix(filepath.Ext(o.asked), "."), series...)
	})
}

func putPage(o *output, runs []page.Run, c *page.Comparison) error {
	return o.put(func(w io.Writer) error { return page.Write(w, runs, c) })
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
func printJSON(v any) error { return writeJSON(stdout("json"), v) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
