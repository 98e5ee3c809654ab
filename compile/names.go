package compile

import (
	"bytes"
	"slices"
	"strings"

	"pianola/format"
)

// Paths says how paths are mapped below the root.
type Paths uint8

// The mappings of DESIGN, section 7.
const (
	Tree Paths = iota // keeps the directories; a created file gets a temporary name in its directory
	Flat              // no directories: temporary names, base names, and standard directories as they are
)

// node is a file, directory or link: what a name leads to.
type node struct {
	typ     format.FileType
	entries children // of a directory
	at      *entry   // the entry under which it was last put; for a directory the only one
	target  string   // of a symbolic link, "" where not known
	pseudo  bool     // in a pseudo file system
	shown   bool     // but holds a name that is not
	created bool     // by the trace

	first *entry // where it was at the start or, if created, came to be

	// The file as it was at the start; meaningful only where !created.
	mode   uint32 // permissions, 0 where not known
	needs  uint32 // permissions that the trace proves, for where they are not known
	size   int64  // bytes, of a directory those that getdents64 returned
	cached int64
	sparse bool

	sized bool             // size was recorded, not inferred
	link  *node            // the same file under another name at the start
	attrs map[string]int64 // sizes of extended attributes, notRead for what the trace changed first

	now     int64 // size at this point of the simulation
	changed bool  // the trace has changed its size, so now says nothing about size any more
	listing int64 // bytes that getdents64 returned since the directory was at its start

	// For ordering. Of what can be many, the newest of each thread.
	written *[writesKept]writeAt // newest writes, nil for none
	nwrite  int
	resized place                // newest change of the size
	grown   *[growthsKept]growth // newest growths, nil for none
	ngrown  int
	reads   []place // and writes within the size, since it became smaller
	ends    []place // reads that found the end, and seeks to it, since it changed
	changes []place // of a directory's entries
	kept    []place // failures to remove a directory, or to put something in its place
}

// kind returns the type that the trace takes the file to have: what ever held
// something is a directory, and what nothing is known of a file.
func (nd *node) kind() format.FileType {
	switch {
	case nd.holds():
		return format.TypeDir
	case nd.typ == format.TypeUnknown:
		return format.TypeReg
	}
	return nd.typ
}

// isLeaf reports whether the file is known to be none that can hold others. What
// a link leads to that is not known can.
func (nd *node) isLeaf() bool {
	return nd.typ != format.TypeUnknown && nd.typ != format.TypeDir && nd.typ != format.TypeLnk
}

// holds reports whether a directory, if it is one, ever held anything.
func (nd *node) holds() bool {
	for _, e := range nd.entries.list {
		if e.existed || e.made || e.state == present {
			return true
		}
	}
	return false
}

// state is what the simulation knows of a name at this point.
type state uint8

const (
	unknown state = iota
	absent
	present
)

// entry is one name in one directory, whether or not something is there.
type entry struct {
	id    int32
	dir   *node // nil for the root
	comp  string
	node  *node
	state state

	existed bool  // something was there at the start
	first   *node // what that was
	direct  bool  // an event named it, not only a name below it
	made    bool  // the trace created a file there
	moved   bool  // what is there has changed since the start
	mapped  string
	far     int32 // bytes of its path as of its first mention

	changed place   // newest creation, removal or renaming of the name
	used    []place // uses since then, the newest of each thread
}

// children are the entries of a directory, in the order of first mention. Of most
// directories a recording mentions few.
type children struct {
	list   []*entry
	byName map[string]*entry // of more than fewEntries
}

const fewEntries = 8

// find returns the entry of a name, nil for none.
func (c *children) find(comp string) *entry {
	if c.byName != nil {
		return c.byName[comp]
	}
	for _, e := range c.list {
		if e.comp == comp {
			return e
		}
	}
	return nil
}

