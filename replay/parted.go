package replay

import (
	"context"
	"fmt"
	"slices"

	"pianola/format"
	"pianola/internal/eventcount"
	"pianola/ranks"
)

// parted is the part of a trace that this process replays. It has the thread table of the
// whole trace, but the threads of others have no events.
type parted struct {
	format.Trace
	header  *format.Header
	foreign []bool // of each thread
}

// ownPart returns the part of a trace that the player of a session replays.
func ownPart(t format.Trace, s *ranks.Session) *parted {
	from := t.Header()
	h := *from
	h.Threads = slices.Clone(from.Threads)
	if len(h.Threads) == 0 {
		h.Threads = []format.Thread{{Process: 1}}
	}
	p := &parted{Trace: t, header: &h}
	players := playersOf(from, s.Size)
	own := make(map[int32]bool) // processes
	for i := range h.Threads {
		foreign := players[i] != s.Rank
		p.foreign = append(p.foreign, foreign)
		own[h.Threads[i].Process] = !foreign
	}
	for i := range h.Threads {
		// A thread that a thread of another player creates is there from the start,
		// and begins at its time.
		if th := &h.Threads[i]; th.Parent > 0 && th.Ring == format.ViaCall && (p.foreign[i] || p.foreign[th.Parent-1]) {
			th.Parent = 0
		}
	}
	h.Descriptors = nil
	for _, d := range from.Descriptors {
		if own[d.Process] {
			h.Descriptors = append(h.Descriptors, d)
		}
	}
	return p
}

// playersOf returns which of a number of players plays each thread of a trace. Each plays
// consecutive ranks, so that neighbours stay together. A thread without a rank
// is with the thread that created it, else with player 0.
func playersOf(h *format.Header, players int) []int {
	var all []int32
	for i := range h.Threads {
		if rank := h.Threads[i].Rank(); rank >= 0 {
			all = append(all, rank)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	of := make([]int, max(len(h.Threads), 1))
	for i := range h.Threads {
		if place, ranked := slices.BinarySearch(all, h.Threads[i].Rank()); ranked {
			of[i] = place * players / len(all)
		} else if parent := h.Threads[i].Parent; parent > 0 && int(parent) <= i {
			of[i] = of[parent-1]
		}
	}
	return of
}

// ThreadsOf returns what selects the threads that a player of a number of players plays.
func ThreadsOf(player, players int) func(h *format.Header) func(thread int32) bool {
	return func(h *format.Header) func(thread int32) bool {
		of := playersOf(h, players)
		return func(thread int32) bool { return int(thread) <= len(of) && of[thread-1] == player }
	}
}

func (p *parted) Header() *format.Header { return p.header }

func (p *parted) Len(thread int32) int64 {
	if p.isForeign(thread) {
		return 0
	}
	return p.Trace.Len(thread)
}

func (p *parted) Waits(thread int32) ([]format.Wait, error) {
	if p.isForeign(thread) {
		return nil, nil
	}
	return p.Trace.Waits(thread)
}

func (p *parted) isForeign(thread int32) bool { return p.foreign[thread-1] }

// isForeign reports whether another process replays a thread.
func (e *engine) isForeign(thread int32) bool {
	p, ok := e.trace.(*parted)
	return ok && p.isForeign(thread)
}

// exchange tells the other players which of their events threads here wait for, and
// returns which events of threads here they wait for.
func (e *engine) exchange(ctx context.Context) (map[int32]*ranks.Asked, error) {
	if e.Session == nil {
		return nil, nil
	}
	var wanted []ranks.Wanted
	players := playersOf(e.whole.Header(), e.Session.Size)
	for i, w := range e.workers {
		if w.elsewhere && len(w.targets) > 0 {
			w.sortTargets()
			wanted = append(wanted, ranks.Wanted{Thread: w.number, Player: players[i], Events: w.targets})
		}
	}
	asked, err := e.Session.Exchange(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for thread, a := range asked {
		if thread < 1 || int(thread) > len(e.workers) || e.workers[thread-1].elsewhere || a.Events[len(a.Events)-1] >= e.whole.Len(thread) {
			return nil, fmt.Errorf("another process waits for events of thread %d that this one does not replay", thread)
		}
	}
	return asked, nil
}

// wire connects threads here with those of other players.
func (e *engine) wire(asked map[int32]*ranks.Asked) (err error) {
	if e.Session == nil {
		return nil
	}
	w := &ranks.Wiring{}
	for _, k := range e.workers {
		switch a := asked[k.number]; {
		case k.elsewhere:
			events := k.targets[:len(k.targets)-1]
			for _, event := range events {
				w.Event, w.From = append(w.Event, event), append(w.From, int32(w.Sources))
			}
			if len(events) > 0 {
				w.Sources++
			}
		case a != nil:
			k.posts = make([]int32, len(k.targets))
			for i, event := range k.targets {
				k.posts[i] = -1
				if place, ok := slices.BinarySearch(a.Events, event); ok {
					k.posts[i] = int32(len(w.To) + place)
				}
			}
			w.Runs, w.To = append(w.Runs, int32(len(a.Events))), append(w.To, a.To...)
		}
	}
	w.Out, w.In = len(w.To), len(w.Event)
	if e.board, err = e.Session.Wire(w); err != nil {
		return err
	}
	source, slot := 0, 0
	for _, k := range e.workers {
		if n := len(k.targets) - 1; k.elsewhere && n > 0 {
			k.source, k.in = &e.board.Sources[source], e.board.In[slot:slot+n]
			source, slot = source+1, slot+n
		}
	}
	return nil
}

// post tells other processes of the end of a target, when it was due and when it was, by
// the clock.
func (w *worker) post(target int, due, at int64) {
	if w.posts != nil && w.posts[target] >= 0 {
		w.e.board.Post(w.posts[target], due-w.e.start, at-w.e.start)
	}
}

// endOf returns when a target ended if no event had been late, by the clock.
func (w *worker) endOf(target int32) int64 {
	if w.source != nil {
		return w.e.start + w.in[target].Due.Load()
	}
	return w.ends[target].Load()
}

// ended returns what advances when an event of the thread has ended that others expect.
func (w *worker) ended() *eventcount.Count {
	if w.source != nil {
		return &w.source.Ends
	}
	return &w.wakeUp
}

// begin returns when the first event may be due, by the clock. Several processes agree on
// the time.
func (s *stage) begin(ctx context.Context) (int64, error) {
	session := s.engines[0].Session
	if session == nil {
		return s.now(), nil
	}
	at, err := session.Start(ctx)
	return s.at(at), err
}
