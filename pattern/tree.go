package pattern

import (
	"bytes"
	"errors"
)

// The errors that calls on names can return as results. Others are errors of
// the pattern, because no benchmark intends them, and compile learns less from
// a failed call than the pattern knows.
const (
	enoent = -2
	eexist = -17
)

// node is a file or directory.
type node struct {
	dir      bool
	size     int64 // bytes of a file
	parent   *node
	children map[string]*node // of a directory
	listing  int64            // bytes that getdents64 returns for the children
}

// tree is the name space. It holds only what the pattern lists or creates.
type tree struct {
	root  *node
	count int // files and directories
}

var (
	errFiles   = errors.New("more than a million files and directories at a time")
	errThrough = errors.New("a part of the path is not a directory")
	errDir     = errors.New("is a directory")
	errFull    = errors.New("the directory is not empty")
	errWithin  = errors.New("a directory cannot be moved into itself")
)

func newTree() *tree { return &tree{root: &node{dir: true, children: map[string]*node{}}} }

// errPath says why a name can't be one, nil where it can.
func errPath(path []byte) error {
	switch {
	case len(path) == 0:
		return errors.New("an empty name")
	case path[0] == '/':
		return errors.New("a name must be relative to the root of the replay")
	case len(path) > 4095:
		return errors.New("a name is longer than 4095 bytes")
	}
	for part := range bytes.SplitSeq(path, []byte("/")) {
		if len(part) == 0 || string(part) == "." || string(part) == ".." {
			return errors.New(`a part of a name cannot be empty, "." or ".."`)
		}
		if len(part) > 255 {
			return errors.New("a part of a name is longer than 255 bytes")
		}
	}
	return nil
}

// find returns the directory that holds a name, the last part of it, and what
// goes by it, nil for nothing. Where there is no such directory that is nil.
func (t *tree) find(path []byte) (dir *node, base []byte, found *node, err error) {
	dir = t.root
	for {
		part, rest, more := bytes.Cut(path, []byte("/"))
		found = dir.children[string(part)]
		switch {
		case !more:
			return dir, part, found, nil
		case found == nil:
			return nil, nil, nil, nil
		case !found.dir:
			return nil, nil, nil, errThrough
		}
		dir, path = found, rest
	}
}

// add puts a node into a directory.
func (t *tree) add(dir *node, base []byte, n *node) error {
	if t.count++; t.count > maxFiles {
		return errFiles
	}
	if n.parent = dir; n.dir && n.children == nil {
		n.children = map[string]*node{}
	}
	dir.children[string(base)] = n
	dir.listing += listed(base)
	return nil
}

// remove takes a node out of its directory.
func (t *tree) remove(dir *node, base []byte) {
	t.count--
	delete(dir.children, string(base))
	dir.listing -= listed(base)
}

// listed returns the bytes of a record of getdents64.
func listed(base []byte) int64 { return (19 + int64(len(base)) + 1 + 7) &^ 7 }

// ready adds what exists at the start, and the directories above it.
func (t *tree) ready(path []byte, n *node) error {
	for i, c := range path {
		if c != '/' {
			continue
		}
		dir, base, found, err := t.find(path[:i])
		if err == nil && found == nil {
			if err := t.add(dir, base, &node{dir: true}); err != nil {
				return err
			}
		}
	}
	dir, base, found, err := t.find(path)
	switch {
	case err != nil:
		return err
	case found != nil && (!found.dir || !n.dir):
		return errors.New("it is listed twice")
	case found != nil:
		return nil
	}
	return t.add(dir, base, n)
}

// below reports whether a node is another or lies below it.
func below(n, dir *node) bool {
	for ; n != nil; n = n.parent {
		if n == dir {
			return true
		}
	}
	return false
}

// rename moves a node and returns the result of the call. It removes a node that had
// the new name.
func (t *tree) rename(from, to []byte) (ret int64, err error) {
	oldDir, oldBase, old, err := t.find(from)
	if err != nil || old == nil {
		return enoent, err
	}
	newDir, newBase, was, err := t.find(to)
	switch {
	case err != nil || newDir == nil:
		return enoent, err
	case old == was:
		return 0, nil
	case below(newDir, old):
		return 0, errWithin
	case was != nil && old.dir && !was.dir:
		return 0, errThrough
	case was != nil && !old.dir && was.dir:
		return 0, errDir
	case was != nil && len(was.children) > 0:
		return 0, errFull
	case was != nil:
		t.remove(newDir, newBase)
	}
	t.remove(oldDir, oldBase)
	return 0, t.add(newDir, newBase, old)
}
