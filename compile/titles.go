package compile

import (
	"bytes"
	"slices"
	"unsafe"

	"pianola/format"
	"pianola/format/process"
)

// title is a name as the application wrote it: absolute, if the working directory is
// known.
type title struct {
	up     *title   // the directory, nil for the root
	depth  int32    // directories above it
	id     uint32   // of a handle of a regular file, from 1
	link   *leading // nil if none is known
	name   string
	in     []*title // names in it
	locker bool     // a handle that may own locks
	standing
	mark marks
}

// standing is what is known about a title.
type standing struct {
	kind   kind
	empty  bool   // a recorded call made that directory, so unknown names in it are missing
	sized  bool   // size is known
	of     uint32 // serial of the directory when kind was set; of another one, kind means nothing
	serial uint32 // counts the directories that had the name
	held   int32  // known names in that directory
	gone   uint32 // counts the removals of directories that had the name
	since  uint32 // of a handle: the lower bits of the position of the call that made it
	file   *title // what a name or a handle leads to, if it is a regular file; nil if unknown
	size   int64  // of such a file; of a handle, its offset
	locks  *heldLocks
}

// A handle is an open or working directory: one of those that have had a name. It is a title
// of its own, so that its standing can be undone as well: up is the title of the name, serial
// the age of that when the directory was opened, and gone likewise. Its kind is kindDir, or
// kindAbsent for a directory of which no name is known. It is kindUnknown before the call
// that makes it was followed; until then it is the directory that has the name.
func handleOf(t *title) *title { return &title{up: t} }

// stray reports whether the directory of a handle may no longer have its name, so that
// the names in it are unknown. h can be nil.
func (h *title) stray() bool {
	return h != nil && (h.kind == kindAbsent || h.kind == kindDir && h.serial != h.up.age())
}

// age changes when another directory has the name, or one above it.
func (t *title) age() uint32 {
	n := uint32(0)
	for ; t != nil; t = t.up {
		n += t.serial
	}
	return n
}

// open says that a handle is of the directory that has its name now. lost says that it is of
// one whose name is unknown.
func (ts *titles) open(h *title, c *claim) {
	ts.save(h)
	if h.kind, h.serial, h.gone = kindDir, h.up.age(), h.up.gone; c.strays() {
		h.kind = kindAbsent
	}
	ts.opensFile(h, c)
}

const (
	titleBytes  = 2*int(unsafe.Sizeof(title{})) + inMap + 32 // with its file; the key takes 24 bytes
	formerBytes = int(unsafe.Sizeof(former{}))
)

// maxComponents bounds the components of a path that a claim is about. It bounds what a search
// costs for a name, and the titles that one event makes.
const maxComponents = 64

// component is a name in a directory.
type component struct {
	up   *title
	name string
}

// titles are the names of a recording, and what is known of them at one point.
type titles struct {
	root   *title
	byName map[component]*title
	bytes  int64    // of byName
	log    []former // of standings, the newest last
	dead   int      // of log, from its start: they are never undone
	at     int64    // position of the event that changes them

	opened  uint32                        // handles of regular files so far
	lockers map[*process.Process][]*title // handles by which a process has taken locks
	frees   []givenUp                     // by the event that the follower applies
}

// former is what is needed to undo a change.
type former struct {
	at   int64
	of   *title
	from standing
}

func newTitles() titles {
	return titles{root: &title{standing: standing{kind: kindDir}}, byName: map[component]*title{}}
}

// of returns the title of a path, nil for a path that is too long. Links that are known are
// followed, the last component only with follow.
func (ts *titles) of(path []byte, follow bool) *title {
	if len(path) > maxPath || bytes.Count(path, []byte("/")) > maxComponents {
		return nil
	}
	links := 0
	return ts.walk(ts.root, path, follow, &links)
}

// maxLinks bounds the links on a path that are followed.
const maxLinks = 8

