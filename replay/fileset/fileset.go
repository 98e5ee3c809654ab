package fileset

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// item is a name below the root that must exist before a replay.
type item struct {
	*format.File        // type, size and so on; all fillers share one
	path         string // clean
	parent       *item  // its directory; nil for the root
	target       *item  // of a hard link: the file that it links to

	exists     bool  // exists, with the right type, mode and attributes
	kept       int64 // bytes at the start of the existing file that are kept
	reallocate bool  // the existing empty file must be allocated again
	inode      inode // of what exists, for files with several names; else 0
}

// length returns the size of a file. A file that replaces a pipe, a socket or a
// device is empty.
func (it *item) length() int64 {
	if it.Type == format.TypeReg {
		return it.Size
	}
	return 0
}

// data returns how many bytes are written into a file that is created again.
func (it *item) data() (bytes int64) {
	if len(it.Blocks) == 0 {
		return allocated(it.File)
	}
	at := int64(0)
	for _, s := range it.Blocks {
		if s.Allocation == format.Data {
			bytes += max(min(at+s.Bytes, it.Size)-at, 0)
		}
		at += s.Bytes
	}
	return bytes
}

// set is the files that must exist before a replay, in the order of creation.
type set struct {
	dirs  [][]*item // by depth; the root is alone in the first
	files []*item   // all but directories and hard links; fillers too
	links []*item
	names map[string]*item
}

// filler is the file of all fillers.
var filler = format.File{Type: format.TypeReg, Mode: 0o600, Cached: -1}

// newSet puts a fileset in order. Every directory except the root must be
// listed, no name may repeat, and a hard link must follow its file. So no
// symbolic link of the fileset is on the path to one of its files.
func newSet(files []format.File, fillers map[string]int64) (*set, error) {
	root := &item{File: &format.File{Path: ".", Type: format.TypeDir}, path: "."}
	s := &set{dirs: [][]*item{{root}}, names: map[string]*item{".": root}}
	add := func(it *item) error {
		if s.names[it.path] != nil || it.path == sandbox.Marker {
			return fmt.Errorf("make %s %q: %w", it.Type, it.path, unix.EEXIST)
		}
		s.names[it.path] = it
		return nil
	}
	for i := range files {
		f := &files[i]
		it := &item{File: f, path: filepath.Clean(f.Path)}
		if it.path == "." {
			if f.Type != format.TypeDir {
				return nil, fmt.Errorf("make %s %q: %w", f.Type, f.Path, unix.EEXIST)
			}
			root.File = f
			continue
		}
		if err := add(it); err != nil {
			return nil, err
		}
		switch {
		case f.Link != "":
			if it.target = s.names[filepath.Clean(f.Link)]; it.target == nil || it.target.Type == format.TypeDir {
				return nil, fmt.Errorf("create %s %q: its target %q does not exist: %w", f.Type, f.Path, f.Link, unix.ENOENT)
			}
			if it.target.target != nil {
				it.target = it.target.target
			}
			s.links = append(s.links, it)
		case f.Type == format.TypeDir:
			depth := strings.Count(it.path, "/") + 1
			for len(s.dirs) <= depth {
				s.dirs = append(s.dirs, nil)
			}
			s.dirs[depth] = append(s.dirs[depth], it)
		default:
			s.files = append(s.files, it)
		}
	}
	for path, n := range fillers {
		for i := range n {
			it := &item{File: &filler, path: filepath.Join(path, fillerName(i))}
			if err := add(it); err != nil {
				return nil, err
			}
			s.files = append(s.files, it)
		}
	}
	for _, it := range s.names {
		if it == root {
			continue
		}
		it.parent = s.names[filepath.Dir(it.path)]
		if it.parent == nil || it.parent.Type != format.TypeDir {
			return nil, fmt.Errorf("make %s %q: no directory %q: %w", it.Type, it.path, filepath.Dir(it.path), unix.ENOENT)
		}
	}
	// Long files come first, so that none of them starts when everything else
	// is done. The others keep their order, so that they are near each other
	// on disk.
	slices.SortStableFunc(s.files, func(a, b *item) int { return cmp.Compare(b.length()/long, a.length()/long) })
	return s, nil
}

// long is the length from which a file is made before shorter ones.
const long = 64 << 20

// fillerName returns the name of a file that only makes a directory larger. All
// have the same length.
func fillerName(i int64) string { return fmt.Sprintf(".pianola_fill_%08d", i) }
