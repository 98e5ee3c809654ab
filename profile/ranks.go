package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"pianola/format"
	"pianola/internal/table"
)

// Rank is what the processes of a rank of a parallel program did.
type Rank struct {
	Rank    int32
	Node    string // where it ran, empty if unknown
	Threads int    // that made calls
	Usage
	Times Times

	// MPI is the time in calls of MPI that wait for other ranks, and MPIBehind the part of it in
	// which at least one other rank was in I/O. Behind is the rank that was so for the longest; -1
	// for none. They are 0 without the spans of the layer mpi.
	MPI, MPIBehind int64
	Behind         int32
}

// Node is what the ranks of a node did.
type Node struct {
	Name  string
	Ranks int
	Usage
	Times          Times
	MPI, MPIBehind int64
	slowest        int64 // time in I/O of the rank that spent the most in it
}

// Shared is a file that several ranks read, wrote or synced.
type Shared struct {
	Name    string
	Ranks   int      // that did
	Writers int      // those that wrote
	Usage            // of all processes
	Overlap int64    // nanoseconds in which calls of two ranks on the file ran at once, by pairs of ranks
	Pair    [2]int32 // the ranks with the most of that; meaningless while Overlap is 0
}

// RankMap says when which rank was in I/O, and when it waited in MPI. Time is cut into columns. Cell
// (column, row) is at column*len(Ranks) + row, and holds nanoseconds.
type RankMap struct {
	ColumnNanos int64
	Columns     int
	Ranks       []int32 // of the rows, in order
	IO, MPI     []int64
}

const (
	// maxRanks bounds the ranks with a row of their own, in a profile and for a file.
	maxRanks = 1 << 14

	// rankMapColumns is the number of columns of a RankMap; a power of two.
	rankMapColumns = 128

	// The newest calls of each rank, and on each file that ranks use, are kept to find those that
	// ran at once.
	recentIO    = 256
	recentCalls = 8

	// maxPairs bounds the pairs of ranks that are counted for a file.
	maxPairs = 64
)

// working is a time in I/O of a rank, from a begin to an end, in nanoseconds.
type working struct {
	from, to int64
	rank     int32
}

// both returns how long it has in common with a time.
func (s *working) both(from, to int64) int64 { return max(min(s.to, to)-max(s.from, from), 0) }

// newest keeps the newest times.
type newest struct {
	all  []working
	next int
}

func (r *newest) add(s working, room int) {
	if len(r.all) < room {
		r.all = append(r.all, s)
		return
	}
	r.all[r.next] = s
	r.next = (r.next + 1) % room
}

// rankRow is what is counted of a rank.
type rankRow struct {
	recent    newest // in I/O
	io, mpi   [rankMapColumns]int64
	waited    int64 // time in MPI
	behind    int64
	by        map[int32]int64 // by rank: time in MPI while that was in I/O
	mpiBefore map[int32]int64 // by thread: end of its last call of MPI
}

// ranks counts what the ranks of a parallel program do.
type ranks struct {
	nodes map[int32]string
	rows  map[int32]*rankRow
	shift uint // of the columns
}

func newRanks(h *format.Header) ranks {
	r := ranks{nodes: map[int32]string{}, rows: map[int32]*rankRow{}}
	for _, rank := range h.Ranks {
		r.nodes[rank.Rank] = rank.Node
	}
	return r
}

// row returns that of a rank; nil for no rank, and beyond the bound.
func (r *ranks) row(rank int32) *rankRow {
	row := r.rows[rank]
	if row == nil && rank >= 0 && len(r.rows) < maxRanks {
		row = &rankRow{by: map[int32]int64{}, mpiBefore: map[int32]int64{}}
		r.rows[rank] = row
	}
	return row
}

// count counts a call of a rank on a file, nil for none.
func (r *ranks) count(c *call, rank int32, f *file) {
	row := r.row(rank)
	if row == nil || c.category >= NumIO {
		return
	}
	r.spread(&row.io, c.start, c.end)
	row.recent.add(working{c.start, c.end, rank}, recentIO)
	if f != nil && f.id != othersID && c.category != Metadata {
		if f.sharing == nil {
			f.sharing = &sharing{ranks: map[int32]bool{}}
		}
		f.sharing.count(c, rank)
	}
}

// spread adds a time to the columns of a map.
func (r *ranks) spread(columns *[rankMapColumns]int64, from, to int64) {
	for to>>r.shift >= rankMapColumns {
		r.widen()
	}
	spread(columns[:], r.shift, from, to)
}

