package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/compare"
	"pianola/compile"
	"pianola/lab"
	"pianola/page"
	"pianola/provenance"
	"pianola/replay"
	"pianola/replay/sandbox"
)

func benchCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "bench",
		Usage: "record, replay and compare a command in one go",
		UsageText: "pianola bench [OPTION]… -- COMMAND [ARG…]\n" +
			"pianola bench [OPTION]… --workload NAME,…|quick|all",
		Description: "Records the command, compiles the recording, and replays it --runs times on each root, in turn. With\n" +
			"one root or none, the replays are compared with the command, which shows how true they are. Two roots\n" +
			"are compared with each other, which shows where the command is faster. Further roots are compared with\n" +
			"the first.\n" +
			"\n" +
			"With -o, bench leaves a page and the files that it is made from. The standard output of the command\n" +
			"goes to standard error. The exit status is that of compare.\n" +
			"\n" +
			"With --workload, bench replays recordings that ship: those named, a few quick ones of different kinds,\n" +
			"or all of them (pianola workload). For each one it prints the run time, the time in I/O and the 99th\n" +
			"percentiles of reads and syncs, compared with the machine of the recording and with the first root, and\n" +
			"geometric means. It works in a new directory in each root, by default in the working directory, and\n" +
			"removes it at the end.\n" +
			"\n" +
			"Example: pianola bench -- sqlite3 app.db '.read load.sql'\n" +
			"Example: pianola bench --root nvme=/mnt/nvme/root --root hdd=/mnt/hdd/root -- ./load.sh\n" +
			"Example: pianola bench --workload postgresql,sqlite3 --root /mnt/volume\n" +
			"Example: pianola bench --recordings 6 --setup 'rm -f app.db' -- ./load.sh",
		Action: runBench,
	})
}

// benchPage is the name of the page in the directory of -o.
const benchPage = "bench.html"

// bench records a command, replays it and compares.
type bench struct {
	*labRunner
	judging  *judging
	recorder *recorder
	roots    []lab.Root
	baseline *savedSide // nil for none
	dir      string     // for the recordings and, with -o, all that is left
	page     string     // name of the page, "" for none
	systems  []*system
}

// system is what a trace is replayed on: a root, or a backend without one.
type system struct {
	*labSetup
	bench *bench
	root  lab.Root
	runs  []page.Run // the replays so far
}

func runBench(c *cli.Context) error {
	if c.IsSet("workload") {
		return runSuite(c)
	}
	b, err := benchOf(c)
	if err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	defer b.close()
	if err := b.record(); err != nil {
		return err
	}
	e := b.experiment()
	defer e.Close()
	if err := e.Plan(); err != nil {
		return err
	}
	html, err := createIf(b.page, public)
	if err != nil {
		return err
	}
	defer html.abort()
	save, err := createIf(c.String("save"), private)
	if err != nil {
		return err
	}
	defer save.abort()
	applications, err := b.compile(e)
	if err != nil {
		return compileHint(err)
	}
	runErr := b.replay(e)
	for _, t := range e.Report.Trials {
		switch {
		case t.Err != nil:
			return withHint(fmt.Errorf("%v: %w", t.Root, t.Err))
		case t.Runs() == 0:
			return interrupted(runErr)
		}
	}
	if runErr == nil { // else the runs are not those that were asked for
		s := b.systems[0]
		if err := putBaseline(save, b.nameOf(s), s.runs); err != nil {
			return err
		}
	}
	status, err := b.conclude(&e.Report, applications, html)
	switch {
	case err != nil:
		return err
	case runErr != nil:
		return interrupted(runErr)
	}
	return status
}

// benchOf parses the command line.
func benchOf(c *cli.Context) (b *bench, err error) {
	b = &bench{labRunner: &labRunner{Context: c}, page: c.String("html")}
	if b.judging, err = judgingOf(c); err != nil {
		return nil, err
	}
	if b.options, err = commonOptions(c); err != nil {
		return nil, err
	}
	if b.roots, err = rootsOf(c); err != nil {
		return nil, err
	}
	if len(b.roots) > 1 {
		nameRoots(b.roots)
	}
	switch {
	case len(b.roots) == 1 && b.roots[0].Name == compare.DefaultNames[0]:
		return nil, usage(c, "--root: %s is the name of the command's side", b.roots[0].Name)
	case len(b.roots) > 0 && b.options.Backend != replay.Posix:
		return nil, usage(c, "--root: the backend %s has no use for it", c.String("backend"))
	case len(b.roots) > 1 && (c.IsSet("baseline") || c.IsSet("save")):
		return nil, usage(c, "--baseline and --save are for one root")
	case len(b.roots) > 2 && b.form() != "text" && b.form() != "json":
		return nil, usage(c, "--format %s is for one comparison: at most two roots", b.form())
	}
	if b.recorder, err = recorderOf(c); err != nil {
		return nil, err
	}
	if name := c.String("baseline"); name != "" {
		saved, err := readBaseline(name, false)
		if err != nil {
			return nil, err
		}
		b.baseline = &saved
	}
	return b, nil
}

