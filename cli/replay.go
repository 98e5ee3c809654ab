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

	"pianola/compare"
	"pianola/coverage"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/files"
	"pianola/internal/launcher"
	"pianola/profile"
	"pianola/provenance"
	"pianola/replay"
	"pianola/replay/fileset"
)

func replayCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "replay",
		Usage:     "replay traces or recordings on any storage",
		UsageText: "pianola replay [OPTION]… TRACE…",
		Description: "TRACE is a compiled trace, or a recording, which is compiled in passing. Replay builds the files that\n" +
			"the trace needs below the root, replays each recorded thread with its own timing, and compares the\n" +
			"result with the application. Nothing outside the root is touched.\n" +
			"\n" +
			"Without --root, replay works in a new directory in the working directory and removes it at the end.\n" +
			"Several traces, and the copies of one, are replayed side by side, each in a directory of its own; the\n" +
			"report has the figures of each, and totals.\n" +
			"\n" +
			"With --ranks, each process that a launcher starts replays some of the recorded ranks, and rank 0\n" +
			"prints the results of all (docs/reference/ranks.md).\n" +
			"\n" +
			"The exit status is 3 if the recording holds too little of the application's I/O for a verdict.\n" +
			"\n" +
			"Example: pianola replay --root /mnt/disk/root --log replay.log trace.bin\n" +
			"Example: pianola replay --cache cold --runs 6 trace.bin\n" +
			"Example: pianola replay --backend memory --json trace.bin\n" +
			"Example: srun -n 4 --mpi=pmi2 pianola replay --ranks --root /shared/root trace.bin",
		Action: runReplay,
	})
}

func runReplay(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "want a trace or a recording")
	}
	if c.IsSet("play-layer") {
		return replayLayer(c)
	}
	o, err := replayOptions(c)
	if err != nil {
		return err
	}
	place, err := placeOf(c, &o)
	if err != nil {
		return err
	}
	if place != nil {
		if err := join(c, &o, place); err != nil {
			return err
		}
	}
	set, err := openPlayed(c, o, place)
	defer set.close()
	if err == nil && place != nil {
		err = agree(c, o.Session, set.traces[0].trace)
	}
	if err == nil {
		err = set.replay(c, o)
	}
	return leave(&o, err)
}

// replay replays what was opened, and prints the results.
func (set *playedSet) replay(c *cli.Context, o replay.Options) (err error) {
	if o.Root == "" && o.Backend == replay.Posix && o.Session != nil {
		o.Root = "pianola-root-" + o.Session.Run
		if o.Keep && isRankZero(&o) {
			session.Say("replay: keeping %s", o.Root)
		}
	}
	if o.Root == "" && o.Backend == replay.Posix {
		if o.Root, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
			return err
		}
		if o.Keep || o.Prepare == fileset.PrepareOnly {
			session.Say("replay: keeping %s", o.Root)
		} else {
			defer unix.Rmdir(o.Root) // the replay has removed its contents
		}
	}
	var runErr error
	for run := range c.Int("runs") {
		if runErr = set.run(c, o, run); runErr != nil || o.Prepare == fileset.PrepareOnly {
			break
		}
	}
	if set.list[0].runs == nil || !isRankZero(&o) {
		return interrupted(runErr)
	}
	if o.Prepare == fileset.PrepareOnly {
		return errors.Join(runErr, set.printPrepared(c))
	}
	if c.Bool("json") {
		err = printJSON(set.document())
	} else {
		err = set.print(session.Stdout("text"))
	}
	if runErr != nil {
		return interrupted(runErr)
	}
	if err != nil {
		return err
	}
	return set.status()
}

// status returns what the command ends with: a replay from which no verdict
// follows says so.
func (set *playedSet) status() error {
	for _, p := range set.list {
		if account := coverage.Of(p.trace.Header()); account.Withheld() != "" {
			return statusOf(compare.Inconclusive)
		}
	}
	return nil
}

// interrupted returns the error of a replay that ended early.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return withHint(err)
}

// playedTrace is a trace that is replayed.
type playedTrace struct {
	file  string
	part  replay.Part
	trace *bin.Trace
	close func() error
	app   *profile.Profile // at the pace of the replay; nil before the first complete run
	paced *compare.Paced   // how that differs from the recording
}

// played is a trace, or one of several copies of it, and the results of its replays.
type played struct {
	*playedTrace
	copy int // from 1; 0 if there is only one
	runs []*summary
	logs []*files.Output // one for each logged run
}

// playedSet is what is replayed side by side: the copies of each trace follow one
// another.
type playedSet struct {
	traces []*playedTrace
	list   []*played
	totals []*total // of each run, if there are several to add up
}

