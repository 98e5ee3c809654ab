package compile

import "pianola/format"

// nameless reports whether an event is a call on a name that does not show what
// kind of file it leads to: chmod, chown, unlink and the like. Besides
// connecting, these are the calls that programs make on the name of a socket.
func nameless(e *format.Event) bool {
	info := e.Op.Info()
	return (info.Effect == format.EffectChmod || info.Effect == format.EffectUnlink) && info.At.Paths[0].Arg >= 0
}

// socketMode is the mode that mknod makes a socket by: S_IFSOCK and all
// permissions.
const socketMode = 0o140777

// appear makes a socket before the event, if the event succeeds on a name that
// led to nothing so far. Older recordings and imports lack bind and no other
// call that makes names, so the file that appeared is a socket: its owner binds
// it, sets its mode, and removes it at the end.
func (m *model) appear(t *thread, e *format.Event) error {
	if e.Ret < 0 || m.binds || !nameless(e) {
		return nil
	}
	out := &m.events[:len(m.events)+1][len(m.events)]
	m.args.canonical(e, out)
	s := simEvent{e: e, out: out, t: t}
	m.order.begin(t, len(m.table) == 1)
	m.trail = m.trail[:0]
	if m.resolve(&s) != reasonNone || s.deep || out.Op.Info().Effect == format.EffectRmdir {
		return nil
	}
	at := s.at[0]
	if at.state != absent || s.slash[0] || at.dir == nil || at.dir.at.state == absent || at.dir.at.node != at.dir {
		return nil
	}
	m.report.Sockets++
	m.order.after(t.born, format.EdgeBirth)
	m.order.named(m.trail)
	m.order.renamed(at)
	m.names.create(at, format.TypeSock)
	made := format.Event{Op: format.OpMknod, TID: e.TID, Start: e.Start}
	*out = made
	if out.Args[1] = socketMode; m.out != nil {
		out.Str[0] = m.path(at, nil, false)
	}
	t.seen, t.owed = m.order.seen, t.owed[:0]
	err := m.emit(t, &made, out)
	t.cost -= m.cost.Around(made.Op) // nobody recorded it
	return err
}
