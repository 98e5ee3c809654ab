package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pianola/baseline"
	"pianola/format"
	"pianola/lab"
	"pianola/page"
	"pianola/provenance"
	"pianola/replay"
	"pianola/replay/sandbox"
	"pianola/suite"
	"pianola/table"
	"pianola/workloads"
)

// suiteRun replays workloads on roots.
type suiteRun struct {
	*cli.Context
	options replay.Options
	cards   []*workloads.Card
	runs    int
	roots   []lab.Root
	places  []string       // for the files of each root: a new directory in it
	made    []string       // directories that were made, to be removed
	facts   []string       // the file system and the device of each root, for the page
	saved   []baseline.Run // the first side; nil for none
	first   int            // side of the first root
	report  suite.Report
	kept    []baseline.Run // of the first root

	replayed bool // there is a run

	shown *progress
	spent float64 // recorded seconds of the runs that are done
}

func runSuite(c *cli.Context) (err error) {
	s, err := suiteOf(c)
	if err != nil {
		return err
	}
	html, err := createIf(c.String("html"), public)
	if err != nil {
		return err
	}
	defer html.abort()
	save, err := createIf(c.String("save"), private)
	if err != nil {
		return err
	}
	defer save.abort()
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	runErr := s.replay()
	s.close()
	if !s.replayed {
		if runErr != nil {
			return interrupted(runErr)
		}
		return errors.Join(s.refusals()...)
	}
	if runErr == nil { // else the runs are not those that were asked for
		err = save.put(func(w io.Writer) error {
			return baseline.Write(w, s.report.Sides[s.first], s.kept)
		})
		if err != nil {
			return err
		}
	}
	if err := s.print(html); err != nil {
		return err
	}
	if runErr != nil {
		return interrupted(runErr)
	}
	return nil
}

// suiteOf parses the command line.
func suiteOf(c *cli.Context) (s *suiteRun, err error) {
	s = &suiteRun{Context: c, runs: c.Int("runs")}
	if c.NArg() > 0 {
		return nil, usage(c, "--workload: want no command, got %q", c.Args().First())
	}
	if err := checkMode(c, "workload"); err != nil {
		return nil, err
	}
	if s.options, err = commonOptions(c); err != nil {
		return nil, err
	}
	s.options.Backend = replay.Posix
	if s.roots, err = rootsOf(c); err != nil {
		return nil, err
	}
	if len(s.roots) == 0 {
		s.roots = []lab.Root{{Name: "here", Dir: "."}}
	}
	nameRoots(s.roots)
	if len(s.roots) > 1 && c.IsSet("save") {
		return nil, usage(c, "--save is for one root")
	}
	if err := s.choose(); err != nil {
		return nil, err
	}
	if n := s.runs * len(s.cards); n > baseline.MaxRuns && c.IsSet("save") {
		return nil, usage(c, "--save: %d runs, and a file holds %d", n, baseline.MaxRuns)
	}
	if name := c.String("baseline"); name != "" {
		if err := s.openBaseline(name); err != nil {
			return nil, err
		}
	}
	for _, r := range s.roots {
		s.report.Sides = append(s.report.Sides, r.Name)
	}
	return s, nil
}

// choose chooses the workloads.
func (s *suiteRun) choose() error {
	all, err := cardsOf(s.Context)
	if err != nil {
		return err
	}
	switch text := s.String("workload"); text {
	case "all":
		s.cards = all
	case "quick":
		for _, one := range all {
			if one.Quick {
				s.cards = append(s.cards, one)
			}
		}
		if s.cards == nil {
			return usage(s.Context, "--workload: none of the workloads is quick; name some")
		}
	default:
		for name := range strings.SplitSeq(text, ",") {
			i := slices.IndexFunc(all, func(one *workloads.Card) bool { return one.Name == name })
			if i < 0 {
				return usage(s.Context, "--workload: no workload %q; pianola workload list shows them", name)
			}
			if !slices.Contains(s.cards, all[i]) {
				s.cards = append(s.cards, all[i])
			}
		}
	}
	return nil
}

