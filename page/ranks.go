package page

import "pianola/profile"

// rankMap says when which rank was in I/O, and when it waited in MPI.
type rankMap struct {
	ColumnNanos int64    `json:"column_nanos"`
	Columns     int      `json:"columns"`
	Ranks       []int32  `json:"ranks"` // of the rows
	Nodes       []string `json:"nodes"` // of these
	IO          []int64  `json:"io"`    // nanoseconds by column, then row
	MPI         []int64  `json:"mpi"`
	Notes       []string `json:"notes"` // what the ranks did, in sentences
}

// maxMapRanks is how many ranks have a row in the page.
const maxMapRanks = 256

// newRankMap returns nil for programs without ranks.
func newRankMap(p *profile.Profile) *rankMap {
	m := p.RankMap
	if m == nil || m.Columns == 0 {
		return nil
	}
	all := len(m.Ranks)
	shown := min(all, maxMapRanks)
	out := &rankMap{ColumnNanos: m.ColumnNanos, Columns: m.Columns, Ranks: m.Ranks[:shown], IO: []int64{}, MPI: []int64{}}
	for column := range m.Columns {
		out.IO = append(out.IO, m.IO[column*all:][:shown]...)
		out.MPI = append(out.MPI, m.MPI[column*all:][:shown]...)
	}
	out.MPI = blank(out.MPI)
	for _, r := range p.Ranks[:shown] {
		out.Nodes = append(out.Nodes, plain(r.Node))
	}
	for _, note := range p.RankNotes() {
		out.Notes = append(out.Notes, plain(note))
	}
	return out
}
