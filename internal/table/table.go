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

// Width is the maximum number of characters in a line of a table. Names keep at least
// leastName.
const (
	Width     = 100
	leastName = 28
)

// Fit is Format, but cuts the longest cells of columns that are aligned to the left, until
// a line has at most Width characters. Numbers are never cut.
func Fit(rows [][]string, left func(column int) bool) string {
	text, _ := Narrow(rows, left, func(int) bool { return true })
	return text
}

// Narrow is Fit, but leaves out columns from the right if cutting is not enough, except
// for those that keep returns true for. It returns how many it left out.
func Narrow(rows [][]string, left, keep func(column int) bool) (text string, leftOut int) {
	widths := widthsOf(rows)
	least := func(column int) int {
		if left(column) {
			return min(widths[column], leastName)
		}
		return widths[column]
	}
	var shown []int
	over := -len(between) - Width
	for i := range widths {
		shown = append(shown, i)
		over += least(i) + len(between)
	}
	for i := len(widths) - 1; i >= 0 && over > 0; i-- {
		if !keep(i) {
			shown = slices.Delete(shown, i, i+1)
			over -= least(i) + len(between)
		}
	}
	room := max(-over, 0) // for names, beyond the least
	for _, i := range shown {
		more := min(widths[i]-least(i), room)
		widths[i] = least(i) + more
		room -= more
	}
	narrow := make([][]string, len(rows))
	for i, row := range rows {
		for _, k := range shown {
			if k < len(row) {
				narrow[i] = append(narrow[i], Cut(row[k], widths[k]))
			}
		}
	}
	return Format(narrow, func(column int) bool { return left(shown[column]) }), len(widths) - len(shown)
}

// widthsOf returns how many characters the longest cell of each column has.
func widthsOf(rows [][]string) (widths []int) {
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

const between = "  " // columns

// Format returns the rows as lines, with two spaces between columns and none at
// the end of a line. Columns for which left returns true are aligned to the
// left, the others to the right. text/tabwriter can't do both.
func Format(rows [][]string, left func(column int) bool) string {
	widths := widthsOf(rows)
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
