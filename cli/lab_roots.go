package cli

import (
	"errors"
	"io/fs"
	"os"

	"pianola/replay"
	"pianola/replay/sandbox"
)

// labRoots are the directories of a laboratory. What is in them stays from run
// to run, so that only what a run has changed is to be restored.
type labRoots struct {
	clear  []string // to be emptied at the end
	remove []string // and removed
}

// openLabRoots gives each trial that needs one its root.
func openLabRoots(l *laboratory, keep bool) (*labRoots, error) {
	r, made := &labRoots{}, ""
	seen := map[string]bool{}
	for _, t := range l.trials {
		if t.options.Backend != replay.Posix {
			continue
		}
		root := t.Root
		if root == "" {
			if made == "" {
				var err error
				if made, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
					return r, &hint{err, "--root chooses another directory"}
				}
				r.remove = append(r.remove, made)
			}
			root = made
		}
		t.options.Root, t.options.Keep = root, true
		if seen[root] {
			continue
		}
		seen[root] = true
		names, err := os.ReadDir(root)
		switch {
		case err == nil && len(names) > 0: // an earlier replay's, or no root at all
		case err == nil:
			r.clear = append(r.clear, root)
		case errors.Is(err, fs.ErrNotExist):
			r.clear, r.remove = append(r.clear, root), append(r.remove, root)
		default:
			return r, err
		}
	}
	if keep {
		if made != "" {
			warn("lab: keeping %s", made)
		}
		*r = labRoots{}
	}
	return r, nil
}

func (r *labRoots) close() {
	for _, root := range r.clear {
		if names, err := os.ReadDir(root); err == nil && len(names) == 0 || errors.Is(err, fs.ErrNotExist) {
			continue // nothing was ever made in it
		}
		if err := sandbox.Clear(root); err != nil {
			warn("lab: %v", err)
		}
	}
	for _, root := range r.remove {
		os.Remove(root) // an empty directory, or what is no more ours
	}
}
