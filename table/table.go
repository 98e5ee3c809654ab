// Package table prints text tables and the numbers in them. Columns are
// aligned, the times of a column have one unit, and decimals are fixed, so that
// a column is easy to compare.
package table

import (
	"strings"
	"unicode/utf8"
)

// Missing is the text of an unknown cell.
const Missing = "-"

// FirstLeft, AllLeft and AllRight select the columns that Format aligns to the
// left.
func FirstLeft(column int) bool { return column == 0 }
func AllLeft(int) bool          { return true }
func AllRight(int) bool         { return false }

// Format returns the rows as lines, with two spaces between columns and none at
// the end of a line. Columns for which left returns true are aligned to the
// left, the others to the right. text/tabwriter can't do both.
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