// walk returns the title of a path from a directory on.
func (ts *titles) walk(t *title, path []byte, follow bool, links *int) *title {
	if bytes.HasPrefix(path, []byte("/")) {
		t = ts.root
	}
	for more := len(path) > 0; more; {
		var name []byte
		if name, path, more = bytes.Cut(path, []byte("/")); len(name) == 0 || string(name) == "." {
			continue
		}
		if string(name) == ".." && t.up != nil {
			t = t.up
			continue
		}
		in := ts.child(t, name)
		if in == nil {
			return nil
		}
		if to := in.link; to != nil && (more || follow) {
			if *links++; *links > maxLinks || to.changed {
				return nil
			}
			if in = ts.walk(t, to.target, true, links); in == nil {
				return nil
			}
		}
		t = in
	}
	return t
}

// child returns the title of a name in a directory, nil if that is too deep.
func (ts *titles) child(t *title, name []byte) *title {
	in := ts.byName[component{t, string(name)}]
	if in == nil && t.depth < maxComponents {
		in = &title{up: t, depth: t.depth + 1, name: string(name)}
		ts.byName[component{t, in.name}] = in
		t.in = append(t.in, in)
		ts.bytes += int64(titleBytes + len(name))
	}
	return in
}

// content is what is known of a name in a directory that is renamed.
type content struct {
	name string
	kind kind
	file *title
	bare bool
	in   []content
}

// maxContents bounds the names below a directory that keep what is known of them when it is
// renamed, and the ones that are looked at.
const maxContents = 64

// contents returns what is known of the names below a directory, and whether there are few
// enough. left is how many more there may be.
func (t *title) contents(left *int) (in []content, few bool) {
	for _, k := range t.in {
		if *left--; *left < 0 {
			return nil, false
		}
		if now := k.now(); now >= kindPresent {
			below, few := k.contents(left)
			if !few {
				return nil, false
			}
			in = append(in, content{k.name, now, k.file, k.bare(), below})
		}
	}
	return in, true
}

// fill says what is in a directory that was renamed.
func (ts *titles) fill(t *title, in []content) {
	for _, c := range in {
		k := ts.child(t, []byte(c.name))
		if k == nil {
			continue
		}
		ts.set(k, c.kind)
		ts.save(k)
		k.file, k.empty = c.file, c.bare
		ts.fill(k, c.in)
	}
}

// leading is a symbolic link that recorded calls made or read.
type leading struct {
	target  []byte
	changed bool // it was removed or renamed later, so its target is unknown
}

// learn notes what an event says about links, before later events are fetched.
func (ts *titles) learn(c *claim, e *format.Event) {
	t := c.names[0]
	switch acts := e.Op.Info().Acts; {
	case e.Ret < 0 || t == nil:
	case acts.Any(format.Symlinks) && c.verb == saysMade, acts.Any(format.Follows) && c.verb == saysFound:
		target := e.Str[0]
		if acts.Any(format.Follows) {
			target = nil
			if e.Notes.Known(format.NotedTarget) {
				target = e.Notes.Target
			}
		}
		if t.link == nil && len(target) > 0 && len(target) <= maxPath {
			t.link = &leading{target: bytes.Clone(target)}
			ts.bytes += int64(unsafe.Sizeof(leading{})) + int64(len(target))
		} else if t.link != nil && len(target) > 0 && !bytes.Equal(t.link.target, target) {
			t.link.changed = true
		}
	case c.verb == saysRemoved, c.verb == saysMoved, c.verb == saysSwapped:
		for _, t := range c.names {
			if t != nil && t.link != nil {
				t.link.changed = true
			}
		}
	}
}

// holds returns the bytes that the titles take.
func (ts *titles) holds() int64 { return ts.bytes + int64(formerBytes*cap(ts.log)) }

// now returns what a name leads to.
func (t *title) now() kind {
	switch {
	case t.up == nil:
		return kindDir
	case !t.up.settled():
		return kindUnknown
	case t.of == t.up.serial && t.kind != kindUnknown:
		return t.kind
	case t.up.bare():
		return kindAbsent
	}
	return kindUnknown
}