// openBaseline makes the runs of a file the first side.
func (s *suiteRun) openBaseline(name string) error {
	b, err := readBaseline(name, true)
	if err != nil {
		return err
	}
	s.saved = b.Runs
	side := b.Name
	if !isSideName(side) || slices.ContainsFunc(s.roots, func(r lab.Root) bool { return r.Name == side }) {
		side = "baseline"
	}
	s.report.Sides, s.report.Saved, s.first = []string{side}, true, 1
	return nil
}

// manyFiles is how many files a workload has at least that takes clearly longer on an ext4
// without a journal.
const manyFiles = 1000

// open makes a directory on each root.
func (s *suiteRun) open() error {
	for _, r := range s.roots {
		if _, err := os.Stat(r.Dir); errors.Is(err, os.ErrNotExist) {
			if err := os.Mkdir(r.Dir, 0o777); err != nil {
				return fmt.Errorf("--root: %w", err)
			}
			s.made = append(s.made, r.Dir)
		}
		dir, err := os.MkdirTemp(r.Dir, "pianola-bench-")
		if err != nil {
			return &hint{err, "--root chooses another directory"}
		}
		s.made = append(s.made, dir)
		s.places = append(s.places, dir)
		h := format.Header{Meta: provenance.Dir(dir, true)}
		mount, _ := h.Value(format.MetaMount)
		if strings.HasSuffix(mount, ","+provenance.NoJournal) && slices.ContainsFunc(s.cards, func(c *workloads.Card) bool { return c.Figures.Files >= manyFiles }) {
			warn("bench: %s is on ext4 without a journal: files are made several times as slowly for minutes after others were removed, as each run removes its own", r.Dir)
		}
		device, _ := h.Value(format.MetaDevice)
		s.facts = append(s.facts, strings.TrimRight(fmt.Sprintf("%s: %s %s", r.Name, mount, device), " :"))
	}
	return nil
}

// close removes what was made. Each experiment has removed its files.
func (s *suiteRun) close() {
	for _, dir := range slices.Backward(s.made) {
		if err := os.Remove(dir); err != nil {
			warn("bench: %v", err)
		}
	}
	s.made = nil
}

// replay replays all workloads, and returns why that ended early.
func (s *suiteRun) replay() error {
	all := 0.0
	for _, card := range s.cards {
		all += card.Figures.RunSeconds
	}
	all *= float64(s.runs * len(s.roots))
	s.shown = newLine("bench", int64(all*1e3), func(ms int64) string { return table.Fixed(float64(ms)/1e3, 0) + " s" })
	defer s.shown.finish()
	for i, card := range s.cards {
		if err := s.workload(card, fmt.Sprintf("%d of %d", i+1, len(s.cards)), all); err != nil {
			s.report.Interrupted = true
			return err
		}
	}
	return nil
}

