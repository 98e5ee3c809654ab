package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/internal/table"
	"pianola/profile"
)

// took returns a claim about the files of the evidence: "Syncs of wal took …".
func took(what string) func(*scene, *evidence) string {
	return func(s *scene, e *evidence) string { return what + e.mostly() + " " + s.took(e) }
}

// took says which share of the time the evidence has: "took 58.7 % of the run time
// (44.335 ms)".
func (s *scene) took(e *evidence) string {
	bound := ""
	switch {
	case e.about:
		bound = "about "
	case e.unsure*100 > e.nanos:
		bound = "up to "
	}
	return "took " + bound + s.part(e.nanos)
}

// part returns a time as a share of the whole.
func (s *scene) part(nanos int64) string {
	of := "the run time"
	if !s.onPath {
		of = "the time in which threads did not wait"
	}
	return fmt.Sprintf("%s of %s (%s)", table.Share(nanos, s.whole), of, duration(nanos))
}

// mostly names the file with most of the evidence: " of wal", or " of 12 files, mostly
// wal,".
func (e *evidence) mostly() string {
	switch n := len(e.parts); {
	case n == 0:
		return ""
	case e.parts[0].nanos*100 >= e.nanos*95:
		return " of " + named(e.parts[0].Name)
	case e.parts[0].nanos*100 >= e.nanos*20:
		return fmt.Sprintf(" of %s, mostly %s,", table.Plural(n, "file"), named(e.parts[0].Name))
	default:
		return fmt.Sprintf(" of %s", table.Plural(n, "file"))
	}
}

func named(file string) string { return table.ShortName(file) }

// each returns the number of calls and their average size in bytes.
func (e *evidence) each() string {
	return fmt.Sprintf("%s of %s on average", table.Plural(int(e.calls), "call"), table.Bytes(float64(e.bytes)/float64(max(e.calls, 1))))
}

// readTime returns how long reads of the file with most of the evidence took on average.
func (e *evidence) readTime() string {
	t := first(e).Categories[reads]
	return micros(t.Nanos/max(t.Calls, 1)) + " each"
}

// counts says how many calls of some categories which of several files have:
// ", 22 of them on db-journal, 11 on db and 9 on 3 others". It returns "" for one file,
// which mostly names.
func (e *evidence) counts(categories ...profile.Category) string {
	const few = 3
	calls := func(p part) (n int64) {
		for _, k := range categories {
			n += p.Categories[k].Calls
		}
		return n
	}
	parts := slices.DeleteFunc(slices.Clone(e.parts), func(p part) bool { return calls(p) == 0 })
	if len(parts) < 2 {
		return ""
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(calls(b), calls(a)) })
	var words []string
	for _, p := range parts[:min(len(parts), few)] {
		of := ""
		if len(words) == 0 {
			of = " of them"
		}
		words = append(words, fmt.Sprintf("%d%s on %s", calls(p), of, named(p.Name)))
	}
	rest := int64(0)
	for _, p := range parts[len(words):] {
		rest += calls(p)
	}
	if rest > 0 {
		words = append(words, fmt.Sprintf("%d on %s", rest, table.Plural(len(parts)-few, "other")))
	}
	last := len(words) - 1
	return ", " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// number prints a ratio with one decimal, or without decimals if it is large.
func number(v float64) string {
	if v < 10 {
		return table.Fixed(v, 1)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func micros(nanos int64) string { return table.Micros(nanos) + " µs" }

func duration(nanos int64) string { return table.Duration(format.Seconds(nanos)) }
