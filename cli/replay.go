package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pianola/compare"
	"pianola/coverage"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/profile"
	"pianola/replay"
	"pianola/replay/fileset"
)

func replayCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "replay",
		Usage: "replay compiled traces",
		UsageText: "pianola replay [--root DIR] [--prepare auto|always|never|only] [--cache recorded|warm|cold|asis]\n" +
			"[--timing compute|schedule|afap] [--speed X] [--wait auto|spin|sleep]\n" +
			"[--order resource|thread|total] [--outside closed|timed] [--backend posix|memory|null|exec:PROGRAM] [--plugin-timeout D] [--compressibility PERCENT] [--memory]\n" +
			"[--limit NAME=VALUE]… [--landlock] [--repeat N] [--log FILE] [--strict] [--keep] [--json] TRACE.bin…",
		Description: "Builds the files that the trace needs below the root, replays every recorded thread with its\n" +
			"own timing, and compares the result with the application. It touches nothing outside the root.\n" +
			"Without --root it works in a new directory in the working directory, removed at the end. Several\n" +
			"traces are replayed side by side, each below a directory of its own, with its own figures. The\n" +
			"exit status is 3 where the recording holds too little of the application's I/O for a verdict.\n\n" +
			"Example: pianola replay --root /mnt/disk/root --log replay.log trace.bin",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "work in `DIR`, created if missing"},
			&cli.StringFlag{Name: "prepare", Value: "auto", Usage: "`WHAT` to build of the files: auto (what is missing or does not fit), always (all), never (nothing), only (as auto, and replay nothing)"},
			&cli.StringFlag{Name: "cache", Value: "recorded", Usage: "`STATE` of the page cache at the start: recorded (as the application found it), warm, cold, asis"},
			&cli.StringFlag{Name: "timing", Value: "compute", Usage: "`WHEN` an event is due: compute (its compute after the thread's last), schedule (at its recorded time), afap (at once)"},
			&cli.Float64Flag{Name: "speed", Value: 1, Usage: "divide compute by `X`"},
			&cli.StringFlag{Name: "wait", Value: "auto", Usage: "`HOW` to wait for that: auto (sleep, then spin if a processor is free), spin, sleep"},
			&cli.StringFlag{Name: "order", Value: "resource", Usage: "`WHICH` events of other threads an event waits for: resource (those it depends on), thread (none), total (all before it)"},
			&cli.StringFlag{Name: "outside", Value: "closed", Usage: "`WHEN` messages of clients that were not recorded arrive: closed (as long after the reply before as recorded), timed (at their recorded times)"},
			&cli.StringFlag{Name: "backend", Value: "posix", Usage: "`BACKEND` that executes the events: posix (the kernel), memory (a file system in the memory of this process), null (no-op, to measure the engine), exec:PROGRAM (a plug-in; see docs/plugins)"},
			pluginTimeout(),
			&cli.StringSliceFlag{Name: "limit", Usage: "`NAME=VALUE` that a trace may not exceed; repeatable: files, bytes (default: 1 TiB, and for what events write nine tenths of the free space), descriptors, threads, memory, kernel (bytes of kernel memory). Defaults are less where a container has less"},
			&cli.BoolFlag{Name: "landlock", Usage: "also confine the replay by Landlock (0.7 µs an open)"},
			&cli.IntFlag{Name: "compressibility", Usage: "`PERCENT` by which written data can be compressed"},
			&cli.BoolFlag{Name: "memory", Usage: "use memory as the application did, where it was recorded (record --memory)"},
			&cli.IntFlag{Name: "repeat", Value: 1, Usage: "replay `N` times, and show medians and intervals"},
			&cli.StringFlag{Name: "log", Usage: "write the replayed events to `FILE`, as a script; FILE-trace-run for several traces or runs"},
			&cli.BoolFlag{Name: "strict", Usage: "end at the first result that differs from the recorded one"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the files below the root; files from before the replay are kept in any case"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: runReplay,
	})
}