// openPlayed opens the traces of the command line, and the files for their
// logs, before any replay: a replay without its log is useless.
func openPlayed(c *cli.Context, o replay.Options, place *launcher.Place) (set *playedSet, err error) {
	set = &playedSet{}
	memory := o.Limits.Complete(c.NArg()*o.Copies).Memory / int64(c.NArg()) // of each trace
	names := map[string]int{}
	for _, file := range c.Args().Slice() {
		t, err := recordings.OpenTrace(file, memory, chooseThreads(place))
		if err != nil {
			return set, withHint(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s~%d", name, names[name])
		}
		of := &playedTrace{file: file, part: replay.Part{Name: name, Trace: t.Trace}, trace: t.Trace, close: t.Close}
		set.traces = append(set.traces, of)
		for i := range o.Copies {
			p := &played{playedTrace: of}
			if o.Copies > 1 {
				p.copy = i + 1
			}
			set.list = append(set.list, p)
			for run := range c.Int("runs") {
				if !c.IsSet("log") || place != nil && place.Rank > 0 {
					break
				}
				log, err := session.files.Create(logName(c, name, p.copy, run), files.Private)
				if err != nil {
					return set, err
				}
				p.logs = append(p.logs, log)
			}
		}
	}
	return set, nil
}

// logName returns the name of a run's log: the given one, or one derived from
// it if there are several. copy is 0 if there is only one.
func logName(c *cli.Context, trace string, copy, run int) string {
	file := c.String("log")
	ext := filepath.Ext(file)
	stem := strings.TrimSuffix(file, ext)
	if c.NArg() > 1 {
		stem += "-" + trace
	}
	if copy > 0 {
		stem += fmt.Sprintf("-%d", copy)
	}
	if c.Int("runs") > 1 {
		stem += fmt.Sprintf("-%d", run+1)
	}
	return stem + ext
}

func (set *playedSet) close() {
	for _, t := range set.traces {
		_ = t.close()
	}
	for _, p := range set.list {
		for _, log := range p.logs {
			log.Abort()
		}
	}
}

// run replays all traces once.
func (set *playedSet) run(c *cli.Context, o replay.Options, run int) error {
	prepared := session.Bytes("preparing files")
	o.Progress = showPreparation(prepared) // during the preparation only
	var played func()
	o.Playing, played = showPlaying(prepared)
	o.Playing = playingOf(&o, o.Playing)
	where := ""
	if o.Backend == replay.Posix {
		where = o.Root
	}
	about := slices.Concat(optionsOf(c, c.Args().Slice()...), provenance.Dir(where, c.Bool("no-host")))
	var (
		results []*replay.Result
		runErr  error
	)
	var sum *profile.Sum // of several
	if len(set.list) == 1 {
		var r *replay.Result
		if r, runErr = replay.Run(c.Context, set.traces[0].trace, o); r != nil {
			results = []*replay.Result{r}
		}
		if runErr != nil {
			runErr = fmt.Errorf("%s: %w", set.traces[0].file, runErr)
		}
	} else {
		var parts []replay.Part
		for _, t := range set.traces {
			parts = append(parts, t.part)
		}
		results, runErr = replay.RunAll(c.Context, parts, o)
		sum = &profile.Sum{}
	}
	if !isRankZero(&o) {
		prepared.Finish()
		played()
		return runErr
	}
	about = append(about, provenance.End()...)
	prepared.Finish()
	played()
	if c.Context.Err() != nil {
		signal.Reset(os.Interrupt) // the log can be long: a second interrupt ends it
	}
	all := &total{}
	for i, r := range results {
		p := set.list[i]
		if p.logs != nil && o.Prepare != fileset.PrepareOnly {
			if err := writeLog(p.logs[run], r, about); err != nil {
				return err
			}
			if err := p.logs[run].Commit(); err != nil {
				return err
			}
		}
		s, err := p.summarise(r, about, sum)
		if err != nil {
			return err
		}
		p.runs = append(p.runs, s)
		all.add(r)
	}
	if sum != nil && results != nil {
		all.Profile = sum.Profile()
		set.totals = append(set.totals, all)
	}
	return runErr
}

// writeLog writes the replayed events as a script, with remarks about the replay.
func writeLog(w io.Writer, r *replay.Result, about []format.Meta) error {
	p := script.NewWriter(w)
	events := r.Events()
	if err := p.WriteHeader(logHeader(events.Header(), about)); err != nil {
		return err
	}
	if err := format.Copy(p, events); err != nil {
		return err
	}
	return p.Flush()
}

// logHeader returns the header of a log, from that of the replayed events.
func logHeader(events *format.Header, about []format.Meta) *format.Header {
	h := &format.Header{Ranks: events.Ranks, Descriptors: events.Descriptors, Names: events.Names}
	for _, key := range []string{format.MetaCommand, format.MetaPaths, format.MetaCoverage, format.MetaUnsupported, format.MetaEnded, format.MetaUncached, format.MetaFloor, format.MetaGrouped, format.MetaReplay} {
		if v, ok := events.Value(key); ok {
			h.Set(key, v)
		}
	}
	h.Meta = append(h.Meta, about...)
	return h
}
