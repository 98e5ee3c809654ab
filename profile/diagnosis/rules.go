package diagnosis

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/table"
	"pianola/profile"
)

// rule is one thing that can be found.
type rule struct {
	name   string
	least  float64                            // the minimum share of a finding, 0 for minShare
	leads  bool                               // it says how to read the other findings, and is listed first
	find   func(s *scene) evidence            // without time if the condition is not met
	claim  func(s *scene, e *evidence) string // what takes how much of the time
	detail func(s *scene, e *evidence) string // what was counted
	advice string                             // sentences on what to do about it, empty for nothing
	try    []string                           // candidates that the lab can try
}

const (
	reads    = profile.Reads
	writes   = profile.Writes
	syncs    = profile.Syncs
	metadata = profile.Metadata
)

const (
	// many is the minimum number of calls of a pattern.
	many = 100

	// page is the size of a page, in bytes. Several smaller calls in sequence touch the
	// same page.
	page = 4096

	// A file is read or written in sequence if its share of sequential calls is at
	// least inSequence, and at random if it is below atRandom.
	inSequence, atRandom = 0.9, 0.5
)

// rules are in the order in which they claim time: specific rules before general ones.
var rules = []rule{
	{
		// A transaction of SQLite in the mode DELETE syncs the journal and the
		// database, and creates and deletes the journal:
		// https://www.sqlite.org/atomiccommit.html. With a write-ahead log it syncs at
		// most that log: https://www.sqlite.org/wal.html
		name: "rollback-journal",
		find: rollbackJournal,
		claim: func(s *scene, e *evidence) string {
			return "The rollback journal of " + named(database(e)) + " " + s.took(e)
		},
		detail: func(_ *scene, e *evidence) string { return journalSyncs(e) },
		advice: "Transactions create and delete the journal. SQLite's PRAGMA journal_mode=WAL writes a log instead. It is synced once per transaction and is not deleted.",
		try:    []string{"sync=none"},
	},
	{
		// A sync has to wait for the device, so only fewer syncs help (group commit:
		// DeWitt and others, Implementation Techniques for Main Memory Database
		// Systems, 1984).
		name:  "sync",
		find:  func(s *scene) evidence { return s.in(syncs) },
		claim: took("Syncs"),
		detail: func(s *scene, e *evidence) string {
			op := longest(s, syncs)[0]
			text := fmt.Sprintf("%d calls of %s%s", s.Ops[op].Calls, op, e.counts(syncs))
			if l := s.OpLatency[op]; l != nil {
				text += fmt.Sprintf(", p50 %s, p99 %s", micros(l.P50), micros(l.P99))
			}
			if f := first(e); f != nil && f.Categories[writes].Calls > 0 && f.Categories[syncs].Calls > 0 {
				w := f.Categories[writes]
				text += fmt.Sprintf("; on average one follows %s writes of %s", number(float64(w.Calls)/float64(f.Categories[syncs].Calls)), table.Bytes(float64(w.Bytes)/float64(w.Calls)))
			}
			return text
		},
		advice: "Group more work before each sync. Without syncs, a crash of the machine loses data.",
		try:    []string{"sync=none"},
	},
	{
		name: "synchronous-writes",
		find: func(s *scene) evidence {
			e := s.on(s.where(func(f *profile.File) bool { return f.Synced.Calls > 0 }), writes)
			e.calls, e.bytes, e.nanos, e.unsure = 0, 0, 0, 0
			for i := range e.parts {
				p := &e.parts[i]
				p.nanos = min(p.nanos, p.Synced.Nanos)
				e.nanos += p.nanos
				e.calls += p.Synced.Calls
				e.bytes += p.Synced.Bytes
			}
			return e
		},
		claim: took("Writes"),
		detail: func(_ *scene, e *evidence) string {
			return "each waits until it is durable (O_SYNC or O_DSYNC), " + e.each()
		},
		advice: "Write without O_SYNC, and sync once after several writes.",
		try:    []string{"sync=none"},
	},
	{
		// Direct I/O bypasses the page cache, so there is no read-ahead and no
		// write-back.
		name: "direct-in-sequence",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool {
				return f.Flags&format.DIRECT != 0 && sequence(f, both(f), inSequence, 1) && mean(f, both(f)) < 64<<10
			}), reads, writes)
		},
		claim: took("Direct I/O"),
		detail: func(_ *scene, e *evidence) string {
			return "sequential, one call at a time, " + e.each() + e.counts(reads, writes)
		},
		advice: "Each call waits for the storage. Make larger calls, or use the page cache, which reads ahead and writes back later.",
		try:    []string{"buffered", "coalesce=1MiB"},
	},
	{
		name: "small-writes",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool {
				// A buffer must be written at each sync, so it gains little if there
				// are only a few writes per sync.
				return f.Flags&(format.SYNC|format.DSYNC|format.DIRECT) == 0 && sequence(f, writes, inSequence, 1) && mean(f, writes) < page &&
					f.Categories[writes].Calls >= 8*f.Categories[syncs].Calls
			}), writes)
		},
		claim:  took("Small writes"),
		detail: func(_ *scene, e *evidence) string { return "sequential, " + e.each() + e.counts(writes) },
		advice: "A buffer in the program turns many calls into a few larger ones.",
		try:    []string{"coalesce=64KiB"},
	},
	{
		name: "small-reads",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool {
				return f.Flags&format.DIRECT == 0 && sequence(f, reads, inSequence, 1) && mean(f, reads) < page
			}), reads)
		},
		claim:  took("Small reads"),
		detail: func(_ *scene, e *evidence) string { return "sequential, " + e.each() + e.counts(reads) },
		advice: "A buffer in the program turns many calls into a few larger ones.",
		try:    []string{"coalesce=64KiB"},
	},
	{
		name: "read-again",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool { return rereadFactor(f) >= 4 && f.Access[reads].Moves >= many }), reads)
		},
		claim: took("Reads"),
		detail: func(_ *scene, e *evidence) string {
			f := first(e)
			return fmt.Sprintf("%s was read %s times, %s in total from a range of %s", named(f.Name), number(rereadFactor(f)),
				table.Bytes(float64(f.Categories[reads].Bytes)), table.Bytes(float64(f.Access[reads].To-f.Access[reads].From)))
		},
		advice: "With a larger cache, the program reads most of the data only once.",
	},
	{
		name: "random-reads",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool { return sequence(f, reads, 0, atRandom) && waits(f, reads) }), reads)
		},
		claim: took("Reads"),
		detail: func(_ *scene, e *evidence) string {
			return "random, from storage, one at a time per thread, " + e.each() + ", " + e.readTime() + e.counts(reads)
		},
		advice: "If the program knows several offsets in advance, it can prefetch them or keep several requests in flight.",
		try:    []string{"prefetch=8", "uring-batch=32", "cache=warm"},
	},
	{
		name: "reads-from-storage",
		find: func(s *scene) evidence {
			return s.on(s.where(func(f *profile.File) bool { return f.Access[reads].Moves >= many && waits(f, reads) }), reads)
		},
		claim: took("Reads"),
		detail: func(_ *scene, e *evidence) string {
			return "from storage, " + e.each() + ", " + e.readTime() + e.counts(reads)
		},
		advice: "From the page cache, the reads take a fraction of this time.",
		try:    []string{"cache=warm", "readahead=1MiB"},
	},
	{
		name: "mapped-faults",
		find: func(s *scene) evidence {
			// The start of a program causes a few faults.
			return s.on(s.where(func(f *profile.File) bool {
				return f.Categories[profile.MappedReads].Calls+f.Categories[profile.MappedWrites].Calls >= many
			}), profile.MappedReads, profile.MappedWrites)
		},
		claim: took("Page faults of mapped files"),
		detail: func(_ *scene, e *evidence) string {
			return table.Plural(int(e.calls), "fault") + e.counts(profile.MappedReads, profile.MappedWrites)
		},
		advice: "Faults on pages in the page cache do not wait for storage. If the access is random, madvise(MADV_RANDOM) avoids reads of the pages around those that are needed.",
		try:    []string{"cache=warm"},
	},
	{
		name: "failing-names",
		find: func(s *scene) evidence {
			e := s.on(s.where(allFailed), metadata)
			if e.calls < many {
				return evidence{}
			}
			return e
		},
		claim: func(s *scene, e *evidence) string { return "Calls that always fail " + s.took(e) },
		detail: func(_ *scene, e *evidence) string {
			return fmt.Sprintf("%s on %s%s", table.Plural(int(e.calls), "call"), table.Plural(len(e.parts), "name"), below(e.parts))
		},
		advice: "Most of these calls try the directories of a search path. Shorten the search path, or put the right directory first.",
	},
	{
		name:  "metadata",
		least: 0.1, // most of the time is the kernel's own work, which storage hardly affects
		find:  func(s *scene) evidence { return s.in(metadata) },
		claim: took("Metadata calls"),
		detail: func(s *scene, e *evidence) string {
			return fmt.Sprintf("%s, mostly %s", table.Plural(int(e.calls), "call"), three(s, metadata))
		},
		advice: "A replay in memory predicts what another file system can save.",
		try:    []string{"backend=memory"},
	},
	{
		name: "page-cache",
		find: func(s *scene) evidence {
			if l := s.Latency[reads]; l == nil || format.FromStorage(l.P99, 0) {
				return evidence{}
			}
			return s.in(reads)
		},
		claim: took("Reads"),
		detail: func(s *scene, e *evidence) string {
			return fmt.Sprintf("from the page cache (p99 %s), %s%s", micros(s.Latency[reads].P99), e.each(), e.counts(reads))
		},
		advice: "The recording does not show how fast the storage reads. Replay it with a cold cache to measure that.",
		try:    []string{"cache=cold"},
	},
	{
		// Dean and Barroso, The Tail at Scale, 2013.
		name: "tail",
		find: slowest,
		claim: func(s *scene, e *evidence) string {
			return fmt.Sprintf("The slowest 1 %% of %s calls %s", e.all[0], s.took(e))
		},
		detail: func(s *scene, e *evidence) string {
			l := s.Latency[e.all[0]]
			return fmt.Sprintf("p50 %s, p99 %s, max %s", micros(l.P50), micros(l.P99), micros(l.Max))
		},
		advice: "Such calls usually wait for write-back, a journal, a lock or another program.",
	},
	{
		name: "requests-one-at-a-time",
		find: func(s *scene) evidence {
			if d := depth(s.Depth); d == 0 || d > 1.5 {
				return evidence{}
			}
			return s.in(profile.Submitting)
		},
		claim: func(s *scene, e *evidence) string { return "Calls that submit requests and wait for them " + s.took(e) },
		detail: func(s *scene, _ *evidence) string {
			return fmt.Sprintf("on average %.2f requests are in flight while any is", depth(s.Depth))
		},
		advice: "Asynchronous I/O pays off only with several requests in flight.",
	},
	{
		name:  "idle",
		least: idleShare,
		leads: true,
		find:  func(s *scene) evidence { return evidence{nanos: s.asleep + s.alone, whole: s.RunTime} },
		claim: func(s *scene, e *evidence) string {
			return fmt.Sprintf("The critical path is idle for %s of the run time", table.Share(e.nanos, s.RunTime))
		},
		detail: func(s *scene, _ *evidence) string {
			var ways []string
			if s.asleep > 0 {
				ways = append(ways, "sleeping on timers for "+duration(s.asleep))
			}
			if s.alone > 0 {
				ways = append(ways, "waiting for events outside the recording for "+duration(s.alone))
			}
			return fmt.Sprintf("%s. All threads together spent %s in I/O", strings.Join(ways, ", "), duration(s.Times.IO+s.Times.Submit))
		},
		advice: "The program may poll at intervals. It then waits without a wake-up, and the critical path does not show the reason.",
	},
	{
		name:  "no-processor",
		least: 0.15, // other work on the machine always takes some of it
		find:  func(s *scene) evidence { return s.time(profile.StepReady) },
		claim: func(s *scene, e *evidence) string { return "Waiting for a processor " + s.took(e) },
		detail: func(s *scene, _ *evidence) string {
			if s.Times.Own*2 > s.Times.Ready {
				return "mostly because other threads of the program used it"
			}
			return "mostly because other programs used it"
		},
		advice: "More processors or fewer other programs make the run shorter.",
	},
	{
		name:  "compute",
		least: 0.5,
		find: func(s *scene) evidence {
			if !s.onPath {
				return evidence{}
			}
			return s.time(profile.StepCompute)
		},
		claim:  func(s *scene, e *evidence) string { return "Compute " + s.took(e) },
		detail: func(s *scene, _ *evidence) string { return "I/O takes " + s.part(s.io) },
		advice: "A replay in memory predicts what faster storage saves.",
		try:    []string{"backend=memory"},
	},
}

