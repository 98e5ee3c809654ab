package page

import (
	"slices"

	"pianola/profile"
)

// heat is a map of the offsets of a file over time.
type heat struct {
	Name        string  `json:"name"`
	ColumnNanos int64   `json:"column_nanos"`
	RowBytes    int64   `json:"row_bytes"`
	Columns     int     `json:"columns"`
	Rows        int     `json:"rows"`
	Read        []int64 `json:"read"` // bytes by column, then row
	Written     []int64 `json:"written"`
	Missed      int64   `json:"missed"` // nanoseconds in calls before the map began
}

// maxHeats is how many files have a map in the page.
const maxHeats = 16

// newHeats returns the maps of the files that took the most time.
func newHeats(p *profile.Profile) []heat {
	out := []heat{}
	for i := range p.Files {
		if h := p.Files[i].Heat; h != nil {
			out = append(out, heat{plain(p.Files[i].Name), h.ColumnNanos, h.RowBytes, h.Columns, h.Rows,
				blank(h.Read), blank(h.Written), h.Missed})
		}
		if len(out) == maxHeats {
			break
		}
	}
	return out
}

// blank returns nil for an empty map.
func blank(cells []int64) []int64 {
	if slices.IndexFunc(cells, func(n int64) bool { return n > 0 }) < 0 {
		return []int64{}
	}
	return cells
}
