package profile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/table"
)

// WriteText writes the table for people: times in one unit, those of single
// calls in microseconds, shares in per cent, of sizes the most frequent one, of
// names the first. Rare columns are left out where they hold nothing. A table without
// rows is a line that says what the recording lacks.
func (t *Table) WriteText(w io.Writer) error {
	if len(t.rows) == 0 {
		_, err := fmt.Fprintf(w, "the recording has no %s\n", t.of)
		return err
	}
	shown := t.shown()
	_, err := io.WriteString(w, table.Format(t.cells(shown), func(column int) bool {
		k := t.columns[shown[column]].kind
		return column == 0 || k == words || k == nameList || k == causes
	}))
	return err
}

// rare are the columns of what many recordings have none of.
var rare = map[string]bool{
	"communication_calls": true, "communication_bytes": true, "communication_seconds": true,
	"mapped_reads": true, "mapped_writes": true, "bytes_mapped_read": true, "bytes_mapped_written": true, "mapped_read_seconds": true, "mapped_write_seconds": true,
	"ready_seconds": true, "own_seconds": true, "timer_seconds": true, "storage_seconds": true, "failed": true,
}

// shown returns the places of the columns that the text has.
func (t *Table) shown() (places []int) {
	for i, h := range t.columns[:cmp.Or(t.brief, len(t.columns))] {
		if !rare[h.name] || slices.ContainsFunc(t.rows, func(row []value) bool { return !row[i].known || row[i].n != 0 }) {
			places = append(places, i)
		}
	}
	return places
}

func (t *Table) cells(shown []int) [][]string {
	unit := t.unit()
	var head []string
	for _, i := range shown {
		name := strings.ReplaceAll(t.columns[i].name, "_", " ")
		switch t.columns[i].kind {
		case duration:
			name = strings.TrimSuffix(name, "seconds") + unit.Name
		case latencies:
			name = strings.TrimSuffix(name, "seconds") + "µs"
		}
		head = append(head, name)
	}
	cells := [][]string{head}
	for _, row := range t.rows {
		var line []string
		for _, i := range shown {
			line = append(line, t.columns[i].kind.show(&row[i], unit))
		}
		cells = append(cells, line)
	}
	return cells
}

// unit returns the unit of all times of the table but those of single calls.
func (t *Table) unit() table.Unit {
	longest := int64(0)
	for i, h := range t.columns {
		for _, row := range t.rows {
			if h.kind == duration && row[i].known {
				longest = max(longest, row[i].n)
			}
		}
	}
	return table.UnitOf(format.Seconds(longest))
}

func (k kind) show(v *value, u table.Unit) string {
	if !v.known {
		return table.Missing
	}
	switch k {
	case number:
		return table.Count(v.n)
	case duration:
		return u.Format(format.Seconds(v.n))
	case latencies:
		return table.Micros(v.n)
	case share:
		return table.Percent(v.f)
	case frequents:
		return mostFrequent(v.list)
	case nameList:
		return someNames(v.names)
	case causes:
		return someCalls(v.calls)
	}
	return table.Name(v.s)
}

// mostFrequent returns the most frequent value, with its share if it is not the
// only one.
func mostFrequent(list []Frequent) string {
	if len(list) == 0 {
		return table.Missing
	}
	var all int64
	for _, f := range list {
		all += f.Calls
	}
	first := table.Count(list[0].Value)
	if all == list[0].Calls {
		return first
	}
	return fmt.Sprintf("%s (%s)", first, table.Percent(float64(list[0].Calls)/float64(all)))
}

// someCalls returns the operations of which there are the most calls, and the number of the others.
func someCalls(list []Caused) string {
	if len(list) == 0 {
		return table.Missing
	}
	const some = 3
	var words []string
	for i := range list[:min(len(list), some)] {
		words = append(words, table.Count(list[i].Calls)+" "+list[i].Op.String())
	}
	text := strings.Join(words, ", ")
	if len(list) > some {
		text += fmt.Sprintf(" and %d more", len(list)-some)
	}
	return text
}

// someNames returns the first names and the number of the others.
func someNames(names []string) string {
	const some = 3
	var list []string
	for _, name := range names[:min(len(names), some)] {
		list = append(list, table.ShortName(name))
	}
	text := strings.Join(list, ", ")
	if len(names) > some {
		text += fmt.Sprintf(" and %d more", len(names)-some)
	}
	return text
}
