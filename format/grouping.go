package format

import (
	"fmt"
	"strings"
)

// Grouping is how threads of a recording shared syncs: other threads waited for the
// sync of one thread instead of making their own (group commit). How many share one
// depends on how long it takes. So on other storage the program syncs more or less
// often than a replay, which repeats the recorded syncs.
type Grouping struct {
	Threads int64 // that shared syncs
	Syncs   int64 // by these threads
	Joined  int64 // waits for another thread's sync that no own sync followed
}

// Least returns the number of syncs if each served all threads. On slow enough storage
// the program needs no more.
func (g Grouping) Least() int64 {
	if g.Threads == 0 {
		return 0
	}
	return min((g.Syncs+g.Joined+g.Threads-1)/g.Threads, g.Syncs)
}

// String returns the value of MetaGrouped.
func (g Grouping) String() string {
	return fmt.Sprintf("threads=%d syncs=%d joined=%d", g.Threads, g.Syncs, g.Joined)
}

// Grouping returns how the threads of a trace shared syncs; ok is false if they did not.
func (h *Header) Grouping() (g Grouping, ok bool) {
	text, _ := h.Value(MetaGrouped)
	n, _ := fmt.Sscanf(text, "threads=%d syncs=%d joined=%d", &g.Threads, &g.Syncs, &g.Joined)
	ok = n == 3 && min(g.Threads, g.Syncs, g.Joined) > 0 && max(g.Threads, g.Syncs, g.Joined) < 1<<62/4
	return g, ok
}

// Needs says how many syncs the application may need on slower storage, in a phrase.
func (g Grouping) Needs() string {
	return fmt.Sprintf("group commit: %d threads shared %d syncs, and may need only %d on slower storage", g.Threads, g.Syncs, g.Least())
}

// Text returns a sentence without a full stop.
func (g Grouping) Text() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "group commit: %d threads shared %d syncs, and other threads waited for them %d times; ", g.Threads, g.Syncs, g.Joined)
	fmt.Fprintf(&b, "the application may need only %d on slower storage, and more on faster storage", g.Least())
	return b.String()
}
