package compile

import (
	"fmt"
	"strings"

	"pianola/format"
)

// The simulation compares results with facts it is certain of: the entries of directories,
// which are all known if the trace created the directory, and the sizes of files that it
// created or truncated. A transform that leaves events out can have removed what explains a
// difference, so a contradiction counts only at the end of the recording, which tells that.

// judgement is what a pass found in contradiction to its simulation.
type judgement struct {
	against    int64     // contradictions so far
	doubts     []string  // texts about some of them
	overlaps   *overlaps // nil if the events come in the order of their lines
	disordered bool      // a result shows that calls had their effects in another order than that of their lines
}

// contradicts records a result that is wrong for a file or directory.
func (p *pass) contradicts(s *simEvent, at *entry, what string) {
	p.disordered = true
	if p.against++; len(p.doubts) < maxExamples {
		p.doubts = append(p.doubts, p.example(s.e, at, what))
	}
}

// settle counts the contradictions.
func (p *pass) settle() {
	for _, text := range p.doubts {
		p.contradicted(text)
	}
	p.report.Unexplained += p.against - int64(len(p.doubts))
}

// become sets the size of a file.
func (nd *node) become(size int64) { nd.now, nd.changed = size, true }

// emptied checks whether a directory is empty, as an event shows. If the trace did not create
// it, only some of its entries are known.
func (p *pass) emptied(s *simEvent, at *entry, empty bool) {
	dir := at.node
	if dir == nil || dir.isLeaf() || !dir.created && !empty {
		return
	}
	for _, e := range dir.entries.list {
		if e.state == present {
			if empty {
				p.contradicts(s, e, "still exists in a directory that was removed")
			}
			return
		}
	}
	if !empty && dir.typ == format.TypeDir {
		p.contradicts(s, at, "not empty, but the simulation has no entries in it")
	}
}

// ends checks a size that an event shows: the file reaches to an offset, and no further
// if last is set.
func (p *pass) ends(s *simEvent, nd *node, to int64, last bool) {
	switch {
	case !nd.exact:
	case to > nd.now:
		p.contradicts(s, nd.at, "larger than the data written to it")
	case last && to < nd.now:
		p.contradicts(s, nd.at, "smaller than the data written to it")
	}
}

// unexplained counts a recorded result that contradicts the simulation,
// such as one on a file that another program made.
func (p *pass) unexplained(e *format.Event, at *entry, what string) {
	p.contradicted(p.example(e, at, what))
}

// example describes an unexplained result, "" if there are enough examples.
func (p *pass) example(e *format.Event, at *entry, what string) string {
	if len(p.report.Examples) >= maxExamples {
		return ""
	}
	name := "?"
	if at != nil {
		name = p.names.original(at)
	}
	if p.overlaps != nil {
		what = p.overlaps.blames(what)
	} else if at, _, blames := strings.Cut(what, blame); blames && p.learned.lines {
		what = at + "; the search for an order of calls that overlap was given up"
	}
	return fmt.Sprintf("%s %q in thread %d at %s s: %s", e.Op, name, e.TID, format.AppendSeconds(nil, e.Start), what)
}

func (p *pass) contradicted(text string) {
	p.report.Unexplained++
	if len(p.report.Examples) < maxExamples && text != "" {
		p.report.Examples = append(p.report.Examples, text)
	}
}
