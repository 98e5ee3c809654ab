package compile

import "pianola/format"

// resume sets up the threads and descriptors of processes that ran already.
func (m *model) resume(processes []format.Running, h *format.Header) {
	first := map[int32]*thread{}
	for _, r := range processes {
		p := m.newProcess(r.Process)
		p.command = baseName(r.Command)
		files := newFileTable(m.budget)
		dir := &workingDir{root: m.names.root, node: m.names.root}
		if r.Root != "" {
			dir.root = m.directory(m.names.root, r.Root)
		}
		if r.Cwd != "" {
			dir.node = m.directory(m.names.root, r.Cwd)
		}
		for _, tid := range r.Threads {
			t := m.newThread(tid, nil, p, 0)
			t.files, t.dir = files, dir
			if first[r.Process] == nil {
				first[r.Process] = t
			}
		}
	}
	for _, d := range h.Descriptors {
		if t := first[d.Process]; t != nil {
			m.inherit(t, d)
		}
	}
}
