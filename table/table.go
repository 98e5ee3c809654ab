// Package table prints text tables and the numbers in them. Columns are
// aligned, the times of a column have one unit, and decimals are fixed, so that
// a column is easy to compare.
package table

import (
	"slices"
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

// Width is how many characters a line of a table has at most, and leastName to how many
// Fit cuts a cell at least.
const (
	Width     = 100
	leastName = 20
)

// Fit is Format, but cuts the longest cells of columns that are aligned to the left, until
// a line has at most Width characters. Numbers are never cut.
func Fit(rows [][]string, left func(column int) bool) string {
	widths := Widths(rows)
	over := Total(widths) - Width
	for over > 0 {
		widest := -1
		for i, w := range widths {
			if left(i) && w > leastName && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		over--
	}
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = slices.Clone(row)
		for k, cell := range row {
			short[i][k] = Cut(cell, widths[k])
		}
	}
	return Format(short, left)
}

// Widths returns how many characters the longest cell of each column has.
func Widths(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// Total returns how long lines are whose columns are so wide.
func Total(widths []int) int {
	total := len(between) * max(len(widths)-1, 0)
	for _, w := range widths {
		total += w
	}
	return total
}

const between = "  " // columns

// Format returns the rows as lines, with two spaces between columns and none at
// the end of a line. Columns for which left returns true are aligned to the
// left, the others to the right. text/tabwriter can't do both.
func Format(rows [][]string, left func(column int) bool) string {
	widths := Widths(rows)
	var b, line strings.Builder
	for _, row := range rows {
		line.Reset()
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString(between)
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
