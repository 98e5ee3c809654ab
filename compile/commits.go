package compile

import (
	"slices"

	"pianola/format"
)

// Threads that share a log commit in groups. The leader of a group writes to the log, syncs,
// and wakes the others. A longer sync collects a larger group, so the groups differ on other
// storage. The trace therefore holds every single commit, as an edge of the event that follows
// it: EdgeLead for the first event of what a leader does, and EdgeJoin for the others.
//
// Group commit is taken to be greedy: a thread that waited when the leader began is in the
// group. One that began to wait later had to wait for its turn. Before it sleeps it may
// have spun, so between these two its next event decides: if it leads then, the wait was
// for its turn.

// commitLog is a file whose syncs other threads have waited for.
type commitLog struct {
	newest place // the sync of its newest group with an edge
	number int   // in Report.Logs
}

// commitGroup is what a thread writes to a file, up to its sync.
type commitGroup struct {
	file  *node
	place place // of the sync
	began int64 // of the first event, on the recording's clock
	ended int64 // of the sync, once its thread had a processor again
}

// committing is the state of a thread with regard to commits.
type committing struct {
	counted bool          // in Report.Grouping
	file    *node         // that its last event has synced; before the last pass only
	group   commitGroup   // that it leads now; of no file for none
	base    place         // of its last commit since its last event; thread 0 for none
	own     int64         // own clock after that
	synced  int64         // when its sync ended, on the recording's clock
	wanted  int64         // from there, or from its last event, to the begin of the next commit; below 0 for unknown
	since   int64         // when that was, on the recording's clock
	behind  int64         // since then, time in which the thread could run, but others had the processor
	clients int64         // and in which it waited for clients
	timers  int64         // timeouts.total then
	unsure  *commitGroup  // that it has joined, unless it leads next
	edges   []format.Edge // of the commits since its last event
}

// resumes is how long a thread takes to go on after the sync that it waited for, on an idle
// machine. Where it took longer, threads of the group had the processors.
const resumes = 20_000

// maxCommits bounds the commits of a thread between two of its events. Further ones are
// left out: they are waits as any others.
const maxCommits = 1 << 12

// sinceCommit returns the time since the thread's last commit, or its last event: what it
// computed, and waited for clients. Waits for threads that commit are left out, and so is time
// in which the processors were busy, because threads that spin for a commit keep them so. A
// time limit is left out, too: a thread that works by a timer does so for all that happened since.
func (t *thread) sinceCommit(at int64) int64 {
	c := &t.commit
	own := t.clock(at) - c.own
	if c.base.thread == 0 {
		own = t.clock(at) + t.gap.self.lag
	}
	return max(own+c.clients-c.behind-(t.timeouts.total-c.timers), 0)
}

// wants notes that the thread waits from a time on, unless it did so before.
func (t *thread) wants(at int64) {
	if t.commit.wanted < 0 {
		t.commit.wanted, t.commit.since = t.sinceCommit(at), at
	}
}

// joins records that a thread waited from one time to another for causes, and was awake
// before since a given time. If the sync of a group ended meanwhile, its leader may have
// committed for this thread, and joins returns true.
func (w *ties) joins(t *thread, at spot, awake, from, to int64, causes []cause) bool {
	if at.kind != format.WaitFutex {
		return false // clients wait for replies, and not for a log
	}
	var g *commitGroup
	for i := range causes {
		if c := causes[i].group; c != nil && c.place.thread != t.num && c.ended > from && c.ended <= to && (g == nil || c.ended > g.ended) {
			g = c
		}
	}
	if g == nil {
		return false
	}
	w.logOf(g.file)
	c := &t.commit
	c.unsure = nil // it waited for its turn
	t.wants(from)
	if min(awake, c.since) >= g.began {
		return false // it wanted its commit after the group was complete
	}
	c.unsure = g
	if c.since < g.began {
		w.join(t)
	}
	c.base, c.synced = g.place, g.ended
	return true
}

// join gives a thread the edge of a commit that another one has made for it.
func (w *ties) join(t *thread) {
	c := &t.commit
	g := c.unsure
	if c.unsure = nil; g == nil {
		return
	}
	if len(c.edges) < maxCommits {
		w.counts(t, g.file.log)
		c.edges = append(c.edges, format.Edge{Thread: g.place.thread, Kind: format.EdgeJoin, Event: g.place.event, Delay: max(c.wanted, 0)})
	}
	c.wanted = -1
}

// resumed notes that a thread goes on after a wait at a place, which may have been for a commit.
func (t *thread) resumed(at spot, from, to int64, joined bool) {
	c := &t.commit
	switch {
	case joined:
		c.own, c.behind, c.clients = t.clock(to), 0, min(max(to-c.synced, 0), resumes)
		c.timers = t.timeouts.total
	case at.kind != format.WaitFutex:
		c.clients += to - from
	}
}

