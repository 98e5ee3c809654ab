package compile

import "pianola/format"

// The simulation compares results with facts it is certain of: the entries of directories,
// which are all known if the trace created the directory, and the sizes of files that it
// created or truncated. A transform that leaves events out can have removed what explains a
// difference, so a contradiction counts only at the end of the recording, which tells that.

// contradicts records a result that is wrong for a file or directory.
func (m *model) contradicts(s *simEvent, at *entry, what string) {
	m.disordered = true
	if m.against++; len(m.doubts) < maxExamples {
		m.doubts = append(m.doubts, m.example(s.e, at, what))
	}
}

// settle counts the contradictions.
func (m *model) settle() {
	for _, text := range m.doubts {
		m.contradicted(text)
	}
	m.report.Unexplained += m.against - int64(len(m.doubts))
}

// become sets the size of a file.
func (nd *node) become(size int64) { nd.now, nd.changed = size, true }

// emptied checks whether a directory is empty, as an event shows. If the trace did not create
// it, only some of its entries are known.
func (m *model) emptied(s *simEvent, at *entry, empty bool) {
	dir := at.node
	if dir == nil || dir.isLeaf() || !dir.created && !empty {
		return
	}
	for _, e := range dir.entries.list {
		if e.state == present {
			if empty {
				m.contradicts(s, e, "still exists in a directory that was removed")
			}
			return
		}
	}
	if !empty && dir.typ == format.TypeDir {
		m.contradicts(s, at, "not empty, but the simulation has no entries in it")
	}
}

// ends checks a size that an event shows: the file reaches to an offset, and no further
// if last is set.
func (m *model) ends(s *simEvent, nd *node, to int64, last bool) {
	switch {
	case !nd.exact:
	case to > nd.now:
		m.contradicts(s, nd.at, "larger than the data written to it")
	case last && to < nd.now:
		m.contradicts(s, nd.at, "smaller than the data written to it")
	}
}
