package suite

import (
	"fmt"
	"io"
	"strings"

	"pianola/format"
	"pianola/profile"
	"pianola/stats"
	"pianola/table"
)

// none is the text of an unknown cell.
const none = "–"

// WriteText writes the conclusion, a table for each measure, and remarks.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", format.Visible(r.Conclusion()))
	for i := range measures {
		if cells := r.cells(&measures[i]); len(cells) > 1 {
			b.WriteByte('\n')
			b.WriteString(table.Format(cells, table.FirstLeft))
		}
	}
	if notes := r.notes(); notes != "" {
		b.WriteByte('\n')
		b.WriteString(notes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notes returns what binds workloads, what was refused and what differed.
func (r *Report) notes() string {
	var b strings.Builder
	for _, one := range r.Workloads {
		if bound := r.bound(one); bound != "" {
			fmt.Fprintf(&b, "%s: %s\n", format.Visible(one.Name), format.Visible(bound))
		}
		for i := range one.Sides {
			s := &one.Sides[i]
			label := one.Name
			if len(r.Sides) > 1 {
				label += " on " + r.Sides[i]
			}
			if s.Refused != "" {
				fmt.Fprintf(&b, "%s: left out: %s\n", format.Visible(label), format.Visible(s.Refused))
			}
			if s.Differed > 0 {
				fmt.Fprintf(&b, "%s: %s differed from the recording: %s\n", format.Visible(label), table.Plural(int(s.Differed), "event"), format.Visible(s.Example))
			}
		}
	}
	if r.Interrupted {
		b.WriteString("interrupted: not all was replayed\n")
	}
	return b.String()
}

// cells returns the table of a measure: the means of each side, their ratios to the
// recording, and those to the first side.
func (r *Report) cells(m *measure) [][]string {
	unit := table.UnitOf(r.longest(m))
	head := []string{m.title, "recorded " + unit.Name}
	for _, name := range r.Sides {
		head = append(head, format.Visible(name)+" "+unit.Name)
	}
	for _, name := range r.Sides {
		head = append(head, format.Visible(name)+"/recorded")
	}
	several := len(r.Sides) > 1
	for _, name := range r.Sides[1:] {
		head = append(head, format.Visible(name+"/"+r.Sides[0]), "interval")
	}
	if !several {
		head = append(head, "interval")
	}
	ratios := func(workloads []*Workload) (cells []string) {
		for side := range r.Sides {
			cells = append(cells, m.toRecorded(workloads, side).String())
		}
		for side := 1; side < len(r.Sides); side++ {
			one := m.toFirst(workloads, side)
			cells = append(cells, one.String(), one.interval())
		}
		if !several {
			cells = append(cells, m.toRecorded(workloads, 0).interval())
		}
		return cells
	}
	rows := [][]string{head}
	for _, w := range r.Workloads {
		if !m.occurs(w) {
			continue
		}
		line := []string{w.Name, none}
		if v, ok := m.of(w.Recorded); ok {
			line[1] = unit.Format(v)
		}
		for i := range w.Sides {
			cell := none
			if v := m.values(w.Sides[i].Profiles); v != nil {
				cell = unit.Format(stats.GeometricMean(v))
			}
			line = append(line, cell)
		}
		rows = append(rows, append(line, ratios([]*Workload{w})...))
	}
	if shared := m.shared(r.Workloads); len(shared) > 1 {
		line := []string{fmt.Sprintf("geometric mean of %d", len(shared)), ""}
		for range r.Sides {
			line = append(line, "")
		}
		rows = append(rows, append(line, ratios(shared)...))
	}
	return rows
}

// longest returns the longest time of a measure, in seconds.
func (r *Report) longest(m *measure) (seconds float64) {
	of := func(runs []*profile.Profile) {
		for _, v := range m.values(runs) {
			seconds = max(seconds, v)
		}
	}
	for _, w := range r.Workloads {
		of([]*profile.Profile{w.Recorded})
		for i := range w.Sides {
			of(w.Sides[i].Profiles)
		}
	}
	return seconds
}
