package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/layer"
	"pianola/format/provenance"
	"pianola/internal/files"
	"pianola/internal/plugin"
	"pianola/replay"
	"pianola/replay/fileset"
	"pianola/replay/ranks"
	"pianola/replay/sandbox"
	"pianola/replay/spans"
)

// replayLayer replays the spans of a layer. A program plays them.
func replayLayer(c *cli.Context) error {
	if err := checkMode(c, "play-layer"); err != nil {
		return err
	}
	text, roots := c.StringSlice("backend"), c.StringSlice("root")
	switch {
	case len(text) != 1 || !plugin.Is(text[0]):
		return usage(c, "--play-layer: want --backend %sPLAYER, a program that pianola layer player makes", plugin.Prefix)
	case c.NArg() != 1:
		return usage(c, "--play-layer: want one trace")
	case len(roots) > 1:
		return usage(c, "--play-layer: want one --root")
	}
	l, err := loadLayer(c.String("play-layer"))
	if err != nil {
		return fmt.Errorf("--play-layer: %w", err)
	}
	program, err := parseProgram(c, text[0])
	if err != nil {
		return err
	}
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	o.Backend, o.Keep = replay.Posix, c.Bool("keep")
	if len(roots) > 0 {
		o.Root = roots[0]
	}
	if o.Prepare != fileset.PrepareAuto && o.Prepare != fileset.PrepareNever {
		return usage(c, "--prepare: auto or never with --play-layer")
	}
	place, err := placeOf(c, &o)
	if err != nil {
		return err
	}
	if place == nil {
		return replaySpans(c, c.Args().First(), l, program, o, nil)
	}
	if o.Root == "" {
		return usage(c, "--ranks: --play-layer needs --root, a directory that all ranks see")
	}
	if err := os.MkdirAll(o.Root, 0o777); err != nil {
		return err
	}
	if err := join(c, &o, place); err != nil {
		return err
	}
	return leave(&o, replaySpans(c, operandOf(c.Args().First(), place), l, program, o, replay.ThreadsOf(place.Rank, place.Size)))
}

// replaySpans replays the spans of the threads that choose selects; nil selects all.
func replaySpans(c *cli.Context, file string, l *layer.Layer, program *plugin.Program, o replay.Options, choose func(*format.Header) func(thread int32) bool) error {
	t, err := recordings.OpenTrace(file, o.Limits.Complete(1).Memory, choose)
	if err != nil {
		return withHint(err)
	}
	defer t.Close()
	if s := o.Session; s != nil {
		if err := needRanks(file, t.Header(), s.Size, "--play-layer needs"); err != nil {
			return err
		}
		if err := agree(c, s, t.Trace); err != nil {
			return err
		}
	}
	calls, err := spans.New(t.Trace, l, o.Limits.Complete(1).Memory)
	if s := o.Session; s != nil && (err == nil || errors.Is(err, spans.ErrNoSpans)) { // not all ranks need to have calls
		some, gatherErr := ranks.CollectJSON(c.Context, s, err == nil)
		if gatherErr != nil {
			return gatherErr
		}
		if slices.Contains(some, true) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: layer %s: %w", file, l.Name, err)
	}
	if o.Root == "" {
		if o.Root, err = newRoot(c, o.Keep); err != nil {
			return err
		}
		if !o.Keep {
			defer sandbox.Remove(o.Root)
		}
	}
	if err := prepareSpans(c, t.Trace, calls.Paths(), o); err != nil {
		return err
	}
	if o.Session != nil && !c.IsSet("plugin-timeout") {
		// A call can wait for other ranks.
		program.Timeout += time.Duration(2 * float64(calls.Recorded()) / min(cmp.Or(o.Speed, 1), 1))
	}
	return playLayer(c, t.Trace, calls, program, o)
}

// prepareSpans makes the files with these names, and those of the other ranks.
func prepareSpans(c *cli.Context, t *bin.Trace, names []string, o replay.Options) error {
	s := o.Session
	if s != nil {
		all, err := ranks.CollectJSON(c.Context, s, names)
		if err != nil {
			return err
		}
		names = slices.Concat(all...)
	}
	if o.Prepare == fileset.PrepareAuto && isRankZero(&o) {
		prepared := session.Bytes("preparing files")
		o.Progress, o.Session = showPreparation(prepared), nil
		err := spans.Prepare(c.Context, t, names, o)
		prepared.Finish()
		if err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	_, err := s.Gather(c.Context, nil) // the files are there
	return err
}

// playLayer replays the spans with prepared files, and prints their results.
func playLayer(c *cli.Context, t *bin.Trace, calls *spans.Replay, program *plugin.Program, o replay.Options) error {
	placed, err := spans.OpenFiles(t.Header(), o.Root)
	if err != nil {
		return err
	}
	defer placed.Close()
	if program.Dir, err = filepath.Abs(o.Root); err != nil {
		return err
	}
	name := c.String("log")
	if o.Session != nil && name != "" && name != "-" {
		name = numbered(name, fmt.Sprint(o.Session.Rank))
	}
	log, err := session.files.CreateIf(name, files.Private)
	if err != nil {
		return err
	}
	with := spans.Options{
		Timing: o.Timing, Wait: o.Wait, Speed: o.Speed, Strict: c.Bool("strict"), Place: placed.Place,
		Open:  func(ctx context.Context, _ int32) (spans.Player, error) { return program.Spans(ctx, t.Header()) },
		About: slices.Concat(optionsOf(c, c.Args().Slice()...), provenance.Dir(o.Root, c.Bool("no-host"))),
	}
	if log != nil {
		with.Log = log
	}
	r, err := calls.Run(c.Context, with)
	if err != nil && len(r.Functions) == 0 {
		return interrupted(err)
	}
	if o.Session != nil && err == nil {
		all, err := ranks.CollectJSON(c.Context, o.Session, r)
		if err != nil {
			return err
		}
		for _, other := range all[min(1, len(all)):] {
			r.Add(other)
		}
	}
	if err != nil || isRankZero(&o) { // one that fails has its own calls only
		if c.Bool("json") {
			err = cmp.Or(printJSON(r.Document()), err)
		} else {
			err = cmp.Or(r.WriteText(session.Stdout("text")), err)
		}
	}
	switch {
	case err != nil:
		return interrupted(err)
	case log != nil:
		return log.Commit()
	}
	return nil
}
