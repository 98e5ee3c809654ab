package compile

import "pianola/format"

// noNotes stands for the notes of an event that has none. It must not be
// changed.
var noNotes format.Notes

// noted returns the notes of an event.
func noted(e *format.Event) *format.Notes {
	if e.Notes == nil {
		return &noNotes
	}
	return e.Notes
}

// maxCut bounds the time that transforms can cut from one event, in nanoseconds
// (36 years).
const maxCut = 1 << 60

// learn adds what the notes say about the file at an entry to its state at the
// start.
func (nm *naming) learn(at *entry, n *format.Notes) {
	nd := at.node
	if nd.created {
		if nd.typ == format.TypeUnknown {
			nd.typ = n.Type
		}
		return
	}
	switch {
	case n.Type == format.TypeUnknown || nd.typ == n.Type:
	case nd.typ == format.TypeUnknown, nd.typ == format.TypeLnk && nd.target == "":
		nd.typ = n.Type
	}
	if nd.mode == 0 {
		nd.mode = n.Mode
	}
	if n.Known(format.NotedCached) && nd.cached < 0 {
		nd.cached = n.Cached
		if r := nd.residence; r != nil {
			nd.cached = max(nd.cached-r.missing, 0) // these were read since the start
		}
	}
	nd.unstored = max(nd.unstored, n.Dirty)
	if n.Known(format.NotedSparse) && !nd.sparse {
		nd.sparse, nd.share = true, n.Allocated
	}
	if n.Known(format.NotedDev|format.NotedIno) && n.Links > 1 && n.Type == format.TypeReg && nd.first != nil && nd.typ == format.TypeReg {
		id := n.Inode()
		if nm.inodes[id] == nil {
			nm.inodes[id] = nd
		} else if first := nm.inodes[id]; first != nd && !first.created {
			nd.link = first
		}
	}
	if n.Known(format.NotedSize) && !nd.changed && nd.typ == format.TypeReg {
		nd.size, nd.now, nd.sized = n.Size, n.Size, true
	}
}

// fstat learns from a successful fstat.
func (nm *naming) fstat(s *simEvent) {
	if s.e.Ret == 0 && s.d.node.at != nil {
		nm.learn(&entry{node: s.d.node}, noted(s.e))
	}
}

// addHeaderFiles adds the files and directories that the header of the recording names.
// Recorders write none; generators do, and users can add them by hand.
func (nm *naming) addHeaderFiles(files []format.File) {
	for i := range files {
		f := &files[i]
		if f.Type != format.TypeReg && f.Type != format.TypeDir {
			continue
		}
		at, _ := nm.names.walk(nm.names.root, nm.names.root, f.Path, linkItself, nil)
		if at == nil || at.dir == nil || at.node != nil && at.node.pseudo || !nm.names.exists(at) {
			continue
		}
		nm.names.mention(at)
		n := notesOf(f)
		nm.learn(at, n)
		at.node.allocated(n, 0)
	}
}

// notesOf returns the notes that a recorder would write for a file. A size or a number
// of cached pages below 0 is unknown.
func notesOf(f *format.File) *format.Notes {
	n := &format.Notes{Has: format.NotedType | format.NotedMode, Type: f.Type, Mode: f.Mode, Size: f.Size, Cached: f.Cached, Dirty: f.Dirty}
	if f.Size >= 0 {
		n.Has |= format.NotedSize
	}
	if f.Cached >= 0 {
		n.Has |= format.NotedCached
	}
	if f.Sparse {
		n.Has |= format.NotedSparse
	}
	if len(f.Blocks) > 0 {
		n.Blocks, n.Has = format.AppendBlocks(nil, f.Blocks), n.Has|format.NotedBlocks
	}
	return n
}
