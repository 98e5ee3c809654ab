package compile

import (
	"bytes"
	"strings"

	"pianola/format"
)

// maxFollow is the kernel's limit of symbolic links in one path
// (path_resolution(7)).
const maxFollow = 40

// The kernel's limits of names (path_resolution(7)).
const (
	maxPath = 4095 // PATH_MAX without the byte that ends a path
	maxName = 255  // NAME_MAX
)

// maxDepth bounds the length of the absolute paths that are simulated, in
// bytes. Relative paths can lead to directories beyond maxPath.
const maxDepth = 1 << 16

// longName replaces names and paths that are too long. It is one byte longer
// than the kernel accepts.
var longName = "pianola_long" + strings.Repeat("_", maxName+1-len("pianola_long"))

// long returns the entry of longName.
func (n *names) long() *entry { return n.lookup(n.root, longName) }

// tooLong returns the position of the first component of a path that is longer
// than maxName, -1 for none.
func tooLong(path []byte) int {
	if len(path) <= maxName {
		return -1
	}
	for start := 0; ; {
		end := bytes.IndexByte(path[start:], '/')
		switch {
		case end > maxName, end < 0 && len(path)-start > maxName:
			return start
		case end < 0:
			return -1
		}
		start += end + 1
	}
}

// way is the state of a path walk.
type way struct {
	trail []*entry // directories and links
	slash bool     // the path, or the target of the last link in it, ended with a slash
	magic *target  // the path ended in a magic link
}

// lastLink says what a path leads to whose last name is a symbolic link.
type lastLink uint8

const (
	linkItself lastLink = iota
	linkTarget
	linkFile // as linkTarget; but a target that ends with a slash is not followed further: O_CREAT refuses it
)

// walk resolves a path from a directory, below a root that ".." does not leave
// (chroot(2)). It returns the entry that the path leads to, nil for a loop of
// links or a path out of bounds. It follows links with a known target, in the
// last component as link says. It appends the directories and links on the way to
// trail, for ordering.
func (n *names) walk(root, from *node, path string, link lastLink, trail []*entry) (*entry, way) {
	dir := from
	if strings.HasPrefix(path, "/") {
		dir = root
	}
	missing := false // a name before the current one
	at, slash := dir.at, strings.HasSuffix(path, "/")
	for links := 0; path != ""; {
		comp, rest, more := strings.Cut(path, "/")
		path = rest
		switch comp {
		case "":
			continue
		case ".", "..":
			if missing || at.state == absent || at.node != nil && at.node.isLeaf() {
				comp = goneName // the kernel looks it up too, so the path fails here
				break
			}
			if comp == ".." {
				if dir != root && dir.at.dir != nil {
					dir = dir.at.dir
				}
				at = dir.at
			}
			continue
		}
		if dir.at.far > maxDepth || len(comp) > maxName && comp != longName {
			return nil, way{trail: trail}
		}
		at = n.lookup(dir, comp)
		last := strings.Trim(path, "/") == ""
		// A slash after the last component requires a directory, so a link
		// there is followed too.
		beyond := more || link != linkItself
		if last && link == linkFile {
			beyond = !slash
		}
		if nd := at.node; nd != nil && nd.typ == format.TypeLnk && nd.target != "" && beyond {
			if links++; links > maxFollow || len(nd.target) > maxPath {
				return nil, way{trail: trail}
			}
			trail = append(trail, at)
			if strings.HasPrefix(nd.target, "/") {
				dir = root
			}
			at = dir.at
			if path = nd.target; more {
				path += "/" + rest
			} else {
				slash = strings.HasSuffix(path, "/")
			}
			continue
		}
		if at.node != nil && at.node.pseudo && beyond {
			if to := n.follow(at); to != nil && last {
				return at, way{trail, slash, to}
			} else if to != nil && to.node != nil {
				if dir = to.node; !dir.named() {
					dir = n.nowhere()
				}
				at = dir.at
				continue
			}
		}
		if last {
			break
		}
		missing = missing || at.state == absent
		trail = append(trail, at)
		if at.node == nil {
			// The node is unknown. A placeholder holds the names below it. The
			// call's result shows whether it exists.
			at.node = &node{at: at, first: at, cached: -1, created: at.state == absent}
		}
		// If the node is a file with several names, this is the name on the
		// path. The others may be gone.
		dir = at.node
		dir.at = at
	}
	return at, way{trail: trail, slash: slash}
}
