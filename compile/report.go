package compile

import (
	"bufio"
	"fmt"
	"io"

	"pianola/format"
	"pianola/format/commits"
	"pianola/format/coverage"
	"pianola/internal/table"
)

// Report says what a compilation changed.
type Report struct {
	Events        int64 // events in the trace
	Threads       int   // threads in the trace
	Spans         int64 // calls of libraries in the trace
	MPI           MPI
	FailedRanks   []RankEnd // in the order of their ends
	LeftOut       format.Counts
	Reasons       [numReasons]int64 // why events were left out
	Substitutions []Substitution
	Lost          int64             // events that the recorder lost
	Foreign       []string          // what a foreign recording lacks in the trace, or itself (format.Header.Foreign)
	Endless       bool              // the recorder was killed before it could write the end
	Orphans       int               // threads whose creation the recording does not show
	Unexplained   int64             // results that contradict the simulation
	Examples      []string          // the first unexplained results
	Tangled       [numTangles]int64 // searches for an order of calls that overlap which were given up, by reason
	Repaired      int64             // descriptors of unknown origin that were opened for their use as files
	Sockets       int64             // sockets that were guessed from names that appeared
	Programs      int64             // page faults on files that no recorded call had mapped
	Unwaited      int64             // waits at pipes that became compute, because there were too many
	Coverage      coverage.Account  // coverage of the trace; requests that it does not hold are missing
	Tied          int64             // nanoseconds of waits between threads that edges reproduce
	Crowded       int64             // nanoseconds in which threads were ready but others had the processor, left out
	Computed      int64             // nanoseconds in which threads had a processor between the events of the trace
	Clients       int64             // connections to programs that were not recorded, on which messages came
	Messages      int64             // that came on them
	Attached      bool              // the recorder was attached to processes that ran already, and notes messages
	Grouping      format.Grouping   // how threads share syncs
	Logs          []Log             // to which threads commit in groups
	Kept          int64             // nanoseconds in groups of commits that a replay keeps, as far as threads share them
	Elapsed       int64             // the application's run time in nanoseconds, 0 if the recording does not state it
	Floor         format.Floor      // the minimum run time of a replay, which ends with the last reply to a client
	Raised        int64             // files that were enlarged because a read succeeded

	replies bool // the floor is that of a reply to a client
}

// Substitution is a name that the trace replaces by another.
type Substitution struct {
	Original string // absolute, as the application named it
	Mapped   string // below the root
}

// tangle is why a search for an order of calls that overlap was given up.
type tangle uint8

const (
	tangleNone   tangle = iota
	tangleSteps         // the steps of one search
	tangleCalls         // more calls than one search orders
	tangleFar           // lines that are too far apart
	tangleTries         // orders that were found for one call, which later ones spoiled
	tangleTotal         // the steps of the whole compilation
	tangleMemory        // the memory; the calls are in the order of their lines
	numTangles
)

var tangleText = [numTangles]string{
	tangleSteps:  "too many steps in one search",
	tangleCalls:  "too many calls that overlap on the same names",
	tangleFar:    "calls that overlap are too many lines apart",
	tangleTries:  "too many searches for one call",
	tangleTotal:  "too many steps in all searches",
	tangleMemory: "too much memory; all calls are in the order of their lines",
}

// GivenUp returns how many searches for an order of calls that overlap were given up.
func (r *Report) GivenUp() int64 {
	n := int64(0)
	for _, k := range r.Tangled {
		n += k
	}
	return n
}

// reason is why an event is not in the trace.
type reason uint8

const (
	reasonNone     reason = iota
	reasonNoFile          // a descriptor that is not a file: a terminal, socket, pipe, …
	reasonPseudo          // a path in /proc, /sys or /dev
	reasonUnknown         // a descriptor whose open is not in the recording
	reasonPath            // a path that could not be read, or leads nowhere
	reasonTable           // compile resolves its effect on directories and descriptors
	reasonResult          // interrupted, or an error that a replay can't bring about
	reasonFilter          // a transform removed it
	reasonLong            // a name longer than the kernel accepts
	reasonDeep            // a path longer than the kernel accepts from the replay's root
	reasonMapped          // memory in which no file of the trace is mapped
	reasonNameless        // a path in /proc to a file without a name, of another process or in a call that takes a name
	reasonRefused         // a call that would change something failed because of permissions or the file system
	numReasons
)

var reasonText = [numReasons]string{
	reasonNoFile:   "not a file (terminal, socket, pipe)",
	reasonPseudo:   "pseudo file system (/proc, /sys, /dev)",
	reasonUnknown:  "descriptor of unknown origin",
	reasonPath:     "unreadable path or a loop of symbolic links",
	reasonTable:    "resolved by compile (chdir, pipe, wait)",
	reasonFilter:   "removed by a filter or a transform",
	reasonLong:     "name or path longer than the kernel accepts",
	reasonDeep:     "path below the root longer than the kernel accepts",
	reasonMapped:   "memory without a mapped file",
	reasonNameless: "unnamed file reached by a path in /proc",
	reasonRefused:  "refused by permissions or by the file system",
	reasonResult:   "interrupted or not reproducible",
}

