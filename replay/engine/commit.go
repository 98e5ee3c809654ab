package engine

import (
	"math"
	"sync/atomic"

	"pianola/format"
	"pianola/format/commits"
	"pianola/internal/spin"
)

// Commits says how threads that share a log commit.
type Commits uint8

// The ways to commit.
const (
	Elastic  Commits = iota // in the groups that form, as the application would
	Recorded                // in the groups of the recording
)

// logQueue is a log, and the commits to it that wait. One of the workers that wait leads: it
// writes and syncs for all. While it waits itself, it leads the groups after that, too, so that
// no group waits for a thread to wake up. The times are those of commits that are never late.
type logQueue struct {
	lock spin.Lock
	commits.Queue
	leader  *Worker      // nil if no commit waits, or the log does not exist yet
	writing bool         // it has begun
	at      atomic.Int64 // when it begins, by the clock
	opened  atomic.Bool  // the first recorded group has begun, so the log exists
	turn    int64        // from the end of the last group until a leader that waited for it begins; 0 if a processor is free for it
	groups  []Group      // that were made; capacity for all commits
}

// Group is what was written and synced for several commits.
type Group struct {
	Thread  int32 // that led
	Commits int64
	write   Entry // if it is needed
	sync    Entry // if there is one
	made    commits.Write
	like    *commits.Group // whose calls these are
}

// Call returns a call of the group, from 0, as a record and an entry of a log. ok is false at
// the end.
func (g *Group) Call(i int) (r format.Record, e Entry, ok bool) {
	if !g.made.Needed(g.like) {
		i++
	}
	switch i {
	case 0:
		return g.made.Make(g.like), g.write, true
	case 1:
		return g.like.Sync, g.sync, g.like.Syncs()
	}
	return r, e, false
}

// Groups are those of a log that a replay formed.
type Groups struct {
	Groups   []Group
	Recorded int64 // how many the recording has
}

// Groups returns the groups of each log in which threads committed, after the end. There are
// none where they kept the recorded ones.
func (e *Engine) Groups() (all []Groups) {
	for _, q := range e.logs {
		all = append(all, Groups{q.groups, int64(len(q.Groups))})
	}
	return all
}

// committing is what a worker knows of its commits. While it sleeps in awaitCommit, the worker
// that leads changes it.
type committing struct {
	commits     []commits.Commit // ends with one that is never reached
	commit      int              // the next one
	nextCommit  int64            // the event of that
	commitState atomic.Int32     // of the commit that it waits for
	synced      int64            // when the sync of its last commit ended
	woken       int64            // the same, if another one led
	durable     []durable        // what later events come after
	skipped     int64            // events that others have led; their records are still in the batch
	behind      *Worker          // that comes after it in a list
}

// The states of a commit.
const (
	waitingCommit = iota
	leadingCommit // the worker must lead
	durableCommit
)

// Omitted is the Dur of the entry of an event that has no line in the log: it was not played, or a
// call of a Group or of a Change took its place.
const Omitted = math.MinInt64

// groupSize is at least the memory of a Group, in bytes.
const groupSize = 128

// makeCommits finds the logs of the trace, and takes the commits out of what threads wait for.
// Where calls take their recorded durations and nothing else changes, so do the groups.
func (e *Engine) makeCommits() error {
	if e.Commits == Recorded || e.Order != Resource || e.Timing == Schedule || e.Peers != nil || e.Changes != nil || e.Recorded && e.Model == nil {
		return nil
	}
	waits := make([][]format.Wait, len(e.Workers))
	for i, w := range e.Workers {
		waits[i] = w.waits
	}
	plan, err := commits.Find(e.Trace, func(thread int32) int32 { return e.Workers[thread-1].Process }, waits)
	if err != nil || plan == nil {
		return err
	}
	room := e.Memory / 8
	for _, l := range plan.Logs {
		if room -= l.Commits * groupSize; room < 0 {
			e.Note("threads commit in the recorded groups, because the log of others would take too much memory")
			return nil
		}
	}
	for _, l := range plan.Logs {
		e.logs = append(e.logs, &logQueue{Queue: commits.NewQueue(l, len(e.Workers)), groups: make([]Group, 0, l.Commits)})
		first := l.Groups[0]
		opener := e.Workers[first.Thread-1]
		opener.targets = append(opener.targets, first.Event) // see awaitCommit
	}
	e.plan = plan
	for i, w := range e.Workers {
		w.commits = append(plan.Threads[i][:len(plan.Threads[i]):len(plan.Threads[i])], commits.Commit{Event: math.MaxInt64})
		w.nextCommit = w.commits[0].Event
		w.dropWaits()
	}
	return nil
}

