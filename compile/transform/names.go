package transform

import (
	"pianola/format"
	"pianola/format/process"
)

// identity identifies the file of an open file description. Recorders note the
// device and the inode. Without them the name identifies the file, until a call
// gives a file another name.
type identity struct {
	serial int64 // of the description
	file   *process.File
	inode  format.Inode // the zero one where it is not known
}

// names knows whether two descriptions can be of one file.
type names struct {
	tangled bool // names no longer identify files
	mapped  []identity
}

// maxMapped bounds the mapped files that are told apart. If there are more, all
// files count as mapped.
const maxMapped = 1024

// identity returns the identity of a description.
func (n *names) identity(d *process.Description) identity {
	if id, ok := d.Data.(*identity); ok && id.serial == d.Serial {
		return *id
	}
	return identity{serial: d.Serial, file: d.File}
}

// same reports whether two identities can be of one file.
func (n *names) same(a, b identity) bool {
	switch {
	case a.serial == b.serial:
		return true
	case a.inode != format.Inode{} && b.inode != format.Inode{}:
		return a.inode == b.inode
	}
	return n.tangled || a.file == b.file
}

// isMapped reports whether the file of a description can have been mapped into
// memory that is shared with it.
func (n *names) isMapped(d *process.Description) bool {
	if len(n.mapped) == maxMapped {
		return true
	}
	if len(n.mapped) == 0 {
		return false
	}
	at := n.identity(d)
	for _, m := range n.mapped {
		if n.same(m, at) {
			return true
		}
	}
	return false
}

// learn updates the identities of files by an event that has been applied.
func (n *names) learn(f *process.Fact) {
	switch d, e := f.Description, f.Event; {
	case f.Did.Any(format.Tangles):
		n.tangled = true
	case f.Did.Any(format.MapsFiles):
		if d != nil && len(n.mapped) < maxMapped && !n.isMapped(d) {
			n.mapped = append(n.mapped, n.identity(d))
		}
	case f.Did.Any(format.Opens):
		d := f.Thread.Table.At(e.Ret)
		if d == nil {
			return
		}
		if id, ok := d.Data.(*identity); ok {
			*id = identity{d.Serial, d.File, e.Notes.Inode()}
		} else {
			d.Data = &identity{d.Serial, d.File, e.Notes.Inode()}
		}
	}
}

// touches reports whether a run must end before an event: the event reads what
// the run changes, changes what the run reads, or ends what the run needs.
func (n *names) touches(f *process.Fact, r *run) bool {
	e, d := f.Event, f.Description
	switch acts := e.Acts(); {
	case acts.Any(format.SyncsAll):
		return r.writes()
	case acts.Any(format.Advises) && !r.writes():
		return false
	case acts.Any(format.Shares), acts.All(format.ReadsBytes | format.WritesBytes):
		return true // about two files
	case acts.Any(format.Cuts) && d == nil:
		return true // by a name that can be that of any file
	case acts.Any(format.Starts) && e.CloneFlags()&format.CloneThread != 0:
		return false
	case acts.Any(format.Starts | format.Duplicates | format.Execs | format.Ends | format.Unshares), acts.Any(format.Closes|format.Marks) && e.FD() < 0:
		return f.Thread.Process == r.by
	case acts.Any(format.Opens):
		return f.File != nil && n.same(r.at, identity{file: f.File, inode: e.Notes.Inode()})
	}
	if d != nil {
		return n.same(r.at, n.identity(d))
	}
	return f.File != nil && f.File == r.at.file
}

// bytesOf returns the bytes that an event moves out of its open file, or into it.
func bytesOf(f *process.Fact) (from, to int64, ok bool) {
	if m := f.Moves(); m != nil {
		return m.From, m.To, true
	}
	return 0, 0, false
}
