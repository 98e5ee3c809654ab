package profile

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/internal/table"
)

// WriteCSV writes the table for programs: seconds with nine decimals, shares as
// parts of 1, frequent numbers as "4096:17 512:3", names as "a|b", caused calls as "pwrite64:300 fsync:1". Cells of what
// is not known are empty.
func (t *Table) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	line := make([]string, len(t.columns))
	for i, h := range t.columns {
		line[i] = h.name
	}
	cw.Write(line)
	for _, row := range t.rows {
		for i := range row {
			line[i] = t.columns[i].kind.csv(&row[i])
		}
		cw.Write(line)
	}
	cw.Flush()
	return cw.Error()
}

func (k kind) csv(v *value) string {
	if !v.known {
		return ""
	}
	switch k {
	case number:
		return table.Count(v.n)
	case duration, latencies:
		return string(format.AppendSeconds(nil, v.n))
	case share:
		return strconv.FormatFloat(v.f, 'f', 6, 64)
	case frequents:
		var all []string
		for _, f := range v.list {
			all = append(all, table.Count(f.Value)+":"+table.Count(f.Calls))
		}
		return strings.Join(all, " ")
	case nameList:
		var all []string
		for _, name := range v.names {
			all = append(all, format.Name(name))
		}
		return strings.Join(all, "|")
	case causes:
		var all []string
		for i := range v.calls {
			all = append(all, v.calls[i].Op.String()+":"+table.Count(v.calls[i].Calls))
		}
		return strings.Join(all, " ")
	}
	return format.Name(v.s)
}
