package compile

import (
	"bytes"

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
	a, b, last := c.names[0], c.names[1], c.last()
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
		over := c.verb == saysMoved && b.now() != kindAbsent // a directory that had the second name is removed
		ka, kb, left := max(a.now(), kindPresent), kindAbsent, maxContents
		inA, few := a.contents(&left)
		inB, bareA, bareB := []content(nil), few && a.bare(), false
		if c.verb == saysSwapped {
			kb = max(b.now(), kindPresent)
			if inB, few = b.contents(&left); few {
				bareB = b.bare()
			}
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

// last returns the last name.
func (c *claim) last() *title {
	if c.names[1] != nil {
		return c.names[1]
	}
	return c.names[0]
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
	a, b, last := c.names[0], c.names[1], c.last()
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
		if c.kind == kindDir {
			return here(a) && a.now() != kindFile && a.holds() <= 0
		}
		return here(a) && a.now() != kindDir
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
		if a := c.names[0]; c.names[1] != nil || (c.above || a.now() != kindAbsent) && !a.below(kindAbsent, kindAbsent) {
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
