package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Table is one view of a profile: a row for each file, say, and the same
// columns for text, CSV and JSON.
type Table struct {
	columns []heading
	rows    [][]value
	of      string // what the rows are, for the text of a table without any
	sorted  int    // the column of Sort
}

// heading is a column's name, in snake case, and what stands in it.
type heading struct {
	name string
	kind kind
}

// kind is how a value is written.
type kind uint8

const (
	words     kind = iota // s
	number                // n
	duration              // n nanoseconds
	latencies             // the same, of one call
	share                 // f of 1
	frequents             // list
	nameList              // names; text and CSV have their number
	causes                // caused
)

// value is what stands in a cell.
type value struct {
	known bool
	n     int64
	f     float64
	s     string
	list  []Frequent
	names []string
	calls OpTotals
}

func (t *Total) seconds() value {
	return value{known: t.Calls == 0 || t.Unknown < t.Calls, n: t.Nanos}
}

func integer(n int64) value { return value{known: true, n: n} }
func text(s string) value   { return value{known: s != "", s: s} }

// column is a column of a view of T.
type column[T any] struct {
	heading
	of func(*T) value
}

func tableOf[T any](rows []T, columns []column[T]) *Table { return tableBy(pointers(rows), columns) }

func tableBy[T any](rows []*T, columns []column[T]) *Table {
	t := &Table{}
	for _, c := range columns {
		t.columns = append(t.columns, c.heading)
	}
	for _, from := range rows {
		row := make([]value, len(columns))
		for k, c := range columns {
			row[k] = c.of(from)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// views are the tables that a profile has, the first the default.
var views = []struct {
	name  string
	of    string // what the rows are
	table func(p *Profile) *Table
}{
	{"file", "files", func(p *Profile) *Table { return tableBy(p.files(), fileColumns) }},
	{"operation", "calls", func(p *Profile) *Table { return tableOf(p.operations(), operationColumns) }},
	{"process", "processes", func(p *Profile) *Table { return tableOf(p.Processes, processColumns) }},
	{"thread", "threads", func(p *Profile) *Table { return tableOf(p.threads(), threadColumns) }},
	{"directory", "directories", func(p *Profile) *Table { return tableOf(p.Directories(), directoryColumns) }},
	{"size", "calls with a size", func(p *Profile) *Table { return tableOf(p.sizeRows(), sizeColumns) }},
	{"error", "errors", func(p *Profile) *Table { return tableOf(p.Failures, failureColumns) }},
	{"rank", "ranks", (*Profile).rankTable},
	{"node", "ranks", (*Profile).nodeTable},
	{"shared", "ranks that share a file", (*Profile).sharedTable},
	{"interval", "calls", func(p *Profile) *Table { return p.intervalTable(&p.Intervals) }},
	{"request-kind", "requests of clients that were not recorded", (*Profile).requestTable},
	{"layer", "calls of libraries", func(p *Profile) *Table { return tableOf(p.Layers, layerColumns) }},
	{"span", "calls of libraries", func(p *Profile) *Table { return tableOf(p.functions(), functionColumns) }},
}

// Views returns the names of the tables that a profile has, the default first.
func Views() []string {
	names := make([]string, len(views))
	for i := range views {
		names[i] = views[i].name
	}
	return names
}

// Table returns the table of that name, with what took the longest first where
// its rows have no order of their own.
func (p *Profile) Table(view string) (*Table, error) {
	for i := range views {
		if views[i].name == view {
			t := views[i].table(p)
			t.of = views[i].of
			return t, nil
		}
	}
	return nil, fmt.Errorf("no table by %q: want one of %s", view, strings.Join(Views(), ", "))
}

// Sort sorts by a column: words from A to Z, and numbers from the largest. What
// is not known comes last. "time" stands for the column "seconds".
func (t *Table) Sort(key string) error {
	if key == "time" {
		key = "seconds"
	}
	at := slices.IndexFunc(t.columns, func(h heading) bool { return h.name == key })
	if at < 0 {
		names := make([]string, len(t.columns))
		for i, h := range t.columns {
			names[i] = h.name
		}
		return fmt.Errorf("no column %q: want one of %s", key, strings.Join(names, ", "))
	}
	t.sorted = at
	slices.SortStableFunc(t.rows, func(a, b []value) int { return compareValues(&a[at], &b[at]) })
	return nil
}

func compareValues(a, b *value) int {
	switch {
	case a.known != b.known && a.known:
		return -1
	case a.known != b.known:
		return 1
	}
	first := func(v *value) int64 {
		if len(v.list) > 0 {
			return v.list[0].Value
		}
		if len(v.calls) > 0 {
			return v.calls[0].Calls
		}
		return v.n + int64(len(v.names))
	}
	return cmp.Or(cmp.Compare(first(b), first(a)), cmp.Compare(b.f, a.f), cmp.Compare(a.s, b.s))
}

// Cut leaves the first n rows, and says how many there were.
func (t *Table) Cut(n int) (all int) {
	all = len(t.rows)
	t.rows = t.rows[:min(n, all)]
	return all
}
