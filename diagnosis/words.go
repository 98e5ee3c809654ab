package diagnosis

import (
	"fmt"
	"strconv"

	"pianola/format"
	"pianola/profile"
	"pianola/table"
)

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
func each(t profile.Total) string {
	return fmt.Sprintf("%s of %s on average", table.Plural(int(t.Calls), "call"), table.Bytes(float64(t.Bytes)/float64(max(t.Calls, 1))))
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
