package format

import "fmt"

// Grouping is how threads committed to logs in groups: one thread wrote and synced for all that
// waited (group commit). How many share a sync depends on how long it takes.
type Grouping struct {
	Threads int64 // that committed
	Commits int64
	Groups  int64 // of these, each with a sync

	// Recorded is how many groups the recording has, if a replay formed others; otherwise 0.
	Recorded int64
}

// Least returns the number of syncs if each served all threads. On slow enough storage
// the program needs no more.
func (g Grouping) Least() int64 {
	if g.Threads == 0 {
		return 0
	}
	return min((g.Commits+g.Threads-1)/g.Threads, g.Groups)
}

// String returns the value of MetaGrouped.
func (g Grouping) String() string {
	return fmt.Sprintf("threads=%d commits=%d groups=%d recorded=%d", g.Threads, g.Commits, g.Groups, g.Recorded)
}

// Grouping returns how the threads of a trace or of a replay shared syncs; ok is false if they
// did not.
func (h *Header) Grouping() (g Grouping, ok bool) {
	text, _ := h.Value(MetaGrouped)
	n, _ := fmt.Sscanf(text, "threads=%d commits=%d groups=%d recorded=%d", &g.Threads, &g.Commits, &g.Groups, &g.Recorded)
	ok = n == 4 && min(g.Threads, g.Commits, g.Groups) > 0 && g.Recorded >= 0 && max(g.Threads, g.Commits, g.Groups, g.Recorded) < 1<<62/4
	return g, ok
}

// Needs says how many syncs the application may need on slower storage, in a phrase.
func (g Grouping) Needs() string {
	return fmt.Sprintf("group commit: %d threads made %d commits with %d syncs, and may need only %d on slower storage", g.Threads, g.Commits, g.Groups, g.Least())
}

// Text returns a sentence without a full stop.
func (g Grouping) Text() string {
	if g.Recorded > 0 {
		return fmt.Sprintf("group commit: %d commits took %d syncs in the application (%.1f commits each), and %d in the replay (%.1f)",
			g.Commits, g.Recorded, float64(g.Commits)/float64(g.Recorded), g.Groups, float64(g.Commits)/float64(g.Groups))
	}
	return fmt.Sprintf("group commit: %d threads made %d commits with %d syncs; on other storage the groups differ", g.Threads, g.Commits, g.Groups)
}