func (c *children) add(e *entry) {
	c.list = append(c.list, e)
	switch {
	case c.byName != nil:
		c.byName[e.comp] = e
	case len(c.list) > fewEntries:
		c.byName = make(map[string]*entry, 2*fewEntries)
		for _, e := range c.list {
			c.byName[e.comp] = e
		}
	}
}

// names simulates the name space: everything that the events say about which
// name led where. Entries are numbered in the order of first mention, which is
// the same in every pass.
type names struct {
	root    *node
	entries []*entry
	lore    *lore
	plan    *plan // nil while it is being found out
	texts   int   // of the names that events had, how often their paths are kept
	budget  *budget

	up      []*entry // memory of climb
	scratch []byte   // memory of paths
}

func newNames(known *lore, p *plan, texts int, b *budget) *names {
	n := &names{lore: known, plan: p, texts: texts, budget: b}
	top := &entry{state: present, existed: true}
	n.root = &node{typ: format.TypeDir, at: top, first: top, cached: -1}
	top.node = n.root
	return n
}

// lookup returns the entry of a name in a directory.
func (n *names) lookup(dir *node, comp string) *entry {
	if e := dir.entries.find(comp); e != nil {
		return e
	}
	comp = strings.Clone(comp)
	e := &entry{id: int32(len(n.entries)), dir: dir, comp: comp, mapped: comp, far: dir.at.far + 1 + int32(len(comp))}
	n.budget.take(forNames, nameBytes+len(comp))
	if n.plan != nil {
		e.mapped = n.plan.mapped[e.id] // the last pass meets the names of the one before
	}
	n.entries = append(n.entries, e)
	dir.entries.add(e)
	if dir.created || dir.isLeaf() {
		// A directory that the trace made is empty but for what it put there.
		e.state = absent
	}
	if comp == "shm" && dir.pseudo && dir.at.dir == n.root {
		// What is below /dev is not shown to a replay, but for this.
		dir.shown, dir.typ, dir.first = true, format.TypeDir, dir.at
		dir.at.existed, dir.at.first = true, dir
	}
	if n.pseudo(dir, comp) {
		e.state, e.node = present, &node{pseudo: true, at: e, cached: -1}
		return e
	}
	if n.lore.named[comp] {
		n.scratch = n.appendOriginal(n.scratch[:0], e)
		if target, ok := n.lore.links[string(n.scratch)]; ok {
			n.exists(e)
			e.node.typ, e.node.target = format.TypeLnk, target
		}
	}
	return e
}

// goneName is the name of what is never there.
const goneName = "pianola_gone"

// nowhere returns a directory that is never there.
func (n *names) nowhere() *node {
	e := n.lookup(n.root, goneName)
	if e.node == nil {
		e.state, e.node = absent, &node{at: e, first: e, cached: -1, created: true}
	}
	return e.node
}

// isNowhere reports whether a directory is the one that is never there.
func (n *names) isNowhere(dir *node) bool {
	e := n.root.entries.find(goneName)
	return e != nil && e.node == dir
}

// pseudo reports whether a name lies in a file system that shows the kernel
// and not storage. /dev/shm is a tmpfs with files like any other.
func (n *names) pseudo(dir *node, comp string) bool {
	if dir == n.root {
		return comp == "proc" || comp == "sys" || comp == "dev"
	}
	return dir.pseudo && (comp != "shm" || dir.at.dir != n.root || dir.at.comp != "dev")
}

// exists notes that something is at e at this point. It returns false where
// the simulation knew better: then something outside the recording put it
// there. Where the trace never had to do with the name before, a replay does
// best with having it from the start.
func (n *names) exists(e *entry) bool {
	if e.state == present {
		return true
	}
	expected := e.state == unknown
	if e.state = present; e.node == nil {
		e.node = &node{at: e, first: e, cached: -1}
	}
	if !expected && (e.existed || e.made || e.dir.created) {
		e.node.created = true
		return false
	}
	e.node.created = false
	n.existed(e)
	e.first, e.node.first = e.node, e
	n.heldBy(e)
	return expected
}

