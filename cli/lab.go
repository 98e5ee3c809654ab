package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/advice"
	"pianola/compare"
	"pianola/diagnosis"
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
		Usage: "find out which changes of the I/O or the storage save time",
		UsageText: "pianola lab [OPTION]… [--try CANDIDATE]… TRACE\n" +
			"pianola lab [OPTION]… --root [NAME=]DIR --root [NAME=]DIR… TRACE",
		Description: "Replays a recording unchanged (the baseline) and with each candidate, in turn, and compares the times.\n" +
			"A candidate is a transform or program (pianola compile --list), an option of replay such as\n" +
			"backend=memory, or several of them joined by +. With --grid, arguments are lists, and all combinations\n" +
			"are tried.\n" +
			"\n" +
			"Without --try, lab diagnoses the recording as profile does and tries what the findings suggest. A table\n" +
			"shows which suggestions certainly save time, how much, and what each one risks.\n" +
			"\n" +
			"TRACE is a recording or a compiled trace; docs/reference/transforms.md says what a compiled trace lacks. The\n" +
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
	l, e, err := newExperiment(c, name, candidates)
	if err != nil {
		return err
	}
	if findings != nil {
		e.GiveUp, e.Report.Findings = true, findings
	}
	if len(e.Report.Trials) == 1 && findings == nil {
		return usage(c, "--root: the backend %s has no use for it", c.String("backend"))
	}
	html, err := createIf(c.String("html"), public) // fails before anything is measured
	if err != nil {
		return err
	}
	defer html.abort()
	defer e.Close()
	meta, runErr, err := l.measure(e)
	if err != nil {
		return err
	}
	writeText := e.Report.WriteText
	if findings != nil {
		a := advice.New(findings, &e.Report)
		writeText, e.Report.Findings = a.WriteText, a.Document()
	}
	if c.Bool("json") {
		err = printJSON(e.Report.Document())
	} else {
		err = writeText(stdout("text"))
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

// candidatesOf returns the candidates that the command line names or, where it names
// nothing to compare, those that a diagnosis of the recording suggests, and its findings.
func candidatesOf(c *cli.Context, name string) ([]lab.Candidate, []profile.Finding, error) {
	if len(c.StringSlice("try")) > 0 {
		candidates, err := lab.Parse(c.StringSlice("try"), c.Bool("grid"), isStep)
		if err != nil {
			err = usage(c, "--try: %w", err)
		}
		return candidates, nil, err
	}
	if len(c.StringSlice("root")) > 1 {
		return nil, nil, nil
	}
	findings, err := diagnose(name)
	return advice.Candidates(findings), findings, err
}

// diagnose returns the findings of a recording or a compiled trace, not nil.
func diagnose(name string) ([]profile.Finding, error) {
	collector := &profile.Collector{Rows: profileRows(readingMemory()), NoParts: true}
	_, subject, err := collect(collector, name)
	if err != nil {
		return nil, err
	}
	if subject.Kind == diagnosis.Log {
		return nil, fmt.Errorf("%s: the log of a replay, not a recording", name)
	}
	return append([]profile.Finding{}, diagnosis.Of(collector.Profile(), subject)...), nil
}

// runShown replays all of an experiment, and shows the progress.
func runShown(c *cli.Context, e *lab.Experiment) error {
	shown := newCounted("replaying", e.Runs*len(e.Report.Trials))
	defer shown.finish()
	e.Show = func(done int, t *lab.Trial) {
		shown.set(int64(done), int64(e.Runs*len(e.Report.Trials)))
		shown.describe("run %d of %d: %s", done/len(e.Report.Trials)+1, e.Runs, e.Report.Label(t))
	}
	return e.Run(c.Context)
}

// replayOptionsOf returns the options of replay that hold for all of an experiment.
func replayOptionsOf(c *cli.Context) (all []lab.Option) {
	for _, o := range rowsOf(commandName(c.Command)) {
		if o.set == nil {
			continue
		}
		for _, value := range o.values(c) {
			all = append(all, lab.Option{Name: o.name, Value: value})
		}
	}
	return all
}

// newExperiment plans the experiment of a command that has the options of lab.
func newExperiment(c *cli.Context, name string, candidates []lab.Candidate) (*labRunner, *lab.Experiment, error) {
	options, err := commonOptions(c)
	if err != nil {
		return nil, nil, err
	}
	roots, err := rootsOf(c)
	if err != nil {
		return nil, nil, err
	}
	l := &labRunner{Context: c, options: options, traces: &labTraces{ctx: c.Context, name: name}}
	e := &lab.Experiment{
		Runs: c.Int("runs"), Candidates: append([]lab.Candidate{nil}, candidates...), Roots: roots, Keep: c.Bool("keep"),
		Setup: func(candidate lab.Candidate) (lab.Setup, error) { return l.setup(candidate) }, NewRoot: l.newRoot, Clear: sandbox.Clear,
		Warn:   func(err error) { warn("%s: %v", c.Command.Name, err) },
		Report: lab.Report{Trace: name, Options: replayOptionsOf(c)},
	}
	if err := e.Plan(); err != nil {
		return nil, nil, err
	}
	return l, e, nil
}

// isStep reports whether a name is that of a step of a candidate.
func isStep(name string) bool {
	return settingOf(name) != nil || plugin.Is(name+":") || extensions.transforms.Has(name)
}

// labRunner compiles and replays for an experiment.
type labRunner struct {
	*cli.Context
	options replay.Options // of the baseline
	copied  bool           // some candidate has copies, so that roots have a directory for each
	traces  *labTraces
}

// labSetup is the setup of one candidate: its transforms, programs and options.
type labSetup struct {
	*labRunner
	options    replay.Options
	transforms []string
	programs   []*plugin.Program
}

// setup parses the steps of a candidate.
func (l *labRunner) setup(candidate lab.Candidate) (*labSetup, error) {
	s := &labSetup{labRunner: l, options: l.options}
	if err := s.add("with", l.StringSlice("with")); err != nil {
		return nil, err
	}
	if err := s.add("try", candidate); err != nil {
		return nil, err
	}
	switch more := len(s.options.Maps) > len(l.options.Maps); {
	case s.Rooted():
	case more:
		return nil, usage(l.Context, "--try %s: the backend %s has no directories to map to", candidate, s.options.Backend)
	default:
		s.options.Maps = nil
	}
	l.copied = l.copied || s.options.Copies > 1
	return s, nil
}

// Beside returns the roots of maps.
func (s *labSetup) Beside() (dirs []string) {
	for _, m := range s.options.Maps {
		dirs = append(dirs, m.Root)
	}
	return dirs
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

// measure compiles and replays an experiment. It returns the remarks of its recording,
// and why it ended early; err if nothing was measured.
func (l *labRunner) measure(e *lab.Experiment) (meta []format.Meta, early, err error) {
	if meta, err = l.compile(e); err != nil {
		return nil, nil, compileHint(err)
	}
	if e.Report.Idle() {
		return meta, nil, nil
	}
	if err := e.OpenRoots(); err != nil {
		return nil, nil, err
	}
	early = runShown(l.Context, e)
	if l.Context.Context.Err() != nil {
		signal.Reset(os.Interrupt) // removing files can take long: a second interrupt ends it
	}
	if e.Report.Trials[0].Runs() == 0 {
		return nil, nil, interrupted(early)
	}
	return meta, early, nil
}

// compile makes the traces, reads the application's profile from the baseline's
// trace, and returns the remarks of its recording.
func (l *labRunner) compile(e *lab.Experiment) ([]format.Meta, error) {
	if err := l.traces.open(l.Context); err != nil {
		return nil, err
	}
	f, err := e.Compile()
	if err != nil {
		return nil, err
	}
	memory := memoryOf(&l.options)
	t, err := traceWithin(f, memory)
	if err != nil {
		return nil, withHint(named(l.traces.name, err))
	}
	if e.Report.Application, e.Report.Paced, err = recordingAt(t, l.options.Pace(), memory); err != nil {
		return nil, named(l.traces.name, err)
	}
	return t.Header().Meta, nil
}

// memoryOf returns how many bytes of memory a trace may take, which its copies share.
func memoryOf(o *replay.Options) int64 { return o.Limits.Complete(o.Copies).Memory }

// newRoot makes a root for candidates if the command line names none.
func (l *labRunner) newRoot() (string, error) {
	dir, err := l.makeRoot()
	if err == nil && l.Bool("keep") {
		say("%s: keeping %s", l.Command.Name, dir)
	}
	return dir, err
}

func (l *labRunner) makeRoot() (string, error) {
	dir, err := os.MkdirTemp(".", "pianola-root-")
	if err != nil {
		return "", &hint{err, "--root chooses another directory"}
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
func (s *labSetup) Replay(ctx context.Context, f *os.File, root string) (lab.Run, error) {
	run, _, err := s.replay(ctx, f, root)
	return run, err
}

// replay is Replay, with the result of each copy.
func (s *labSetup) replay(ctx context.Context, f *os.File, root string) (run lab.Run, results []*replay.Result, err error) {
	o := s.options
	trace, err := traceWithin(f, memoryOf(&o))
	if err != nil {
		return run, nil, err
	}
	o.Root, o.Keep = root, s.Rooted()
	if results, err = s.play(ctx, trace, o); err != nil {
		return run, nil, err
	}
	var sum profile.Sum
	for _, r := range results {
		run.Failed, run.Differed = max(run.Failed, r.Failed), max(run.Differed, r.Differed)
		if len(r.Differences) > 0 && run.Example == "" {
			run.Example = differenceText(&r.Differences[0])
		}
		c, err := collectWithin(r.Events(), r.Options.Limits.Memory)
		if err != nil {
			return run, nil, err
		}
		if len(results) == 1 {
			run.Profile = c.Profile()
			return run, results, nil
		}
		sum.Add(c)
	}
	run.Profile = sum.Profile()
	return run, results, nil
}

// labPart is the name of the directories of copies, without their numbers.
const labPart = "trace"

// play replays a trace, or copies of it.
func (s *labSetup) play(ctx context.Context, trace *bin.Trace, o replay.Options) ([]*replay.Result, error) {
	if !s.copied {
		r, err := replay.Run(ctx, trace, o)
		return []*replay.Result{r}, err
	}
	// One copy works in the directory of the first of several: files are built once.
	name := labPart
	if o.Copies == 1 {
		name += "-1"
	}
	return replay.RunAll(ctx, []replay.Part{{Name: name, Trace: trace}}, o)
}