// syncs notes, before the last pass, the file that a thread has synced with its last event.
func (w *ties) syncs(s *simEvent) {
	s.t.commit.file = nil
	if file, _, syncs := s.commits(); syncs {
		s.t.commit.file = file
	}
}

// commits returns the file that an event writes to, or makes durable, or both; nil for none.
func (s *simEvent) commits() (file *node, writes, syncs bool) {
	if s.d == nil {
		return nil, false, false
	}
	switch s.out.Op {
	case format.OpFsync, format.OpFdatasync:
		syncs = true
	case format.OpWrite, format.OpPwrite64:
		writes, syncs = s.e.Ret > 0, s.d.Flags&(format.SYNC|format.DSYNC) != 0
	}
	if writes || syncs {
		file = s.d.node
	}
	return file, writes, syncs
}

// awaits learns, before the last pass, that a thread waited for another one, which has synced a
// file.
func (w *ties) awaits(e *format.Event) {
	if e.Args[0] != format.WaitFutex {
		return
	}
	if by := w.state.Living(e.Notes.Waker); by != nil {
		if file := by.Data.(*thread).commit.file; file != nil && file.at != nil && len(w.learned.logs) < maxLogs {
			w.learned.logs[file.at.id] = true
		}
	}
}

// maxLogs bounds the logs that are known before the first group.
const maxLogs = 1 << 12

// isLog reports whether threads commit to a file, or will.
func (w *ties) isLog(file *node) bool {
	if file.log == nil && file.at != nil && w.learned.logs[file.at.id] {
		w.logOf(file)
	}
	return file.log != nil
}

// logOf makes a file a log.
func (w *ties) logOf(file *node) {
	if file.log == nil {
		file.log = &commitLog{number: len(w.report.Logs)}
		w.report.Logs = append(w.report.Logs, Log{})
		w.pass.logs = append(w.pass.logs, file)
	}
}

// commits adds the edges of commits to an event of the trace. It returns the group if the
// event ends one.
func (w *ties) commits(s *simEvent) (ended *commitGroup) {
	t, e := s.t, s.e
	c := &t.commit
	file, writes, syncs := s.commits()
	leads := false
	if c.group.file != file {
		if c.group.file != nil && c.group.file.log != nil {
			w.report.Logs[c.group.file.log.number].Broken++
		}
		c.group = commitGroup{file: file, began: e.Start}
		leads = file != nil && w.isLog(file)
	}
	if leads && c.unsure != nil && c.unsure.file == file {
		c.unsure = nil // it waited for its turn
	}
	w.join(t)
	if leads {
		t.wants(e.Start)
		log := file.log
		c.edges = append(c.edges, format.Edge{Thread: log.newest.thread, Kind: format.EdgeLead, Event: log.newest.event, Delay: max(c.wanted, 0)})
		sum := w.counts(t, log)
		sum.Groups++
		if slices.ContainsFunc(w.order.edges, func(k format.Edge) bool {
			return k.Kind.Wakes() && k.Thread == log.newest.thread && k.Event == log.newest.event
		}) {
			sum.Turns++
		}
	}
	if writes && file != nil && file.log != nil {
		w.report.Logs[file.log.number].Bytes += e.Ret
	}
	w.order.edges = append(w.order.edges, c.edges...)
	c.edges, c.base, c.wanted, c.behind, c.clients, c.timers = c.edges[:0], place{}, -1, 0, 0, t.timeouts.total
	if syncs && file != nil {
		ended = &commitGroup{file: file, place: w.order.here, began: c.group.began, ended: e.End() + max(e.Behind, 0)}
		c.group = commitGroup{}
		if log := file.log; log != nil {
			log.newest = ended.place
			w.report.Logs[log.number].Nanos += max(e.End()-ended.began, 0)
		}
	}
	return ended
}

// counts counts a commit of a thread to a log.
func (w *ties) counts(t *thread, l *commitLog) *Log {
	if !t.commit.counted {
		t.commit.counted = true
		w.report.Grouping.Threads++
	}
	log := &w.report.Logs[l.number]
	log.Commits++
	return log
}

// sumLogs names the logs of the report, and adds them up.
func (m *model) sumLogs() {
	for i, file := range m.logs {
		log := &m.report.Logs[i]
		if file.at != nil {
			log.Name = m.names.mappedPath(file.at, m.options.Paths)
		}
		m.report.Grouping.Commits += log.Commits
		m.report.Grouping.Groups += log.Groups
		if !log.few() && log.kept() != "" {
			m.report.Kept += log.Nanos
		}
	}
}
