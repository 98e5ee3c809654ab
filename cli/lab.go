package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compare"
	"pianola/format"
	"pianola/format/bin"
	"pianola/lab"
	"pianola/page"
	"pianola/plugin"
	"pianola/profile"
	"pianola/replay"
)

func labCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "lab",
		Usage: "find out which changes of an application's I/O, or of its storage, are a gain",
		UsageText: "pianola lab TRACE --try NAME[=ARG]… [--grid] [--runs N] [--with NAME[=ARG]]… [--root DIR]… [--keep]\n" +
			"[--backend …] [--cache …] [--timing …] [--speed X] [--wait …] [--order …] [--compressibility PERCENT]\n" +
			"[--memory] [--landlock] [--limit NAME=VALUE]… [--json] [--html FILE]",
		Description: "Replays a recording as it is, the baseline, and every candidate, in turn, and compares the\n" +
			"times. A candidate is a transform or program (pianola compile --list), an option of replay, as\n" +
			"backend=memory, or several joined by +. With --grid arguments are lists, and all combinations\n" +
			"of all are tried. A compiled trace can be given where no candidate is a transform.\n\n" +
			"Example: pianola lab trace.txt --try sync=none --try cache=cold --try sync=none+cache=cold\n" +
			"Example: pianola lab trace.txt --grid --try prefetch=2,4,8 --try coalesce=64KiB,1MiB --json",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "try", Usage: "a candidate, `NAME[=ARG]`, several joined by +; repeatable"},
			&cli.BoolFlag{Name: "grid", Usage: "take the arguments of --try for lists, as 2,4,8, and try all combinations of all"},
			&cli.IntFlag{Name: "runs", Value: compare.MinRuns, Usage: "replay each `N` times"},
			&cli.StringSliceFlag{Name: "with", Usage: "put the recording through the transform `NAME[=ARG]` first, for the baseline, too; repeatable"},
			&cli.StringSliceFlag{Name: "root", Usage: "work in `DIR`, which is made if missing; several are compared"},
			pluginTimeout(),
		}, flagsOf(replayCommand(), "backend", "cache", "timing", "speed", "wait", "order", "compressibility", "memory", "landlock", "limit", "keep"), []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.StringFlag{Name: "html", Usage: "write a page with a chart and tables into `FILE`, which opens from disk"},
		}),
		Action: runLab,
	})
}

func runLab(c *cli.Context) error {
	operands, err := interspersed(c)
	if err != nil {
		return err
	}
	if len(operands) != 1 {
		return usage(c, "want one recording or compiled trace, got %d operands", len(operands))
	}
	if n := c.Int("runs"); n < 1 || n > compare.MaxRuns {
		return usage(c, "--runs: %d is not from 1 to %d", n, compare.MaxRuns)
	}
	candidates, err := lab.Parse(c.StringSlice("try"), c.Bool("grid"), isStep)
	if err != nil {
		return usage(c, "--try: %w", err)
	}
	if len(c.StringSlice("try")) == 0 {
		candidates = nil
		if len(c.StringSlice("root")) < 2 {
			return usage(c, "want something to compare: --try, or several --root")
		}
	}
	l := &laboratory{runs: c.Int("runs"), memory: bin.DefaultLimit}
	if err := l.plan(c, append([]lab.Candidate{nil}, candidates...)); err != nil {
		return err
	}
	if len(l.trials) == 1 {
		return usage(c, "--root: the backend %s has no use for it", c.String("backend"))
	}
	l.report.Trace = operands[0]
	html, err := createIf(c.String("html"), public) // refused before anything is measured
	if err != nil {
		return err
	}
	defer html.abort()
	traces, err := openLabTraces(c, operands[0])
	if err != nil {
		return compileHint(err)
	}
	defer traces.close()
	if err := l.compile(traces); err != nil {
		return compileHint(err)
	}
	roots, err := openLabRoots(l, c.Bool("keep"))
	defer roots.close()
	if err != nil {
		return err
	}
	runErr := l.run(c.Context)
	if c.Context.Err() != nil {
		signal.Reset(os.Interrupt) // removing files can take long: a second one ends that too
	}
	if l.report.Trials[0].Runs() == 0 {
		return interrupted(runErr)
	}
	write, form := l.report.WriteText, "text"
	if c.Bool("json") {
		write, form = func(w io.Writer) error { return writeJSON(w, l.report.Document()) }, "json"
	}
	if err := write(stdout(form)); err != nil {
		return err
	}
	err = html.put(func(w io.Writer) error {
		return page.WriteLab(w, &page.Lab{Meta: l.meta, Conclusion: l.report.Conclusion(), Figures: l.report.Document()})
	})
	if err != nil {
		return err
	}
	return interrupted(runErr)
}

// isStep reports whether a name is one of what a candidate can be made of.
func isStep(name string) bool {
	return setting(name) != nil || plugin.Is(name+":") || extensions.transforms.Has(name)
}

// laboratory is an experiment while it goes on.
type laboratory struct {
	runs   int
	memory int64 // bytes that a trace may take
	report lab.Report
	meta   []format.Meta
	trials []*labTrial // those of the report, in the same places
}