// dropWaits removes the waits for recorded groups, which the commits replace, of a thread that
// commits to the same log. A wait for the group of its last commit, also by way of a client, is
// one for that commit, in whatever group.
//
// An event that uses what a group wrote, such as a close of the log, waits for all commits that
// were in the log when it came in the recording.
func (w *Worker) dropWaits() {
	var kept []format.Wait
	member := map[*commits.Log]*commits.Group{} // the group of the last commit
	for i := range w.commits[:len(w.commits)-1] {
		member[w.commits[i].Group.Log] = nil
	}
	follows := map[*commits.Log]int64{}           // commits that the thread comes after
	next, first, until := 0, int64(-1), int64(-1) // the commits, and the first and the last event of the group that the thread leads
	for _, v := range w.waits {
		for ; w.commits[next].Event <= v.Event; next++ {
			c := &w.commits[next]
			if member[c.Group.Log] = c.Group; c.Leads {
				first, until = c.Event, c.Event+c.Group.Events-1
			}
		}
		leads, g := v.Event <= until, w.e.plan.At(v.For.Thread, v.For.Event)
		if last := w.e.plan.Last(v.For.Thread, v.For.Event); last != nil {
			follows[last.Group.Log] = max(follows[last.Group.Log], last.Group.End)
		}
		if g != nil {
			follows[g.Log] = max(follows[g.Log], g.End)
		}
		if v.For.Kind.Commits() {
			v.For = format.Edge{Kind: format.EdgeWake}
		} else if g != nil {
			last, ok := member[g.Log]
			switch {
			case !leads && v.For.Kind < format.EdgeWake:
				w.durable = append(w.durable, durable{event: v.Event, log: w.e.logs[g.Log.Number]})
			case !ok:
			case last == g && !leads:
				v.For = format.Edge{Kind: format.EdgeJoin, Delay: v.For.Delay}
			default:
				v.For = format.Edge{Kind: format.EdgeWake}
			}
		}
		for i := len(w.durable) - 1; i >= 0 && w.durable[i].event == v.Event; i-- { // all edges of the event count
			w.durable[i].commits = follows[w.durable[i].log.Log]
		}
		if leads && v.For == (format.Edge{}) || v.For == (format.Edge{Kind: format.EdgeWake}) && (leads || v.Held|v.Expired == 0) {
			continue
		}
		if leads {
			v.Event = first // the calls of a group have no waits of their own
		}
		kept = append(kept, v)
	}
	w.waits = kept
}

// durable says that an event comes after so many commits to a log.
type durable struct {
	event   int64
	log     *logQueue
	commits int64
}

// makeCommit makes the commits before the worker's next event, and the group that the event
// begins, and reports whether the run goes on.
func (w *Worker) makeCommit() bool {
	e, c := w.e, &w.commits[w.commit]
	q := e.logs[c.Group.Log.Number]
	if c.Leads && w.Event == w.waits[w.wait].Event && !w.awaitEdges() {
		return false
	}
	wanted := max(w.due+e.scale(c.Delay), w.after)
	if e.processors != nil {
		w.computeCommit(&w.batch[w.at], c.Delay)
		wanted = w.compute(wanted)
	}
	switch {
	case e.Timing == AFAP:
		wanted = w.end
	case w.hasTimer():
		wanted = w.awaitWaker(wanted)
	}
	w.toNextCommit()
	begin := e.Now()
	w.commitState.Store(waitingCommit)
	q.lock.Take()
	q.Add(commits.Member{Thread: w.Number, Wanted: wanted, Before: w.woken})
	if c.Leads && c.Group == q.Groups[0] {
		q.opened.Store(true)
	}
	q.arrived(w)
	q.lock.Give()
	if !w.awaitCommit(q) {
		return false
	}
	w.waitedFrom(begin)
	w.last = w.end - e.start
	if !w.skip() {
		return false
	}
	w.held, w.early, w.after, w.tick, w.timer = 0, 0, 0, 0, false
	if c = &w.commits[w.commit-1]; !c.Leads && c.After >= 0 && w.nextCommit != w.Event {
		w.held, w.after = math.MaxInt64/4, w.due+e.scale(c.After)
	}
	return true
}

func (w *Worker) toNextCommit() {
	w.commit++
	w.nextCommit = w.commits[w.commit].Event
}

