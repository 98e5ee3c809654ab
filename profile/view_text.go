package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/table"
)

// WriteText writes the table for people: times in one unit, those of single calls in
// microseconds, shares in per cent, of sizes the most frequent one, of names the first.
// Columns that hold nothing are left out and, without Wide, those on the right that have no
// room, except for words, the time and the column that the rows are sorted by. A table without
// rows is a line that says what the recording lacks.
func (t *Table) WriteText(w io.Writer, options TextOptions) error {
	if len(t.rows) == 0 {
		_, err := fmt.Fprintf(w, "the recording has no %s\n", t.of)
		return err
	}
	shown := t.shown()
	left := func(column int) bool {
		k := t.columns[shown[column]].kind
		return column == 0 || k == words || k == nameList || k == causes
	}
	keep := func(column int) bool {
		name := t.columns[shown[column]].name
		// The operations of an interval would take the room of several figures.
		return left(column) && name != "calls_by_operation" || name == "seconds" || shown[column] == t.sorted
	}
	text, leftOut := options.narrow(t.cells(shown), left, keep)
	if leftOut > 0 {
		text += fmt.Sprintf("… %s; --wide shows them\n", moreColumns(leftOut))
	}
	_, err := io.WriteString(w, text)
	return err
}

// shown returns the places of the columns that the text has.
func (t *Table) shown() (places []int) {
	for i := range t.columns {
		if i == 0 || t.columns[i].name == "seconds" || slices.ContainsFunc(t.rows, func(row []value) bool { return row[i].holds() }) {
			places = append(places, i)
		}
	}
	return places
}

// holds reports whether a value is more than nothing.
func (v *value) holds() bool {
	return v.known && (v.n != 0 || v.f != 0 || v.s != "" || len(v.list)+len(v.names)+len(v.calls) > 0)
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
func someCalls(list OpTotals) string {
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
