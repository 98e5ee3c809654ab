package profile

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unit is the unit of all times of one table or one axis.
type unit struct {
	name    string
	seconds float64
}

var units = []unit{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}}

// unitOf returns the largest unit in which so many seconds are at least 1.
func unitOf(seconds float64) unit {
	for _, u := range units {
		if seconds >= u.seconds {
			return u
		}
	}
	return units[len(units)-1]
}

// format prints seconds in the unit. What would be printed as zero, but is
// not, is said to be less than the last digit.
func (u unit) format(seconds float64) string {
	v := seconds / u.seconds
	if v > 0 && v < 0.0005 {
		return "<0.001"
	}
	return fixed(v, 3)
}

// noCell stands in a table for what is not known.
const noCell = "-"

func (u unit) optional(seconds *float64) string {
	if seconds == nil {
		return noCell
	}
	return u.format(*seconds)
}

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

func count(n int64) string { return strconv.FormatInt(n, 10) }

// micros prints the duration of a call: with fixed decimals, so that a column
// of them can be compared at a glance.
func micros(nanos int64) string { return fixed(float64(nanos)/1e3, 1) }

// writeTable writes rows with their first cells aligned to the left and all
// others to the right.
func writeTable(b *bytes.Buffer, rows [][]string) {
	writeAligned(b, rows, func(column int) bool { return column == 0 })
}

// writeAligned writes rows, those columns aligned to the left of which left
// says so. text/tabwriter aligns all columns to one side.
func writeAligned(b *bytes.Buffer, rows [][]string, left func(column int) bool) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if left(i) {
				cell, pad = pad, cell
			}
			b.WriteString(pad + cell)
		}
		b.Truncate(len(bytes.TrimRight(b.Bytes(), " ")))
		b.WriteByte('\n')
	}
}