// labTrial is how a trial is replayed.
type labTrial struct {
	*lab.Trial
	options    replay.Options
	transforms []string
	programs   []*plugin.Program
	trace      *os.File
}

// plan finds out what is to be replayed: each candidate on each root, or once
// where its backend has none.
func (l *laboratory) plan(c *cli.Context, candidates []lab.Candidate) error {
	o, named, err := baselineOptions(c)
	if err != nil {
		return err
	}
	l.report.Options = named
	l.memory = cmp.Or(o.Limits.Memory, l.memory)
	roots := c.StringSlice("root")
	for i, root := range roots {
		if root == "" || slices.Contains(roots[:i], root) {
			return usage(c, "--root: %q is no directory, or there twice", root)
		}
	}
	if len(roots) == 0 {
		roots = []string{""} // one is made
	}
	for _, root := range roots {
		for _, candidate := range candidates {
			t := &labTrial{options: o, Trial: &lab.Trial{Candidate: candidate, Root: root}}
			if err := t.plan(c, "with", c.StringSlice("with")); err != nil {
				return err
			}
			if err := t.plan(c, "try", candidate); err != nil {
				return err
			}
			if t.options.Backend != replay.Posix {
				if root != roots[0] {
					continue
				}
				t.Root = ""
			}
			l.trials = append(l.trials, t)
			l.report.Trials = append(l.report.Trials, t.Trial)
		}
	}
	return nil
}

// plan adds the steps that a flag holds. Options are for candidates only: those
// of all have flags of their own.
func (t *labTrial) plan(c *cli.Context, flag string, steps []string) error {
	for _, step := range steps {
		name, arg := lab.Cut(step)
		set := setting(name)
		switch {
		case plugin.Is(step):
			p, err := parseProgram(c, step)
			if err != nil {
				return err
			}
			t.programs = append(t.programs, p)
		case set == nil || flag != "try":
			if err := checkTransform(c, flag, step); err != nil {
				return err
			}
			t.transforms = append(t.transforms, step)
		default:
			if err := set(&t.options, arg); err != nil {
				return usage(c, "--%s: %s: %w", flag, step, err)
			}
		}
	}
	return nil
}

// checkTransform says before anything is replayed what is wrong with a step
// that a flag holds.
func checkTransform(c *cli.Context, flag, step string) error {
	_, err := extensions.transforms.Parse(step)
	if err == nil {
		return nil
	}
	text := "pianola compile --list shows the transforms, pianola replay --help the options"
	switch name, arg := lab.Cut(step); {
	case flag == "with" && setting(name) != nil:
		text = fmt.Sprintf("--%s %s sets it for all", name, arg)
	case !c.Bool("grid") && strings.Contains(arg, ","):
		text = "--grid takes lists"
	case strings.Contains(arg, "+"):
		text = "what follows a + is a step only where it begins with a name; " + text
	}
	return &exitError{ExitUsage, &hint{fmt.Errorf("lab: --%s: %w", flag, err), text}}
}

// compile makes the traces, and reads from the baseline's what the application
// was like.
func (l *laboratory) compile(traces *labTraces) (err error) {
	for _, t := range l.trials {
		if t.trace, err = traces.of(t.transforms, t.programs); err != nil {
			return err
		}
		if baseline := l.trials[0].trace; t.trace != baseline {
			if t.Unchanged, err = equal(baseline, t.trace); err != nil {
				return err
			}
		}
	}
	t, err := traceWithin(l.trials[0].trace, l.memory)
	if err != nil {
		return withHint(named(traces.name, err))
	}
	l.meta = t.Header().Meta
	l.report.Application, err = profile.Read(t.Events())
	return err
}

// run replays all trials in rounds. It ends early, with what was measured until
// then, if ctx is done or the baseline can't be replayed; any other trial that
// can't is given up.
func (l *laboratory) run(ctx context.Context) error {
	shown := newSteps("replaying", l.runs*len(l.trials))
	defer shown.done()
	for round := range l.runs {
		for _, i := range lab.Order(len(l.trials), round) {
			t := l.trials[i]
			shown.describe("run %d of %d: %s %s", round+1, l.runs, t.Candidate, t.Root)
			if t.Err == nil {
				err := l.replay(ctx, t)
				if ctx.Err() != nil || err != nil && i == 0 {
					l.report.Interrupted = true
					return cmp.Or(ctx.Err(), err)
				}
				t.Err = err
			}
			shown.step()
		}
	}
	return nil
}

// replay runs a trial once. Of a run that fails nothing is kept.
func (l *laboratory) replay(ctx context.Context, t *labTrial) error {
	trace, err := traceWithin(t.trace, l.memory)
	if err != nil {
		return err
	}
	r, err := replay.Run(ctx, trace, t.options)
	if err != nil {
		return err
	}
	p, err := profile.Read(r.Events())
	if err != nil {
		return err
	}
	example := ""
	if len(r.Differences) > 0 {
		example = differenceText(&r.Differences[0])
	}
	t.Add(p, r.Failed, r.Differed, example)
	return nil
}