// open makes the directory for the recordings, and makes sure that the page can be
// written and the roots be used, because the command can take long. It leaves
// nothing in the working directory, which the command may list.
func (b *bench) open() (err error) {
	for _, root := range b.roots {
		r, err := sandbox.OpenRoot(root.Dir, nil)
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			return withHint(err)
		}
	}
	if len(b.roots) == 0 && b.options.Backend == replay.Posix {
		dir, err := b.makeRoot()
		if err != nil {
			return err
		}
		os.Remove(dir)
	}
	if b.dir = b.String("o"); b.dir != "" {
		if err := os.MkdirAll(b.dir, 0o777); err != nil {
			return fmt.Errorf("-o: %w", err)
		}
		if !b.IsSet("html") {
			b.page = filepath.Join(b.dir, benchPage)
		}
	} else {
		if b.dir, err = os.MkdirTemp("", "pianola-bench-"); err != nil {
			return &hint{err, "set TMPDIR to a directory that can be written to"}
		}
		unfinished.Store(b.dir, true)
	}
	if err := b.writable(b.page, "--html FILE chooses another place for the page"); err != nil {
		return err
	}
	return b.writable(b.String("save"), "--save FILE chooses another place")
}

// writable makes sure that an output can be created, and leaves nothing.
func (b *bench) writable(name, otherwise string) error {
	o, err := createIf(name, public)
	if err != nil {
		b.close()
		return &hint{err, otherwise}
	}
	o.abort()
	files.release(name)
	return nil
}

// keeps reports whether the recordings and all that comes of them are left.
func (b *bench) keeps() bool { return b.IsSet("o") }

func (b *bench) close() {
	if !b.keeps() {
		os.RemoveAll(b.dir)
	}
}

// recordings returns the names of the recordings.
func (b *bench) recordings() []string {
	return numbered(filepath.Join(b.dir, "trace.txt"), max(b.Int("recordings"), 1))
}

// record records the command. Its standard output is not that of bench, which is the
// comparison.
func (b *bench) record() error {
	b.recorder.options.Stdout = os.Stderr
	b.recorder.temporary = !b.keeps()
	results, err := b.recorder.takeAll(b.recordings())
	if err != nil {
		return err
	}
	for _, name := range b.recordings() {
		files.release(name)
	}
	if b.Context.Err() != nil {
		return errInterrupted
	}
	if status := results[len(results)-1].Status; status != 0 {
		return &exitError{ExitRecord, &hint{fmt.Errorf("the command ended with status %d; nothing is replayed", status),
			"if that is no failure: pianola bench -- sh -c 'COMMAND || true'"}}
	}
	return nil
}

// experiment returns the replays: the recording as it is, on each root.
func (b *bench) experiment() *lab.Experiment {
	b.traces = &labTraces{ctx: b.Context.Context, name: b.recordings()[0]}
	trace := ""
	if b.keeps() {
		trace = b.traces.name
	}
	return &lab.Experiment{
		Runs: b.Int("runs"), Candidates: []lab.Candidate{nil}, Roots: b.roots, Keep: b.Bool("keep"),
		Setup: b.system, NewRoot: b.newRoot, Clear: sandbox.Clear,
		Warn:   func(err error) { warn("bench: %v", err) },
		Report: lab.Report{Trace: trace, Options: replayOptionsOf(b.Context)},
	}
}

// system returns the next system of an experiment, which has those of b.roots.
func (b *bench) system(candidate lab.Candidate) (lab.Setup, error) {
	setup, err := b.setup(candidate)
	if err != nil {
		return nil, err
	}
	s := &system{labSetup: setup, bench: b}
	if len(b.roots) > 0 {
		s.root = b.roots[len(b.systems)]
	}
	b.systems = append(b.systems, s)
	return s, nil
}

// Compile implements lab.Setup. It leaves a copy of the trace where all is left.
func (s *system) Compile() (*os.File, error) {
	f, err := s.labSetup.Compile()
	if err != nil || !s.bench.keeps() {
		return f, err
	}
	if err = s.bench.leave("trace.bin", func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, 0, math.MaxInt64))
		return err
	}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Replay implements lab.Setup. It keeps the whole profile, to compare.
func (s *system) Replay(ctx context.Context, f *os.File, root string) (lab.Run, error) {
	about := slices.Concat(optionsOf(s.Context), provenance.Dir(root, s.Bool("no-host")))
	run, results, err := s.replay(ctx, f, root)
	if err != nil {
		return run, err
	}
	r := results[0]
	about = append(about, provenance.End()...)
	s.runs = append(s.runs, page.Run{Name: s.bench.nameOf(s), Meta: logHeader(r.Events().Header(), about).Meta, Profile: run.Profile})
	if !s.bench.keeps() {
		return run, nil
	}
	return run, s.bench.leave(fmt.Sprintf("%s-%d.log", s.bench.nameOf(s), len(s.runs)), func(w io.Writer) error { return writeLog(w, r, about) })
}

// leave writes a file that is left.
func (b *bench) leave(name string, write func(io.Writer) error) error {
	o, err := createOutput(filepath.Join(b.dir, name), private)
	if err != nil {
		return err
	}
	defer o.abort()
	return o.put(write)
}

// compile compiles the recordings, and returns the runs of the command.
func (b *bench) compile(e *lab.Experiment) ([]page.Run, error) {
	meta, err := b.labRunner.compile(e)
	if err != nil {
		return nil, err
	}
	runs := []page.Run{{Name: compare.DefaultNames[0], Meta: meta, Profile: e.Report.Application}}
	defer endOn(b.Context.Context)()
	p := pacing{Pace: b.options.Pace()}
	for _, name := range b.recordings()[1:] {
		run, err := p.readRun(compare.DefaultNames[0], name, compile.Options{Compensate: true, Names: true})
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// replay replays all in turn, and returns why that ended early.
func (b *bench) replay(e *lab.Experiment) error {
	if err := e.OpenRoots(); err != nil {
		return err
	}
	err := runShown(b.Context, e)
	if b.Context.Err() != nil {
		signal.Reset(os.Interrupt) // removing files can take long: a second interrupt ends it
	}
	return err
}
