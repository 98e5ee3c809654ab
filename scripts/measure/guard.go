package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// guard compares the tree in the working directory with a revision.
type guard struct {
	base   string
	only   string // words, of which a measure has one in its name; all measures if empty
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
	// All commands inherit these.
	for name, value := range map[string]string{"TMPDIR": dir, "LC_ALL": "C"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
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
	fmt.Printf("%d rounds, the tree beside %s; %s\n", g.rounds, g.base, machine())
	w := &workshop{tree: tree, dir: dir}
	if err := w.programs(ctx); err != nil {
		return err
	}
	fmt.Printf("%-34s %-18s %10s %10s %7s  %s\n", "", "", g.base, "tree", "ratio", "interval")
	var found, left []string
	for _, m := range measures {
		if !g.wants(m) {
			continue
		}
		names, err := m.compare(ctx, w, base, tree, g.rounds)
		var cannot *errCannot
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &cannot):
			fmt.Printf("%-34s %v\n", m.name, err)
			left = append(left, m.name)
		case err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		}
		found = append(found, names...)
	}
	fmt.Println(machine())
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

// errCannot says that the base has no result to compare with.
type errCannot struct {
	base string
	err  error
}

func (e *errCannot) Error() string { return fmt.Sprintf("%s can't: %v", e.base, e.err) }
func (e *errCannot) Unwrap() error { return e.err }

func (g *guard) wants(m measure) bool {
	words := strings.Fields(g.only)
	return len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return strings.Contains(m.name, word) })
}

// compare prepares and measures both builds, prints a line for each figure, and returns
// what is worse. It is an errCannot if the base can't be measured.
func (m *measure) compare(ctx context.Context, w *workshop, base, tree *build, rounds int) ([]string, error) {
	for _, b := range []*build{tree, base} {
		if err := w.prepare(ctx, m, b); err != nil {
			if b == base {
				err = &errCannot{base.name, err}
			}
			return nil, err
		}
	}
	return m.measure(ctx, base, tree, rounds)
}

// measure is compare, of builds that are prepared. A figure that looks worse is measured
// once more, and is worse if it is so both times: of hundreds of figures some are worse
// by chance.
func (m *measure) measure(ctx context.Context, base, tree *build, rounds int) (found []string, err error) {
	times, err := m.repeats(ctx, tree)
	if err != nil {
		return nil, err
	}
	if _, err := m.run(ctx, base); err != nil {
		return nil, &errCannot{base.name, err}
	}
	measured := func() (map[string]change, error) {
		samples, err := turns(rounds, []*build{base, tree}, func(b *build) (sample, error) { return m.mean(ctx, b, times) })
		if err != nil {
			return nil, err
		}
		changes := map[string]change{}
		for _, f := range m.figures {
			changes[f.name] = changeOf(f.name, samples[base], samples[tree])
		}
		return changes, nil
	}
	first, err := measured()
	if err != nil {
		return nil, err
	}
	var again map[string]change
	for _, f := range m.figures {
		c := first[f.name]
		fmt.Printf("%-34s %-18s %s\n", m.name, f.name, c)
		if !c.worse(f) {
			continue
		}
		if again == nil {
			if again, err = measured(); err != nil {
				return nil, err
			}
		}
		c = again[f.name]
		fmt.Printf("%-34s %-18s %s\n", "  once more", f.name, c)
		if c.worse(f) {
			found = append(found, fmt.Sprintf("%s: %s: %.3g instead of %.3g, %.2f times (%.2f to %.2f)", m.name, f.name, c.now, c.base, c.ratio, c.Low, c.High))
		}
	}
	return found, nil
}

func (c change) String() string {
	return fmt.Sprintf("%10.4g %10.4g %7.3f  %.3f to %.3f", c.base, c.now, c.ratio, c.Low, c.High)
}

// worse says whether the change is more than the noise. All figures are better if they
// are smaller.
func (c change) worse(f figure) bool {
	return c.ratio > worse && c.Low > 1 && c.now-c.base > f.least
}

// repeats returns how often a sample runs the measure, after a run that warms up.
func (m *measure) repeats(ctx context.Context, b *build) (int, error) {
	start := time.Now()
	if _, err := m.run(ctx, b); err != nil {
		return 0, err
	}
	return max(1, min(repeats, int(shortest/(time.Since(start)+1)))), nil
}

// mean returns the means of so many runs.
func (m *measure) mean(ctx context.Context, b *build, times int) (sample, error) {
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