// existed notes that something was at an entry at the start.
func (n *names) existed(e *entry) {
	if !e.existed {
		e.existed = true
		n.budget.take(forFiles, e.fileBytes())
	}
}

// mention notes that an event named an entry, not only a name below it.
func (n *names) mention(e *entry) {
	if !e.direct {
		e.direct = true
		n.budget.take(forNames, textBytes+n.texts*int(e.far))
	}
}

// heldBy notes that whatever holds e was there too, if not by the trace then from
// the start.
func (n *names) heldBy(e *entry) {
	for at := e.dir.at; at.state != present && !at.existed && !at.made; at = at.dir.at {
		if at.node == nil {
			at.node = e.dir
		}
		n.existed(at)
		at.state, at.first = present, at.node
		at.node.typ, at.node.created, at.node.first = format.TypeDir, false, at
	}
}

// create notes that the trace made a new file or directory at e.
func (n *names) create(e *entry, typ format.FileType) *node {
	nd := &node{typ: typ, first: e, created: true, cached: -1}
	if typ == format.TypeDir && e.node != nil && e.state != present {
		// Names below it were asked for before it was there.
		nd.entries = e.node.entries
		for _, below := range nd.entries.list {
			below.dir = nd
		}
		nd.clear()
	}
	n.put(e, nd)
	return nd
}

// clear notes that a directory which the trace made is empty, and so is what
// stands in for those below it.
func (nd *node) clear() {
	nd.created = true
	for _, e := range nd.entries.list {
		if e.state = absent; e.node != nil {
			e.node.clear()
		}
	}
}

// put notes that the trace put nd at e.
func (n *names) put(e *entry, nd *node) {
	e.node, e.state, e.moved = nd, present, true
	nd.at = e
	n.heldBy(e)
	if nd.typ != format.TypeDir && !e.existed && !e.made {
		e.made = true
		n.budget.take(forNames, substitutionBytes+2*int(e.far))
	}
}

// gone notes that nothing is at e any more.
func (n *names) gone(e *entry) {
	e.node, e.state, e.moved = nil, absent, true
}

// stays reports whether an entry is a directory, and the same under the same
// path from the start to the end.
func (n *names) stays(e *entry) bool {
	if e.first == nil || e.first.kind() != format.TypeDir {
		return false
	}
	for ; e.dir != nil; e = e.dir.at {
		if !e.existed || e.moved {
			return false
		}
	}
	return true
}

// climb returns the entries from e up to the one below the root, as things stand
// now. They are overwritten by the next call.
func (n *names) climb(e *entry) []*entry {
	n.up = n.up[:0]
	for ; e.dir != nil; e = e.dir.at {
		n.up = append(n.up, e)
	}
	return n.up
}

// appendOriginal appends the absolute path of e as the application would name it.
func (n *names) appendOriginal(dst []byte, e *entry) []byte {
	if e.dir == nil {
		return append(dst, '/')
	}
	for _, e := range slices.Backward(n.climb(e)) {
		dst = append(append(dst, '/'), e.comp...)
	}
	return dst
}

// original returns the absolute path of e as the application would name it.
func (n *names) original(e *entry) string {
	n.scratch = n.appendOriginal(n.scratch[:0], e)
	return string(n.scratch)
}

// tooFar reports whether the absolute path of e is longer than any that a call
// can be given.
func (n *names) tooFar(e *entry) bool {
	for size := 0; e.dir != nil; e = e.dir.at {
		if size += 1 + len(e.comp); size > maxPath {
			return true
		}
	}
	return false
}

// appendMapped appends the path of e below the replay's root, as things stand
// now.
func (n *names) appendMapped(dst []byte, e *entry, p Paths) []byte {
	switch {
	case e.dir == nil:
		return append(dst, '.')
	case p == Flat:
		return append(dst, e.mapped...)
	}
	return appendNames(dst, n.climb(e))
}