// reasonLoses are the reasons for which I/O on files can be missing from the trace.
var reasonLoses = [numReasons]bool{reasonUnknown: true, reasonPath: true, reasonLong: true, reasonDeep: true, reasonMapped: true, reasonNameless: true}

// filtered counts the events that transforms removed from a recording with such a
// header.
func (r *Report) filtered(h *format.Header) {
	text, _ := h.Value(format.MetaLeftOut)
	out := format.ParseCounts(text)
	for op, n := range out {
		r.LeftOut[op] += n
	}
	r.Reasons[reasonFilter] += out.Total()
}

// maxExamples is how many examples of unexplained results are kept.
const maxExamples = 10

// Summary returns one line: the size of the trace, and how many events were left out
// for which reasons.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%s of %s", table.Plural(int(r.Events), "event"), table.Plural(r.Threads, "thread"))
	sep := fmt.Sprintf("; left out %d: ", r.LeftOut.Total())
	for i, k := range r.Reasons {
		if k > 0 {
			text += fmt.Sprintf("%s%d %s", sep, k, reasonText[i])
			sep = ", "
		}
	}
	return text
}

// raise raises the floor to that of an event, which is at total: the floor of the gap before it,
// and what its thread did itself since. As soon as there are replies to clients, only these count.
func (r *Report) raise(op format.Op, total int64, gap, own *format.Floor) {
	reply := op == format.OpClientReply
	if reply == r.replies && total <= r.Floor.Total || r.replies && !reply {
		return
	}
	r.replies = reply
	r.Floor.Sum(gap, own)
	r.Floor.Total = total
}

// FloorText describes the minimum run time of a replay, in a sentence without a full stop.
func (r *Report) FloorText() string {
	text := r.Floor.Text()
	if r.sharesSyncs() {
		text += ", in the recorded groups of commits"
	}
	return text
}

// ClientsText says whether the recording is of a server, in a sentence without a full stop; "" if it
// is of a command that asks itself, or does not tell.
func (r *Report) ClientsText() string {
	switch {
	case r.Clients > 0:
		return fmt.Sprintf("%s that were not recorded sent %s: replays say how many requests a second they answer", table.Plural(int(r.Clients), "client"), table.Plural(int(r.Messages), "message"))
	case r.Attached:
		return "no message of a client that was not recorded was found, so replays have a run time but no requests a second"
	}
	return ""
}

// GroupingText says how threads share syncs, in a sentence without a full stop; "" if they do not.
func (r *Report) GroupingText() string {
	if r.Grouping.Commits <= r.Grouping.Groups {
		return ""
	}
	return r.Grouping.Text()
}

// crowded returns the share of the time in which threads could run for which others had the
// processors.
func (r *Report) crowded() coverage.Crowded {
	return coverage.Crowded(float64(r.Crowded) / max(float64(r.Crowded+r.Computed), 1))
}

// CrowdedText says for how much of the time others had the processors, in a sentence
// without a full stop; "" if it was little.
func (r *Report) CrowdedText() string {
	share := r.crowded()
	if share <= coverage.MaxCrowded {
		return ""
	}
	text := fmt.Sprintf("other programs, or the host of a virtual machine, had the processors for %s of the time in which threads could run: this time is left out, but compute can be longer than on a quiet machine", coverage.Percent(float64(share)))
	if r.Clients > 0 {
		text += ", and requests of replays are not judged"
	}
	return text
}

