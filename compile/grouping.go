package compile

// sharing is the state of a thread with regard to syncs that threads share (group
// commit).
type sharing struct {
	syncs  int64
	joined place // the sync of another thread that it waited for, unless it has made its own since
	shares bool
}

// joins records that a thread waited for causes. If a cause was the sync of another
// thread, the two share syncs. If the thread makes its own sync next, it did not join
// that sync, but waited for its turn.
func (w *ties) joins(t *thread, causes []cause) {
	for i := range causes {
		c := &causes[i]
		if !c.syncs || c.place.thread == t.num || c.place == t.sharing.joined {
			continue
		}
		if t.sharing.joined.thread != 0 {
			w.report.Grouping.Joined++
		}
		t.sharing.joined = c.place
		w.shares(t)
		if by, ok := w.syncing.of[c.place.thread]; ok {
			w.shares(by)
		}
		return
	}
}

func (w *ties) shares(t *thread) {
	if !t.sharing.shares {
		t.sharing.shares = true
		w.report.Grouping.Threads++
		w.report.Grouping.Syncs += t.sharing.syncs
	}
}

// synced records that a thread made a sync.
func (w *ties) synced(t *thread) {
	t.sharing.syncs++
	t.sharing.joined = place{}
	if t.sharing.shares {
		w.report.Grouping.Syncs++
	}
	w.syncing.set(t.num, t)
}

// maxSyncing is the maximum number of threads with syncs that are tracked. The youngest
// are kept.
const maxSyncing = 1024
