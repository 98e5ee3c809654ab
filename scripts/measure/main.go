// Command measure takes the figures of Pianola: what it costs, how fast and how true
// it is. Whatever is compared takes turns in one run, so that all sides meet the same
// machine, and the figures are medians of rounds.
//
//	measure guard -base REV [-only WORDS] [-rounds N]   compares this tree with a revision
//	measure figures [-out DIR] [-only WORDS]            measures what the documents tell
//	measure clock FILE COMMAND…                         runs a command, and appends what it took to FILE
//	measure cold DIR                                    drops the files of DIR from the page cache
//
// guard builds both, measures them in turn, and names what has become worse. It ends
// with 1 then, and with 2 if it can't measure. figures writes a file for each study, and
// measures what that lacks. clock and cold are for its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// errWorse is returned where something is worse than at the base, and has been named.
var errWorse = errors.New("something is worse")

// errLeft is returned where nothing is worse of what could be compared, but not all could be.
var errLeft = errors.New("the base has no results for some measures")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	stop()
	if errors.Is(err, errWorse) {
		os.Exit(1)
	}
	// A command that is clocked says itself why it fails.
	if status := (*exec.ExitError)(nil); errors.As(err, &status) && status.Exited() && os.Args[1] == "clock" {
		os.Exit(status.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "measure:", err)
	os.Exit(2)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want guard, figures, clock or cold")
	}
	command, args := args[0], args[1:]
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	only := flags.String("only", "", "measure only rows with one of these `words` in their name")
	switch command {
	case "guard":
		var g guard
		flags.StringVar(&g.base, "base", "", "the `revision` that the tree is compared with")
		flags.IntVar(&g.rounds, "rounds", 9, "how many `times` each side is measured")
		flags.StringVar(&g.dir, "dir", "", "work in a new directory in `DIR`, best a tmpfs")
		if err := flags.Parse(args); err != nil {
			return err
		}
		if g.base == "" {
			return errors.New("guard: no revision: -base REV")
		}
		g.only = *only
		return g.run(ctx)
	case "figures":
		var b bench
		flags.StringVar(&b.out, "out", "docs/measured", "write the files to `DIR`")
		flags.IntVar(&b.rounds, "rounds", 7, "how many `times` each side is measured")
		flags.StringVar(&b.dir, "dir", "demo/measured", "work in a new directory in `DIR`")
		flags.StringVar(&b.since, "since", "", "measure rows again that are older than this `revision`")
		flags.BoolVar(&b.force, "force", false, "measure on a machine that is not quiet, too")
		if err := flags.Parse(args); err != nil {
			return err
		}
		b.only = strings.Fields(*only)
		return b.run(ctx)
	case "clock":
		if len(args) < 2 {
			return errors.New("clock: want FILE COMMAND…")
		}
		return clock(ctx, args[0], args[1:])
	case "cold":
		return cold(strings.Join(args, " "))
	}
	return fmt.Errorf("want guard, figures, clock or cold, got %q", command)
}
