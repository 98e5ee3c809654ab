// Package table prints tables for people, and the numbers in them: columns are
// aligned, the times of a column are in one unit, and decimals are fixed, so that
// a column can be compared at a glance.
package table

import (
	"strings"
	"unicode/utf8"
)

// Missing stands in a cell for what is not known.
const Missing = "-"

// FirstLeft, AllLeft and AllRight say for Format which columns are aligned to
// the left.
func FirstLeft(column int) bool { return column == 0 }
func AllLeft(int) bool          { return true }
func AllRight(int) bool         { return false }

// Format returns the rows as lines, with two spaces between columns and none at
// the end of a line. Those columns are aligned to the left of which left says
// so, the others to the right; text/tabwriter aligns all to one side.
func Format(rows [][]string, left func(column int) bool) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b, line strings.Builder
	for _, row := range rows {
		line.Reset()
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if left(i) {
				cell, pad = pad, cell
			}
			line.WriteString(pad)
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
