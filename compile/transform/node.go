package transform

import (
	"pianola/format"
	"pianola/format/process"
)

// Node changes the recording of one of several nodes of a parallel program, so that it can be
// merged with the others: threads and UNIX sockets get ids of their own, and so do files for which
// rename returns another name. rename maps absolute paths; nil keeps all. The number of the node is
// below MaxNodes.
//
// The Func returns a reader that keeps spans. The header stays that of the recording: see
// NodeHeader.
func Node(number int, rename func(path string) string) Func {
	k := ids(number)
	if rename == nil {
		return func(r format.Reader) (format.Reader, error) { return &renumbered{Reader: r, k: k}, nil }
	}
	return newStaged(0, func() stage { return &apart{k, rename} })
}

// MaxNodes is the maximum number of nodes of a run, as many as there are ids for.
const MaxNodes = maxCopies

// NodeIDs returns the number above which the ids of the threads of a node are.
func NodeIDs(number int) int32 { return int32(number) << idBits }

// NodeOf returns the number of the node that an event has come from.
func NodeOf(e *format.Event) int { return int(e.TID-1) >> idBits }

// renumbered renames ids.
type renumbered struct {
	format.Reader
	k     ids
	notes []format.Notes
}

// Read implements format.Reader.
func (r *renumbered) Read(events []format.Event) (int, error) {
	n, err := r.Reader.Read(events)
	if len(r.notes) < n {
		r.notes = make([]format.Notes, len(events))
	}
	for i := range events[:n] {
		if e := &events[i]; e.Notes != nil {
			r.notes[i] = *e.Notes
			e.Notes = &r.notes[i]
		}
		if err := r.k.check(&events[i]); err != nil {
			return i, err
		}
		r.k.renameNode(&events[i])
	}
	return n, err
}

// renameNode replaces the ids in an event of a node, whose notes it changes. The ends of a TCP
// connection can be on two nodes, so its channel stays.
func (k ids) renameNode(e *format.Event) {
	if k == 0 || !k.renameCall(e) || e.Notes == nil {
		return
	}
	if k.renameNotes(e.Notes) && e.Notes.ChannelKind != format.ChannelTCP {
		e.Notes.Channel += uint64(k) * channelStep
	}
}

// apart is a node on a machine of its own.
type apart struct {
	k ids
	move
}

// event implements stage.
func (a *apart) event(s *staged, f *process.Fact) error {
	e := f.Event
	if err := a.k.check(e); err != nil {
		return err
	}
	en := s.push(e)
	a.move.rename(s, f.Thread, en, e)
	a.k.renameNode(&en.Event)
	a.k.apart(&en.Event)
	s.Apply(f)
	return nil
}

// span implements spanning.
func (a *apart) span(s *staged, e *format.Event) { a.k.renameCall(&s.push(e).Event) }

// header implements headed: it hides that of move.
func (a *apart) header(h *format.Header) *format.Header { return h }

// NodeHeader returns the processes and descriptors that the header of a node's recording has, as
// Node changes them.
func NodeHeader(h *format.Header, number int, rename func(path string) string) *format.Header {
	k, m := ids(number), move(rename)
	if m == nil {
		m = func(p string) string { return p }
	}
	out := &format.Header{Files: m.files(h.Files)}
	for _, p := range h.Running() {
		p.Process, p.Cwd = int32(k.of(int64(p.Process))), m.absolute(p.Cwd)
		for i, tid := range p.Threads {
			p.Threads[i] = int32(k.of(int64(tid)))
		}
		out.Meta = append(out.Meta, format.Meta{Key: format.MetaProcess, Value: p.Remark()})
	}
	for _, d := range h.Descriptors {
		d.Process, d.Path = int32(k.of(int64(d.Process))), k.pipe(m.absolute(d.Path))
		out.Descriptors = append(out.Descriptors, d)
	}
	for _, r := range h.Ranks {
		r.Process = int32(k.of(int64(r.Process)))
		out.Ranks = append(out.Ranks, r)
	}
	return out
}
