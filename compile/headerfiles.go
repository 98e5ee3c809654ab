package compile

import "pianola/format"

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
	n := &format.Notes{Has: format.NotedType | format.NotedMode, Type: f.Type, Mode: f.Mode, Size: f.Size, Cached: f.Cached}
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
