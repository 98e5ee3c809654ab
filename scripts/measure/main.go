// Command measure takes the figures of Pianola: what it costs, how fast and how true
// it is. Whatever is compared takes turns in one run, so that all sides meet the same
// machine, and the figures are medians of rounds.
//
//	measure guard -base REV [-only WORDS] [-rounds N]   compares this tree with a revision
//
// guard builds both, measures them in turn, and names what has become worse. It ends
// with 1 then, and with 2 if it can't measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errWorse is returned where something is worse than at the base, and has been named.
var errWorse = errors.New("something is worse")

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
	fmt.Fprintln(os.Stderr, "measure:", err)
	os.Exit(2)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "guard" {
		return fmt.Errorf("want guard, got %q", args)
	}
	var g guard
	flags := flag.NewFlagSet("guard", flag.ExitOnError)
	flags.StringVar(&g.base, "base", "", "the `revision` that the tree is compared with")
	flags.StringVar(&g.only, "only", "", "measure only what has one of these `words` in its name")
	flags.IntVar(&g.rounds, "rounds", 9, "how many `times` each side is measured")
	flags.StringVar(&g.dir, "dir", "", "work in a new directory in `DIR`, best a tmpfs")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if g.base == "" {
		return errors.New("guard: no revision: -base REV")
	}
	return g.run(ctx)
}
