package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/experiment"
)

// rootsOf returns the roots of a command line. Their names can be those of sides.
func rootsOf(c *cli.Context) ([]experiment.Root, error) {
	roots, err := experiment.ParseRoots(c.StringSlice("root"))
	if err != nil {
		return nil, usage(c, "--root: %w", err)
	}
	for _, r := range roots {
		if r.Name != "" && !isSideName(r.Name) {
			return nil, usage(c, "--root: %q is no name such as nvme, without spaces, commas, slashes and quotes, of at most %d bytes", r.Name, maxSideName)
		}
	}
	return roots, nil
}

// nameRoots gives names to the roots without one: the last part of their directories in
// which all of them differ, or else their number.
func nameRoots(roots []experiment.Root) {
	for up := 1; ; up++ {
		names := make([]string, len(roots))
		for i, r := range roots {
			names[i] = r.Name
			if dir, err := filepath.Abs(r.Dir); r.Name == "" && err == nil {
				if parts := strings.Split(dir, "/"); up < len(parts) {
					names[i] = parts[len(parts)-up]
				}
			}
		}
		switch {
		case slices.Contains(names, ""): // no more parts
			for i := range roots {
				if roots[i].Name == "" {
					roots[i].Name = fmt.Sprintf("root-%d", i+1)
				}
			}
			return
		case len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) || !allSideNames(names):
			continue
		}
		for i := range roots {
			roots[i].Name = names[i]
		}
		return
	}
}

func allSideNames(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !isSideName(name) })
}
