package compile

import (
	"slices"
	"strings"

	"pianola/format"
)

// Paths says how paths are mapped below the root.
type Paths uint8

// The mappings of paths.
const (
	Tree Paths = iota // keeps directories; a created file gets a temporary name in its directory
	Flat              // no directories: temporary names, base names, and standard directories as they are
)

// node is what a name leads to: a file, a directory or a symbolic link.
type node struct {
	typ     format.FileType
	entries children // of a directory
	at      *entry   // the entry that it was last put at; the only one of a directory
	target  string   // of a symbolic link, "" if unknown
	pseudo  bool     // in a pseudo file system
	shown   bool     // in the fileset although pseudo, because a file below it is not pseudo
	created bool     // created by the trace

	first *entry // the entry where it was at the start or, if created, was created

	// The file as it was at the start; meaningful only where !created.
	mode      uint32 // permissions, 0 if unknown
	barred    bool   // of a directory: something below it was refused
	searched  bool   // of a directory: a name in it was missing
	needs     uint32 // permissions that the trace proves
	size      int64  // bytes; of a directory the bytes that getdents64 returned
	cached    int64
	unstored  int64      // pages in the cache that were not on storage at the start
	residence *residence // what reads tell where cached is unknown; nil for nothing
	sparse    bool       // fewer blocks than the size needs
	share     int64      // bytes of a sparse file that have blocks, 0 if unknown
	blocks    *blocks    // nil if not known
	dirty     bool       // the trace has written to it, or allocated some of it
	sought    []sought   // allocation shown by seeks for data and holes

	sized bool             // size was recorded, not inferred
	link  *node            // the same file, which had another name at the start
	attrs map[string]int64 // sizes of extended attributes, notRead if the trace changed one first

	now     int64 // current size, in bytes
	changed bool  // the trace has changed the size, so now proves nothing about the size at the start
	exact   bool  // the trace has made or truncated the file, so now is its size
	edited  bool  // the trace has made, removed or replaced names in the directory
	removed int64 // how many times it removed or replaced one
	put     int64 // bytes of getdents64 for names that the trace has added

	// For ordering. The lists hold the newest event of each thread.
	written  *written   // nil for nothing
	log      *commitLog // nil for a file that no other thread has waited for
	resized  place      // newest change of the size
	grown    []growth   // oldest first
	reads    []place    // reads, and writes within the size, since it last became smaller
	ends     []place    // reads that reached the end, and seeks to it, since the size last changed
	changes  []place    // of a directory's entries, newest per thread
	searches []place    // seeks for data and holes
	locks    *locks     // nil for none
	kept     []place    // listings of a directory, and failed calls to remove or to replace it
}

// kind returns the type of the file at the start: a directory if it ever held
// something, and a regular file if nothing is known.
func (nd *node) kind() format.FileType {
	switch {
	case nd.holds():
		return format.TypeDir
	case nd.typ == format.TypeUnknown:
		return format.TypeReg
	}
	return nd.typ
}

// isLeaf reports whether the file is known to be neither a directory nor a
// link, which may lead to one.
func (nd *node) isLeaf() bool {
	return nd.typ != format.TypeUnknown && nd.typ != format.TypeDir && nd.typ != format.TypeLnk
}

// holds reports whether anything ever existed below the node.
func (nd *node) holds() bool {
	for _, e := range nd.entries.list {
		if e.existed || e.made || e.state == present {
			return true
		}
	}
	return false
}

// state is what the simulation knows about a name now.
type state uint8

const (
	unknown state = iota
	absent
	present
)

// entry is one name in one directory, whether or not it exists.
type entry struct {
	id    int32
	dir   *node // nil for the root
	comp  string
	node  *node
	state state

	existed bool  // it existed at the start
	first   *node // its node at the start
	direct  bool  // a path of an event ended here, not only below it
	made    bool  // the trace created a file there
	moved   bool  // its node has changed since the start
	mapped  string
	far     int32  // length of its path at its first mention, in bytes
	refused uint32 // permissions that the application asked for, of the file at the start, and did not have

	changed place   // newest creation, removal or renaming of the name
	used    []place // uses since changed, the newest of each thread
}

