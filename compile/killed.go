package compile

import "pianola/format"

// exit_group ends all threads of a process. Until then, a thread that it ends may have slept, waited
// or computed for no event of the trace: its end comes after that of the process, and after
// nothing else.

// ends ties the end of a thread to that of its process, if an event of another thread ended both.
func (w *ties) ends(s *simEvent) {
	t := s.t
	switch {
	case s.out.Op == format.OpExitGroup:
		t.proc.killer = cause{place: w.order.here, kind: format.EdgeWake, bound: s.e.Start, floor: t.floor(t.clock(s.e.Start))}
	case s.out.Op == format.OpExit && s.e.Notes.Known(format.NotedKilled) && t.proc.killer.place.thread > 0:
		t.timeouts.drop()
		t.held = s.out.Compute
		t.gap.causes, t.gap.marks = nil, nil
		t.follow(s.e.Start, s.e.Start, []cause{t.proc.killer}, format.EdgeWake, format.Floor{})
	}
}
