package lab

import (
	"errors"
	"io/fs"
	"os"
)

// OpenRoots assigns a root to each trial that needs one. The files in a root
// stay from run to run, so that a run restores only what the last one changed.
func (e *Experiment) OpenRoots() error {
	made := ""
	seen := map[string]bool{}
	for i, s := range e.setups {
		root := e.Report.Trials[i].Root
		if s.Rooted() && root == "" {
			if made == "" {
				var err error
				if made, err = e.NewRoot(); err != nil {
					return err
				}
				e.remove = append(e.remove, made)
			}
			root = made
		}
		e.roots = append(e.roots, root)
		if root == "" || seen[root] {
			continue
		}
		seen[root] = true
		names, err := os.ReadDir(root)
		switch {
		case err == nil && len(names) > 0: // files of an earlier replay, or no root at all
		case err == nil:
			e.clear = append(e.clear, root)
		case errors.Is(err, fs.ErrNotExist):
			e.clear, e.remove = append(e.clear, root), append(e.remove, root)
		default:
			return err
		}
	}
	return nil
}

func (e *Experiment) closeRoots() {
	if e.Keep {
		return
	}
	for _, root := range e.clear {
		if names, err := os.ReadDir(root); err == nil && len(names) == 0 || errors.Is(err, fs.ErrNotExist) {
			continue // no run used it
		}
		if err := e.Clear(root); err != nil {
			e.Warn(err)
		}
	}
	for _, root := range e.remove {
		os.Remove(root) // fails unless the directory is empty
	}
}
