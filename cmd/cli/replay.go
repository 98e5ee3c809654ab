package cli

import (
	"cmp"
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

	"pianola/experiment/compare"
	"pianola/experiment/replays"
	"pianola/format"
	"pianola/format/provenance"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/launcher"
	"pianola/replay"
	"pianola/replay/fileset"
)

func replayCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "replay",
		Usage:     "replay traces or recordings on any storage",
		UsageText: "pianola replay [OPTION]… TRACE…",
		Description: "TRACE is a compiled trace, or a recording, which is compiled first. Replay builds the files that\n" +
			"the trace needs below the root, replays each recorded thread with its own timing, and compares the\n" +
			"result with the application. Nothing outside the root is touched.\n" +
			"\n" +
			"Without --root, replay works in a new directory in the working directory and removes it at the end.\n" +
			"Several traces, and the copies of one, are replayed side by side, each in a directory of its own; the\n" +
			"report has the figures of each, and totals.\n" +
			"\n" +
			"With several --backend, each plays the events that its EXPR selects (docs/reference/compile.md), and\n" +
			"the report has the figures of each. The log and the comparison are those of the first.\n" +
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
	set, err := openReplayed(c, o, place)
	defer set.close()
	if err == nil && place != nil {
		err = agree(c, o.Session, set.traces[0].Trace)
	}
	if err == nil {
		err = set.replay(c, o)
	}
	return leave(&o, err)
}

// replayedSet is what is replayed side by side, and the files of it.
type replayedSet struct {
	report *replays.Report
	traces []*replays.Trace
	parts  []replay.Part // the traces
	opened []io.Closer
	logs   [][]*files.Output // of each run: one for each trace and copy; nil without --log
}

