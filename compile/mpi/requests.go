package mpi

import (
	"cmp"
	"math"
	"slices"
)

// request is an operation that another call completes.
type request struct {
	message    *message
	send       *message // besides, of MPI_Isendrecv
	collective *collective
	start      *message // what a persistent request sends or receives each time it is started
	persistent bool
	number     int64 // the order in which they were made
}

// ask notes the request of an operation.
func (p *Pairer) ask(r *rank, id int64, q request) {
	if old, there := r.requests[id]; there { // it completed, by a call that was not seen
		p.abandon(old)
	} else if len(r.requests) == maxRequests {
		for _, old := range r.newest(maxRequests)[maxRequests/2:] {
			p.abandon(r.requests[old])
			delete(r.requests, old)
		}
	}
	r.asked++
	q.number = r.asked
	r.requests[id] = q
}

// newest returns the requests that were made last, the newest first.
func (r *rank) newest(n int) []int64 {
	ids := make([]int64, 0, len(r.requests))
	for id := range r.requests {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(r.requests[b].number, r.requests[a].number) })
	return ids[:min(n, len(ids))]
}

// done completes the operation of a request. It reports whether there is one.
func (p *Pairer) done(r *rank, id int64, c *Call, s status, shared bool) bool {
	q, ok := r.requests[id]
	if !ok {
		return false
	}
	if q.persistent {
		idle := q
		idle.message = nil
		r.requests[id] = idle
	} else {
		delete(r.requests, id)
	}
	if q.send != nil {
		p.ended(q.send, c, s, true)
		shared = true
	}
	switch {
	case q.message != nil:
		p.ended(q.message, c, s, shared)
	case q.collective != nil:
		p.leave(q.collective, c)
	default:
		return !q.persistent
	}
	return true
}

// start starts a persistent request.
func (p *Pairer) start(r *rank, _ *function, a arguments, c *Call) bool {
	if id, ok := a.handle(argRequest); ok {
		p.startOne(r, id, c)
	}
	return true
}

func (p *Pairer) startAll(r *rank, _ *function, a arguments, c *Call) bool {
	count, _ := a.int(argCount)
	ids := a.numbers(argRequests)
	for _, id := range ids {
		p.startOne(r, id, c)
	}
	p.Stats.Unknown += max(min(count, math.MaxInt32)-int64(len(ids)), 0)
	return true
}

func (p *Pairer) startOne(r *rank, id int64, c *Call) {
	q, ok := r.requests[id]
	if !ok {
		p.Stats.Unknown++
		return
	}
	if q.start == nil { // to or from nowhere
		return
	}
	p.abandon(q)
	m := p.take()
	*m = *q.start
	m.begin.Thread, m.begin.At = c.Thread, c.Start
	q.message = m
	r.asked++
	q.number = r.asked
	r.requests[id] = q
	p.post(m)
}

func (p *Pairer) freeRequest(r *rank, _ *function, a arguments, _ *Call) bool {
	if id, ok := a.handle(argRequest); ok {
		p.abandon(r.requests[id])
		delete(r.requests, id)
	}
	return true
}

// cancelRequest adds a call that gives up a receive.
func (p *Pairer) cancelRequest(r *rank, _ *function, a arguments, _ *Call) bool {
	if id, ok := a.handle(argRequest); ok {
		q := r.requests[id]
		p.cancel(q.message)
	}
	return true
}

// successful reports whether a call says that it has completed something: those that ask have a
// flag.
func (p *Pairer) successful(a arguments) bool {
	if !a.has(argFlag) {
		return true
	}
	flag, known := a.result(argFlag)
	if !known {
		p.Stats.Unknown++
	}
	return known && flag != 0
}

func (p *Pairer) waitOne(r *rank, f *function, a arguments, c *Call) bool {
	id, ok := a.handle(argRequest)
	done := ok && p.successful(a) && p.done(r, id, c, a.status(argStatus, 0, r.openMPI), false)
	if _, there := r.requests[id]; done && f.keeps && !there {
		p.ask(r, id, request{})
	}
	return done
}

// waitAll completes an array of requests. Those that were not read are the newest ones.
func (p *Pairer) waitAll(r *rank, _ *function, a arguments, c *Call) bool {
	if !p.successful(a) {
		return false
	}
	count, _ := a.int(argCount)
	ids := a.numbers(argRequests)
	shared, some := count > 1, false
	for i, id := range ids {
		some = p.done(r, id, c, a.status(argStatuses, i, r.openMPI), shared) || some
	}
	if rest := count - int64(len(ids)); rest > 0 {
		newest := r.newest(int(min(rest, maxRequests)))
		slices.Reverse(newest)
		for _, id := range newest {
			some = p.done(r, id, c, status{}, shared) || some
		}
	}
	return some
}

func (p *Pairer) waitAny(r *rank, _ *function, a arguments, c *Call) bool {
	if !p.successful(a) {
		return false
	}
	ids := a.numbers(argRequests)
	index, known := a.result(argIndex)
	if known && index < 0 {
		return false // MPI_UNDEFINED: none of them is under way
	}
	if !known || index >= int64(len(ids)) {
		p.Stats.Unknown++
		return false
	}
	return p.done(r, ids[index], c, a.status(argStatus, 0, r.openMPI), false)
}

func (p *Pairer) waitSome(r *rank, _ *function, a arguments, c *Call) bool {
	ids, indices := a.numbers(argRequests), a.numbers(argIndices)
	count, known := a.result(argDone)
	if known && count <= 0 {
		return false // none, or none of them is under way
	}
	if !known || count > int64(len(indices)) {
		p.Stats.Unknown++
		if !known {
			return false
		}
	}
	some := false
	for i, index := range indices[:min(count, int64(len(indices)))] {
		if index < 0 || index >= int64(len(ids)) {
			p.Stats.Unknown++
			continue
		}
		some = p.done(r, ids[index], c, a.status(argStatuses, i, r.openMPI), count > 1) || some
	}
	return some
}
