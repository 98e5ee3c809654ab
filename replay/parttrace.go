package replay

import (
	"context"
	"maps"
	"slices"

	"pianola/format"
	"pianola/internal/eventcount"
	"pianola/replay/engine"
	"pianola/replay/ranks"
)

// partTrace is the part of a trace that this process replays. It has the thread table of the
// whole trace, but the threads of others have no events.
type partTrace struct {
	format.Trace
	header  *format.Header
	foreign []bool // of each thread
}

// ownPart returns the part of a trace that the player of a session replays.
func ownPart(t format.Trace, s *ranks.Session) *partTrace {
	from := t.Header()
	h := *from
	h.Threads = slices.Clone(from.Threads)
	if len(h.Threads) == 0 {
		h.Threads = []format.Thread{{Process: 1}}
	}
	p := &partTrace{Trace: t, header: &h}
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
	all := RanksOf(h)
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

// RanksOf returns the recorded ranks of a trace in order.
func RanksOf(h *format.Header) (all []int32) {
	for i := range h.Threads {
		if rank := h.Threads[i].Rank(); rank >= 0 {
			all = append(all, rank)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ThreadsOf returns a function that selects the threads of one of a number of players.
func ThreadsOf(player, players int) func(h *format.Header) func(thread int32) bool {
	return func(h *format.Header) func(thread int32) bool {
		of := playersOf(h, players)
		return func(thread int32) bool { return int(thread) <= len(of) && of[thread-1] == player }
	}
}

func (p *partTrace) Header() *format.Header { return p.header }

func (p *partTrace) Len(thread int32) int64 {
	if p.isForeign(thread) {
		return 0
	}
	return p.Trace.Len(thread)
}

func (p *partTrace) Waits(thread int32) ([]format.Wait, error) {
	if p.isForeign(thread) {
		return nil, nil
	}
	return p.Trace.Waits(thread)
}

func (p *partTrace) isForeign(thread int32) bool { return p.foreign[thread-1] }

// isForeign reports whether another process replays a thread of a trace.
func isForeign(t format.Trace, thread int32) bool {
	p, ok := t.(*partTrace)
	return ok && p.isForeign(thread)
}

// peers are the other players of a session. They implement engine.Peers.
type peers struct {
	*ranks.Session
	part   *partTrace
	wanted []ranks.Wanted         // of each thread of theirs, in order of the threads
	asked  map[int32]*ranks.Asked // of each thread here
}

// Plays implements engine.Peers.
func (p *peers) Plays(thread int32) bool { return p.part.isForeign(thread) }

// Exchange implements engine.Peers.
func (p *peers) Exchange(ctx context.Context, wanted map[int32][]int64) (map[int32][]int64, error) {
	players := playersOf(p.part.Trace.Header(), p.Size)
	for _, thread := range slices.Sorted(maps.Keys(wanted)) {
		p.wanted = append(p.wanted, ranks.Wanted{Thread: thread, Player: players[thread-1], Events: wanted[thread]})
	}
	var err error
	if p.asked, err = p.Session.Exchange(ctx, p.wanted); err != nil {
		return nil, err
	}
	events := make(map[int32][]int64, len(p.asked))
	for thread, a := range p.asked {
		events[thread] = a.Events
	}
	return events, nil
}

// Wire implements engine.Peers.
func (p *peers) Wire() (map[int32]engine.Remote, map[int32]engine.Poster, error) {
	w := &ranks.Wiring{Sizes: ranks.Sizes{Sources: len(p.wanted)}}
	for i, k := range p.wanted {
		for _, event := range k.Events {
			w.Event, w.From = append(w.Event, event), append(w.From, int32(i))
		}
	}
	first := make(map[int32]int)
	for _, thread := range slices.Sorted(maps.Keys(p.asked)) {
		a := p.asked[thread]
		first[thread] = len(w.To)
		w.Runs, w.To = append(w.Runs, int32(len(a.Events))), append(w.To, a.To...)
	}
	w.Out, w.In = len(w.To), len(w.Event)
	board, err := p.Session.Wire(w)
	if err != nil {
		return nil, nil, err
	}
	remotes, slot := make(map[int32]engine.Remote), 0
	for i, k := range p.wanted {
		remotes[k.Thread] = &remote{&board.Sources[i], board.In[slot : slot+len(k.Events)]}
		slot += len(k.Events)
	}
	posters := make(map[int32]engine.Poster)
	for thread, at := range first {
		posters[thread] = &poster{board, at}
	}
	return remotes, posters, nil
}

// remote is the progress of a thread that another player plays.
type remote struct {
	source *ranks.Source
	ends   []ranks.Post
}

// Done implements engine.Remote, as the methods below.
func (r *remote) Done() int64 { return r.source.Done.Load() }

func (r *remote) Expect(event int64)       { r.source.Expect(event) }
func (r *remote) Ended() *eventcount.Count { return &r.source.Ends }
func (r *remote) End(i int) int64          { return r.ends[i].Due.Load() }

// poster posts the ends of the events of a thread on the board, from a slot on.
type poster struct {
	board *ranks.Board
	first int
}

// Post implements engine.Poster.
func (p *poster) Post(i int, due, at int64) { p.board.Post(int32(p.first+i), due, at) }
