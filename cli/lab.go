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
	"pianola/replay/sandbox"
)

func labCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "lab",
		Usage: "find out which changes of an application's I/O, or of its storage, save time",
		UsageText: "pianola lab TRACE --try NAME[=ARG]… [--grid] [--runs N] [--with NAME[=ARG]]… [--root DIR]… [--keep]\n" +
			"[--backend …] [--cache …] [--timing …] [--speed X] [--wait …] [--order …] [--outside …] [--compressibility PERCENT]\n" +
			"[--memory] [--landlock] [--limit NAME=VALUE]… [--json] [--html FILE]",
		Description: "Replays a recording as it is, the baseline, and every candidate, in turn, and compares the\n" +
			"times. A candidate is a transform or program (pianola compile --list), an option of replay such as\n" +
			"backend=memory, or several joined by +. With --grid, arguments are lists, and all combinations\n" +
			"are tried. The operand can be a compiled trace if no candidate is a transform. The exit status\n" +
			"is 3 where the recording holds too little of the application's I/O for a verdict.\n\n" +
			"Example: pianola lab trace.txt --try sync=none --try cache=cold --try sync=none+cache=cold\n" +
			"Example: pianola lab trace.txt --grid --try prefetch=2,4,8 --try coalesce=64KiB,1MiB --json",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringSliceFlag{Name: "try", Usage: "a candidate, `NAME[=ARG]`, several joined by +; repeatable"},
			&cli.BoolFlag{Name: "grid", Usage: "take the arguments of --try as lists, such as 2,4,8, and try all combinations"},
			&cli.IntFlag{Name: "runs", Value: compare.MinRuns, Usage: "replay each `N` times"},
			&cli.StringSliceFlag{Name: "with", Usage: "apply the transform `NAME[=ARG]` to the recording first, also for the baseline; repeatable"},
			&cli.StringSliceFlag{Name: "root", Usage: "work in `DIR`, created if missing; several are compared"},
			pluginTimeout(),
		}, flagsOf(replayCommand(), "backend", "cache", "timing", "speed", "wait", "order", "outside", "compressibility", "memory", "landlock", "limit", "keep"), []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.StringFlag{Name: "html", Usage: "write an HTML page with a chart and tables to `FILE`"},
		}),
		Action: runLab,
	})
}

