package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Root is a directory that replays work in, on a storage system that may have a
// name. The zero Root stands for none.
type Root struct{ Name, Dir string }

func (r Root) String() string { return cmp.Or(r.Name, r.Dir) }

// ParseRoots parses roots as the command line gives them, each as DIR or NAME=DIR, whose
// name can be that of a side.
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
	case !IsName(name):
		return Root{}, fmt.Errorf("%q is not a name (want for example nvme, without spaces, commas, slashes and quotes, at most %d bytes)", name, maxName)
	}
	return Root{name, dir}, nil
}

// NameRoots gives names to the roots without one: the last part of their directories in
// which all of them differ, or else their number.
func NameRoots(roots []Root) {
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
		case len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) || slices.ContainsFunc(names, func(name string) bool { return !IsName(name) }):
			continue
		}
		for i := range roots {
			roots[i].Name = names[i]
		}
		return
	}
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

// openRoots assigns a root to each side that needs one. The files in a root stay from run
// to run, so that a run restores only what the last one changed.
func (e *Experiment) openRoots(s *Subject) error {
	seen := map[string]bool{}
	for i := range s.played {
		p := &s.played[i]
		p.root = p.Root.Dir
		if p.setup.Rooted() && p.root == "" {
			if s.made == "" {
				var err error
				if s.made, err = e.NewRoot(); err != nil {
					return err
				}
				s.remove = append(s.remove, s.made)
			}
			p.root = s.made
		}
		for _, dir := range append(p.setup.Beside(), p.root) {
			if dir == "" || seen[dir] {
				continue
			}
			seen[dir] = true
			if err := s.use(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// use notes what is to be done at the end with a directory that replays leave
// files in.
func (s *Subject) use(dir string) error {
	names, err := os.ReadDir(dir)
	switch {
	case err == nil && len(names) > 0: // files of an earlier replay, or no root at all
	case err == nil:
		s.clear = append(s.clear, dir)
	case errors.Is(err, fs.ErrNotExist):
		s.clear, s.remove = append(s.clear, dir), append(s.remove, dir)
	default:
		return err
	}
	return nil
}

func (e *Experiment) closeRoots(s *Subject) {
	if e.Keep {
		return
	}
	for _, root := range s.clear {
		if names, err := os.ReadDir(root); err == nil && len(names) == 0 || errors.Is(err, fs.ErrNotExist) {
			continue // no run used it
		}
		if err := e.Clear(root); err != nil {
			e.Warn(err)
		}
	}
	for _, root := range s.remove {
		os.Remove(root) // fails unless the directory is empty
	}
}