// openReplayed opens the traces of the command line, and the files for their logs, before
// any replay: a replay without its log is useless. The caller closes the set, even after an
// error.
func openReplayed(c *cli.Context, o replay.Options, place *launcher.Place) (*replayedSet, error) {
	set := &replayedSet{}
	memory := o.Limits.Complete(c.NArg()*o.Copies).Memory / int64(c.NArg()) // of each trace
	var choose func(*format.Header) func(thread int32) bool
	if place != nil && place.Rank > 0 { // rank 0 compares all threads
		choose = replay.ThreadsOf(place.Rank, place.Size)
	}
	if c.IsSet("log") && (place == nil || place.Rank == 0) {
		set.logs = make([][]*files.Output, c.Int("runs"))
	}
	names := map[string]int{}
	for _, file := range c.Args().Slice() {
		whole := file
		file = operandOf(file, place)
		t, err := recordings.OpenTrace(file, memory, choose)
		if err != nil {
			return set, withHint(err)
		}
		if file != whole && place.Size > 1 {
			if err := needRanks(whole, t.Header(), place.Size, "parts of ranks need"); err != nil {
				return set, errors.Join(err, t.Close())
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s~%d", name, names[name])
		}
		set.opened = append(set.opened, t)
		set.traces = append(set.traces, &replays.Trace{File: file, Trace: t.Trace})
		set.parts = append(set.parts, replay.Part{Name: name, Trace: t.Trace})
		for copy := range o.Copies {
			for run := range set.logs {
				log, err := session.files.Create(logName(c, name, o.Copies, copy, run), files.Private)
				if err != nil {
					return set, err
				}
				set.logs[run] = append(set.logs[run], log)
			}
		}
	}
	set.report = replays.NewReport(o.Copies, set.traces...)
	return set, nil
}

// logName returns the name of the log of a copy and a run, from 0: the given one, or one
// derived from it if there are several.
func logName(c *cli.Context, trace string, copies, copy, run int) string {
	var parts []string
	if c.NArg() > 1 {
		parts = append(parts, trace)
	}
	if copies > 1 {
		parts = append(parts, fmt.Sprint(copy+1))
	}
	if c.Int("runs") > 1 {
		parts = append(parts, fmt.Sprint(run+1))
	}
	return numbered(c.String("log"), parts...)
}

// numbered returns the name of one of several files: out-1.txt for out.txt.
func numbered(file string, parts ...string) string {
	ext := filepath.Ext(file)
	return strings.Join(append([]string{strings.TrimSuffix(file, ext)}, parts...), "-") + ext
}

func (set *replayedSet) close() {
	for _, f := range set.opened {
		_ = f.Close()
	}
}

// newRoot makes a root in the working directory, and says so if it is kept.
func newRoot(c *cli.Context, keep bool) (string, error) {
	dir, err := os.MkdirTemp(".", "pianola-root-")
	if err != nil {
		return "", console.WithHint(err, "--root chooses another directory")
	}
	if keep {
		session.Say("%s: keeping %s", c.Command.Name, dir)
	}
	return dir, nil
}

// replay replays what was opened, and prints the results.
func (set *replayedSet) replay(c *cli.Context, o replay.Options) (err error) {
	for _, root := range rootsOf(&o) {
		switch {
		case *root != "":
		case o.Session != nil:
			*root = "pianola-root-" + o.Session.Run
			if o.Keep && isRankZero(&o) {
				session.Say("replay: keeping %s", *root)
			}
		default:
			keep := o.Keep || o.Prepare == fileset.PrepareOnly
			if *root, err = newRoot(c, keep); err != nil {
				return err
			}
			if !keep {
				defer unix.Rmdir(*root) // the replay has removed its contents
			}
		}
	}
	for run := range c.Int("runs") {
		if err = set.run(c, o, run); err != nil || o.Prepare == fileset.PrepareOnly {
			break
		}
	}
	if set.report.Runs() == 0 || !isRankZero(&o) {
		return interrupted(err)
	}
	perr := set.print(c, o.Prepare == fileset.PrepareOnly)
	switch {
	case err != nil:
		return interrupted(err)
	case perr != nil:
		return perr
	case o.Prepare != fileset.PrepareOnly && set.report.Withheld() != "":
		return statusOf(compare.Inconclusive)
	}
	return nil
}

// print prints the results, or what was prepared.
func (set *replayedSet) print(c *cli.Context, prepared bool) error {
	r, w := set.report, session.Stdout("text")
	switch {
	case c.Bool("json") && prepared:
		return printJSON(r.PreparedDocument())
	case c.Bool("json"):
		return printJSON(r.Document())
	case prepared:
		return r.WritePrepared(w)
	}
	return r.WriteText(w)
}

// run replays all traces once, writes the logs and adds the results to the report.
func (set *replayedSet) run(c *cli.Context, o replay.Options, run int) error {
	prepared := session.Bytes("preparing files")
	o.Progress = showPreparation(prepared) // during the preparation only
	show, played := showPlaying(prepared)
	o.Playing = o.Session.Playing(show)
	where := ""
	if o.Backend.Has().Roots {
		where = o.Root
	}
	about := slices.Concat(optionsOf(c, c.Args().Slice()...), provenance.Dir(where, c.Bool("no-host")))
	results, err := set.play(c.Context, o)
	prepared.Finish()
	played()
	if results == nil || !isRankZero(&o) {
		return err
	}
	about = append(about, provenance.End()...)
	if c.Context.Err() != nil {
		signal.Reset(os.Interrupt) // the log can be long: a second interrupt ends it
	}
	if set.logs != nil {
		for i, log := range set.logs[run] {
			if err := log.Put(func(w io.Writer) error { return results[i].WriteLog(w, about) }); err != nil {
				return err
			}
		}
	}
	return cmp.Or(set.report.Add(results, about), err)
}

// play replays all traces once. There are no results if nothing was replayed.
func (set *replayedSet) play(ctx context.Context, o replay.Options) ([]*replay.Result, error) {
	if len(set.parts) > 1 || o.Copies > 1 {
		return replay.RunAll(ctx, set.parts, o)
	}
	r, err := replay.Run(ctx, set.parts[0].Trace, o)
	if err != nil {
		err = fmt.Errorf("%s: %w", set.traces[0].File, err)
	}
	if r == nil {
		return nil, err
	}
	return []*replay.Result{r}, err
}

// interrupted returns the error of a replay that ended early.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return withHint(err)
}
