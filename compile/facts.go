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
