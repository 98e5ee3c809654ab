package pattern

import (
	"bytes"
	"errors"
)

// The errors that calls on names meet, as results.
const (
	enoent    = -2
	eexist    = -17
	enotdir   = -20
	eisdir    = -21
	einval    = -22
	enotempty = -39
)

// node is a file or directory.
type node struct {
	dir      bool
	size     int64 // bytes of a file
	parent   *node
	children map[string]*node // of a directory
	listing  int64            // bytes that getdents64 returns for the children
}

// tree is the name space. Nothing exists in it but what the pattern says or
// makes.
type tree struct {
	root  *node
	count int // files and directories
}

var errFiles = errors.New("more than a million files and directories at one time")

func newTree() *tree { return &tree{root: &node{dir: true, children: map[string]*node{}}} }

// errPath says why a name can't be one, nil where it can.
func errPath(path []byte) error {
	switch {
	case len(path) == 0:
		return errors.New("an empty name")
	case path[0] == '/':
		return errors.New("a name is relative to where a replay works")
	case len(path) > 4095:
		return errors.New("a name has at most 4095 bytes")
	}
	for part := range bytes.SplitSeq(path, []byte("/")) {
		if len(part) == 0 || string(part) == "." || string(part) == ".." {
			return errors.New(`no part of a name is empty, "." or ".."`)
		}
		if len(part) > 255 {
			return errors.New("a part of a name has at most 255 bytes")
		}
	}
	return nil
}

// find returns the directory that holds a name, the last part of it, and what
// goes by it, nil for nothing. Where there is no such directory the result is
// an error number.
func (t *tree) find(path []byte) (dir *node, base []byte, found *node, errno int64) {
	dir = t.root
	for {
		part, rest, more := bytes.Cut(path, []byte("/"))
		found = dir.children[string(part)]
		switch {
		case !more:
			return dir, part, found, 0
		case found == nil:
			return nil, nil, nil, enoent
		case !found.dir:
			return nil, nil, nil, enotdir
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
		dir, base, found, errno := t.find(path[:i])
		if errno == 0 && found == nil {
			if err := t.add(dir, base, &node{dir: true}); err != nil {
				return err
			}
		}
	}
	dir, base, found, errno := t.find(path)
	switch {
	case errno != 0:
		return errors.New("a name goes through a file")
	case found != nil && (!found.dir || !n.dir):
		return errors.New("it is there twice")
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

// rename moves a node and returns the result of the call. What was there by
// the new name is gone.
func (t *tree) rename(from, to []byte) (ret int64, err error) {
	oldDir, oldBase, old, errno := t.find(from)
	if errno != 0 {
		return errno, nil
	}
	newDir, newBase, was, errno := t.find(to)
	switch {
	case errno != 0:
		return errno, nil
	case old == nil:
		return enoent, nil
	case old == was:
		return 0, nil
	case below(newDir, old):
		return einval, nil
	case was != nil && below(oldDir, was):
		return enotempty, nil
	case was != nil && old.dir && !was.dir:
		return enotdir, nil
	case was != nil && !old.dir && was.dir:
		return eisdir, nil
	case was != nil && len(was.children) > 0:
		return enotempty, nil
	case was != nil:
		t.remove(newDir, newBase)
	}
	t.remove(oldDir, oldBase)
	return 0, t.add(newDir, newBase, old)
}
