package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"pianola/format/bin"
	"pianola/format/provenance"
	"pianola/internal/files"
	"pianola/internal/plugin"
	"pianola/replay"
	"pianola/replay/fileset"
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
	t, err := recordings.OpenTrace(c.Args().First(), o.Limits.Complete(1).Memory, nil)
	if err != nil {
		return withHint(err)
	}
	defer t.Close()
	calls, err := spans.New(t.Trace, l, o.Limits.Complete(1).Memory)
	if err != nil {
		return fmt.Errorf("%s: layer %s: %w", c.Args().First(), l.Name, err)
	}
	if o.Root == "" {
		if o.Root, err = newRoot(c, o.Keep); err != nil {
			return err
		}
		if !o.Keep {
			defer sandbox.Remove(o.Root)
		}
	}
	if o.Prepare == fileset.PrepareAuto {
		prepared := session.Bytes("preparing files")
		o.Progress = showPreparation(prepared)
		err = spans.Prepare(c.Context, t.Trace, calls.Paths(), o)
		prepared.Finish()
		if err != nil {
			return err
		}
	}
	return playLayer(c, t.Trace, calls, program, o)
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
	log, err := session.files.CreateIf(c.String("log"), files.Private)
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
	var perr error
	if c.Bool("json") {
		perr = printJSON(r.Document())
	} else {
		perr = r.WriteText(session.Stdout("text"))
	}
	switch {
	case perr != nil:
		return perr
	case err != nil:
		return interrupted(err)
	case log != nil:
		return log.Commit()
	}
	return nil
}