// first returns the file with most of the evidence, nil if there is none.
func first(e *evidence) *profile.File {
	if len(e.parts) == 0 {
		return nil
	}
	return e.parts[0].File
}

// mean returns the average number of bytes per call.
func mean(f *profile.File, k profile.Category) int64 {
	return f.Categories[k].Bytes / max(f.Categories[k].Calls, 1)
}

// both returns the category, of reads and writes, with more calls.
func both(f *profile.File) profile.Category {
	if f.Access[writes].Moves > f.Access[reads].Moves {
		return writes
	}
	return reads
}

// sequence reports whether there are many calls, with a share of sequential calls from
// low to high.
func sequence(f *profile.File, k profile.Category, low, high float64) bool {
	share, ok := f.Access[k].SequentialShare()
	return ok && f.Access[k].Moves >= many && share >= low && share <= high
}

// waits reports whether calls take so long on average that they wait for storage.
func waits(f *profile.File, k profile.Category) bool {
	t := &f.Categories[k]
	return t.Calls > 0 && format.FromStorage(t.Nanos/t.Calls, mean(f, k))
}

// rereadFactor returns the number of bytes read divided by the size of the range that was
// read.
func rereadFactor(f *profile.File) float64 {
	a := &f.Access[reads]
	if a.To-a.From < page {
		return 0
	}
	return float64(f.Categories[reads].Bytes) / float64(a.To-a.From)
}