// widen makes columns twice as wide.
func (r *ranks) widen() {
	r.shift++
	for _, row := range r.rows {
		halve(row.io[:], addCount)
		halve(row.mpi[:], addCount)
	}
}

// mpiWaits are the kinds of calls of MPI that wait for other ranks.
var mpiWaits = map[string]bool{"send": true, "receive": true, "wait": true, "collective": true}

// span counts a call of MPI by a rank.
func (r *ranks) span(e *format.Event, rank int32) {
	if e.Span.Layer != "mpi" || !mpiWaits[e.Span.Kind] || e.Dur <= 0 {
		return
	}
	row := r.row(rank)
	if row == nil {
		return
	}
	from, to := max(e.Start, row.mpiBefore[e.TID], 0), e.End() // within another one it counts once
	if from >= to {
		return
	}
	row.mpiBefore[e.TID] = to
	row.waited += to - from
	r.spread(&row.mpi, from, to)
	most := int64(0)
	for other, o := range r.rows {
		if other == rank {
			continue
		}
		sum := int64(0)
		for i := range o.recent.all {
			sum += o.recent.all[i].both(from, to)
		}
		if sum = min(sum, to-from); sum > 0 {
			row.by[other] += sum
		}
		most = max(most, sum)
	}
	row.behind += most
}

// sharing is what ranks did to a file.
type sharing struct {
	ranks   map[int32]bool // true: it wrote
	recent  newest
	overlap int64
	pairs   map[[2]int32]int64
}

func (s *sharing) count(c *call, rank int32) {
	writes := c.category == Writes || c.category == MappedWrites
	if wrote, known := s.ranks[rank]; !known || writes && !wrote {
		s.ranks[rank] = writes // at most maxRanks ranks come here
	}
	for i := range s.recent.all {
		o := &s.recent.all[i]
		both := o.both(c.start, c.end)
		if o.rank == rank || both == 0 {
			continue
		}
		s.overlap += both
		pair := [2]int32{min(o.rank, rank), max(o.rank, rank)}
		if _, known := s.pairs[pair]; known || len(s.pairs) < maxPairs {
			if s.pairs == nil {
				s.pairs = map[[2]int32]int64{}
			}
			s.pairs[pair] += both
		}
	}
	s.recent.add(working{c.start, c.end, rank}, recentCalls)
}