func runReplay(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "want a compiled trace")
	}
	o, err := replayOptions(c)
	if err != nil {
		return err
	}
	set, err := openPlayed(c, o.Limits.Complete(c.NArg()).Memory)
	defer set.close()
	if err != nil {
		return err
	}
	if o.Root == "" && o.Backend == replay.Posix {
		if o.Root, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
			return err
		}
		if o.Keep || o.Prepare == fileset.PrepareOnly {
			warn("replay: keeping %s", o.Root)
		} else {
			defer unix.Rmdir(o.Root) // the replay has removed its contents
		}
	}
	var runErr error
	for run := range c.Int("repeat") {
		if runErr = set.run(c, o, run); runErr != nil || o.Prepare == fileset.PrepareOnly {
			break
		}
	}
	if set[0].runs == nil {
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
func (set playedSet) status() error {
	for _, p := range set {
		if account := coverage.Of(p.trace.Header()); account.Withheld() != "" {
			return statusOf(compare.Inconclusive)
		}
	}
	return nil
}

// interrupted returns the error of a replay that ended early.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return &exitError{status: exitInterrupted}
	}
	return withHint(err)
}

// played is a trace and the results of its replays.
type played struct {
	file  string
	part  replay.Part
	trace *bin.Trace
	close func() error
	app   *profile.Profile
	runs  []*summary
	logs  []*output // one for each logged run
}

type playedSet []*played

// openPlayed opens the traces of the command line, and the files for their
// logs, before any replay: a replay without its log is useless. Each trace may
// take at most memory bytes.
func openPlayed(c *cli.Context, memory int64) (set playedSet, err error) {
	names := map[string]int{}
	for _, file := range c.Args().Slice() {
		t, f, err := openTrace(file, memory)
		if err != nil {
			return set, withHint(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s~%d", name, names[name])
		}
		p := &played{file: file, part: replay.Part{Name: name, Trace: t}, trace: t, close: f.Close}
		set = append(set, p)
		for run := range c.Int("repeat") {
			if !c.IsSet("log") {
				break
			}
			log, err := createOutput(logName(c, name, run), private)
			if err != nil {
				return set, err
			}
			p.logs = append(p.logs, log)
		}
	}
	return set, nil
}

// logName returns the name of a run's log: the given one, or one derived from
// it if there are several.
func logName(c *cli.Context, trace string, run int) string {
	file := c.String("log")
	ext := filepath.Ext(file)
	stem := strings.TrimSuffix(file, ext)
	if c.NArg() > 1 {
		stem += "-" + trace
	}
	if c.Int("repeat") > 1 {
		stem += fmt.Sprintf("-%d", run+1)
	}
	return stem + ext
}

func (set playedSet) close() {
	for _, p := range set {
		_ = p.close()
		for _, log := range p.logs {
			log.abort()
		}
	}
}

// run replays all traces once.
func (set playedSet) run(c *cli.Context, o replay.Options, run int) error {
	prepared := newProgress("preparing files", -1)
	o.Progress = showPreparation(prepared) // during the preparation only
	var (
		results []*replay.Result
		runErr  error
	)
	if len(set) == 1 {
		var r *replay.Result
		if r, runErr = replay.Run(c.Context, set[0].trace, o); r != nil {
			results = []*replay.Result{r}
		}
		if runErr != nil {
			runErr = fmt.Errorf("%s: %w", set[0].file, runErr)
		}
	} else {
		var parts []replay.Part
		for _, p := range set {
			parts = append(parts, p.part)
		}
		results, runErr = replay.RunAll(c.Context, parts, o)
	}
	prepared.done()
	if c.Context.Err() != nil {
		signal.Reset(os.Interrupt) // the log can be long: a second interrupt ends it
	}
	for i, r := range results {
		p := set[i]
		if p.logs != nil && o.Prepare != fileset.PrepareOnly {
			if err := writeLog(p.logs[run], r); err != nil {
				return err
			}
			if err := p.logs[run].commit(); err != nil {
				return err
			}
		}
		s, err := p.summarise(r)
		if err != nil {
			return err
		}
		p.runs = append(p.runs, s)
	}
	return runErr
}

// writeLog writes the replayed events as a script.
func writeLog(w io.Writer, r *replay.Result) error {
	p := script.NewWriter(w)
	events := r.Events()
	h := &format.Header{Descriptors: events.Header().Descriptors}
	for _, key := range []string{format.MetaCommand, format.MetaPaths, format.MetaCoverage, format.MetaUnsupported, format.MetaReplay} {
		if v, ok := events.Header().Value(key); ok {
			h.Set(key, v)
		}
	}
	if err := p.WriteHeader(h); err != nil {
		return err
	}
	if err := pump(events, p); err != nil {
		return err
	}
	return p.Flush()
}
