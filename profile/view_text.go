package profile

import (
	"fmt"
	"io"
	"strings"

	"pianola/format"
	"pianola/table"
)

// WriteText writes the table for people: times in one unit, those of single
// calls in microseconds, shares in per cent, of sizes the most frequent one, of
// names the first.
func (t *Table) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, table.Format(t.cells(), func(column int) bool {
		k := t.columns[column].kind
		return column == 0 || k == words || k == nameList
	}))
	return err
}

func (t *Table) cells() [][]string {
	unit := t.unit()
	head := make([]string, len(t.columns))
	for i, h := range t.columns {
		head[i] = strings.ReplaceAll(h.name, "_", " ")
		switch h.kind {
		case duration:
			head[i] = strings.TrimSuffix(head[i], "seconds") + unit.Name
		case latencies:
			head[i] = strings.TrimSuffix(head[i], "seconds") + "µs"
		}
	}
	cells := [][]string{head}
	for _, row := range t.rows {
		line := make([]string, len(row))
		for i := range row {
			line[i] = t.columns[i].kind.show(&row[i], unit)
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
