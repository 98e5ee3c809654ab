package profile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"pianola/format"
)

// WriteText writes the table for people: times in one unit, those of single
// calls in microseconds, shares in per cent, of sizes the most frequent one, of
// names the first.
func (t *Table) WriteText(w io.Writer) error {
	var b bytes.Buffer
	writeAligned(&b, t.cells(), func(column int) bool {
		k := t.columns[column].kind
		return column == 0 || k == words || k == nameList
	})
	_, err := w.Write(b.Bytes())
	return err
}

func (t *Table) cells() [][]string {
	unit := t.unit()
	head := make([]string, len(t.columns))
	for i, h := range t.columns {
		head[i] = strings.ReplaceAll(h.name, "_", " ")
		switch h.kind {
		case duration:
			head[i] = strings.TrimSuffix(head[i], "seconds") + unit.name
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
func (t *Table) unit() unit {
	longest := int64(0)
	for i, h := range t.columns {
		for _, row := range t.rows {
			if h.kind == duration && row[i].known {
				longest = max(longest, row[i].n)
			}
		}
	}
	return unitOf(seconds(longest))
}

func (k kind) show(v *value, u unit) string {
	if !v.known {
		return noCell
	}
	switch k {
	case number:
		return count(v.n)
	case duration:
		return u.format(seconds(v.n))
	case latencies:
		return micros(v.n)
	case share:
		return percent(v.f)
	case frequents:
		return mostFrequent(v.list)
	case nameList:
		return someNames(v.names)
	}
	return shown(v.s)
}

// mostFrequent returns the most frequent value, with its share if it is not the
// only one.
func mostFrequent(list []Frequent) string {
	if len(list) == 0 {
		return noCell
	}
	var all int64
	for _, f := range list {
		all += f.Calls
	}
	first := count(list[0].Value)
	if all == list[0].Calls {
		return first
	}
	return fmt.Sprintf("%s (%s)", first, percent(float64(list[0].Calls)/float64(all)))
}

// someNames returns the first names and the number of the others.
func someNames(names []string) string {
	const some = 3
	var list []string
	for _, name := range names[:min(len(names), some)] {
		list = append(list, shortened(name, false))
	}
	text := strings.Join(list, ", ")
	if len(names) > some {
		text += fmt.Sprintf(" and %d more", len(names)-some)
	}
	return text
}

// shown returns a name as it can be printed: quoted as in a script where it
// holds what a terminal would not show.
func shown(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return string(format.AppendQuoted(nil, []byte(name)))
		}
	}
	return name
}
