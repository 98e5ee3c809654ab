package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// guard compares the tree in the working directory with a revision.
type guard struct {
	base   string
	only   string // words, of which "STUDY/ROW" contains one; all if empty
	dir    string // in which a directory is made
	rounds int
}

// worse is the ratio above which a figure is worse, if its interval is above 1, too.
const worse = 1.05

// shortest is how long a sample takes at least: shorter runs are repeated, at most
// repeats times.
const (
	shortest = 300 * time.Millisecond
	repeats  = 30
)

// leasts are the figures that the guard compares, all of which are better if they are
// smaller, with the smallest difference that counts: below it is the noise of clocks,
// pages and the allocator.
var leasts = map[string]float64{
	"run time, s":    0.003,
	"processor, s":   0.003,
	"memory, MiB":    2,
	"a call, ns":     3,
	"an event, ns":   2,
	"bytes":          4096,
	"bytes an event": 0.1,
	"own p50, µs":    0.1,
	"own p99, µs":    5,
	addedShare:       2,
}

// sureRounds is how often both builds are measured at least before a figure is named as worse:
// two of ten comparisons of a tree with itself, in three rounds, named one by chance.
const sureRounds = 9

// addedShare is what a side adds to the one beside it.
const addedShare = "added, %"

func (g *guard) run(ctx context.Context) (err error) {
	source, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := g.dir
	if dir == "" {
		dir = scratch()
	}
	if dir, err = os.MkdirTemp(dir, "pianola-guard-"); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	old := filepath.Join(dir, "revision")
	remove, err := checkout(ctx, g.base, old)
	if err != nil {
		return err
	}
	defer remove()
	// Directories have names of one length: paths are arguments, and stand in output.
	base, err := makeBuild(ctx, g.base, old, filepath.Join(dir, "base"))
	if err != nil {
		return err
	}
	tree, err := makeBuild(ctx, "tree", source, filepath.Join(dir, "tree"))
	if err != nil {
		return err
	}
	fmt.Printf("%d rounds, the tree compared with %s; %s\n", g.rounds, g.base, machine())
	w := &workshop{tree: tree, dir: dir}
	if err := w.setUp(ctx); err != nil {
		return err
	}
	defer func() { fmt.Println(machine()) }()
	return g.compare(ctx, studies, w, base, tree)
}

