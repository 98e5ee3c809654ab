package replay

import (
	"pianola/device"
	"pianola/format"
	"pianola/replay/rings"
)

// reap takes completions from the kernel, and those that a model delayed until now, and
// reports whether a request has ended.
func (q *queue) reap(w *worker) bool {
	n := 0
	if o := q.under.Load(); o != nil {
		o.enter(w)
		n = o.Reap(q.completed[:])
		o.leave(w)
	}
	if n == 0 && q.lates.Load() == 0 {
		return false
	}
	now := w.e.now()
	q.state.take()
	came := q.release(now)
	for _, c := range q.completed[:n] {
		if !q.delay(c, now) {
			q.finish(c, now)
			came = true
		}
	}
	q.publish()
	q.state.give()
	return came
}

// delayed is a completion that the model has later than it came.
type delayed struct {
	rings.Completion
	at int64
}

// delay keeps the completion of a request in flight for later, by the model, and
// reports whether it did. The state is locked, as for release.
func (q *queue) delay(c rings.Completion, now int64) bool {
	e := q.g.e
	if e.device == nil || c.User >= uint64(len(q.flights)) {
		return false
	}
	f := &q.flights[c.User]
	took := max(now-f.begin-e.cost, 0)
	if e.usesRecordedDurations() {
		if took = f.recorded; took < 0 {
			return false
		}
	}
	at := e.device.until(f.record.Op, device.At(q.g.asked, f.event), c.Result, f.begin, took) + e.cost
	if at <= now {
		return false
	}
	q.late = append(q.late, delayed{c, at})
	q.lates.Add(1)
	return true
}

// release completes the requests that end by now, and reports whether there were
// any.
func (q *queue) release(now int64) bool {
	left := q.late[:0]
	for _, d := range q.late {
		if d.at > now {
			left = append(left, d)
			continue
		}
		q.finish(d.Completion, d.at)
	}
	ended := len(left) < len(q.late)
	q.lates.Add(int32(len(left) - len(q.late)))
	q.late = left
	return ended
}

// finish records the completion of a request in flight. The caller holds the lock of
// the state, as for the methods below.
func (q *queue) finish(c rings.Completion, now int64) {
	if c.User >= uint64(len(q.flights)) {
		return
	}
	f := &q.flights[c.User]
	q.complete(f.event, f.begin, &f.record, c.Result, now)
	q.free = append(q.free, int32(c.User))
}

// complete notes the end of a request.
func (q *queue) complete(event, begin int64, r *format.Record, got, now int64) {
	g := q.g
	at := &q.entries[event-g.log.spilled]
	at.ret, at.dur = got, max(now-begin-g.e.cost, 0)
	g.byOp[r.Op].Executed++
	g.last = max(g.last, now-g.e.start)
	if got != r.Ret {
		g.score(r, event, got)
	}
	n := q.came.Load() + 1
	q.cameAt[n%keptTimes] = now
	q.came.Store(n)
}

// publish announces the requests that have ended with all before them.
func (q *queue) publish() {
	g := q.g
	done, until := g.done.Load(), q.submitted.Load()
	before := done
	for done < until && q.entries[done-g.log.spilled].dur != inFlight {
		done++
	}
	if done == before {
		return
	}
	for ; g.targets[g.target] < done; g.target++ {
		now := g.e.now()
		g.ends[g.target].Store(now)
		g.post(g.target, now, now)
	}
	g.done.Store(done)
	if done > g.awaited.Load() {
		g.awake()
	}
}
