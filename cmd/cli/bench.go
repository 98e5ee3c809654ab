package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/experiment/sides"
	"pianola/format"
	"pianola/internal/console"
	"pianola/record/output"
	"pianola/record/runs"
)

func benchCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "bench",
		Usage: "record, replay and compare a command in one go",
		UsageText: "pianola bench [OPTION]… -- COMMAND [ARG…]\n" +
			"pianola bench [OPTION]… --trace TRACE\n" +
			"pianola bench [OPTION]… --workload NAME,…|quick|all",
		Description: "Records the command, compiles the recording, and replays it on each root. The command and each root run\n" +
			"in turn, --runs times. With one root or none, the replays are compared with the command, which shows\n" +
			"how true they are. Two roots are compared with each other, which shows where the command is faster.\n" +
			"Further roots are compared with the first.\n" +
			"\n" +
			"A command that makes other calls in its second run is recorded once, unless --setup restores its\n" +
			"files. With -o, bench leaves a page and the files that it is made from. The standard output of the\n" +
			"command goes to standard error. The exit status is that of compare.\n" +
			"\n" +
			"With --trace, bench replays a recording or a compiled trace, and with --workload recordings that ship:\n" +
			"those named, a few quick ones of different kinds, or all of them (pianola workload). Workloads are\n" +
			"replayed in a new directory in each root, by default in the working directory. It is removed at the end.\n" +
			"\n" +
			"Example: pianola bench -- sqlite3 app.db '.read load.sql'\n" +
			"Example: pianola bench --root nvme=/mnt/nvme/root --root hdd=/mnt/hdd/root -- ./load.sh\n" +
			"Example: pianola bench --workload postgresql,sqlite3 --root /mnt/volume\n" +
			"Example: pianola bench --setup 'rm -f app.db' -- ./load.sh",
		Action: runBench,
	})
}

// benchPage is the name of the page in the directory of -o.
const benchPage = "bench.html"

func runBench(c *cli.Context) (err error) {
	e, err := newExperimenter(c, nil)
	if err != nil {
		return err
	}
	switch {
	case len(e.roots) == 1 && e.roots[0].Name == compare.DefaultNames[0]:
		return usage(c, "--root: %s is the name of the command's side", e.roots[0].Name)
	case len(e.roots) > 1 && c.IsSet("save"):
		return usage(c, "--save is for one root")
	}
	var subjects []*experiment.Subject
	switch text := c.String("workload"); {
	case c.IsSet("workload") && (c.IsSet("trace") || c.NArg() > 0), c.IsSet("trace") && c.NArg() > 0:
		return usage(c, "a command, --trace and --workload exclude one another")
	case c.IsSet("workload"):
		defer e.removeMade()
		subjects, err = e.workloads(text)
	case c.IsSet("trace"):
		subjects = []*experiment.Subject{e.subject(c.String("trace"))}
	default:
		b := &commanded{experimenter: e}
		subjects, err = b.subjects()
	}
	if err == nil {
		err = e.compareWithSaved(subjects)
	}
	if err != nil {
		return err
	}
	if form := e.judging.form.Name; form != "text" && form != "json" && (len(subjects) > 1 || len(e.roots) > 2) {
		return usage(c, "--format %s is for one comparison: one recording, and at most two roots", form)
	}
	e.Whole = len(subjects) == 1
	if e.dir = c.String("o"); e.dir != "" {
		if len(subjects) > 1 {
			return usage(c, "-o is for one recording")
		}
		if !c.IsSet("html") {
			e.page = filepath.Join(e.dir, benchPage)
		}
	}
	early, err := e.measure(subjects...)
	if err != nil {
		return err
	}
	return e.conclude(early)
}

// compareWithSaved makes the runs of --baseline a side of each subject.
func (e *experimenter) compareWithSaved(subjects []*experiment.Subject) error {
	name := e.String("baseline")
	if name == "" {
		return nil
	}
	if len(e.roots) > 1 {
		return usage(e.Context, "--baseline is for one root")
	}
	saved, err := experiment.OpenBaseline(&session.files, name, e.IsSet("workload"))
	if err != nil {
		return err
	}
	beside := compare.DefaultNames[1]
	if len(e.roots) > 0 && e.roots[0].Name != "" {
		beside = e.roots[0].Name
	}
	for _, s := range subjects {
		s.Saved = experiment.SavedSide(saved, s.BaselineName(), beside)
	}
	return nil
}

// commanded is the experiment of a command that is recorded.
type commanded struct {
	*experimenter
	recorder *runs.Recorder
	names    []string // of the recordings
	taken    int      // recordings
}

func (b *commanded) subjects() ([]*experiment.Subject, error) {
	n := b.Int("recordings")
	if n == 0 {
		n = b.Runs
	}
	o, err := recordOptions(b.Context)
	if err != nil {
		return nil, err
	}
	o.Record.Stdout = os.Stderr // standard output is that of bench
	dir := b.String("o")
	o.Temporary = dir == ""
	if b.recorder, err = runs.New(o); err != nil {
		return nil, err
	}
	if o.Temporary {
		if dir, err = os.MkdirTemp("", "pianola-bench-"); err != nil {
			return nil, console.WithHint(err, "set TMPDIR to a directory that can be written to")
		}
		session.files.Unfinished(dir)
	}
	b.names = output.Names(filepath.Join(dir, "trace.txt"), n)
	s := b.subject(b.names[0])
	s.Record, s.Recordings = func(context.Context) (experiment.Run, bool, error) { return b.record(s) }, n
	if o.Temporary {
		s.Name = format.CommandLine(b.Args().Slice())
	}
	return []*experiment.Subject{s}, nil
}

// record records the command once more, and reports whether it did what it did first.
func (b *commanded) record(s *experiment.Subject) (run experiment.Run, again bool, err error) {
	name := b.names[b.taken]
	b.taken++
	results, err := b.recorder.Take(b.Context.Context, []string{name})
	session.files.Release(name)
	switch {
	case err != nil:
		return run, false, recordError(err)
	case b.Context.Err() != nil:
		return run, false, errInterrupted
	}
	status := results[0].Status
	if b.taken == 1 {
		if status != 0 {
			err = &exitError{ExitRecord, console.WithHint(fmt.Errorf("the command ended with status %d; nothing is replayed", status),
				"if that is not a failure: pianola bench -- sh -c 'COMMAND || true'")}
		}
		return run, true, err
	}
	defer endOn(b.Context.Context)()
	run, _, err = sides.Run(&recordings, name, compile.Options{Compensate: true, Names: true}, b.options.Pace())
	if err != nil {
		return run, false, err
	}
	what := ""
	if status != 0 {
		what = fmt.Sprintf("ended with status %d", status)
	} else if !b.IsSet("recordings") { // or else as often as was asked for
		what = run.Strays(&s.Sides[0].Runs[0])
	}
	if what != "" {
		console.Warn("bench: run %d of the command %s: it does not count, and the command is not recorded again", b.taken, what)
		console.Suggest("--setup CMD restores its files before each run; --recordings 1 records it once")
		return run, false, nil
	}
	return run, true, nil
}