// journal is the suffix of SQLite's rollback journal.
const journal = "-journal"

// rollbackJournal finds what keeping a rollback journal costs.
func rollbackJournal(s *scene) evidence {
	var files []*profile.File
	for i := range s.Files {
		f := &s.Files[i]
		db := s.files[strings.TrimSuffix(f.Name, journal)]
		if db == nil || db == f || f.Categories[syncs].Calls == 0 || f.Categories[writes].Calls == 0 {
			continue
		}
		files = append(files, f, db)
		// The directory is synced when the journal is created and when it is deleted.
		if dir := s.files[path.Dir(f.Name)]; dir != nil && !slices.Contains(files, dir) {
			files = append(files, dir)
		}
	}
	return s.on(files, syncs, metadata)
}

// database returns the name of the database of the journal with the most time.
func database(e *evidence) string {
	for _, p := range e.parts {
		if db, ok := strings.CutSuffix(p.Name, journal); ok {
			return db
		}
	}
	return first(e).Name
}

// journalSyncs counts the syncs of journals, and those of databases and directories, which
// come with them: each transaction on its own if all have as many.
func journalSyncs(e *evidence) string {
	var journals, databases, directories int64
	for _, p := range e.parts {
		n := p.Categories[syncs].Calls
		switch {
		case strings.HasSuffix(p.Name, journal):
			journals += n
		case slices.ContainsFunc(e.parts, func(o part) bool { return o.Name == p.Name+journal }):
			databases += n
		default:
			directories += n
		}
	}
	all, each := journals+databases+directories, int64(1)
	text := table.Plural(int(all), "sync")
	if n := databases; n > 0 && journals%n == 0 && directories%n == 0 { // the database is synced once
		each = n
		text = fmt.Sprintf("%s of %s each", table.Plural(int(n), "transaction"), table.Plural(int(all/n), "sync"))
	}
	var of []string
	for _, one := range []struct {
		n  int64
		of string
	}{{journals, "journal"}, {directories, "directory"}, {databases, "database"}} {
		if one.n > 0 {
			of = append(of, fmt.Sprintf("%d of the %s", one.n/each, one.of))
		}
	}
	return text + " (" + strings.Join(of, ", ") + ")"
}

