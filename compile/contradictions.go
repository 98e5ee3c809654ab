package compile

import (
	"slices"

	"pianola/format"
)

// The simulation compares results with facts it is certain of: the entries of directories,
// which are all known if the trace created the directory, and the sizes of files that it
// created or truncated. A call that began before the result and returned later can explain
// a difference. So a contradiction counts only at the end of the recording.

// contradiction is a result that contradicts the simulation, unless another call explains it.
type contradiction struct {
	about any   // a *node if it is about a size, or the *entry of a directory
	end   int64 // of the event
	text  string
}

// maxContradictions bounds the pending contradictions. Later ones count at once.
const maxContradictions = 1000

// contradicts records a result that is wrong for a file or directory that was last
// changed at the given time. If the event began before, it may have seen the older
// state.
func (m *model) contradicts(s *simEvent, about any, altered int64, at *entry, what string) {
	if _, dir := about.(*entry); dir {
		m.disordered = true
	}
	if altered >= s.e.Start {
		return
	}
	text := m.example(s.e, at, what)
	if len(m.against) == maxContradictions {
		m.contradicted(text)
		return
	}
	m.against = append(m.against, contradiction{about, s.e.End(), text})
}

// settle removes the contradictions about a file or directory that the current event
// can explain: it changed the file or directory, and began before they ended.
func (m *model) settle(s *simEvent, about any) {
	if len(m.against) > 0 {
		m.against = slices.DeleteFunc(m.against, func(d contradiction) bool { return d.about == about && s.e.Start <= d.end })
	}
}

// resized sets the size of a file.
func (m *model) resized(s *simEvent, nd *node, size int64) {
	nd.now, nd.changed = size, true
	nd.altered = max(nd.altered, s.e.End())
	m.settle(s, nd)
}

// entered records that the event created or removed a name.
func (m *model) entered(s *simEvent, at *entry) {
	if at.dir == nil {
		return
	}
	at.dir.altered = max(at.dir.altered, s.e.End())
	m.settle(s, at.dir.at)
}

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
				m.contradicts(s, at, dir.altered, e, "still exists in a directory that was removed")
			}
			return
		}
	}
	if !empty && dir.typ == format.TypeDir {
		m.contradicts(s, at, dir.altered, at, "not empty, but the simulation has no entries in it")
	}
}

// ends checks a size that an event shows: the file reaches to an offset, and no further
// if last is set.
func (m *model) ends(s *simEvent, nd *node, to int64, last bool) {
	switch {
	case !nd.exact:
	case to > nd.now:
		m.contradicts(s, nd, nd.altered, nd.at, "larger than the data written to it")
	case last && to < nd.now:
		m.contradicts(s, nd, nd.altered, nd.at, "smaller than the data written to it")
	}
}
