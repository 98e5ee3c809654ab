package schedule

import (
	"pianola/format"
	"pianola/format/commits"
)

// log is a log, whose groups a strand of its own makes.
type log struct {
	commits.Queue
	strand  *strand
	opened  bool  // the first recorded group has begun, so the log exists
	writing bool  // a group has begun
	began   int64 // when the newest group did
	took    int64 // by the newest group that has ended
	members []commits.Member
	group   Group
	record  format.Record
}

// Group is a group of commits that has formed.
type Group struct {
	Log     int // its number
	Commits int64
	Made    commits.Write
	Like    *commits.Group // whose calls are made
	Ends    bool           // the call is the last one
}

// committing is what a strand knows of its commits.
type committing struct {
	commits []commits.Commit
	commit  int   // the next one
	queued  *log  // in which the strand waits
	synced  int64 // when the sync of its last commit ended
	woken   int64 // the same, if another one led
	skipped int64 // events that are left of a group that others have led
	resumes int64 // start of the event after a commit; 0 if its compute tells
}

// inCommit is the until of a strand whose commit is not durable.
const inCommit = -3

// openLogs makes the strands of logs.
func (r *Schedule) openLogs() {
	if r.Plan == nil {
		return
	}
	for i := range r.strands {
		r.strands[i].commits = r.Plan.Threads[i]
	}
	for _, l := range r.Plan.Logs {
		k := &log{Queue: commits.NewQueue(l, len(r.strands))}
		k.strand = &strand{log: k}
		r.logs = append(r.logs, k)
	}
}

// wants reports whether a commit comes before the strand's next event, or is waited for.
func (s *strand) wants() bool {
	return s.queued != nil || s.commit < len(s.commits) && s.commits[s.commit].Event == s.done
}

// commit adds the next commit of a strand to its log. The strand sleeps until it is durable.
func (r *Schedule) commit(s *strand) error {
	if s.queued != nil { // it is forced to go on: the log will never begin
		s.queued.opened, s.forced = true, false
		r.plan(s.queued)
		return nil
	}
	c, after := &s.commits[s.commit], int64(0)
	if c.Leads {
		ok := false
		if after, _, _, ok = r.release(s, false); !ok {
			return nil
		}
		after = max(after, s.tick)
	}
	s.commit++
	s.resumes = 0
	l := r.logs[c.Group.Log.Number]
	l.opened = l.opened || c.Leads && c.Group == l.Groups[0]
	l.Add(commits.Member{Thread: s.thread, Wanted: max(later(s.end, r.scale(c.Delay)), after, r.now), Before: s.woken})
	s.asleep, s.until, s.needs, s.queued, s.forced = true, inCommit, false, l, false
	r.plan(l)
	return nil
}

// plan finds when the next group of a log begins.
func (r *Schedule) plan(l *log) {
	_, at, ok := l.Next(r.scale(l.TurnAfter(l.took)))
	switch at = max(at, r.now); {
	case !ok || !l.opened || l.writing:
	case l.strand.due:
		r.move(l.strand, at)
	default:
		l.strand.start, l.strand.due = at, true
		r.starts.Push(l.strand)
	}
}

// playGroup plays the next call of a group.
func (r *Schedule) playGroup(s *strand) Event {
	l := s.log
	s.due = false
	if !l.writing {
		l.writing, l.began = true, s.start
		members, made := l.Take(s.start)
		leader := r.strandOf(int64(members[0].Thread))
		l.members, l.group = members, Group{Log: l.Number, Commits: int64(len(members)), Made: made, Like: leader.commits[leader.commit-1].Like}
		if l.group.Made.Needed(l.group.Like) {
			l.record = l.group.Made.Make(l.group.Like)
			e := r.call(l, l.group.Made.Of.Event, l.group.Made.Of.Wrote)
			if !l.group.Like.Syncs() {
				l.group.Ends = true
				r.endGroup(l, e.End)
				return e
			}
			s.start, s.due = later(e.End, r.scale(l.group.Like.Between)), true
			r.starts.Push(s)
			return e
		}
	}
	l.record, l.group.Ends = l.group.Like.Sync, true
	e := r.call(l, l.group.Made.Of.Event+l.group.Made.Of.Events-1, l.group.Made.Of.Synced)
	r.endGroup(l, e.End)
	return e
}

// endGroup lets the threads of a group go on, at its end.
func (r *Schedule) endGroup(l *log, end int64) {
	l.Synced(end)
	l.took = end - l.began
	l.writing = false
	for i, m := range l.members {
		k := r.strandOf(int64(m.Thread))
		k.end, k.synced, k.woken, k.queued = end, end, end, nil
		if i == 0 {
			k.woken = 0 // it is awake
		}
		if c := &k.commits[k.commit-1]; c.Leads {
			k.skipped = c.Group.Events
		} else if c.After >= 0 {
			k.resumes = later(end, r.scale(c.After))
		}
		k.asleep = false
		r.ready = append(r.ready, k)
	}
	r.plan(l)
}

// call returns a call of a group, in the place of an event of a recorded one.
func (r *Schedule) call(l *log, number, recorded int64) Event {
	start := l.strand.start
	e := Event{Thread: l.group.Made.Of.Thread, Number: number, Record: &l.record, Start: start, Before: start, Group: &l.group}
	if r.Duration != nil {
		recorded = r.Duration(&e, recorded)
	}
	e.End, e.Thread = later(start, recorded), l.members[0].Thread
	return e
}
