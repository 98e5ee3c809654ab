package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/advice"
	"pianola/compare"
	"pianola/diagnosis"
	"pianola/format"
	"pianola/lab"
	"pianola/page"
	"pianola/profile"
)

func adviseCommand() *cli.Command {
	shared := flagsOf(labCommand(), "runs", "with", "root", "plugin-timeout", "backend", "cache", "timing", "speed", "wait", "order", "outside", "compressibility", "memory", "landlock", "limit", "keep")
	return command(&cli.Command{
		Name:      "advise",
		Usage:     "find out which suggested changes are worth making",
		UsageText: "pianola advise [OPTION]… TRACE",
		Description: "Diagnoses a recording as profile does, tries each suggestion in the lab, and prints a table of\n" +
			"what certainly saves time: the finding, the candidate, its gain and its risk. A candidate stands for a\n" +
			"change of the program and predicts its gain. Uncertain gains are left out. The exit status is that of\n" +
			"lab.\n" +
			"\n" +
			"Example: pianola advise trace.txt\n" +
			"Example: pianola advise --root /mnt/disk/root --html advice.html trace.txt",
		Flags: slices.Concat(shared, []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document (docs/schema)"},
			&cli.StringFlag{Name: "html", Usage: "write a page with the findings and the lab's charts to `FILE`"},
		}),
		Action: runAdvise,
	})
}

func runAdvise(c *cli.Context) error {
	name, err := operand(c, "recording or compiled trace")
	if err != nil {
		return err
	}
	if n := c.Int("runs"); n < 1 || n > compare.MaxRuns {
		return usage(c, "--runs: %d is not from 1 to %d", n, compare.MaxRuns)
	}
	if len(c.StringSlice("root")) > 1 {
		return usage(c, "--root: advice is for one directory")
	}
	html, err := createIf(c.String("html"), public)
	if err != nil {
		return err
	}
	defer html.abort()
	findings, meta, account, err := diagnose(name)
	if err != nil {
		return err
	}
	candidates := advice.Candidates(findings)
	var report *lab.Report
	var early error
	if len(candidates) > 0 {
		l, e, err := newExperiment(c, name, candidates)
		if err != nil {
			return err
		}
		e.GiveUp = true
		defer e.Close()
		if meta, early, err = l.measure(e); err != nil {
			return err
		}
		report, account = &e.Report, e.Report.Coverage().Withheld()
	}
	a := advice.New(findings, report)
	if c.Bool("json") {
		d := struct {
			Trace      string `json:"trace"`
			Findings   any    `json:"findings"`
			Laboratory any    `json:"laboratory,omitempty"` // as of lab --json
		}{Trace: name, Findings: a.Document()}
		if report != nil {
			d.Laboratory = report.Document()
		}
		err = printJSON(d)
	} else {
		err = a.WriteText(stdout("text"))
	}
	if err != nil {
		return err
	}
	if html != nil && report == nil {
		return fmt.Errorf("nothing to try, so no page: %s", c.String("html"))
	}
	err = html.put(func(w io.Writer) error {
		return page.WriteLab(w, &page.Lab{Meta: meta, Conclusion: report.Conclusion(), Coverage: *report.Coverage(), Figures: report.Document(), Advice: a.Document()})
	})
	switch {
	case err != nil:
		return err
	case early != nil:
		return interrupted(early)
	case account != "":
		return statusOf(compare.Inconclusive)
	}
	return nil
}

// diagnose returns the findings of a recording or a compiled trace, its remarks, and why
// it allows no verdict, empty if it does.
func diagnose(name string) (_ []profile.Finding, _ []format.Meta, withheld string, _ error) {
	collector := &profile.Collector{Rows: profileRows(readingMemory()), NoParts: true}
	meta, subject, err := collect(collector, name)
	if err != nil {
		return nil, nil, "", err
	}
	if subject.Kind == diagnosis.Log {
		return nil, nil, "", fmt.Errorf("%s: the log of a replay, not a recording", name)
	}
	p := collector.Profile()
	return diagnosis.Of(p, subject), meta, p.Coverage.Withheld(), nil
}
