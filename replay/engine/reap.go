package engine

import (
	"pianola/format"
)

// reap takes completions from the kernel, and those that a model delayed until now, and
// reports whether a request has ended.
func (q *Ring) reap(w *Worker) bool {
	n := 0
	if o := q.requests.Load(); o != nil {
		n = (*o).Reap(w, q.completed[:])
	}
	if n == 0 && q.numDelayed.Load() == 0 {
		return false
	}
	now := w.e.Now()
	q.state.Take()
	came := q.finishDelayed(now)
	for _, c := range q.completed[:n] {
		if !q.delay(c, now) {
			q.finish(c, now)
			came = true
		}
	}
	q.publish()
	q.state.Give()
	return came
}

// delayed is a completion that the model delays.
type delayed struct {
	Completion
	at int64
}

// delay keeps the completion of a request in flight for later, by the model, and
// reports whether it did. The state is locked, as for finishDelayed.
func (q *Ring) delay(c Completion, now int64) bool {
	e := q.g.e
	if e.Model == nil || c.User >= uint64(len(q.flights)) {
		return false
	}
	f := &q.flights[c.User]
	took := max(now-f.begin-e.Cost, 0)
	if e.Recorded {
		if took = f.recorded; took < 0 {
			return false
		}
	}
	at := e.Model.Until(q.g.Number, f.event, f.record.Op, c.Result, f.begin, took) + e.Cost
	if at <= now {
		return false
	}
	q.delayed = append(q.delayed, delayed{c, at})
	q.numDelayed.Add(1)
	return true
}

// finishDelayed completes the requests that end by now, and reports whether there were
// any.
func (q *Ring) finishDelayed(now int64) bool {
	left := q.delayed[:0]
	for _, d := range q.delayed {
		if d.at > now {
			left = append(left, d)
			continue
		}
		q.finish(d.Completion, d.at)
	}
	ended := len(left) < len(q.delayed)
	q.numDelayed.Add(int32(len(left) - len(q.delayed)))
	q.delayed = left
	return ended
}

// finish records the completion of a request in flight. The caller holds the lock of
// the state, as for the methods below.
func (q *Ring) finish(c Completion, now int64) {
	if c.User >= uint64(len(q.flights)) {
		return
	}
	f := &q.flights[c.User]
	q.complete(f.event, f.begin, &f.record, c.Result, now)
	f.by = 0
	q.free = append(q.free, int32(c.User))
}

// complete notes the end of a request.
func (q *Ring) complete(event, begin int64, r *format.Record, got, now int64) {
	g := q.g
	at := &q.entries[event-g.log.spilled]
	at.Ret, at.Dur = got, max(now-begin-g.e.Cost, 0)
	g.byOp[r.Op].Executed++
	g.last = max(g.last, now-g.e.start)
	if got != r.Ret {
		g.score(r, event, got)
	}
	n := q.completions.Load() + 1
	q.completedAt[n%keptTimes] = now
	q.completions.Store(n)
}

// publish announces the requests that have ended with all before them.
func (q *Ring) publish() {
	g := q.g
	done, until := g.done.Load(), q.submitted.Load()
	before := done
	for done < until && q.entries[done-g.log.spilled].Dur != inFlight {
		done++
	}
	if done == before {
		return
	}
	for ; g.targets[g.target] < done; g.target++ {
		now := g.e.Now()
		g.ends[g.target].Store(now)
		g.post(g.target, now, now)
	}
	g.done.Store(done)
	if done > g.awaited.Load() {
		g.wakeWaiters()
	}
}
