package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"pianola/compile/source"
	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/experiment/replays"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/importer"
	"pianola/format/provenance"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/plugin"
	"pianola/replay"
	"pianola/replay/sandbox"
)

// experimenter does the experiment of a command: it records, compiles and replays for it,
// prints its report, and writes its files.
type experimenter struct {
	*cli.Context
	*experiment.Experiment
	options replay.Options // of the recording as it is
	judging *judging
	roots   []experiment.Root
	copied  bool     // some candidate has copies, so that roots have a directory for each
	dir     string   // where the trace and the logs are left, "" for none
	page    string   // name of the page, "" for none
	made    []string // directories of workloads
}

// newExperimenter parses the options that all experiments have.
func newExperimenter(c *cli.Context, candidates []experiment.Candidate) (e *experimenter, err error) {
	e = &experimenter{Context: c, page: c.String("html")}
	if e.judging, err = judgingOf(c); err != nil {
		return nil, err
	}
	if e.options, err = commonOptions(c); err != nil {
		return nil, err
	}
	if e.roots, err = experiment.ParseRoots(c.StringSlice("root")); err != nil {
		return nil, usage(c, "--root: %w", err)
	}
	if len(e.roots) > 1 {
		experiment.NameRoots(e.roots)
	}
	if len(e.roots) > 0 && !e.options.Backend.Has().Roots && candidates == nil {
		return nil, usage(c, "--root: the backend %s has no use for it", e.options.Backend)
	}
	e.Experiment = &experiment.Experiment{
		Runs: c.Int("runs"), Candidates: append([]experiment.Candidate{nil}, candidates...), Keep: c.Bool("keep"),
		NewRoot: func() (string, error) { return newRoot(c, c.Bool("keep")) }, Clear: sandbox.Clear,
		Warn:   func(err error) { console.Warn("%s: %v", c.Command.Name, err) },
		Report: experiment.Report{Options: replayOptionsOf(c)},
	}
	return e, nil
}

// subject returns the subject of a recording or a trace in a file.
func (e *experimenter) subject(name string) *experiment.Subject {
	open := sync.OnceValues(func() (*source.Source, error) { return openRecordings(e.Context, importer.Options{}, name) })
	return &experiment.Subject{
		Name: name, Roots: e.roots,
		Setup: func(c experiment.Candidate) (experiment.Setup, error) { return e.setup(open, c) },
		Application: func(trace *os.File) (run experiment.Run, paced *compare.Paced, err error) {
			memory := memoryOf(&e.options)
			opened, err := recordings.Within(trace, memory)
			if err != nil {
				return run, nil, withHint(source.Named(name, err))
			}
			run.Meta = opened.Header().Meta
			if run.Profile, paced, err = replays.Recording(opened, e.options.Pace(), true, memory); err != nil {
				return run, nil, source.Named(name, err)
			}
			return run, paced, nil
		},
	}
}

// measure plans and plays all subjects, which takes long: whatever can be refused is refused
// before. It returns why it ended early; err if nothing was measured.
func (e *experimenter) measure(subjects ...*experiment.Subject) (early, err error) {
	for _, s := range subjects {
		if err := e.Plan(s); err != nil {
			return nil, err
		}
	}
	if err := e.usable(); err != nil {
		return nil, err
	}
	defer e.ShowOn(&session.Console)()
	for _, s := range subjects {
		if early, err = e.Play(e.Context.Context, s); err != nil {
			return nil, compileHint(err)
		}
		if early != nil {
			break
		}
	}
	if e.Context.Err() != nil {
		signal.Reset(os.Interrupt) // a second interrupt ends what is written
	}
	return early, e.Report.Refused(interrupted(early))
}

// usable makes sure that the roots can be used and the outputs be created, and leaves
// nothing: a command that is recorded may list the working directory.
func (e *experimenter) usable() error {
	for _, root := range e.roots {
		if !e.options.Backend.Has().Roots || e.IsSet("workload") {
			break
		}
		r, err := sandbox.OpenRoot(root.Dir, nil)
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			return withHint(err)
		}
	}
	if len(e.roots) == 0 && e.options.Backend.Has().Roots {
		dir, err := newRoot(e.Context, false)
		if err != nil {
			return err
		}
		os.Remove(dir)
	}
	if e.dir != "" {
		if err := os.MkdirAll(e.dir, 0o777); err != nil {
			return fmt.Errorf("-o: %w", err)
		}
	}
	for _, o := range []struct{ name, otherwise string }{
		{e.page, "--html FILE chooses another place for the page"}, {e.String("save"), "--save FILE chooses another place"},
	} {
		out, err := session.files.CreateIf(o.name, files.Public)
		if err != nil {
			return console.WithHint(err, o.otherwise)
		}
		out.Abort()
		session.files.Release(o.name)
	}
	return nil
}

// conclude prints the report, writes the page and the baseline, and returns what the
// command ends with.
func (e *experimenter) conclude(early error) error {
	pairs := e.judged()
	var err error
	if early == nil { // these are the runs that were asked for
		err = session.files.Put(e.String("save"), files.Private, e.Report.WriteBaseline)
	}
	if err == nil {
		err = e.print(pairs)
	}
	if err == nil {
		err = session.files.Put(e.page, files.Public, func(w io.Writer) error { return e.Report.WritePage(w, e.judging.text.Tolerance, pairs) })
	}
	switch {
	case err != nil:
		return err
	case early != nil:
		return interrupted(early)
	case e.Report.Withheld() != "":
		return statusOf(compare.Inconclusive)
	}
	return e.judging.status(pairs...)
}

