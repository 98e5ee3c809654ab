package compile

// sharing is what a thread has to do with syncs that threads share.
type sharing struct {
	syncs  int64
	joined place // the sync of another thread that it waited for, and has not made one since
	shares bool
}

// joins notes that a thread waited for causes. Where that was the sync of another
// thread, the two share syncs. A thread that makes its own sync next did not join that
// one, but waited for its turn.
func (m *model) joins(t *thread, causes []cause) {
	for i := range causes {
		c := &causes[i]
		if !c.syncs || c.place.thread == t.num || c.place == t.sharing.joined {
			continue
		}
		if t.sharing.joined.thread != 0 {
			m.report.Grouping.Joined++
		}
		t.sharing.joined = c.place
		m.shares(t)
		if by, ok := m.ties.syncing.of[c.place.thread]; ok {
			m.shares(by)
		}
		return
	}
}

func (m *model) shares(t *thread) {
	if !t.sharing.shares {
		t.sharing.shares = true
		m.report.Grouping.Threads++
		m.report.Grouping.Syncs += t.sharing.syncs
	}
}

// synced notes that a thread has made a sync.
func (m *model) synced(t *thread) {
	t.sharing.syncs++
	t.sharing.joined = place{}
	if t.sharing.shares {
		m.report.Grouping.Syncs++
	}
	m.ties.syncing.set(t.num, t)
}

// maxSyncing is how many threads that make syncs are known, the youngest.
const maxSyncing = 1024
