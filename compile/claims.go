package compile

import (
	"bytes"
	"slices"
	"unsafe"

	"pianola/format"
	"pianola/format/process"
)

// A claim is what the result of a call says about names: which existed when the call took
// effect, and which exist since then.
//
// Claims are about names as the application wrote them. Symbolic links are only followed if
// recorded calls made or read them, so two names of one file can be two titles. A claim that
// is wrong for this reason makes the search for an order miss something, or find one that
// contradicts another result. The simulation judges the results whatever the order.
type claim struct {
	verb    verb
	kind    kind // of what was made or found
	follows bool // a link that has the first name would lead to another one
	above   bool // of saysMissing: a directory is missing, not the first name
	lists   bool // it is about what a directory that is open is
	names   [format.MaxStrings]*title
	via     [format.MaxStrings]*title // handles of the directories in which the paths begin; of a listing, its own
	opens   *title                    // the handle that the call makes
	body    *title                    // the file of the first name, if none is known; nil if the call doesn't tell that it is a regular file
	sizes   bool                      // that file has a size now
	size    int64                     // this one
	on      *access                   // what it says about open files; nil for nothing
}

// verb is what a claim says.
type verb uint8

const (
	saysNothing verb = iota
	saysFound        // the first name exists
	saysGone         // the directory that has had the first name is missing
	saysMissing      // a name that the call needs is missing, or a directory above one
	saysMade         // the first name was missing, and exists now
	saysKept         // the first name exists now; the call may have made it
	saysTaken        // the last name exists, so the call could not make it
	saysRemoved      // the first name existed, and is missing now
	saysFilled       // the last name is a directory that is not empty
	saysMoved        // the first name has become the second
	saysSwapped      // the names have changed places
	saysLinked       // the first name exists; the second was missing, and exists now

	// These are about open files.
	saysMoves    // bytes were read, written, or both
	saysSized    // the file has a size now
	saysEnd      // the file ends there
	saysSought   // the offset has changed
	saysLocked   // no other owner had a lock that conflicts
	saysUnlocked // a lock was given up
	saysRefused  // another owner had a lock that conflicts
	saysFreed    // locks were given up, because descriptors were closed
)

// kind is what a name leads to.
type kind uint8