// judged returns the comparisons that bench judges: those of one recording.
func (e *experimenter) judged() (pairs []experiment.Pair) {
	if len(e.Report.Subjects) > 1 || e.Command.Name == "lab" {
		return nil
	}
	pairs = e.Report.Pairs()
	for i := range pairs {
		pairs[i].Complete(e.judging.checks)
	}
	return pairs
}

// print prints the report, or the only comparison.
func (e *experimenter) print(pairs []experiment.Pair) error {
	form := &e.judging.form
	out := session.Stdout(form.Name)
	err := e.Report.Write(cells(e.Context, form.Name, out), form, e.judging.text, pairs)
	if err == nil && form.Name == "text" && e.page != "" {
		_, err = fmt.Fprintf(out, "\npage: %s\n", format.Visible(e.page))
	}
	return err
}

// replayOptionsOf returns the options of replay that the command line has, which hold for all
// of an experiment.
func replayOptionsOf(c *cli.Context) (all []experiment.Option) {
	for _, o := range rowsOf(commandName(c.Command)) {
		if o.set == nil || !c.IsSet(o.name) {
			continue
		}
		for _, value := range o.values(c) {
			all = append(all, experiment.Option{Name: o.name, Value: value})
		}
	}
	return all
}

// setup compiles and replays one candidate: its transforms, programs and options.
type setup struct {
	*experimenter
	open       func() (*source.Source, error) // the recording, which all candidates share
	options    replay.Options
	transforms []string
	programs   []*plugin.Program
	replays    int // that are done
}

// setup parses the steps of a candidate.
func (e *experimenter) setup(open func() (*source.Source, error), candidate experiment.Candidate) (*setup, error) {
	s := &setup{experimenter: e, open: open, options: e.options}
	if err := s.add("with", e.StringSlice("with")); err != nil {
		return nil, err
	}
	if err := s.add("try", candidate); err != nil {
		return nil, err
	}
	switch more := len(s.options.Maps) > len(e.options.Maps); {
	case s.Rooted():
	case more:
		return nil, usage(e.Context, "--try %s: the backend %s has no directories to map to", candidate, s.options.Backend)
	default:
		s.options.Maps = nil
	}
	e.copied = e.copied || s.options.Copies > 1
	return s, nil
}

// Beside returns the roots of maps.
func (s *setup) Beside() (dirs []string) {
	for _, m := range s.options.Maps {
		dirs = append(dirs, m.Root)
	}
	return dirs
}

// add adds the steps of a flag. Only a candidate's steps can be options of
// replay; options for all have flags of their own.
func (s *setup) add(flag string, steps []string) error {
	for _, step := range steps {
		name, arg := experiment.Cut(step)
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
	name, arg := experiment.Cut(step)
	text := likeStep(name, flag == "try") + "pianola compile --list shows the transforms, pianola replay --help the options"
	switch {
	case flag == "with" && settingOf(name) != nil:
		text = fmt.Sprintf("--%s %s sets it for all", name, arg)
	case !c.Bool("grid") && strings.Contains(arg, ","):
		text = "--grid takes lists"
	case strings.Contains(arg, "+"):
		text = "what follows a + is a step only if it begins with a name; " + text
	}
	return &exitError{ExitUsage, console.WithHint(fmt.Errorf("lab: --%s: %w", flag, err), text)}
}

// memoryOf returns how many bytes of memory a trace may take, which its copies share.
func memoryOf(o *replay.Options) int64 { return o.Limits.Complete(o.Copies).Memory }

// Making returns the transforms, and then the programs.
func (s *setup) Making() []string {
	steps := slices.Clone(s.transforms)
	for _, p := range s.programs {
		steps = append(steps, p.String())
	}
	return steps
}

// Compile applies transforms to the recording, compiles it, and applies
// programs to the trace. It leaves a copy of the trace where all is left.
func (s *setup) Compile() (*os.File, error) {
	src, err := s.open()
	if err != nil {
		return nil, err
	}
	release := endOn(s.Context.Context) // there is nothing to remove yet
	f, err := src.Compile(s.transforms)
	release()
	if err == nil {
		f, err = recordings.Through(s.Context.Context, f, s.programs)
	}
	if err != nil || s.dir == "" {
		return f, err
	}
	if err = s.leave("trace.bin", func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, 0, math.MaxInt64))
		return err
	}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// leave writes a file that is left.
func (e *experimenter) leave(name string, write func(io.Writer) error) error {
	return session.files.Put(filepath.Join(e.dir, name), files.Private, write)
}

// Rooted reports whether the backend is the kernel.
func (s *setup) Rooted() bool { return s.options.Backend.Has().Roots }

// Replay replays the trace once, and adds up its copies.
func (s *setup) Replay(ctx context.Context, f *os.File, root string) (run experiment.Run, err error) {
	o := s.options
	trace, err := recordings.Within(f, memoryOf(&o))
	if err != nil {
		return run, err
	}
	o.Root, o.Keep = root, s.Rooted()
	about := slices.Concat(optionsOf(s.Context), provenance.Dir(root, s.Bool("no-host")))
	results, err := s.play(ctx, trace, o)
	if err != nil {
		return run, err
	}
	about = append(about, provenance.End()...)
	run, err = replays.RunOf(results, about)
	if err != nil || s.dir == "" {
		return run, err
	}
	s.replays++
	name := compare.DefaultNames[1]
	for _, r := range s.roots {
		if r.Dir == root {
			name = cmp.Or(r.Name, name)
		}
	}
	return run, s.leave(fmt.Sprintf("%s-%d.log", name, s.replays), func(w io.Writer) error { return results[0].WriteLog(w, about) })
}

// labPart is the name of the directories of copies, without their numbers.
const labPart = "trace"

// play replays a trace, or copies of it.
func (s *setup) play(ctx context.Context, trace *bin.Trace, o replay.Options) ([]*replay.Result, error) {
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
