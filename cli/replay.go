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
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "work in `DIR`, which is created if missing"},
			&cli.StringSliceFlag{Name: "map", Usage: "put files whose path in the application matches GLOB below DIR, such as a directory on another disk: `GLOB=DIR`; repeatable"},
			&cli.StringFlag{Name: "prepare", Value: "auto", Usage: "build `WHAT` of the files first: auto (what is missing or does not fit), always (all), never (nothing), only (as auto, without a replay)"},
			&cli.StringFlag{Name: "cache", Value: "recorded", Usage: "start with the page cache in `STATE`: recorded (as the application found it), warm, cold, asis"},
			&cli.StringFlag{Name: "timing", Value: "compute", Usage: "issue an event `WHEN`: compute (its recorded compute after the thread's last event), schedule (at its recorded time), afap (at once)"},
			&cli.Float64Flag{Name: "speed", Value: 1, Usage: "divide compute by `X`"},
			&cli.StringFlag{Name: "wait", Value: "auto", Usage: "wait for that time by `HOW`: auto (sleep, then spin if a processor is free), spin, sleep"},
			&cli.StringFlag{Name: "order", Value: "resource", Usage: "wait for events of other threads by `RULE`: resource (those that the event depends on), thread (none), total (all earlier ones)"},
			&cli.StringFlag{Name: "outside", Value: "closed", Usage: "deliver messages of unrecorded clients `WHEN`: closed (as long after the previous reply as recorded), timed (at their recorded times)"},
			&cli.StringFlag{Name: "backend", Value: "posix", Usage: "execute the events by `BACKEND`: posix (the kernel), memory (a file system in this process's memory), null (nothing, to measure the engine), exec:PROGRAM (a plug-in; see docs/reference/plugins.md)"},
			pluginTimeout(),
			&cli.StringFlag{Name: "layer", Usage: "replay the recorded calls of the library `NAME` instead of system calls, by a player (pianola layer player): --backend exec:PLAYER"},
			&cli.StringFlag{Name: "model", Usage: "let calls take as long as on the device of `FILE`, a model that pianola model fitted"},
			&cli.StringSliceFlag{Name: "latency", Usage: "set how long calls take: `WHAT:TIME`. WHAT is read, write, sync, metadata or an operation; TIME is x2 (twice as long), +200us or p50:100us,p99:2ms; repeatable"},
			&cli.StringFlag{Name: "bandwidth", Usage: "reads and writes move at most `BYTES` a second, such as 200MB/s"},
			&cli.StringFlag{Name: "iops", Usage: "at most `N` reads, writes and syncs a second"},
			&cli.StringFlag{Name: "queue", Usage: "at most `N` requests in service at a time"},
			&cli.StringSliceFlag{Name: "limit", Usage: "allow `NAME=VALUE` for a trace: files, bytes (default: 1TiB, and nine tenths of the free space for what events write), descriptors, threads, memory, kernel (bytes of kernel memory); repeatable. The defaults are lower where a container has less"},
			&cli.BoolFlag{Name: "landlock", Usage: "also confine the replay by Landlock, which costs 0.7 µs an open"},
			&cli.IntFlag{Name: "compressibility", Usage: "write data that compression makes `PERCENT` smaller"},
			&cli.BoolFlag{Name: "memory", Usage: "use memory as the application did, if record --memory recorded it"},
			&cli.BoolFlag{Name: "ranks", Usage: "replay together with the other ranks that srun, mpiexec or another launcher has started"},
			&cli.StringFlag{Name: "rendezvous", Usage: "with --ranks, meet the others at `PLACE`: a directory that all see, or the URL of a NATS server, such as nats://host:4222 (default: PMI-1, or MASTER_ADDR)"},
			&cli.DurationFlag{Name: "rendezvous-timeout", Value: defaultJoinTimeout, Usage: "with --ranks, wait `D` for the others"},
			&cli.IntFlag{Name: "copies", Value: 1, Usage: "replay each trace `N` times side by side, on files of their own"},
			&cli.IntFlag{Name: "runs", Value: 1, Usage: "replay `N` times, and report medians and intervals"},
			&cli.StringFlag{Name: "log", Usage: "write the replayed events to `FILE`, a script; several traces, copies or runs go to FILE-TRACE-COPY-RUN"},
			noHost(),
			&cli.BoolFlag{Name: "strict", Usage: "stop at the first result that differs from the recorded one"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the files below the root; files that existed before are always kept"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document (docs/schema)"},
		},
		Action: runReplay,
	})
}

func runReplay(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "want a trace or a recording")
	}
	if c.IsSet("layer") {
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
			say("replay: keeping %s", o.Root)
		}
	}
	if o.Root == "" && o.Backend == replay.Posix {
		if o.Root, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
			return err
		}
		if o.Keep || o.Prepare == fileset.PrepareOnly {
			say("replay: keeping %s", o.Root)
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
		err = set.print(stdout("text"))
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
	logs []*output // one for each logged run
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
		t, f, err := openTrace(file, memory, chooseThreads(place))
		if err != nil {
			return set, withHint(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s~%d", name, names[name])
		}
		of := &playedTrace{file: file, part: replay.Part{Name: name, Trace: t}, trace: t, close: f.Close}
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
				log, err := createOutput(logName(c, name, p.copy, run), private)
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
			log.abort()
		}
	}
}

// run replays all traces once.
func (set *playedSet) run(c *cli.Context, o replay.Options, run int) error {
	prepared := newProgress("preparing files")
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
		prepared.finish()
		played()
		return runErr
	}
	about = append(about, provenance.End()...)
	prepared.finish()
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
			if err := p.logs[run].commit(); err != nil {
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
	if err := pump(events, p); err != nil {
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
