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

// learn updates the identities of files by an event that has been applied. d is
// the description that it was about.
func (n *names) learn(t *process.Thread, e *format.Event, d *process.Description) {
	if e.Failed() {
		return
	}
	switch e.Op.Info().Effect {
	case format.EffectRename, format.EffectLink, format.EffectSymlink:
		n.tangled = true
	case format.EffectMap:
		if d != nil && e.Word(format.MmapFlags)&format.MapAnonymous == 0 && len(n.mapped) < maxMapped && !n.isMapped(d) {
			n.mapped = append(n.mapped, n.identity(d))
		}
	case format.EffectOpen:
		d := t.Table.At(e.Ret)
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
func (n *names) touches(e *format.Event, t *process.Thread, f *process.File, d *process.Description, r *run) bool {
	switch e.Op.Info().Effect {
	case format.EffectSyncAll:
		return r.writes()
	case format.EffectAdvise:
		if !r.writes() {
			return false
		}
	case format.EffectCopy, format.EffectRange:
		return true // about two files
	case format.EffectTruncate:
		if d == nil {
			return true // by a name that can be that of any file
		}
	case format.EffectFork:
		if e.CloneFlags()&format.CloneThread != 0 {
			return false
		}
		fallthrough
	case format.EffectCloseRange, format.EffectDup, format.EffectExec, format.EffectExit, format.EffectExitGroup, format.EffectUnshare:
		return t.Process == r.by
	case format.EffectOpen:
		return f != nil && n.same(r.at, identity{file: f, inode: e.Notes.Inode()})
	}
	if d != nil {
		return n.same(r.at, n.identity(d))
	}
	return f != nil && f == r.at.file
}