// allFailed reports whether all calls on a name failed.
func allFailed(f *profile.File) bool {
	all := f.All()
	return all.Calls > 0 && all.Calls == all.Errors && all.Calls == f.Categories[metadata].Calls
}

// below names the directory of most of the calls, if it has at least half of them.
func below(parts []part) string {
	counts := map[string]int64{}
	var most string
	var all int64
	for _, p := range parts {
		at := strings.LastIndexByte(p.Name, '/')
		dir := p.Name[:max(at, 0)]
		calls := p.Categories[metadata].Calls
		all += calls
		if counts[dir] += calls; most == "" || counts[dir] > counts[most] {
			most = dir
		}
	}
	if counts[most]*2 < all || most == "" {
		return ""
	}
	return ", mostly in " + named(most)
}

// longest returns the operations of a category that took time, longest first.
func longest(s *scene, k profile.Category) (ops []format.Op) {
	for op := format.OpNone + 1; op.Valid(); op++ {
		if profile.CategoryOf(op) == k && s.inOp(op) > 0 {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b format.Op) int { return cmp.Compare(s.inOp(b), s.inOp(a)) })
	return ops
}

// inOp returns the time of an operation on files.
func (s *scene) inOp(op format.Op) int64 { return s.Ops[op].Nanos - s.OpComm[op].Nanos }