const (
	kindUnknown kind = iota
	kindAbsent
	kindPresent // something
	kindDir
	kindFile // neither a directory nor a link
	kindLink // calls that follow it are about another name
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

// reachable reports whether a path to the name can have existed up to its last component.
func (t *title) reachable() bool {
	for up := t.up; up != nil; up = up.up {
		if k := up.now(); k == kindAbsent || k == kindFile {
			return false
		}
	}
	return true
}

// lost reports whether a directory above the name can have been missing.
func (t *title) lost() bool {
	for up := t.up; up != nil; up = up.up {
		if k := up.now(); k == kindAbsent || k == kindUnknown {
			return true
		}
	}
	return false
}

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
	for ; n > 0 && ts.log[n-1].at >= at; n-- {
		ts.log[n-1].of.standing = ts.log[n-1].from
	}
	ts.log = ts.log[:n]
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

// take applies a claim, and reports whether what was known allows it. If not, and it is not
// forced, nothing changes.
func (ts *titles) take(c *claim, force bool) bool {
	ok := force || c.fits()
	if !ok || c.verb == saysNothing {
		return ok
	}
	if c.on != nil {
		ts.takes(c.on, c.verb)
		return ok
	}
	if c.opens != nil {
		defer ts.open(c.opens, c) // after what it finds
	}
	if c.beyond() || c.lists && c.via[0].stray() {
		return ok
	}
	a, b := c.names[0], c.names[1]
	last := a
	if b != nil {
		last = b
	}
	if c.body != nil {
		defer ts.contains(c, c.verb == saysMade || c.verb == saysKept && a.now() == kindAbsent)
	}
	switch c.verb {
	case saysFound:
		ts.there(a, c.kind)
	case saysKept:
		k := kindFile
		if a.now() >= kindPresent {
			k = kindPresent
		}
		ts.there(a, k)
	case saysMissing:
		// If it is forced, the path led to another place, such as into a directory that was
		// removed.
		if !force && !c.above && b == nil && a.now() == kindUnknown && !a.lost() {
			ts.set(a, kindAbsent)
		}
	case saysMade:
		ts.there(a, c.kind)
		if c.kind == kindDir {
			ts.renew(a, true)
		}
	case saysTaken:
		ts.there(a, kindPresent)
		ts.there(last, kindPresent)
	case saysFilled:
		ts.there(a, kindPresent)
		ts.there(last, kindDir)
	case saysRemoved:
		ts.there(a, kindPresent)
		ts.set(a, kindAbsent)
		if c.kind == kindDir {
			ts.renew(a, false)
			a.gone++
		}
	case saysMoved, saysSwapped:
		fileA, fileB := a.body(), b.body()
		if fileA != nil && fileA == fileB {
			break // rename(2): nothing changes
		}
		ka, kb := a.now(), b.now()
		left := maxContents
		inA, few := a.contents(&left)
		inB, bareA, bareB := []content(nil), few && a.bare(), false
		if c.verb == saysSwapped {
			if inB, few = b.contents(&left); few {
				bareB = b.bare()
			}
		}
		over := c.verb == saysMoved && kb != kindAbsent // a directory that had the second name is removed
		if ka < kindPresent {
			ka = kindPresent
		}
		if kb < kindPresent {
			kb = kindPresent
		}
		if c.verb == saysMoved {
			kb = kindAbsent
		}
		ts.there(a, ka)
		ts.there(b, ka)
		ts.set(a, kb)
		if ts.leads(b, fileA); c.verb == saysSwapped {
			ts.leads(a, fileB)
		}
		if ka == kindDir || ka == kindPresent || kb == kindDir || kb == kindPresent {
			ts.renew(a, bareB)
			if ts.renew(b, bareA); over {
				b.gone++
			}
			ts.fill(a, inB)
			ts.fill(b, inA)
		}
	case saysLinked:
		if a.now() != kindFile {
			ts.there(a, kindFile)
		}
		ts.there(b, kindFile)
		if a.file == nil {
			ts.leads(a, c.body)
		}
		ts.leads(b, a.file)
	}
	return true
}

// beyond reports whether the claim is about the unknown target of a link, or about names
// of a directory whose name is unknown.
func (c *claim) beyond() bool { return c.follows && c.names[0].now() == kindLink || c.strays() }

// strays reports whether a path begins in a directory that may have lost its name.
func (c *claim) strays() bool { return !c.lists && (c.via[0].stray() || c.via[1].stray()) }

// fits reports whether what is known allows the claim.
func (c *claim) fits() bool {
	switch {
	case c.on != nil:
		return c.on.fits(c.verb)
	case c.verb == saysNothing, c.beyond():
		return true
	}
	a, b := c.names[0], c.names[1]
	last := a
	if b != nil {
		last = b
	}
	here := func(t *title) bool { return t.now() != kindAbsent && t.reachable() }
	if h := c.via[0]; c.lists && h != nil && h.kind == kindDir {
		if c.verb == saysFound {
			return h.gone == h.up.gone || h.serial == h.up.age()
		}
		return h.stray()
	}
	switch c.verb {
	case saysFound:
		now := a.now()
		return here(a) && !(c.kind == kindDir && now == kindFile) && !(c.kind == kindFile && now == kindDir)
	case saysKept:
		return a.reachable()
	case saysGone:
		return a.now() < kindPresent || a.lost()
	case saysMissing:
		return !c.above && a.now() < kindPresent || a.lost() || b != nil && b.lost()
	case saysMade:
		return a.now() < kindPresent && a.reachable()
	case saysTaken:
		return here(a) && here(last) // link(2) and rename(2) look at the first name first
	case saysFilled:
		return here(a) && here(last) && last.now() != kindFile && (last.holds() > 0 || !last.bare())
	case saysRemoved:
		if !here(a) {
			return false
		}
		if c.kind == kindDir {
			return a.now() != kindFile && a.holds() <= 0
		}
		return a.now() != kindDir
	case saysMoved:
		return here(a) && b.reachable() && b.holds() <= 0
	case saysSwapped:
		return here(a) && here(b)
	case saysLinked:
		return here(a) && b.now() < kindPresent && b.reachable()
	}
	return true
}

// knows reports whether the claim holds, and says nothing new.
func (c *claim) knows() bool {
	switch {
	case c.on != nil:
		return c.on.knows(c.verb)
	case c.verb == saysGone:
		return c.fits() // it says nothing of a name
	}
	if c.lists && c.via[0] != nil && c.via[0].kind == kindDir {
		return c.fits()
	}
	switch c.verb {
	case saysFound, saysTaken, saysFilled:
		for _, t := range c.names {
			if t != nil && t.now() < kindPresent {
				return false
			}
		}
	case saysMissing:
		if c.names[1] != nil {
			return false
		}
		gone := c.names[0].now() == kindAbsent && !c.above
		for up := c.names[0].up; up != nil && !gone; up = up.up {
			gone = up.now() == kindAbsent
		}
		if !gone {
			return false
		}
	}
	return c.fits()
}

// steps returns how much work for a search a claim is.
func (c *claim) steps() int64 {
	if c.on != nil {
		return 2
	}
	n := 1 + int64(c.names[0].depth)/4
	if c.names[1] != nil {
		n += int64(c.names[1].depth) / 4
	}
	return n
}

// changes reports whether the claim says that something has changed that others may see.
func (c *claim) changes() bool {
	switch c.verb {
	case saysSized, saysLocked, saysUnlocked, saysFreed:
		return true
	case saysRefused:
		return c.on.lock.whole // flock(2): a failed conversion loses the lock
	case saysMoves:
		return c.on.to != nil
	}
	return c.sizes || c.renames()
}

// renames reports whether the claim says that names have changed.
func (c *claim) renames() bool {
	switch c.verb {
	case saysMade, saysKept, saysRemoved, saysMoved, saysSwapped, saysLinked:
		return true
	}
	return false
}

// opened is the handle of a description.
type opened struct {
	serial int64 // of the description
	handle *title
}

// handleAt returns the handle of a descriptor, or of the working directory; nil if there is
// none.
func handleAt(t *process.Thread, fd int64) *title {
	if fd == format.AtFDCWD {
		h, _ := t.Dir.Data.(*title)
		return h
	}
	if d := t.Table.At(fd); d != nil {
		if o, ok := d.Data.(opened); ok && o.serial == d.Serial {
			return o.handle
		}
	}
	return nil
}

// opening makes the handle of a call that opens or enters a directory, before the follower
// applies the call. It is nil if the call doesn't.
func (ts *titles) opening(c *claim, t *process.Thread, e *format.Event) *title {
	acts := e.Op.Info().Acts
	switch {
	case e.Ret < 0 || !acts.Any(format.Opens|format.Enters):
		return nil
	case acts.Any(format.Enters) && e.Op.Info().At.FD >= 0:
		return handleAt(t, e.FD())
	case c.verb == saysNothing || c.body == nil && acts.Any(format.Opens) && e.FileType() != format.TypeDir || e.OpenFlags()&format.TMPFILE == format.TMPFILE:
		return nil
	}
	if c.opens = handleOf(c.names[0]); c.body != nil {
		ts.opened++
		c.opens.id = ts.opened
	}
	return c.opens
}

// entered tells the follower of a handle, after it has applied the call.
func entered(t *process.Thread, e *format.Event, h *title) {
	if acts := e.Op.Info().Acts; e.Ret < 0 {
		return
	} else if acts.Any(format.Enters) {
		t.Dir.Data = h
	} else if acts.Any(format.Opens) && h != nil {
		if d := t.Table.At(e.Ret); d != nil {
			d.Data = opened{d.Serial, h}
		}
	}
}

// claimOf returns what an event says about names. sure tells whether the notes say which
// opens made their files; else that is a guess of the recorder.
func (ts *titles) claimOf(fl *process.Follower, t *process.Thread, e *format.Event, f *process.File, sure bool) claim {
	info := e.Op.Info()
	if info.Acts.Any(format.Lists) && f != nil && (e.Ret >= 0 || e.Ret == enoent) {
		c := claim{verb: saysFound, kind: kindDir, names: [format.MaxStrings]*title{ts.of([]byte(f.Name), true)}}
		switch {
		case c.names[0] == nil:
			return claim{}
		case e.Ret < 0:
			c.verb = saysGone
		}
		c.lists, c.via[0] = true, handleAt(t, e.FD())
		return c
	}
	if info.Acts.Any(format.Execs) || e.Ret == format.NoResult {
		return claim{}
	}
	if info.At.Paths[0].Arg < 0 {
		return ts.accessOf(t, e)
	}
	acts := info.Acts
	if info.Canon != nil {
		acts = info.Canon(e).Info().Acts
	}
	rmdir := acts.All(format.Removes | format.Directories)
	switch e.Ret {
	case enoent, eexist, enotempty, inUse:
	case enotdir:
		if !rmdir {
			return claim{}
		}
	case eisdir:
		if !acts.Any(format.Removes) || rmdir {
			return claim{}
		}
	case einval:
		if !acts.Any(format.Renames) {
			return claim{}
		}
	default:
		if e.Ret < 0 {
			return claim{}
		}
	}
	var c claim
	for n := range info.At.Paths {
		if info.At.Paths[n].Arg < 0 {
			break
		}
		if len(e.Path(n)) == 0 {
			if n == 0 && acts.Any(format.Links) { // the file of a descriptor
				continue
			}
			return claim{}
		}
		path := fl.Path(t, e, n)
		for _, pseudo := range [...]string{"/proc/", "/sys/", "/dev/"} {
			if bytes.HasPrefix(path, []byte(pseudo)) && !bytes.HasPrefix(path, []byte("/dev/shm/")) {
				return claim{}
			}
		}
		if c.names[n] = ts.of(path, e.Follows(n)); c.names[n] == nil || path[0] == '?' { // the directory is unknown
			return claim{}
		}
		if e.Path(n)[0] != '/' {
			c.via[n] = handleAt(t, e.Dir(n))
		}
	}
	if c.names[0] == nil {
		c.names[0], c.names[1] = c.names[1], nil
		c.via[0], c.via[1] = c.via[1], nil
		if !acts.Any(format.Links) || c.names[0] == nil {
			return claim{}
		}
	}
	c.follows = e.Follows(0)
	two := c.names[1] != nil
	if e.Ret < 0 {
		switch {
		case e.Ret == einval: // rename(2): a directory can't move into itself
			if !two {
				return claim{}
			}
			for up := c.names[1].up; up != c.names[0]; up = up.up {
				if up == nil {
					return claim{}
				}
			}
			c.verb, c.kind = saysFound, kindDir
			c.names[0], c.names[1] = c.names[1].up, nil
			c.via[0], c.via[1] = c.via[1], nil
		case e.Ret == enoent:
			c.verb, c.above = saysMissing, !two && e.Creates(0)
		case e.Ret == enotdir:
			c.verb, c.kind = saysFound, kindFile
		case e.Ret == eisdir:
			c.verb, c.kind = saysFound, kindDir
		case e.Ret == enotempty || e.Ret == eexist && (rmdir || acts.Any(format.Renames) && e.Word(format.RenameFlags) == 0):
			c.verb = saysFilled
		default:
			c.verb = saysTaken
		}
		return c
	}
	switch {
	case acts.Any(format.Opens):
		flags := e.OpenFlags()
		if typ := e.FileType(); typ == format.TypeReg || typ == format.TypeUnknown && flags&format.TMPFILE == 0 {
			c.body, c.sizes = new(title), truncates(flags)
		}
		switch {
		case flags&format.TMPFILE != 0:
			c.verb, c.kind = saysFound, kindDir
		case flags&format.CREAT == 0:
			c.verb, c.kind = saysFound, kindOf(e)
		case flags&format.EXCL != 0, sure && e.Notes.Known(format.NotedNew):
			c.verb, c.kind = saysMade, kindFile
		case sure && e.FileType() != format.TypeUnknown:
			c.verb, c.kind = saysFound, kindFile
		default:
			c.verb = saysKept
		}
	case acts.All(format.Creates | format.Directories):
		c.verb, c.kind = saysMade, kindDir
	case acts.Any(format.Symlinks):
		c.verb, c.kind = saysMade, kindLink
	case acts.Any(format.Creates):
		c.verb, c.kind, c.body = saysMade, kindFile, new(title)
	case acts.Any(format.Links):
		if c.verb = saysLinked; !two {
			c.verb, c.kind = saysMade, kindFile
			break
		}
		c.body = new(title)
	case acts.Any(format.Cuts):
		c.verb, c.kind, c.body, c.sizes, c.size = saysFound, kindPresent, new(title), true, e.Size()
	case rmdir:
		c.verb, c.kind = saysRemoved, kindDir
	case acts.Any(format.Removes):
		c.verb = saysRemoved
	case acts.Any(format.Renames):
		switch flags := e.Word(format.RenameFlags); {
		case c.names[0] == c.names[1]:
			c.verb, c.kind = saysFound, kindPresent
		case flags&format.RenameWhiteout != 0:
			return claim{}
		case e.Exchanges():
			c.verb = saysSwapped
		default:
			c.verb = saysMoved
		}
	case acts.Any(format.Follows):
		c.verb, c.kind = saysFound, kindLink
	case acts.Any(format.Enters):
		c.verb, c.kind = saysFound, kindDir
	default:
		c.verb, c.kind = saysFound, kindOf(e)
	}
	return c
}

// kindOf returns the kind that the notes of a successful call tell.
func kindOf(e *format.Event) kind {
	switch {
	case e.Notes == nil || e.Notes.Type == format.TypeUnknown:
		return kindPresent
	case e.Notes.Type == format.TypeDir:
		return kindDir
	case e.Notes.Type == format.TypeLnk:
		return kindLink
	}
	return kindPresent // the name can be that of a link
}