// children are the entries of a directory, in the order of their first mention.
// Most directories have few.
type children struct {
	list   []*entry
	byName map[string]*entry // nil up to fewEntries
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

// names simulates the name space: which name leads to which node. Entries are
// numbered in the order of their first mention, which is the same in every
// pass.
type names struct {
	root    *node
	entries []*entry
	learned *learned
	texts   int // how many copies are kept of a path that an event has
	budget  *budget
	cwd     string               // working directory at the start, empty if unknown
	home    *node                // its node
	follow  func(*entry) *target // where a magic link leads to, nil for unknown

	up      []*entry // the result of climb, reused
	scratch []byte   // for building paths, reused
}

func newNames(known *learned, texts int, b *budget) *names {
	n := &names{learned: known, texts: texts, budget: b}
	top := &entry{state: present, existed: true}
	n.root = &node{typ: format.TypeDir, at: top, first: top, cached: -1}
	top.node, n.home = n.root, n.root
	return n
}

// directory returns the node of a directory that must have existed at the start.
func (n *names) directory(path string) *node {
	at, _ := n.walk(n.root, n.root, path, linkTarget, nil)
	if at == nil {
		return n.root
	}
	n.exists(at)
	if at.node.typ == format.TypeUnknown {
		at.node.typ = format.TypeDir
	}
	return at.node
}

// lookup returns the entry of a name in a directory.
func (n *names) lookup(dir *node, comp string) *entry {
	if e := dir.entries.find(comp); e != nil {
		return e
	}
	comp = strings.Clone(comp)
	e := &entry{id: int32(len(n.entries)), dir: dir, comp: comp, mapped: comp, far: dir.at.far + 1 + int32(len(comp))}
	n.budget.take(forNames, nameBytes+len(comp))
	if n.learned.plan != nil {
		e.mapped = n.learned.plan.mapped[e.id] // the last pass meets the same names in the same order
	}
	n.entries = append(n.entries, e)
	dir.entries.add(e)
	if dir.created || dir.isLeaf() {
		// A directory that the trace made holds only what the trace put there.
		e.state = absent
	}
	if comp == "shm" && dir.pseudo && dir.at.dir == n.root {
		// A replay has nothing below /dev except /dev/shm.
		dir.shown, dir.typ, dir.first = true, format.TypeDir, dir.at
		dir.at.existed, dir.at.first = true, dir
	}
	if n.pseudo(dir, comp) {
		e.state, e.node = present, &node{pseudo: true, at: e, cached: -1}
		if text := shortcuts[comp]; text != "" && dir.at.comp == "dev" && dir.at.dir == n.root {
			e.node.typ, e.node.target = format.TypeLnk, text
		}
		return e
	}
	if n.learned.named[comp] {
		n.scratch = n.appendOriginal(n.scratch[:0], e)
		if target, ok := n.learned.links[string(n.scratch)]; ok {
			n.exists(e)
			e.node.typ, e.node.target = format.TypeLnk, target
		}
	}
	return e
}

// goneName is a name that never exists.
const goneName = "pianola_gone"

// nowhere returns a directory that never exists.
func (n *names) nowhere() *node {
	e := n.lookup(n.root, goneName)
	if e.node == nil {
		e.state, e.node = absent, &node{at: e, first: e, cached: -1, created: true}
	}
	return e.node
}

// isNowhere reports whether a directory is the one that never exists.
func (n *names) isNowhere(dir *node) bool {
	e := n.root.entries.find(goneName)
	return e != nil && e.node == dir
}

// isBelowNowhere reports whether an entry is in or below the directory that never exists.
func (n *names) isBelowNowhere(at *entry) bool {
	e := n.root.entries.find(goneName)
	return e != nil && e.node != nil && within(at, e.node)
}

// pseudo reports whether a name is in a pseudo file system, which has no
// storage. /dev/shm is a tmpfs, which holds ordinary files.
func (n *names) pseudo(dir *node, comp string) bool {
	if dir == n.root {
		return comp == "proc" || comp == "sys" || comp == "dev"
	}
	return dir.pseudo && (comp != "shm" || dir.at.dir != n.root || dir.at.comp != "dev")
}

// exists records that a file is at e now. It returns false if that contradicts the
// simulation: then a program outside the recording created it. If the trace has not
// used the name before, the file counts as existing from the start.
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

// existed records that an entry existed at the start.
func (n *names) existed(e *entry) {
	if !e.existed {
		e.existed = true
		n.budget.take(forFiles, e.fileBytes())
	}
}

// mention records that a path of an event ended at an entry, not only below it.
func (n *names) mention(e *entry) {
	if !e.direct {
		e.direct = true
		n.budget.take(forNames, textBytes+n.texts*int(e.far))
	}
}

// heldBy records that the directories above e exist. Those that the trace did not
// create existed at the start.
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

// create records that the trace created a new file or directory at e.
func (n *names) create(e *entry, typ format.FileType) *node {
	nd := &node{typ: typ, first: e, created: true, exact: true, cached: -1}
	if typ == format.TypeDir && e.node != nil && e.state != present {
		// Calls used names below it before it existed.
		nd.entries = e.node.entries
		for _, below := range nd.entries.list {
			below.dir = nd
		}
		nd.clear()
	}
	n.put(e, nd)
	return nd
}

// clear records that a directory which the trace created is empty, and so are the
// placeholders below it.
func (nd *node) clear() {
	nd.created = true
	for _, e := range nd.entries.list {
		if e.state = absent; e.node != nil {
			e.node.clear()
		}
	}
}

// put records that the trace put nd at e.
func (n *names) put(e *entry, nd *node) {
	n.edited(e)
	if !e.existed && e.dir != nil {
		e.dir.put += format.DirentSize(e.comp)
	}
	e.node, e.state, e.moved = nd, present, true
	nd.at = e
	n.heldBy(e)
	if nd.typ != format.TypeDir && !e.existed && !e.made {
		e.made = true
		n.budget.take(forNames, substitutionBytes+2*int(e.far))
	}
}

// gone records that e no longer exists.
func (n *names) gone(e *entry) {
	n.edited(e)
	e.node, e.state, e.moved = nil, absent, true
}

// edited records, in the directory of e, that the trace is about to change the name.
func (n *names) edited(e *entry) {
	if e.dir == nil {
		return
	}
	e.dir.edited = true
	if e.state == present {
		e.dir.removed++
	}
}

// stays reports whether an entry is one and the same directory from the start
// to the end.
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

// climb returns the entries from e up to the one below the root. The next call
// overwrites them.
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

// tooFar reports whether the absolute path of e is longer than the kernel
// accepts.
func (n *names) tooFar(e *entry) bool {
	for size := 0; e.dir != nil; e = e.dir.at {
		if size += 1 + len(e.comp); size > maxPath {
			return true
		}
	}
	return false
}

// appendMapped appends the current path of e below the replay's root.
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

// firstPath returns the mapped path of e at the start, and false if it had
// none.
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