// appendNames appends the mapped names of entries, the last first.
func appendNames(dst []byte, up []*entry) []byte {
	for i, e := range slices.Backward(up) {
		dst = append(dst, e.mapped...)
		if i > 0 {
			dst = append(dst, '/')
		}
	}
	return dst
}

// mappedPath returns what appendMapped appends.
func (n *names) mappedPath(e *entry, p Paths) string {
	n.scratch = n.appendMapped(n.scratch[:0], e, p)
	return string(n.scratch)
}

// firstPath returns the mapped path of e as it was at the start, and false where
// there was none.
func (n *names) firstPath(e *entry, p Paths) (string, bool) {
	if e.dir == nil || p == Flat {
		return n.mappedPath(e, p), true
	}
	n.up = append(n.up[:0], e)
	for e.dir != n.root {
		if e.dir.created || e.dir.first == nil {
			return "", false
		}
		e = e.dir.first
		n.up = append(n.up, e)
	}
	n.scratch = appendNames(n.scratch[:0], n.up)
	return string(n.scratch), true
}

// maxFollow is the kernel's limit of symbolic links in one path
// (path_resolution(7)).
const maxFollow = 40

// The kernel's limits of names (path_resolution(7)).
const (
	maxPath = 4095 // PATH_MAX without the byte that ends a path
	maxName = 255  // NAME_MAX
)

// maxDepth bounds the paths that directories which lie beyond maxPath are
// followed to, in bytes: by a relative name one gets there.
const maxDepth = 1 << 16

// longName is the name that stands for what is too long: of one byte more than
// there may be.
var longName = "pianola_long" + strings.Repeat("_", maxName+1-len("pianola_long"))

// long returns the entry that stands for a path that is too long.
func (n *names) long() *entry { return n.lookup(n.root, longName) }

// tooLong returns where in a path the first component begins that is longer than
// a name can be, -1 for none.
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

// way is what a path led through.
type way struct {
	trail []*entry // directories and links
	slash bool     // it ended with a slash, if only in the target of a link
}

// walk resolves a path from a directory, below a root that ".." does not leave
// (chroot(2)), and returns the entry it leads to, nil for a path that leads
// nowhere (a loop, or out of bounds). Links whose target is known are followed, in the last
// component only if follow is set. The directories and links on the way are
// appended to trail, for ordering.
func (n *names) walk(root, from *node, path string, follow bool, trail []*entry) (*entry, way) {
	dir := from
	if strings.HasPrefix(path, "/") {
		dir = root
	}
	at, slash := dir.at, strings.HasSuffix(path, "/")
	for links := 0; path != ""; {
		comp, rest, more := strings.Cut(path, "/")
		path = rest
		switch comp {
		case "":
			continue
		case ".", "..":
			if at.state == absent || at.node != nil && at.node.isLeaf() {
				comp = goneName // the kernel goes through it, too, so the path ends below
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
			return nil, way{trail, false}
		}
		at = n.lookup(dir, comp)
		// A slash after the last component demands a directory, so it
		// follows a link there too.
		if nd := at.node; nd != nil && nd.typ == format.TypeLnk && nd.target != "" && (more || follow) {
			if links++; links > maxFollow || len(nd.target) > maxPath {
				return nil, way{trail, false}
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
		if strings.Trim(path, "/") == "" {
			break
		}
		trail = append(trail, at)
		if at.node == nil {
			// Nothing is known to be here: stand in for it, so that names
			// below have a place. The call's result says whether it exists.
			at.node = &node{at: at, first: at, cached: -1, created: at.state == absent}
		}
		// Of the names of a file it is this one that something is looked for
		// below, in vain. Another can be gone.
		dir = at.node
		dir.at = at
	}
	return at, way{trail, slash}
}
