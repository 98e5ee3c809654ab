package page

import (
	"encoding/json"
	"fmt"

	"pianola/profile"
)

// table is a view of a profile, cut to the rows that took the most time.
type table struct {
	Rows json.RawMessage `json:"rows"`
	All  int             `json:"all"` // number of all rows
}

// The bounds of one table of a page: rows, and the bytes that they take.
const (
	maxRows  = 2000
	maxBytes = 1 << 20
)

// views are the tables of a page, by the names of profile.Views.
var views = []string{"file", "operation", "directory", "process", "thread", "layer", "span"}

func newTables(p *profile.Profile) (map[string]table, error) {
	all := make(map[string]table)
	for _, view := range views {
		t, err := newTable(p, view)
		if err != nil {
			return nil, fmt.Errorf("table by %s: %w", view, err)
		}
		all[view] = t
	}
	return all, nil
}

// newTable halves the number of rows until they fit, because names can be long.
func newTable(p *profile.Profile, view string) (table, error) {
	t, err := p.Table(view)
	if err != nil {
		return table{}, err
	}
	if err := t.Sort("time"); err != nil {
		return table{}, err
	}
	all := t.Cut(maxRows)
	for n := min(all, maxRows); ; n /= 2 {
		t.Cut(n)
		rows, err := json.Marshal(t)
		if err != nil {
			return table{}, err
		}
		if len(rows) <= maxBytes || n == 0 {
			return table{rows, all}, nil
		}
	}
}