// workload replays one, in shuffled turns on all roots. It returns an error only for
// what ends the run.
func (s *suiteRun) workload(card *workloads.Card, number string, all float64) error {
	w := &suite.Workload{Name: card.Name, Sides: make([]suite.Runs, len(s.report.Sides))}
	begun := s.spent
	l := &labRunner{Context: s.Context, options: s.options, traces: &labTraces{ctx: s.Context.Context, name: card.Trace()}}
	var systems []*suiteSystem
	e := &lab.Experiment{
		Runs: s.runs, Candidates: []lab.Candidate{nil}, Equals: true, Clear: sandbox.Clear,
		Setup: func(candidate lab.Candidate) (lab.Setup, error) {
			setup, err := l.setup(candidate)
			side := s.first + len(systems)
			systems = append(systems, &suiteSystem{labSetup: setup, suite: s, side: side, runs: &w.Sides[side], name: card.Name})
			return systems[len(systems)-1], err
		},
		Warn: func(err error) { warn("bench: %v", err) },
	}
	for i, r := range s.roots {
		e.Roots = append(e.Roots, lab.Root{Name: r.Name, Dir: filepath.Join(s.places[i], card.Name)})
	}
	e.Show = func(done int, t *lab.Trial) {
		s.shown.describe("%s (%s) on %s, run %d of %d", card.Name, number, t.Root, done/len(s.roots)+1, s.runs)
		s.shown.set(int64((begun+float64(done)*card.Figures.RunSeconds)*1e3), int64(all*1e3))
	}
	s.spent += float64(s.runs*len(s.roots)) * card.Figures.RunSeconds
	defer e.Close()
	if err := e.Plan(); err != nil {
		return err
	}
	if _, err := l.compile(e); err != nil {
		return err
	}
	w.Recorded = e.Report.Application.Totals()
	for i, t := range e.Report.Trials {
		if why := e.Report.Application.Coverage.Withheld(); why != "" {
			t.Err = fmt.Errorf("its recording allows no verdict: %s", why)
			continue
		}
		t.Err = s.room(systems[i].labSetup, s.places[i], e.Report.Application.Stored())
	}
	if err := e.OpenRoots(); err != nil {
		return err
	}
	err := e.Run(s.Context.Context)
	if s.Context.Context.Err() != nil {
		signal.Reset(os.Interrupt) // removing files can take long: a second interrupt ends it
	}
	for i, t := range e.Report.Trials {
		runs := &w.Sides[s.first+i]
		runs.Failed, runs.Differed, runs.Example = t.Failed(), t.Differed(), t.Example()
		if t.Err != nil {
			runs.Refused = t.Err.Error()
		}
	}
	if s.saved != nil {
		for _, run := range s.saved {
			if run.Workload == card.Name {
				w.Sides[0].Profiles = append(w.Sides[0].Profiles, run.Profile)
			}
		}
		if w.Sides[0].Profiles == nil {
			w.Sides[0].Refused = "not in the baseline"
		}
	}
	s.report.Workloads = append(s.report.Workloads, w)
	return err
}

// suiteSystem is a root on which a workload is replayed.
type suiteSystem struct {
	*labSetup
	suite *suiteRun
	side  int
	runs  *suite.Runs
	name  string // of the workload
}

// Replay implements lab.Setup. It keeps the totals of each run.
func (s *suiteSystem) Replay(ctx context.Context, f *os.File, root string) (lab.Run, error) {
	about := slices.Concat(optionsOf(s.Context), provenance.Dir(root, s.Bool("no-host")))
	run, results, err := s.replay(ctx, f, root)
	if err != nil {
		return run, err
	}
	run.Profile = run.Profile.Totals()
	s.runs.Profiles = append(s.runs.Profiles, run.Profile)
	s.suite.replayed = true
	if s.side == s.suite.first {
		about = append(about, provenance.End()...)
		s.suite.kept = append(s.suite.kept, baseline.Run{Workload: s.name, Meta: logHeader(results[0].Events().Header(), about).Meta, Profile: run.Profile})
	}
	return run, nil
}

// room returns an error if a file system has less space than a workload may take: that of
// its files, and of all that it writes.
func (s *suiteRun) room(setup *labSetup, dir string, written int64) error {
	f, err := openInput(setup.traces.name)
	if err != nil {
		return err
	}
	defer f.Close()
	trace, err := traceWithin(f, memoryOf(&s.options))
	if err != nil {
		return err
	}
	var system unix.Statfs_t
	if err := unix.Statfs(dir, &system); err != nil {
		return err
	}
	free, needed := int64(system.Bavail)*system.Bsize, workloads.Blocks(trace.Header())+written
	if needed > free {
		return fmt.Errorf("it may take %s, and %s are free", table.Bytes(float64(needed)), table.Bytes(float64(free)))
	}
	return nil
}

// refusals returns why no workload was replayed.
func (s *suiteRun) refusals() (list []error) {
	for _, w := range s.report.Workloads {
		for i := s.first; i < len(w.Sides); i++ {
			if why := w.Sides[i].Refused; why != "" {
				list = append(list, fmt.Errorf("%s on %s: %s", w.Name, s.report.Sides[i], why))
			}
		}
	}
	return list
}

// print prints the report, and writes the page.
func (s *suiteRun) print(html *output) error {
	var err error
	if s.Bool("json") {
		err = printJSON(s.report.Document())
	} else {
		err = s.report.WriteText(stdout("text"))
	}
	if err != nil {
		return err
	}
	return html.put(func(w io.Writer) error {
		return page.WriteSuite(w, &page.Suite{Facts: s.facts, Conclusion: s.report.Conclusion(), Figures: s.report.Document()})
	})
}