// WriteTo writes the report as text, one fact per line.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	b := bufio.NewWriter(w)
	var n int64
	add := func(form string, args ...any) {
		k, _ := fmt.Fprintf(b, form, args...)
		n += int64(k)
	}
	some := func(n int64, form string, args ...any) {
		if n > 0 {
			add(form, args...)
		}
	}
	add("events: %d\nthreads: %d\n", r.Events, r.Threads)
	some(r.Spans, "spans: %d\n", r.Spans)
	add("left out: %d", r.LeftOut.Total())
	if s := r.LeftOut.String(); s != "" {
		add(" (%s)", s)
	}
	add("\n")
	for i, k := range r.Reasons {
		if k > 0 {
			add("  %d: %s\n", k, reasonText[i])
		}
	}
	for _, text := range r.Foreign {
		add("%s\n", text)
	}
	add("%v\n", &r.Coverage)
	add("%s\n", r.FloorText())
	if text := r.ClientsText(); text != "" {
		add("%s\n", text)
	}
	some(r.Tied, "waits that follow events of other threads: %.6f s\n", format.Seconds(r.Tied))
	if r.MPI != (MPI{}) {
		add("MPI: %s\n", r.MPI.Text())
	}
	for _, end := range r.FailedRanks {
		add("%v\n", end)
	}
	if r.sharesSyncs() {
		add("%s\n", r.Grouping.Text())
		for _, l := range r.Logs {
			if l.Commits > l.Groups {
				add("  %s: %d commits in %d groups, %d bytes%s\n", l.Name, l.Commits, l.Groups, l.Bytes, l.kept())
			}
		}
	}
	some(r.Crowded, "time left out because other programs had the processor: %.6f s\n", format.Seconds(r.Crowded))
	some(r.Lost, "events lost by the recorder: %d\n", r.Lost)
	if r.Endless {
		add("the recording has no end\n")
	}
	some(int64(r.Orphans), "threads without a creating call: %d\n", r.Orphans)
	some(r.Repaired, "descriptors of unknown origin, opened at the start: %d\n", r.Repaired)
	some(r.Sockets, "names without a creating call, taken for sockets: %d\n", r.Sockets)
	some(r.Programs, "mappings added for page faults of programs: %d\n", r.Programs)
	some(r.Unwaited, "waits at pipes turned into compute: %d\n", r.Unwaited)
	some(r.Raised, "files enlarged to hold their reads: %d\n", r.Raised)
	add("unexplained: %d\n", r.Unexplained)
	for _, s := range r.Examples {
		add("  %s\n", s)
	}
	if n := r.GivenUp(); n > 0 {
		add("orders of overlapping calls that were not searched to the end: %d\n", n)
		for i, k := range r.Tangled {
			if k > 0 {
				add("  %d: %s\n", k, tangleText[i])
			}
		}
	}
	add("substitutions: %d\n", len(r.Substitutions))
	for _, s := range r.Substitutions {
		add("  %s -> %s\n", format.AppendQuoted(nil, []byte(s.Original)), format.AppendQuoted(nil, []byte(s.Mapped)))
	}
	return n, b.Flush()
}

// Faults says what is wrong with the recording, which the trace inherits.
func (r *Report) Faults() (all []string) {
	some := func(n int64, text string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf(text, args...))
		}
	}
	if r.Endless {
		all = append(all, "the recording has no end, as if the recorder had been killed")
	}
	some(r.Lost, "%d events were lost by the recorder", r.Lost)
	if r.Unexplained > 0 {
		text := fmt.Sprintf("%d results are unexplained", r.Unexplained)
		if n := r.GivenUp(); n > 0 {
			text += fmt.Sprintf("; orders of overlapping calls that were not searched to the end: %d", n)
		}
		all = append(all, text)
	}
	some(r.Repaired, "%d descriptors were used as files but never opened; new files replace them", r.Repaired)
	some(r.Raised, "%d reads went beyond the recorded size of their file, which is made larger", r.Raised)
	some(int64(r.Orphans), "no recorded call created %s; most imported formats have no such calls", table.Plural(r.Orphans, "thread"))
	if why := r.Coverage.Withheld(); why != "" {
		all = append(all, why)
	}
	for _, end := range r.FailedRanks {
		all = append(all, end.String())
	}
	return all
}

// Log is a file to which threads commit in groups.
type Log struct {
	Name    string // below the root
	Commits int64
	Groups  int64 // each with a sync of its own
	Bytes   int64 // written in them
	Nanos   int64 // that the groups took
	Broken  int64 // groups with calls that are neither writes to the log nor its sync
	Turns   int64 // groups whose leader the leader before woke
}

// kept says why a replay keeps the recorded groups, after a comma; it is empty if others form.
// The rules are those of commits.Find.
func (l *Log) kept() string {
	switch {
	case l.few():
		return ", kept as recorded: too few"
	case l.Turns < commits.Least:
		return ", kept as recorded: no leader waits for another"
	case l.Broken*commits.Least > l.Groups:
		return fmt.Sprintf(", kept as recorded: %d groups have other calls", l.Broken)
	}
	return ""
}

// few reports whether there are too few groups, or commits in those of others, to matter.
func (l *Log) few() bool { return min(l.Groups, l.Commits-l.Groups) < commits.Least }

// leastKept is the least share of the run time that KeptText mentions.
const leastKept = 0.01

// KeptText says what part of the run time is in groups of commits that a replay keeps, in a
// sentence without a full stop; it is empty if that is little.
func (r *Report) KeptText() string {
	if r.Elapsed <= 0 || float64(r.Kept) < leastKept*float64(r.Elapsed) {
		return ""
	}
	share := min(float64(r.Kept)/float64(r.Elapsed), 1)
	return fmt.Sprintf("%.0f %% of the run time is in groups of commits that a replay keeps: it takes longer than the application on slower storage, and less time on faster storage", 100*share)
}

// sharesSyncs reports whether threads commit to logs in groups.
func (r *Report) sharesSyncs() bool { return r.Grouping.Commits > r.Grouping.Groups }
