package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pianola/experiment"
	"pianola/internal/plugin"
	"pianola/profile"
	"pianola/profile/diagnosis"
)

func labCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "lab",
		Usage: "find out which changes of the I/O or the storage save time",
		UsageText: "pianola lab [OPTION]… [--try CANDIDATE]… TRACE\n" +
			"pianola lab [OPTION]… --root [NAME=]DIR --root [NAME=]DIR… TRACE",
		Description: "Replays a recording unchanged (the baseline) and with each candidate, in turn, and compares the times.\n" +
			"A candidate is a transform or program (pianola compile --list), an option of replay such as\n" +
			"backend=memory, or several of them joined by +. With --grid, arguments are lists, and all combinations\n" +
			"are tried.\n" +
			"\n" +
			"Without --try, lab diagnoses the recording as profile does and tries the suggestions of its findings. A table\n" +
			"shows which suggestions certainly save time, how much, and what each one risks.\n" +
			"\n" +
			"TRACE is a recording or a compiled trace; docs/reference/transforms.md names the transforms that need a recording. The\n" +
			"exit status is 3 if the recording holds too little of the application's I/O for a verdict.\n" +
			"\n" +
			"Example: pianola lab trace.txt\n" +
			"Example: pianola lab trace.txt --try sync=none --try sync=none+cache=cold\n" +
			"Example: pianola lab trace.txt --grid --try prefetch=2,4,8 --try coalesce=64KiB,1MiB\n" +
			"Example: pianola lab trace.txt --root nvme=/mnt/nvme/root --root sata=/mnt/sata/root",
		Action: runLab,
	})
}

func runLab(c *cli.Context) error {
	name, err := operand(c, "recording or compiled trace")
	if err != nil {
		return err
	}
	candidates, findings, err := candidatesOf(c, name)
	if err != nil {
		return err
	}
	e, err := newExperimenter(c, candidates)
	if err != nil {
		return err
	}
	e.GiveUp, e.Report.Findings = findings != nil, findings
	early, err := e.measure(e.subject(name))
	if err != nil {
		return err
	}
	return e.conclude(early)
}

// candidatesOf returns the candidates that the command line names or, where it names
// nothing to compare, those that a diagnosis of the recording suggests, and its findings.
func candidatesOf(c *cli.Context, name string) ([]experiment.Candidate, []profile.Finding, error) {
	if len(c.StringSlice("try")) > 0 {
		candidates, err := experiment.Parse(c.StringSlice("try"), c.Bool("grid"), isStep)
		if err != nil {
			err = usage(c, "--try: %w", err)
		}
		return candidates, nil, err
	}
	switch {
	case c.Bool("grid"):
		return nil, nil, usage(c, "--grid: want lists, by --try")
	case len(c.StringSlice("root")) > 1:
		return nil, nil, nil
	}
	findings, err := diagnose(name)
	return experiment.Suggested(findings), findings, err
}

// diagnose returns the findings of a recording or a compiled trace, not nil.
func diagnose(name string) ([]profile.Finding, error) {
	collector := &profile.Collector{Rows: profile.RowsWithin(recordings.Limits.Reading()), NoParts: true}
	_, subject, err := collect(collector, name)
	if err != nil {
		return nil, err
	}
	if subject.Kind == diagnosis.Log {
		return nil, fmt.Errorf("%s: the log of a replay, not a recording", name)
	}
	return append([]profile.Finding{}, diagnosis.Of(collector.Profile(), subject)...), nil
}

// isStep reports whether a name is that of a step of a candidate.
func isStep(name string) bool {
	return settingOf(name) != nil || plugin.Is(name+":") || extensions.transforms.Has(name)
}
