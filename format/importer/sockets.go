package importer

import "pianola/format"

// sockets follows sockets through the events of IOProf's logs, so that reads and writes of
// them, also by children, are messages. It implements format.Reader.
type sockets struct {
	format.Reader
	of    map[int32]map[int64]*socket // by process and descriptor
	held  int                         // descriptors in of
	made  uint64
	notes []format.Notes // of the events of one Read
}

// socket can have several descriptors.
type socket struct {
	number uint64
	client bool      // the peer is a client
	moved  [2]uint32 // bytes received and sent
}

// maxSockets bounds the descriptors of sockets. Calls on one beyond are those on files.
const maxSockets = 1 << 16

// Read implements format.Reader.
func (s *sockets) Read(events []format.Event) (int, error) {
	if cap(s.notes) < len(events) {
		s.notes = make([]format.Notes, 0, len(events))
	}
	for {
		n, err := s.Reader.Read(events)
		s.notes = s.notes[:0]
		kept := 0
		for i := range events[:n] {
			if s.follow(&events[i]) {
				events[kept] = events[i]
				kept++
			}
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

// follow reports whether e is an event, and not only a new socket.
func (s *sockets) follow(e *format.Event) bool {
	own := s.of[e.TID]
	switch e.Op {
	case format.OpNone:
		s.made++
		s.put(e.TID, e.Ret, &socket{number: s.made, client: e.Args[0] == int64(makesConnection)})
		return false
	case format.OpOpen:
		s.put(e.TID, e.Ret, nil)
	case format.OpFork:
		if child := int32(e.Ret); child != e.TID {
			s.held -= len(s.of[child])
			delete(s.of, child)
			for fd, one := range own {
				s.put(child, fd, one)
			}
		}
	default:
		one := own[e.Args[0]]
		if one != nil {
			e.Notes = s.note(one, e)
		}
		switch e.Op {
		case format.OpDup, format.OpDup2:
			s.put(e.TID, e.Ret, one)
		case format.OpClose:
			s.put(e.TID, e.Args[0], nil)
		}
	}
	return true
}

// put gives a process a descriptor of a socket, or of none.
func (s *sockets) put(process int32, fd int64, one *socket) {
	own := s.of[process]
	if own[fd] != nil {
		delete(own, fd)
		s.held--
		if len(own) == 0 {
			delete(s.of, process)
			own = nil
		}
	}
	if one == nil || s.held >= maxSockets {
		return
	}
	if own == nil {
		own = map[int64]*socket{}
		s.of[process] = own
	}
	own[fd] = one
	s.held++
}

// note returns the notes of a call on a socket. Each direction is a channel.
func (s *sockets) note(one *socket, e *format.Event) *format.Notes {
	n := format.Notes{Has: format.NotedType, Type: format.TypeSock}
	if class := e.Op.Info().Class; e.Ret > 0 && (class == format.ClassRead || class == format.ClassWrite) {
		way := 0
		if e.Sends() {
			way = 1
		}
		one.moved[way] += uint32(e.Ret)
		n.Has |= format.NotedMessage
		n.ChannelKind, n.Channel, n.Pos = format.ChannelTCP, 2*one.number+uint64(way), one.moved[way]
		if !one.client {
			n.Has |= format.NotedConnected
		}
	}
	s.notes = append(s.notes, n)
	return &s.notes[len(s.notes)-1]
}