// three returns the names of the three operations of a category with the most time,
// with their calls and shares.
func three(s *scene, k profile.Category) string {
	var words []string
	ops := longest(s, k)
	for _, op := range ops[:min(3, len(ops))] {
		words = append(words, fmt.Sprintf("%s (%s, %s)", op, table.Plural(int(s.Ops[op].Calls), "call"), table.Share(s.inOp(op), s.Categories[k].Nanos)))
	}
	return strings.Join(words, ", ")
}

// slowest finds the operation whose slowest 1 % of calls took most of its time.
func slowest(s *scene) (most evidence) {
	for _, k := range []profile.Category{reads, writes, metadata} {
		l := s.Latency[k]
		if l == nil || l.Calls < 10*many {
			continue
		}
		var tail, all int64
		for _, b := range l.Bars {
			nanos := (b.From + b.To) / 2 * b.Calls
			all += nanos
			if b.From > l.P99 {
				tail += nanos
			}
		}
		e := s.in(k)
		if tail*2 < all || tail < most.nanos {
			continue
		}
		if e.nanos = min(e.nanos, tail); e.nanos > most.nanos {
			most, most.parts, most.about = e, nil, true
		}
	}
	return most
}

// depth returns the average number of requests in flight, over the time in which there
// were any.
func depth(levels []int64) float64 {
	var sum, nanos float64
	for n, v := range levels {
		if n > 0 {
			sum, nanos = sum+float64(n)*float64(v), nanos+float64(v)
		}
	}
	if nanos == 0 {
		return 0
	}
	return sum / nanos
}
