package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/table"
	"pianola/internal/testkit"
)

// measured reads a file of docs/measured, which has no rows if it is not there.
func measured(t *testing.T, study string) *document {
	t.Helper()
	d := new(document)
	text, err := os.ReadFile(filepath.Join("../../docs/measured", study+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return d
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, d))
	return d
}

// figure returns a figure of a side, nil if there is none.
func (r *result) figure(side, name string) *figureResult {
	for i := range r.Sides {
		for k := range r.Sides[i].Figures {
			if f := &r.Sides[i].Figures[k]; r.Sides[i].Name == side && f.Name == name {
				return f
			}
		}
	}
	return nil
}

// cell shows a summary with its least and its greatest value.
func (s *summary) cell(decimals int) string {
	if s == nil {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", table.Fixed(s.Median, decimals), table.Fixed(s.Range[0], decimals), table.Fixed(s.Range[1], decimals))
}

// The tables of the page about accuracy are those of docs/measured.
func TestAccuracyPage(t *testing.T) {
	const page = "../../docs/accuracy.md"
	write := func(heading string, rows [][]string) { testkit.Table(t, page, heading, rows) }

	rows := [][]string{{"tool", "added to a cached `pread`, ns"}}
	calls := measured(t, "calls").Rows[0]
	for _, side := range calls.Sides {
		if f := calls.figure(side.Name, "a call, ns"); f.Difference != nil {
			rows = append(rows, []string{side.Name, f.Difference.cell(0)})
		}
	}
	write("## Cost of recording", rows)

	rows = [][]string{{"server", "recorded on", "replayed on", "requests/s there", "of the replay", "ratio"}}
	for _, study := range studies {
		if !strings.HasPrefix(study.name, "servers") {
			continue
		}
		d := measured(t, study.name)
		for i := range d.Rows {
			r := &d.Rows[i]
			for _, side := range r.Sides {
				if f := r.figure("replayed on "+side.Name, "requests/s"); f != nil {
					there := r.figure(side.Name, "requests/s")
					rows = append(rows, []string{r.Name, study.home, side.Name, there.cell(0), f.cell(0), f.Ratio.cell(2)})
				}
			}
		}
	}
	write("## Servers", rows)

	rows = [][]string{{"program", "to the slower disk", "in recorded groups", "to the faster disk", "in recorded groups"}}
	slower, faster := measured(t, "commits-slower"), measured(t, "commits-faster")
	for i := range slower.Rows {
		name := slower.Rows[i].Name
		row := []string{name}
		for _, d := range []*document{slower, faster} {
			for _, side := range []string{"replayed", "in recorded groups"} {
				row = append(row, d.row(name).figure(side, "run time, s").Ratio.cell(2))
			}
		}
		rows = append(rows, row)
	}
	write("## Group commit", rows)
}
