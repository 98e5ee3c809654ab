package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Root is a directory that replays work in, on a storage system that may have a
// name. The zero Root stands for none.
type Root struct{ Name, Dir string }

func (r Root) String() string { return cmp.Or(r.Name, r.Dir) }

// ParseRoots parses roots as the command line gives them, each as DIR or NAME=DIR.
// A name holds no slash, so a directory with a "=" in its own name is written as
// ./a=b; a directory that exists under the whole text is meant by it, too. Neither a
// directory nor a name may be given twice.
func ParseRoots(texts []string) (roots []Root, err error) {
	for _, text := range texts {
		r, err := parseRoot(text)
		if err != nil {
			return nil, err
		}
		for _, other := range roots {
			switch {
			case other.String() == r.String():
				return nil, fmt.Errorf("duplicate %q", r)
			case sameDir(other.Dir, r.Dir):
				return nil, fmt.Errorf("%s and %s are the same directory", other, r)
			}
		}
		roots = append(roots, r)
	}
	return roots, nil
}

func parseRoot(text string) (Root, error) {
	name, dir, named := strings.Cut(text, "=")
	if info, err := os.Stat(text); err == nil && info.IsDir() || strings.Contains(name, "/") {
		named = false
	}
	switch {
	case text == "":
		return Root{}, errors.New("no directory given")
	case !named:
		return Root{Dir: text}, nil
	case name == "" || dir == "":
		return Root{}, fmt.Errorf("%q is neither DIR nor NAME=DIR", text)
	}
	return Root{name, dir}, nil
}

// sameDir reports whether two names lead to one directory, or will once it exists.
func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	a, errX = filepath.Abs(a)
	b, errY = filepath.Abs(b)
	return errX == nil && errY == nil && a == b
}

// OpenRoots assigns a root to each trial that needs one. The files in a root
// stay from run to run, so that a run restores only what the last one changed.
func (e *Experiment) OpenRoots() error {
	made := ""
	seen := map[string]bool{}
	for i, s := range e.setups {
		root := e.Report.Trials[i].Root.Dir
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
		for _, dir := range append(s.Beside(), root) {
			if dir == "" || seen[dir] {
				continue
			}
			seen[dir] = true
			if err := e.use(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// use notes what is to be done at the end with a directory that replays leave
// files in.
func (e *Experiment) use(dir string) error {
	names, err := os.ReadDir(dir)
	switch {
	case err == nil && len(names) > 0: // files of an earlier replay, or no root at all
	case err == nil:
		e.clear = append(e.clear, dir)
	case errors.Is(err, fs.ErrNotExist):
		e.clear, e.remove = append(e.clear, dir), append(e.remove, dir)
	default:
		return err
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
