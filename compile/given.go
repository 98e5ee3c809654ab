package compile

import "pianola/format"

// given takes up the files and directories that the header of a recording
// names. A recorder names none: they are those of a pattern, or of a person who
// knows more than was recorded.
func (m *model) given(files []format.File) {
	for i := range files {
		f := &files[i]
		if f.Type != format.TypeReg && f.Type != format.TypeDir {
			continue
		}
		at, _ := m.names.walk(m.names.root, m.names.root, f.Path, false, nil)
		if at == nil || at.dir == nil || at.node != nil && at.node.pseudo || !m.names.exists(at) {
			continue
		}
		at.direct = true
		m.learn(at, &facts{typ: f.Type, mode: f.Mode, size: f.Size, cached: f.Cached, sparse: f.Sparse})
	}
}