// arrived finds a leader after a worker has added its commit. The queue is locked.
func (q *logQueue) arrived(w *Worker) {
	if !q.opened.Load() || q.writing {
		return
	}
	e := w.e
	thread, at, _ := q.Next(q.turn)
	switch {
	case q.leader == nil && q.Process == 0:
		q.leads(e.Workers[thread-1])
	case q.leader == nil:
		q.leads(w)
	case at >= q.at.Load():
		return
	case q.Process == 0 && thread == w.Number:
		q.leader.commitState.Store(waitingCommit)
		q.leads(w)
	}
	q.at.Store(at)
	q.leader.WakeUp.Advance()
}

// leads makes a worker the leader; nil for none. The queue is locked.
func (q *logQueue) leads(w *Worker) {
	if q.leader = w; w != nil {
		w.commitState.Store(leadingCommit)
	}
}

// awaitCommit waits until the worker's commit is durable, and leads meanwhile if it must.
func (w *Worker) awaitCommit(q *logQueue) bool {
	e, first := w.e, q.Groups[0]
	opener := e.Workers[first.Thread-1]
	for !e.Stopped() {
		seq := w.WakeUp.Value()
		switch state := w.commitState.Load(); {
		case state == durableCommit:
			return true
		case state == leadingCommit:
			if !w.lead(q) {
				return false
			}
		case !q.opened.Load() && w.satisfied(opener, first.Event): // the trace is wrong
			q.lock.Take()
			q.opened.Store(true)
			q.arrived(w)
			q.lock.Give()
		case !q.opened.Load(): // a deadlock is found
			w.sleepFor(opener, first.Event, &w.WakeUp, seq)
		default:
			w.sleep(&w.WakeUp, seq, 0)
		}
	}
	return false
}

// lead writes and syncs for all commits that wait, when the next group begins. It returns false
// if the run has stopped.
func (w *Worker) lead(q *logQueue) bool {
	e := w.e
	if !w.awaitTurn(q) || !w.awaitProcessor(q) {
		return false
	}
	q.lock.Take()
	at := q.at.Load()
	if q.leader != w || e.Timing != AFAP && e.Now() < at {
		q.lock.Give()
		return true
	}
	if e.Timing == AFAP {
		at = e.Now()
	}
	like := w.commits[w.commit-1].Like
	q.writing = true
	members, made := q.Take(at)
	q.lock.Give()
	g := Group{Thread: members[0].Thread, Commits: int64(len(members)), made: made, like: like}
	due := at
	if made.Needed(like) {
		r := made.Make(like)
		if !w.call(&r, made.Of.Thread, made.Of.Event, made.Of.Wrote, due, &g.write) {
			return false
		}
		due = w.afterCall(due, g.write.Dur, true) + e.scale(like.Between)
		if e.Timing != AFAP {
			w.waitUntil(w.end+e.scale(like.Between), e.Margin)
		}
	}
	if r := like.Sync; like.Syncs() {
		if !w.call(&r, made.Of.Thread, made.Of.Event+made.Of.Events-1, made.Of.Synced, due, &g.sync) {
			return false
		}
		due = w.afterCall(due, g.sync.Dur, true)
	}
	q.groups = append(q.groups, g)
	switch {
	case e.processors == nil:
		q.turn = e.scale(q.TurnAfter(due - at))
	case due-at < blocked && e.processors.only():
		q.turn = 0 // the leader kept the processor, so no other thread ran and waited for it
	default:
		q.turn = e.scale(q.Turn)
	}
	q.end(w, due, members)
	return true
}

// end ends a group, whose sync ended at a time, and passes on the lead.
func (q *logQueue) end(w *Worker, due int64, members []commits.Member) {
	e := w.e
	var free *Worker // a list of those that go on
	q.lock.Take()
	q.Synced(due)
	for i := range members {
		k := e.Workers[members[i].Thread-1]
		k.due, k.synced, k.woken = due, due, due
		if i == 0 {
			k.woken = 0 // it is awake
		}
		if !k.goesOn(q) {
			k.behind, free = free, k
		}
	}
	q.writing = false
	thread, at, ok := q.Next(q.turn)
	next := (*Worker)(nil)
	if ok {
		if next = w; q.Process == 0 || !q.Waits(w.Number) {
			next = e.Workers[thread-1]
		}
		q.at.Store(at)
	}
	if next != w {
		w.commitState.Store(waitingCommit)
		q.leads(next)
	}
	q.lock.Give()
	if next != nil && next != w {
		next.WakeUp.Advance()
	}
	for free != nil {
		k := free
		free = k.behind // once it goes on, it can be in another list
		k.commitState.Store(durableCommit)
		k.WakeUp.Advance()
	}
}