// compare measures what studies have for the guard, and says what is worse.
func (g *guard) compare(ctx context.Context, all []study, w *workshop, old, new *build) error {
	var benches [2]*bench
	for i, b := range []*build{old, new} {
		benches[i] = &bench{build: b, work: w, dir: filepath.Dir(b.pianola), here: true}
	}
	base, tree := benches[0], benches[1]
	fmt.Printf("%-44s %-16s %10s %10s %7s  %s\n", "", "", g.base, "tree", "ratio", "interval")
	var found, left []string
	measured := false
	for _, p := range wanted(all, strings.Fields(g.only)) {
		if !slices.ContainsFunc(p.sides, func(s side) bool { return s.guard }) {
			continue
		}
		measured = true
		worse, cannot, err := p.guarded(ctx, base, tree, g.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		found, left = append(found, worse...), append(left, cannot...)
	}
	if !measured {
		return fmt.Errorf("the guard measures nothing that has %q in its name", g.only)
	}
	if len(left) > 0 {
		fmt.Printf("not compared: %s\n", strings.Join(left, ", "))
	}
	if len(found) > 0 {
		fmt.Printf("worse than %s by more than %.0f %%:\n  %s\n", g.base, 100*(worse-1), strings.Join(found, "\n  "))
		return errWorse
	}
	fmt.Printf("nothing that was compared is worse than %s by more than %.0f %%\n", g.base, 100*(worse-1))
	if len(left) > 0 {
		return errLeft
	}
	return nil
}

// errCannot is the error without a result to compare with.
type errCannot struct {
	who string
	err error
}

func (e *errCannot) Error() string { return fmt.Sprintf("%s can't: %v", e.who, e.err) }
func (e *errCannot) Unwrap() error { return e.err }

// cannot makes an errCannot of what the base can't do, and of what this machine lacks.
func (b *bench) cannot(err error, isBase bool) error {
	if why := leftOutError(""); isBase || errors.As(err, &why) {
		return &errCannot{b.build.name, err}
	}
	return err
}

// guarded compares a row of two builds. It returns what is worse, and what can't be compared.
func (p part) guarded(ctx context.Context, base, tree *bench, rounds int) (found, left []string, err error) {
	dirs := map[*bench]string{}
	var begun error
	for _, b := range []*bench{tree, base} {
		dir, end, failed := b.begin(ctx, p)
		defer func() { err = errors.Join(err, end(), b.unmount(ctx)) }()
		dirs[b] = dir
		if begun == nil && failed != nil {
			begun = b.cannot(failed, b == base)
		}
	}
	for _, s := range p.sides {
		var cannot *errCannot
		if !s.guard {
			continue
		}
		m := p.measure(s, dirs)
		worse, err := []string(nil), begun
		if err == nil {
			worse, err = m.compare(ctx, base, tree, rounds)
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.As(err, &cannot):
			fmt.Printf("%-44s %v\n", m.name, err)
			left = append(left, m.name)
		case err != nil:
			return nil, nil, err
		}
		found = append(found, worse...)
	}
	return found, left, nil
}

// measure is a side of a row, as the guard takes it.
type measure struct {
	name string
	run  func(context.Context, *bench) (sample, error)
}

// measure returns the measure of a side. If the side adds to another one, each run is a pair
// of them, whose order alternates.
func (p part) measure(s side, dirs map[*bench]string) *measure {
	runs := map[*bench]int{}
	beside := slices.IndexFunc(p.sides, func(other side) bool { return other.name == s.of })
	return &measure{p.name() + "/" + s.name, func(ctx context.Context, b *bench) (sample, error) {
		if !s.added {
			return b.do(ctx, p, s, dirs[b])
		}
		pair := []side{s, p.sides[beside]}
		if runs[b]++; runs[b]%2 == 0 {
			slices.Reverse(pair)
		}
		got := map[string]sample{}
		for _, s := range pair {
			var err error
			if got[s.name], err = b.do(ctx, p, s, dirs[b]); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"run time, s", "a call, ns"} {
			if with, without := got[s.name][name], got[s.of][name]; with != 0 && without != 0 {
				got[s.name][addedShare] = 100 * (with/without - 1)
			}
		}
		return got[s.name], nil
	}}
}

// compare measures both builds, prints a line for each figure, and returns what is worse.
// A figure that looks worse is measured once more, in at least sureRounds, and is worse if it
// is so both times: of hundreds of figures some are worse by chance.
func (m *measure) compare(ctx context.Context, base, tree *bench, rounds int) (found []string, err error) {
	times, warm, err := m.repeats(ctx, tree)
	if err != nil {
		return nil, tree.cannot(err, false)
	}
	if _, err := m.run(ctx, base); err != nil {
		return nil, base.cannot(err, true)
	}
	measured := func(rounds int) (map[string]change, error) {
		samples, err := turns(rounds, []*bench{base, tree}, func(b *bench) (sample, error) { return m.mean(ctx, b, times) })
		if err != nil {
			return nil, err
		}
		changes := map[string]change{}
		for name := range warm {
			changes[name] = changeOf(name, samples[base], samples[tree])
		}
		return changes, nil
	}
	first, err := measured(rounds)
	if err != nil {
		return nil, err
	}
	var again map[string]change
	for _, name := range slices.Sorted(maps.Keys(warm)) {
		least, ok := leasts[name]
		if !ok {
			continue
		}
		c := first[name]
		fmt.Printf("%-44s %-16s %s\n", m.name, name, c)
		if !c.worse(least) {
			continue
		}
		if again == nil {
			if again, err = measured(max(rounds, sureRounds)); err != nil {
				return nil, err
			}
		}
		c = again[name]
		fmt.Printf("%-44s %-16s %s\n", "  once more", name, c)
		if c.worse(least) {
			found = append(found, fmt.Sprintf("%s: %s: %.3g instead of %.3g, %.2f times (%.2f to %.2f)", m.name, name, c.now, c.base, c.ratio, c.Low, c.High))
		}
	}
	return found, nil
}

func (c change) String() string {
	return fmt.Sprintf("%10.4g %10.4g %7.3f  %.3f to %.3f", c.base, c.now, c.ratio, c.Low, c.High)
}

// worse says whether the change is more than the noise.
func (c change) worse(least float64) bool {
	return c.ratio > worse && c.Low > 1 && c.now-c.base > least
}

// repeats returns how often a sample runs the measure, after a run that warms up.
func (m *measure) repeats(ctx context.Context, b *bench) (int, sample, error) {
	start := time.Now()
	got, err := m.run(ctx, b)
	return max(1, min(repeats, int(shortest/(time.Since(start)+1)))), got, err
}

// mean returns the means of so many runs.
func (m *measure) mean(ctx context.Context, b *bench, times int) (sample, error) {
	sum := sample{}
	for range times {
		got, err := m.run(ctx, b)
		if err != nil {
			return nil, err
		}
		for name, value := range got {
			sum[name] += value / float64(times)
		}
	}
	return sum, nil
}
