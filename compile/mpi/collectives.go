package mpi

import (
	"cmp"
	"slices"
)

// collectiveKind says which ranks a collective waits for.
type collectiveKind uint8

const (
	ofAll        collectiveKind = iota // all ranks
	toRoot                             // the root waits for all
	fromRoot                           // all wait for the root
	ofLower                            // the ranks at lower places
	ofNeighbours                       // the ranks that the topology has for each
)

// collective is a collective of a communicator that some ranks have entered.
type collective struct {
	comm    *comm
	kind    collectiveKind
	root    int64 // its place
	entries []Begin
	left    []Call // that have completed it
	closed  bool   // all that is known of it was told
	empty   bool   // it moves no data, so no rank waits
	partly  bool   // each pair of ranks can move no data
}

// collective adds a call of one.
func (p *Pairer) collective(r *rank, f *function, a arguments, c *Call) bool {
	p.collectiveOn(p.comm(r, a), r, f, a, c)
	return true
}

// collectiveOn adds a call of one on a communicator, which is nil if it is not known.
func (p *Pairer) collectiveOn(on *comm, r *rank, f *function, a arguments, c *Call) {
	if on == nil || on.confused {
		p.Stats.Unknown++
		on = nil
	}
	var k *collective
	if on != nil && !on.alone {
		root, _ := a.int(argRoot)
		if k = p.enter(r, on, f.kind, root, c); k != nil {
			count, counted := a.int(argCount)
			k.empty = k.empty || counted && count == 0
			k.partly = f.partly
		}
	}
	p.leaveOrAsk(r, a, k, c)
}

// leaveOrAsk notes that a call has completed a collective, or that its request will do so. The
// collective can be nil.
func (p *Pairer) leaveOrAsk(r *rank, a arguments, k *collective, c *Call) {
	if a.has(argRequest) && !a.span.Failed {
		if id, ok := a.handle(argRequest); ok {
			p.ask(r, id, request{collective: k})
		}
	} else if k != nil {
		p.leave(k, c)
	}
}

// enter notes that a rank has entered its next collective of a communicator. It returns nil if
// that was given up.
func (p *Pairer) enter(r *rank, on *comm, kind collectiveKind, root int64, c *Call) *collective {
	i := r.entered[on] - on.first
	r.entered[on]++
	if i < 0 || on.confused {
		p.Stats.Unpaired++
		return nil
	}
	for len(on.open) <= i {
		on.open = append(on.open, &collective{comm: on, kind: kind, root: root})
	}
	k := on.open[i]
	if k.closed {
		p.Stats.Unpaired++
		return nil
	}
	if kind == toRoot || kind == fromRoot {
		k.kind, k.root = kind, root
	}
	k.entries = append(k.entries, Begin{c.Thread, c.Rank, c.Start})
	if p.entries++; p.entries > maxEntries {
		p.close(on.open[0])
		p.trim(on)
	}
	return k
}

// leave notes the call that has completed a collective.
func (p *Pairer) leave(k *collective, c *Call) {
	if k.closed {
		p.tell(k, []Call{*c})
		return
	}
	k.left = append(k.left, *c)
	p.closeIfComplete(k)
	p.trim(k.comm)
}

// closeIfComplete tells of a collective that all ranks have entered and left.
func (p *Pairer) closeIfComplete(k *collective) {
	if size := k.comm.size; !k.closed && k.comm.known && len(k.entries) >= size && len(k.left) >= size {
		p.close(k)
	}
}

// close tells of a collective.
func (p *Pairer) close(k *collective) {
	if k.closed {
		return
	}
	k.closed = true
	p.entries -= len(k.entries)
	p.tell(k, k.left)
	k.left = nil
}

// trim forgets the first collectives of a communicator that are closed.
func (p *Pairer) trim(c *comm) {
	n := 0
	for n < len(c.open) && c.open[n].closed {
		n++
	}
	c.open, c.first = slices.Delete(c.open, 0, n), c.first+n
}

// tell tells what calls waited for that have completed a collective.
func (p *Pairer) tell(k *collective, calls []Call) {
	if len(calls) == 0 {
		return
	}
	if k.kind == ofAll {
		p.tellCalls(k, calls, calls, k.entries)
		return
	}
	if k.kind == ofNeighbours {
		p.tellNeighbours(k, calls)
		return
	}
	if k.kind == ofLower {
		placeOf := k.comm.places()
		slices.SortStableFunc(k.entries, func(a, b Begin) int {
			first, _ := placeOf(a.Rank)
			second, _ := placeOf(b.Rank)
			return cmp.Compare(first, second)
		})
		for i := range calls {
			n := slices.IndexFunc(k.entries, func(b Begin) bool { return b.Rank == calls[i].Rank })
			p.tellCalls(k, calls[i:i+1], calls[i:i+1], k.entries[:max(n, 0)])
		}
		return
	}
	root, ok := p.at(k.comm, k.root)
	at := slices.IndexFunc(k.entries, func(b Begin) bool { return b.Rank == root })
	if !ok || k.kind == fromRoot && at < 0 {
		p.Stats.Unpaired += int64(len(calls))
		return
	}
	var waiting []Call
	for i := range calls {
		if (calls[i].Rank == root) == (k.kind == toRoot) {
			waiting = append(waiting, calls[i])
		}
	}
	if k.kind == toRoot {
		p.tellCalls(k, calls, waiting, k.entries)
	} else {
		p.tellCalls(k, calls, waiting, k.entries[at:at+1])
	}
}

// tellNeighbours tells what calls waited for that have completed a collective of neighbours.
func (p *Pairer) tellNeighbours(k *collective, calls []Call) {
	entered := map[int32]int{}
	for i := range k.entries {
		entered[k.entries[i].Rank] = i
	}
	placeOf := k.comm.places()
	var places []int64
	var on []Begin
	for i := range calls {
		var known bool
		if places, known = k.comm.neighbours(places[:0], calls[i].Rank, placeOf); !known {
			p.Stats.Unknown++
			continue
		}
		on = on[:0]
		slices.Sort(places)
		for _, place := range slices.Compact(places) {
			if rank, ok := p.at(k.comm, place); ok {
				if at, ok := entered[rank]; ok {
					on = append(on, k.entries[at])
				}
			}
		}
		p.tellCalls(k, calls[i:i+1], calls[i:i+1], on)
	}
}

// tellCalls tells that some of the calls that have completed a collective waited.
func (p *Pairer) tellCalls(k *collective, all, waiting []Call, on []Begin) {
	p.Stats.Collectives += int64(len(all))
	if len(waiting) > 0 && len(on) > 0 && !k.empty {
		p.wait = Wait{Kind: Collective, Guessed: k.partly, Calls: waiting, On: on}
		p.waited(&p.wait)
	}
}

// endComm tells of what is left in a communicator.
func (p *Pairer) endComm(c *comm) {
	p.endMessages(c)
	for _, k := range c.open {
		p.close(k)
	}
	p.trim(c)
}