func runLab(c *cli.Context) error {
	name, err := operand(c, "recording or compiled trace")
	if err != nil {
		return err
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
	options, err := commonOptions(c)
	if err != nil {
		return err
	}
	roots := c.StringSlice("root")
	for i, root := range roots {
		if root == "" || slices.Contains(roots[:i], root) {
			return usage(c, "--root: %q is no directory, or repeated", root)
		}
	}
	l := &laboratory{Context: c, options: options, traces: &labTraces{ctx: c.Context, name: name}}
	e := &lab.Experiment{
		Runs: c.Int("runs"), Candidates: append([]lab.Candidate{nil}, candidates...), Roots: roots, Keep: c.Bool("keep"),
		Setup: l.setup, NewRoot: l.newRoot, Clear: sandbox.Clear,
		Warn:   func(err error) { warn("lab: %v", err) },
		Report: lab.Report{Trace: name},
	}
	for i := range settings {
		name := settings[i].name
		e.Report.Options = append(e.Report.Options, lab.Option{Name: name, Value: fmt.Sprint(c.Value(name))})
	}
	if err := e.Plan(); err != nil {
		return err
	}
	if len(e.Report.Trials) == 1 {
		return usage(c, "--root: the backend %s has no use for it", c.String("backend"))
	}
	html, err := createIf(c.String("html"), public) // fails before anything is measured
	if err != nil {
		return err
	}
	defer html.abort()
	defer e.Close()
	meta, err := l.compile(e)
	if err != nil {
		return compileHint(err)
	}
	if err := e.OpenRoots(); err != nil {
		return err
	}
	shown := newCounted("replaying", e.Runs*len(e.Report.Trials))
	e.Show = func(done int, t *lab.Trial) {
		shown.set(int64(done), int64(e.Runs*len(e.Report.Trials)))
		shown.describe("run %d of %d: %s %s", done/len(e.Report.Trials)+1, e.Runs, t.Candidate, t.Root)
	}
	runErr := e.Run(c.Context)
	shown.done()
	if c.Context.Err() != nil {
		signal.Reset(os.Interrupt) // removing files can take long: a second interrupt ends it
	}
	if e.Report.Trials[0].Runs() == 0 {
		return interrupted(runErr)
	}
	if c.Bool("json") {
		err = printJSON(e.Report.Document())
	} else {
		err = e.Report.WriteText(stdout("text"))
	}
	if err != nil {
		return err
	}
	err = html.put(func(w io.Writer) error {
		return page.WriteLab(w, &page.Lab{Meta: meta, Conclusion: e.Report.Conclusion(), Coverage: *e.Report.Coverage(), Figures: e.Report.Document()})
	})
	if err != nil {
		return err
	}
	if runErr != nil {
		return interrupted(runErr)
	}
	if e.Report.Coverage().Withheld() != "" {
		return statusOf(compare.Inconclusive)
	}
	return nil
}

// isStep reports whether a name is that of a step of a candidate.
func isStep(name string) bool {
	return settingOf(name) != nil || plugin.Is(name+":") || extensions.transforms.Has(name)
}

// laboratory compiles and replays for an experiment.
type laboratory struct {
	*cli.Context
	options replay.Options // of the baseline
	traces  *labTraces
}

// labSetup is the setup of one candidate: its transforms, programs and options.
type labSetup struct {
	*laboratory
	options    replay.Options
	transforms []string
	programs   []*plugin.Program
}

// setup parses the steps of a candidate.
func (l *laboratory) setup(candidate lab.Candidate) (lab.Setup, error) {
	s := &labSetup{laboratory: l, options: l.options}
	if err := s.add("with", l.StringSlice("with")); err != nil {
		return nil, err
	}
	if err := s.add("try", candidate); err != nil {
		return nil, err
	}
	return s, nil
}

// add adds the steps of a flag. Only a candidate's steps can be options of
// replay; options for all have flags of their own.
func (s *labSetup) add(flag string, steps []string) error {
	for _, step := range steps {
		name, arg := lab.Cut(step)
		set := settingOf(name)
		switch {
		case plugin.Is(step):
			p, err := parseProgram(s.Context, step)
			if err != nil {
				return err
			}
			s.programs = append(s.programs, p)
		case set == nil || flag != "try":
			if err := checkTransform(s.Context, flag, step); err != nil {
				return err
			}
			s.transforms = append(s.transforms, step)
		default:
			if err := set.parse(s.Context, &s.options, flag+": "+step, arg); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTransform returns an error for a step that is no transform, before
// anything is replayed.
func checkTransform(c *cli.Context, flag, step string) error {
	_, err := extensions.transforms.Parse(step)
	if err == nil {
		return nil
	}
	name, arg := lab.Cut(step)
	text := likeStep(name, flag == "try") + "pianola compile --list shows the transforms, pianola replay --help the options"
	switch {
	case flag == "with" && settingOf(name) != nil:
		text = fmt.Sprintf("--%s %s sets it for all", name, arg)
	case !c.Bool("grid") && strings.Contains(arg, ","):
		text = "--grid takes lists"
	case strings.Contains(arg, "+"):
		text = "what follows a + is a step only if it begins with a name; " + text
	}
	return &exitError{ExitUsage, &hint{fmt.Errorf("lab: --%s: %w", flag, err), text}}
}

// compile makes the traces, reads the application's profile from the baseline's
// trace, and returns the remarks of its recording.
func (l *laboratory) compile(e *lab.Experiment) ([]format.Meta, error) {
	if err := l.traces.open(l.Context); err != nil {
		return nil, err
	}
	f, err := e.Compile()
	if err != nil {
		return nil, err
	}
	t, err := traceWithin(f, l.memory())
	if err != nil {
		return nil, withHint(named(l.traces.name, err))
	}
	e.Report.Application, err = profile.Read(t.Events())
	return t.Header().Meta, err
}

// memory returns how many bytes of memory a trace may take.
func (l *laboratory) memory() int64 { return cmp.Or(l.options.Limits.Memory, bin.DefaultLimit) }

// newRoot makes a root for candidates if the command line names none.
func (l *laboratory) newRoot() (string, error) {
	dir, err := os.MkdirTemp(".", "pianola-root-")
	if err != nil {
		return "", &hint{err, "--root chooses another directory"}
	}
	if l.Bool("keep") {
		warn("lab: keeping %s", dir)
	}
	return dir, nil
}

// Making returns the transforms, and then the programs.
func (s *labSetup) Making() []string {
	steps := slices.Clone(s.transforms)
	for _, p := range s.programs {
		steps = append(steps, p.String())
	}
	return steps
}

// Compile applies transforms to the recording, compiles it, and applies
// programs to the trace.
func (s *labSetup) Compile() (*os.File, error) {
	f, err := s.traces.behind(s.transforms)
	if err != nil {
		return nil, err
	}
	return through(s.Context.Context, f, s.programs)
}

// Rooted reports whether the backend is the kernel.
func (s *labSetup) Rooted() bool { return s.options.Backend == replay.Posix }

// Replay replays the trace once.
func (s *labSetup) Replay(ctx context.Context, f *os.File, root string) (run lab.Run, err error) {
	trace, err := traceWithin(f, s.memory())
	if err != nil {
		return run, err
	}
	o := s.options
	o.Root, o.Keep = root, s.Rooted()
	r, err := replay.Run(ctx, trace, o)
	if err != nil {
		return run, err
	}
	run = lab.Run{Failed: r.Failed, Differed: r.Differed}
	if floor, ok := floorOf(trace.Header(), &r.Options); ok {
		run.Floor = &floor
	}
	if len(r.Differences) > 0 {
		run.Example = differenceText(&r.Differences[0])
	}
	run.Profile, err = profile.Read(r.Events())
	return run, err
}