// shared returns the files that several ranks used: those that were written come first, then those
// with the most overlap.
func (fs *files) shared() (list []Shared) {
	for _, f := range fs.all {
		if f.sharing == nil || len(f.sharing.ranks) < 2 {
			continue
		}
		s := Shared{Name: f.name, Ranks: len(f.sharing.ranks), Usage: f.usage, Overlap: f.sharing.overlap}
		for _, wrote := range f.sharing.ranks {
			if wrote {
				s.Writers++
			}
		}
		most := int64(0)
		for _, pair := range slices.SortedFunc(maps.Keys(f.sharing.pairs), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) }) {
			if n := f.sharing.pairs[pair]; n > most {
				s.Pair, most = pair, n
			}
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b Shared) int {
		return cmp.Or(cmp.Compare(min(b.Writers, 1), min(a.Writers, 1)), cmp.Compare(b.Overlap, a.Overlap), cmp.Compare(b.IO().Nanos, a.IO().Nanos), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// snapshot returns the ranks in their order, of the processes of a profile.
func (r *ranks) snapshot(processes []Process) (list []Rank) {
	place := map[int32]int{}
	at := func(rank int32) *Rank {
		i, known := place[rank]
		if !known {
			i = len(list)
			place[rank] = i
			list = append(list, Rank{Rank: rank, Node: r.nodes[rank], Behind: -1})
		}
		return &list[i]
	}
	for rank := range r.nodes {
		if len(place) < maxRanks {
			at(rank)
		}
	}
	for i := range processes {
		p := &processes[i]
		if _, known := place[p.Rank]; p.Rank < 0 || len(place) == maxRanks && !known {
			continue
		}
		row := at(p.Rank)
		row.Threads += p.Threads
		row.merge(&p.Usage)
		row.Times.add(&p.Times)
	}
	slices.SortFunc(list, func(a, b Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := range list {
		row := r.rows[list[i].Rank]
		if row == nil {
			continue
		}
		list[i].MPI, list[i].MPIBehind = row.waited, row.behind
		most := int64(0)
		for _, other := range slices.Sorted(maps.Keys(row.by)) {
			if n := row.by[other]; n > most {
				list[i].Behind, most = other, n
			}
		}
	}
	return list
}

// heat returns the map of the ranks over time, nil without ranks.
func (r *ranks) heat(list []Rank) *RankMap {
	if len(list) == 0 {
		return nil
	}
	m := &RankMap{ColumnNanos: 1 << r.shift}
	empty := &rankRow{}
	rows := make([]*rankRow, len(list))
	for i := range list {
		m.Ranks = append(m.Ranks, list[i].Rank)
		rows[i] = cmp.Or(r.rows[list[i].Rank], empty)
		for column := range rankMapColumns {
			if rows[i].io[column]+rows[i].mpi[column] > 0 {
				m.Columns = max(m.Columns, column+1)
			}
		}
	}
	for column := range m.Columns {
		for _, row := range rows {
			m.IO, m.MPI = append(m.IO, row.io[column]), append(m.MPI, row.mpi[column])
		}
	}
	return m
}

// nodes returns the nodes in the order of their first ranks.
func (p *Profile) nodes() (list []Node) {
	for i := range p.Ranks {
		r := &p.Ranks[i]
		k := slices.IndexFunc(list, func(n Node) bool { return n.Name == r.Node })
		if k < 0 {
			k = len(list)
			list = append(list, Node{Name: r.Node})
		}
		n := &list[k]
		n.Ranks++
		n.merge(&r.Usage)
		n.Times.add(&r.Times)
		n.MPI, n.MPIBehind = n.MPI+r.MPI, n.MPIBehind+r.MPIBehind
		n.slowest = max(n.slowest, r.IO().Nanos)
	}
	return list
}

// Imbalance returns how long the ranks were in I/O: on average, and the rank that was so the
// longest.
func (p *Profile) Imbalance() (mean float64, slowest Rank) {
	for i := range p.Ranks {
		nanos := p.Ranks[i].IO().Nanos
		mean += float64(nanos) / float64(len(p.Ranks))
		if i == 0 || nanos > slowest.IO().Nanos {
			slowest = p.Ranks[i]
		}
	}
	return mean, slowest
}

func (p *Profile) rankTable() *Table {
	mean, _ := p.Imbalance()
	return tableOf(p.Ranks, slices.Concat(
		[]column[Rank]{
			{heading{"rank", words}, func(r *Rank) value { return text(fmt.Sprint(r.Rank)) }},
			{heading{"node", words}, func(r *Rank) value { return text(r.Node) }},
			{heading{"threads", number}, func(r *Rank) value { return integer(int64(r.Threads)) }},
			{heading{"of_mean", share}, func(r *Rank) value { return value{known: mean > 0, f: float64(r.IO().Nanos) / mean} }},
			{heading{"mpi_seconds", duration}, func(r *Rank) value { return integer(r.MPI) }},
			{heading{"mpi_behind_io_seconds", duration}, func(r *Rank) value { return integer(r.MPIBehind) }},
			{heading{"behind_rank", number}, func(r *Rank) value { return value{known: r.Behind >= 0, n: int64(r.Behind)} }},
		},
		usageColumns(func(r *Rank) *Usage { return &r.Usage }),
		timesColumns(func(r *Rank) *Times { return &r.Times }),
		spanColumns(func(r *Rank) *Usage { return &r.Usage }),
	))
}

func (p *Profile) nodeTable() *Table {
	return tableOf(p.nodes(), slices.Concat(
		[]column[Node]{
			{heading{"node", words}, func(n *Node) value { return text(n.Name) }},
			{heading{"ranks", number}, func(n *Node) value { return integer(int64(n.Ranks)) }},
			{heading{"slowest_of_mean", share}, func(n *Node) value {
				mean := float64(n.IO().Nanos) / float64(n.Ranks)
				return value{known: mean > 0, f: float64(n.slowest) / mean}
			}},
			{heading{"mpi_seconds", duration}, func(n *Node) value { return integer(n.MPI) }},
			{heading{"mpi_behind_io_seconds", duration}, func(n *Node) value { return integer(n.MPIBehind) }},
		},
		usageColumns(func(n *Node) *Usage { return &n.Usage }),
		timesColumns(func(n *Node) *Times { return &n.Times }),
		spanColumns(func(n *Node) *Usage { return &n.Usage }),
	))
}

func (p *Profile) sharedTable() *Table {
	return tableOf(p.Shared, slices.Concat(
		[]column[Shared]{
			{heading{"name", words}, func(s *Shared) value { return text(s.Name) }},
			{heading{"ranks", number}, func(s *Shared) value { return integer(int64(s.Ranks)) }},
			{heading{"writing_ranks", number}, func(s *Shared) value { return integer(int64(s.Writers)) }},
			{heading{"overlap_seconds", duration}, func(s *Shared) value { return integer(s.Overlap) }},
			{heading{"most_between", words}, func(s *Shared) value {
				if s.Overlap == 0 {
					return value{}
				}
				return text(fmt.Sprintf("%d and %d", s.Pair[0], s.Pair[1]))
			}},
		},
		usageColumns(func(s *Shared) *Usage { return &s.Usage }),
		spanColumns(func(s *Shared) *Usage { return &s.Usage }),
	))
}

// RankNotes says what the ranks did: how unevenly, for what they waited, and which files they shared.
// There are none for a program without ranks.
func (p *Profile) RankNotes() (notes []string) {
	if len(p.Ranks) == 0 {
		return nil
	}
	mean, slowest := p.Imbalance()
	longest := slowest.IO()
	text := fmt.Sprintf("%s on %s: I/O %s on average, %s in rank %d", table.Plural(len(p.Ranks), "rank"), table.Plural(len(p.nodes()), "node"),
		took(int64(mean)), took(longest.Nanos), slowest.Rank)
	if mean > 0 {
		text += fmt.Sprintf(" (%.2f times the average)", float64(longest.Nanos)/mean)
	}
	notes = append(notes, text)
	var mpi, behind int64
	most := slowest
	for _, r := range p.Ranks {
		mpi, behind = mpi+r.MPI, behind+r.MPIBehind
		if r.MPIBehind > most.MPIBehind {
			most = r
		}
	}
	if mpi > 0 {
		text := fmt.Sprintf("in MPI %s, of which %s while another rank was in I/O", took(mpi), took(behind))
		if most.Behind >= 0 {
			text += fmt.Sprintf("; rank %d waited the longest, mostly for rank %d", most.Rank, most.Behind)
		}
		notes = append(notes, text)
	}
	if late := p.late(); late != "" {
		notes = append(notes, late)
	}
	if n := len(p.Shared); n > 0 {
		s, written := &p.Shared[0], 0
		for i := range p.Shared {
			written += min(p.Shared[i].Writers, 1)
		}
		text := fmt.Sprintf("files that several ranks used: %d, of which %d written; %s by %d ranks", n, written, table.ShortName(s.Name), s.Ranks)
		if s.Overlap > 0 {
			text += fmt.Sprintf(", whose calls overlap for %s, those of ranks %d and %d the longest", took(s.Overlap), s.Pair[0], s.Pair[1])
		}
		notes = append(notes, text)
	}
	return notes
}

// leastLate is the share of the run time that the ranks must wait longer in MPI than one of
// them, on average, for that one to be late.
const leastLate = 0.05

// late names the rank that the others wait for, and what it does meanwhile; "" if there is
// none. It is the one that waits the least in MPI, and what it does is what it spends more
// time in than the others. The rest of that time is compute.
func (p *Profile) late() string {
	if len(p.Ranks) < 2 {
		return ""
	}
	late := slices.MinFunc(p.Ranks, func(a, b Rank) int { return cmp.Compare(a.MPI, b.MPI) })
	mean := func(of func(r *Rank) int64) int64 {
		sum := -of(&late)
		for i := range p.Ranks {
			sum += of(&p.Ranks[i])
		}
		return sum / int64(len(p.Ranks)-1)
	}
	others := mean(func(r *Rank) int64 { return r.MPI })
	compute := others - late.MPI
	if float64(compute) < leastLate*float64(p.RunTime) {
		return ""
	}
	by, most := "", int64(0)
	for _, work := range []struct {
		what string
		of   func(r *Rank) int64
	}{
		{"I/O", func(r *Rank) int64 { return r.Times.IO + r.Times.Submit + r.Times.Storage }},
		{"timers", func(r *Rank) int64 { return r.Times.Timer }},
		{"waiting for a processor", func(r *Rank) int64 { return r.Times.Ready }},
	} {
		more := max(work.of(&late)-mean(work.of), 0)
		if compute -= more; more > most {
			by, most = work.what, more
		}
	}
	if compute > most {
		by = "compute"
	}
	return fmt.Sprintf("rank %d is late, mostly by %s: it waited %s in MPI, the others %s on average", late.Rank, by, took(late.MPI), took(others))
}

func (o *overview) ranks() {
	for i, note := range o.RankNotes() {
		if i == 0 {
			o.line("")
		}
		o.line("%s", note)
	}
}