// settled reports whether what is known of a directory is of the one that has the name now.
func (t *title) settled() bool {
	for ; t.up != nil; t = t.up {
		if t.of != t.up.serial {
			return false
		}
	}
	return true
}

// holds returns how many names are known in a directory.
func (t *title) holds() int32 {
	if t.up != nil && t.of != t.up.serial {
		return 0 // in the directory that had the name before
	}
	return t.held
}

// bare reports whether unknown names in a directory are missing.
func (t *title) bare() bool { return t.empty && t.up != nil && t.of == t.up.serial }

// below reports whether something above the name is of one of two kinds.
func (t *title) below(a, b kind) bool {
	for up := t.up; up != nil; up = up.up {
		if k := up.now(); k == a || k == b {
			return true
		}
	}
	return false
}

// reachable reports whether a path to the name can have existed up to its last component.
func (t *title) reachable() bool { return !t.below(kindAbsent, kindFile) }

// lost reports whether a directory above the name can have been missing.
func (t *title) lost() bool { return t.below(kindAbsent, kindUnknown) }

// set changes what a name leads to.
func (ts *titles) set(t *title, k kind) {
	was := t.now()
	if t.up == nil || was == k && t.of == t.up.serial {
		return
	}
	ts.save(t)
	if t.of != t.up.serial { // what is known of it is about the directory that had the name before
		t.serial++
		t.held, t.empty = 0, false
	}
	if in, out := k > kindAbsent, was > kindAbsent; in != out {
		ts.save(t.up)
		if in {
			t.up.held++
		} else {
			t.up.held--
		}
	}
	if t.kind, t.of = k, t.up.serial; k < kindPresent || was < kindPresent {
		t.file = nil
	}
}

// leads says which file a name leads to.
func (ts *titles) leads(t, file *title) {
	if t.file != file {
		ts.save(t)
		t.file = file
	}
}

// renew says that another directory has the name, or none; nothing is known to be in it.
func (ts *titles) renew(t *title, empty bool) {
	if t.up == nil {
		return
	}
	ts.save(t)
	t.serial++
	t.held, t.empty = 0, empty
}

func (ts *titles) save(t *title) { ts.log = append(ts.log, former{ts.at, t, t.standing}) }

// swap undoes a change of the log, or redoes it.
func (ts *titles) swap(i int) {
	f := &ts.log[i]
	f.of.standing, f.from = f.from, f.of.standing
}

// undo goes back to the moment before the first event from a position on.
func (ts *titles) undo(at int64) {
	n := len(ts.log)
	for n > 0 && ts.log[n-1].at >= at {
		n--
	}
	ts.back(n)
}

// back goes back to where the log had a length.
func (ts *titles) back(length int) {
	for n := len(ts.log); n > length; n-- {
		ts.log[n-1].of.standing = ts.log[n-1].from
	}
	ts.log = ts.log[:length]
}

// forget makes it impossible to go back behind a position.
func (ts *titles) forget(at int64) {
	for ts.dead < len(ts.log) && ts.log[ts.dead].at < at {
		ts.dead++
	}
	if n := len(ts.log); ts.dead > n/2 { // so that moving the rest costs no more than adding it did
		ts.log = append(ts.log[:0], ts.log[ts.dead:]...)
		ts.dead = 0
		if cap(ts.log) > 1<<12 && len(ts.log) < cap(ts.log)/8 {
			ts.log = slices.Clip(slices.Clone(ts.log))
		}
	}
}

// there says that a name exists, and so do the directories above it.
func (ts *titles) there(t *title, k kind) {
	if t.up == nil {
		return
	}
	for up := t.up; up.up != nil; up = up.up {
		if k := up.now(); k < kindPresent {
			ts.there(up, kindDir)
			break
		}
	}
	if was := t.now(); k != kindPresent || was < kindPresent {
		ts.set(t, k)
	}
}
