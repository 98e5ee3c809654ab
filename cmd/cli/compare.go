package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/experiment/sides"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/table"
	"pianola/profile"
)

func compareCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "compare",
		Usage: "compare replays with the application, or two groups of runs",
		UsageText: "pianola compare [OPTION]… APPLICATION REPLAY…\n" +
			"pianola compare [OPTION]… A… -- B…\n" +
			"pianola compare [OPTION]… --baseline FILE REPLAY…\n" +
			"pianola compare --save FILE REPLAY…",
		Description: "Says how true replays are to the application, or which of two groups of runs is faster. Each operand\n" +
			"is a recording, a compiled trace or the log of a replay; -- separates two groups.\n" +
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
	q := sides.Request{Operands: c.Args().Slice(), Applications: c.StringSlice("application"), Baseline: c.String("baseline"), Save: c.String("save") != ""}
	if c.IsSet("names") {
		if q.Names, err = experiment.ParseNames(c.String("names")); err != nil {
			return usage(c, "--names: %v", err)
		}
	}
	s, err := sides.Find(&recordings, &q)
	if m, ok := errors.AsType[*sides.Misuse](err); ok {
		return instead(usage(c, "%w", err), m.Hint)
	}
	if err != nil {
		return err
	}
	base, side := &s.Both[0], &s.Both[1]
	if s.Alone() && len(j.checks) > 0 {
		return usage(c, "--fail-if wants something to compare with: --baseline, or two groups")
	}
	if q.Baseline != "" && c.String("plot") != "" {
		return usage(c, "--plot: a baseline has no curves")
	}
	save, err := session.files.CreateIf(c.String("save"), files.Private)
	if err != nil {
		return err
	}
	plot, err := session.files.CreateIf(c.String("plot"), files.Public)
	if err != nil {
		return err
	}
	html, err := session.files.CreateIf(c.String("html"), files.Public)
	if err != nil {
		return err
	}
	if err := s.Read(); err != nil {
		return err
	}
	if err := save.Put(side.WriteBaseline); err != nil {
		return err
	}
	if s.Alone() {
		session.Say("compare: %s: saved %s", c.String("save"), table.Plural(len(side.Runs), "run"))
		return nil
	}
	err = putPlot(plot, false,
		profile.Series{Name: base.Name, Profile: compare.Typical(base.Profiles())},
		profile.Series{Name: side.Name, Profile: compare.Typical(side.Profiles())})
	if err != nil {
		return err
	}
	result := s.Compare()
	result.Complete(j.checks)
	if err := j.putPage(html, result); err != nil {
		return err
	}
	if err := j.write(result.Comparison); err != nil {
		return err
	}
	return j.status(result)
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

func putPlot(o *files.Output, intervals bool, series ...profile.Series) error {
	draw := profile.Plot
	if intervals {
		draw = profile.PlotIntervals
	}
	return o.Put(func(w io.Writer) error {
		return draw(w, strings.TrimPrefix(filepath.Ext(o.Name()), "."), series...)
	})
}

// printJSON prints one document on standard output.
func printJSON(v any) error { return console.WriteJSON(session.Stdout("json"), v) }