// goesOn adds the next commit of a worker to the queue, if nothing comes before it, so that the
// worker need not wake up. The queue is locked, and the worker sleeps or is the leader.
func (w *Worker) goesOn(q *logQueue) bool {
	c, next := &w.commits[w.commit-1], &w.commits[w.commit]
	event := c.Event
	if c.Leads {
		event += c.Group.Events
		w.skipped += c.Group.Events
		w.Event = event
		for w.Event > w.targets[w.target] {
			w.publish()
		}
	}
	if next.Event != event || next.Group.Log != q.Log || w.e.Timing == AFAP {
		return false
	}
	if next.Leads && w.waits[w.wait].Event < event+next.Group.Events {
		return false // it waits for other threads
	}
	w.toNextCommit()
	q.Add(commits.Member{Thread: w.Number, Wanted: w.due + w.e.scale(next.Delay), Before: w.woken})
	return true
}

// awaitTurn waits until the next group begins, and returns false if the run has stopped.
func (w *Worker) awaitTurn(q *logQueue) bool {
	e := w.e
	if e.Timing == AFAP {
		return !e.Stopped()
	}
	near := e.Margin
	if e.Wait == Sleep {
		near = 0
	}
	for !e.Stopped() {
		seq := w.WakeUp.Value()
		at := q.at.Load()
		switch now := e.Now(); {
		case now >= at || w.commitState.Load() != leadingCommit:
			return true
		case at-now > near:
			w.sleep(&w.WakeUp, seq, e.deadline(at-near))
		default:
			for q.at.Load() == at && e.Now() < at && !e.Stopped() {
			}
		}
	}
	return false
}

// awaitProcessor waits for a processor, if the leader waited for the end of the last group. Threads that were
// ready before it compute first, and what they commit meanwhile is in its group.
func (w *Worker) awaitProcessor(q *logQueue) bool {
	p := w.e.processors
	if p == nil || w.e.Timing == AFAP {
		return true
	}
	q.lock.Take()
	if q.leader == w && q.turn > 0 && q.Waited() {
		at := q.at.Load()
		free := p.pass(at)
		q.turn += free - at
		q.at.Store(free)
	}
	q.lock.Give()
	return w.awaitTurn(q)
}

// awaitDurable waits, before an event that uses what a group wrote, for the commits that it
// comes after. Others may have been first, so it does not wait any longer once no thread commits.
func (w *Worker) awaitDurable() {
	e, d := w.e, &w.durable[0]
	w.durable = w.durable[1:]
	for begin := e.Now(); !e.Stopped(); {
		d.log.lock.Take()
		done, busy := d.log.Durable() >= d.commits, d.log.leader != nil
		d.log.lock.Give()
		now := e.Now()
		if busy {
			begin = now
		}
		if done || now-begin > idleLog {
			return
		}
		w.SleepUntil(now + idleLog/100)
	}
}

// idleLog is how long no thread commits to a log until awaitDurable gives up, in nanoseconds.
const idleLog = 100_000_000

// call makes a call that the trace does not have, in the place of an event of a thread.
func (w *Worker) call(r *format.Record, thread int32, event, recorded, due int64, entry *Entry) bool {
	e := w.e
	begin := e.Now()
	w.FirstCall, w.LastCall, w.Ran, w.ran, w.current = 0, 0, 0, 0, due
	if e.Timing == AFAP {
		w.FirstCall = begin
	}
	got := w.playCall(r)
	issued, end := w.FirstCall, w.LastCall
	if end == 0 {
		issued, end = begin, e.Now()
	}
	if e.covers[r.Op] {
		end = w.served(served{thread, event, r.Op, got, issued, end, recorded})
	}
	dur := max(end-issued-e.Cost-w.Ran, 0)
	w.end, w.last = end, end-e.start
	w.noteLateness(due, begin)
	w.byOp[r.Op].Executed++
	*entry = Entry{Start: issued - e.start, Dur: dur, Ret: got}
	return got == r.Ret || w.score(r, w.Event, got)
}

// skip drops the records of events that others have led.
func (w *Worker) skip() bool {
	for ; w.skipped > 0; w.skipped-- {
		if w.at == w.filled && !w.more() {
			return false
		}
		if w.log.full() && !w.spill() {
			return false
		}
		r := &w.batch[w.at]
		w.byOp[r.Op].Regrouped++
		w.log.entries = append(w.log.entries, Entry{w.last, Omitted, r.Ret, 0})
		w.at++
	}
	return true
}
